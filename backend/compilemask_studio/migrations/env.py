"""How Alembic connects: always over the connection that `compilemask_studio.db.upgrade` hands in."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection
from sqlmodel import SQLModel

import compilemask_studio.models  # noqa: F401  (registers the tables)

connection = context.config.attributes.get("connection")
if not isinstance(connection, Connection):
    raise RuntimeError("migrations run through compilemask_studio.db.upgrade(engine), which gives the connection")

if connection.dialect.name == "sqlite":
    # sqlite3 opens no transaction before DDL by itself; with one, a failing migration leaves nothing behind.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    compare_type=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
