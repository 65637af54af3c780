"""The tables equal the models, upgrades keep rows, and many writers lose nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from compilemask_studio import models
from compilemask_studio.db import alembic_config, open_engine, upgrade
from compilemask_studio.models import Launch, Run, utc_now
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, func, select


def revision_of(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def test_migrations_from_nothing_give_exactly_the_models(engine: Engine) -> None:
    assert models.Run.__tablename__ == "run"
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []


def test_upgrading_twice_changes_nothing(engine: Engine) -> None:
    before = revision_of(engine)
    upgrade(engine)
    assert revision_of(engine) == before == ScriptDirectory.from_config(alembic_config()).get_current_head()


def test_downgrading_leaves_no_tables_and_upgrading_brings_them_back(engine: Engine) -> None:
    config = alembic_config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    upgrade(engine)
    assert {"launch", "run"} <= set(inspect(engine).get_table_names())


def test_an_older_database_keeps_its_rows_and_is_copied_first(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    engine = open_engine(f"sqlite:///{path}")
    config = alembic_config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO launch (name, state, created_at) VALUES ('kept', 'done', '2026-01-02')"))
    upgrade(engine)
    with Session(engine) as session:
        (launch,) = session.exec(select(Launch)).all()
        assert (launch.name, launch.state, launch.request) == ("kept", "done", None)
    engine.dispose()
    (copy,) = tmp_path.glob("old.db.before-*")
    with closing(sqlite3.connect(copy)) as old:
        assert old.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]
        assert old.execute("SELECT name FROM launch").fetchall() == [("kept",)]


def test_a_database_in_memory_works() -> None:
    engine = open_engine("sqlite://")
    upgrade(engine)
    assert {"launch", "run"} <= set(inspect(engine).get_table_names())


def test_the_data_folder_is_made_for_its_user_only(tmp_path: Path) -> None:
    upgrade(open_engine(f"sqlite:///{tmp_path}/new/studio.db"))
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_connections_use_wal_wait_for_locks_and_keep_foreign_keys(engine: Engine) -> None:
    with engine.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "busy_timeout", "foreign_keys", "synchronous")
        }
    assert pragmas == {"journal_mode": "wal", "busy_timeout": 5000, "foreign_keys": 1, "synchronous": 1}


def test_a_run_needs_its_launch(engine: Engine, make_run) -> None:
    with Session(engine) as session:
        session.add(make_run(launch_id=99))
        with pytest.raises(IntegrityError):
            session.commit()


def test_times_come_back_aware(engine: Engine) -> None:
    now = utc_now()
    with Session(engine) as session:
        session.add(Launch(name="a", state="queued", created_at=now))
        session.commit()
        assert session.exec(select(Launch)).one().created_at == now


def test_many_writers_and_readers_lose_no_row(engine: Engine, make_run, add_launch) -> None:
    launch_id = add_launch()
    errors: list[Exception] = []

    def write() -> None:
        try:
            for _ in range(25):
                with Session(engine) as session:
                    session.exec(select(func.count()).select_from(Run)).one()
                    session.add(make_run(launch_id=launch_id))
                    session.commit()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    with Session(engine) as reader:
        while any(thread.is_alive() for thread in threads):
            reader.exec(select(func.count()).select_from(Run)).one()
    for thread in threads:
        thread.join()
    assert errors == []
    with Session(engine) as session:
        assert session.exec(select(func.count()).select_from(Run)).one() == 8 * 25


def test_a_reader_that_becomes_a_writer_waits_instead_of_failing(engine: Engine, add_launch) -> None:
    launch_id = add_launch()
    with Session(engine) as first, Session(engine) as second:
        mine, theirs = first.get(Launch, launch_id), second.get(Launch, launch_id)
        theirs.name = "second"
        second.commit()
        mine.reason = "first"
        first.commit()
    with Session(engine) as session:
        launch = session.get(Launch, launch_id)
        assert (launch.name, launch.reason) == ("second", "first")


def test_another_process_that_writes_at_the_same_time_is_waited_for(engine: Engine, tmp_path: Path, add_launch) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sqlite3, sys, time\n"
            "c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE')\n"
            "print('locked', flush=True); time.sleep(0.7); c.execute('COMMIT')",
            str(tmp_path / "studio.db"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
    assert add_launch() == 1
    assert holder.wait(timeout=5) == 0
    holder.stdout.close()
