"""Launches and runs

Revision 0001, the first.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "launch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("worker_pid", sa.Integer(), nullable=True),
        sa.Column("worker_birth", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_launch")),
    )
    with op.batch_alter_table("launch", schema=None) as batch_op:
        batch_op.create_index("ix_launch_state", ["state"], unique=False)

    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("launch_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("archived_at", sa.DateTime(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("stage", sa.String(), nullable=True),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("mask_name", sa.String(), nullable=False),
        sa.Column("mask_hash", sa.String(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("values", sa.JSON(), nullable=False),
        sa.Column("q_len", sa.Integer(), nullable=False),
        sa.Column("kv_len", sa.Integer(), nullable=False),
        sa.Column("visible_pairs", sa.BigInteger(), nullable=False),
        sa.Column("density", sa.Float(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("impl_detail", sa.String(), nullable=True),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("num_q_heads", sa.Integer(), nullable=False),
        sa.Column("num_kv_heads", sa.Integer(), nullable=False),
        sa.Column("head_dim", sa.Integer(), nullable=False),
        sa.Column("dtype", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("max_error", sa.Float(), nullable=True),
        sa.Column("mean_error", sa.Float(), nullable=True),
        sa.Column("tolerance", sa.Float(), nullable=True),
        sa.Column("yardstick_error", sa.Float(), nullable=True),
        sa.Column("lse_max_error", sa.Float(), nullable=True),
        sa.Column("rows_checked", sa.Integer(), nullable=True),
        sa.Column("rows_total", sa.Integer(), nullable=True),
        sa.Column("worst_index", sa.JSON(), nullable=True),
        sa.Column("nonfinite", sa.JSON(), nullable=False),
        sa.Column("median_ms", sa.Float(), nullable=True),
        sa.Column("p20_ms", sa.Float(), nullable=True),
        sa.Column("p80_ms", sa.Float(), nullable=True),
        sa.Column("min_ms", sa.Float(), nullable=True),
        sa.Column("samples_ms", sa.JSON(), nullable=False),
        sa.Column("warmup_runs", sa.Integer(), nullable=True),
        sa.Column("tflops", sa.Float(), nullable=True),
        sa.Column("plan_ms", sa.Float(), nullable=True),
        sa.Column("cache_state", sa.String(), nullable=True),
        sa.Column("device", sa.String(), nullable=True),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("command", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["launch_id"], ["launch.id"], name=op.f("fk_run_launch_id_launch"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.create_index("ix_run_created_at", ["created_at"], unique=False)
        batch_op.create_index("ix_run_launch_id", ["launch_id"], unique=False)
        batch_op.create_index("ix_run_mask_hash", ["mask_hash"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.drop_index("ix_run_mask_hash")
        batch_op.drop_index("ix_run_launch_id")
        batch_op.drop_index("ix_run_created_at")

    op.drop_table("run")
    with op.batch_alter_table("launch", schema=None) as batch_op:
        batch_op.drop_index("ix_launch_state")

    op.drop_table("launch")
