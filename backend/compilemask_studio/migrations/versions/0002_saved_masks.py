"""Saved masks and their versions

Revision 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "saved_mask",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.Column("archived_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_mask")),
    )
    with op.batch_alter_table("saved_mask", schema=None) as batch_op:
        batch_op.create_index("ix_saved_mask_updated_at", ["updated_at"], unique=False)

    op.create_table(
        "mask_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("mask_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("values", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("mask_hash", sa.String(), nullable=True),
        sa.Column("q_len", sa.Integer(), nullable=True),
        sa.Column("kv_len", sa.Integer(), nullable=True),
        sa.Column("visible_pairs", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["mask_id"], ["saved_mask.id"], name=op.f("fk_mask_version_mask_id_saved_mask"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mask_version")),
        sa.UniqueConstraint("mask_id", "number", name=op.f("uq_mask_version_mask_id")),
    )
    with op.batch_alter_table("mask_version", schema=None) as batch_op:
        batch_op.create_index("ix_mask_version_mask_hash", ["mask_hash"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("mask_version", schema=None) as batch_op:
        batch_op.drop_index("ix_mask_version_mask_hash")

    op.drop_table("mask_version")
    with op.batch_alter_table("saved_mask", schema=None) as batch_op:
        batch_op.drop_index("ix_saved_mask_updated_at")

    op.drop_table("saved_mask")
