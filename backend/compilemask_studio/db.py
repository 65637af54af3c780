"""The database: engine, connection settings, migrations."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import StaticPool
from sqlmodel import create_engine

logger = logging.getLogger("compilemask_studio")

MIGRATIONS = Path(__file__).parent / "migrations"


class UnknownTablesError(Exception):
    """The database has tables of a version that this program does not know."""


def sqlite_file(database_url: str) -> Path | None:
    """The file behind a SQLite URL, or None for memory and other databases."""
    url = make_url(database_url)
    in_memory = url.database in (None, "", ":memory:")
    return None if url.get_backend_name() != "sqlite" or in_memory else Path(str(url.database))


def _configure_sqlite(connection: sqlite3.Connection, _: object) -> None:
    cursor = connection.cursor()
    # The timeout comes first: switching to WAL may itself have to wait for another process.
    for pragma in ("busy_timeout=5000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def open_engine(database_url: str) -> Engine:
    """An engine for the URL; the folder of a SQLite file is made, readable by its user only."""
    if make_url(database_url).get_backend_name() != "sqlite":
        return create_engine(database_url, pool_pre_ping=True)
    # IMMEDIATE: a transaction that will write takes the write lock first, where waiting works; a read transaction
    # that becomes a writer is refused at once when somebody else wrote meanwhile.
    options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "isolation_level": "IMMEDIATE"}}
    path = sqlite_file(database_url)
    if path is None:
        options["poolclass"] = StaticPool
    else:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = create_engine(database_url, **options)
    event.listen(engine, "connect", _configure_sqlite)
    return engine


def alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def upgrade(engine: Engine) -> None:
    """Bring the tables to the newest form; an older SQLite file with data is copied beside itself first.

    UnknownTablesError when a newer program has changed them already.
    """
    config = alembic_config()
    versions = ScriptDirectory.from_config(config)
    head = versions.get_current_head()
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    if current == head:
        return
    if current is not None and current not in {version.revision for version in versions.walk_revisions()}:
        raise UnknownTablesError(
            f"a newer CompileMask Studio has changed this database: its tables are of version {current[:40]}, "
            f"and this one knows those up to {head}; start the newer one, or give this one another --database"
        )
    path = sqlite_file(str(engine.url))
    if path is not None and current is not None:
        _back_up(path, path.with_name(f"{path.name}.before-{head}"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _back_up(source: Path, target: Path) -> None:
    logger.info("copying %s to %s before its tables change", source, target)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
