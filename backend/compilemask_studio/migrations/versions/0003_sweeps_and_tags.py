"""What a launch asked for and its log; tags, deletion, direction and errors by tensor of runs

Revision 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NUMBERS = ("plan_cold_ms", "first_call_ms", "launch_ms")


def upgrade() -> None:
    with op.batch_alter_table("launch", schema=None) as batch_op:
        batch_op.add_column(sa.Column("request", sa.JSON(), nullable=True))
        batch_op.add_column(sa.Column("log", sa.Text(), nullable=False, server_default=""))

    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.add_column(sa.Column("tags", sa.JSON(), nullable=False, server_default="[]"))
        batch_op.add_column(sa.Column("deleted_at", sa.DateTime(), nullable=True))
        batch_op.add_column(sa.Column("direction", sa.String(), nullable=False, server_default="forward"))
        batch_op.add_column(sa.Column("errors", sa.JSON(), nullable=False, server_default="[]"))
        for name in NUMBERS:
            batch_op.add_column(sa.Column(name, sa.Float(), nullable=True))
        batch_op.add_column(sa.Column("steady", sa.Boolean(), nullable=True))
        batch_op.add_column(sa.Column("remarks", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    with op.batch_alter_table("run", schema=None) as batch_op:
        for name in ("remarks", "steady", *NUMBERS, "errors", "direction", "deleted_at", "tags"):
            batch_op.drop_column(name)

    with op.batch_alter_table("launch", schema=None) as batch_op:
        batch_op.drop_column("log")
        batch_op.drop_column("request")
