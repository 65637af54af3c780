"""The tables. Rows are built from checked values only: a table class of SQLModel does not validate.

Number columns hold finite numbers or NULL; what was NaN or infinite is named in `Run.nonfinite`.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

SQLModel.metadata.naming_convention = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def utc_now() -> datetime:
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """Aware in Python, naive UTC in the database, since SQLite keeps no time zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.replace(tzinfo=UTC)


class Launch(SQLModel, table=True):
    """One press of Run: several runs of one mask and shape.

    request: what was asked for, so that it can be asked again; None in rows of versions that did not keep it. log: the end of
    what its workers printed. worker_pid, worker_birth: the process that measures it now, and when the system says it began, so that a later
    server can end it if this one is killed.
    """

    __tablename__ = "launch"
    __table_args__ = (Index("ix_launch_state", "state"),)

    id: int | None = Field(default=None, primary_key=True)
    name: str
    state: str
    reason: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    worker_pid: int | None = None
    worker_birth: str | None = None
    request: dict[str, Any] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    log: str = Field(default="", sa_type=Text)


class Run(SQLModel, table=True):
    """One provider on one case; what `RunPublic` shows.

    archived_at: it is out of the way, in the archive. deleted_at: it is gone for everybody, and for a while it can be had back.
    """

    __tablename__ = "run"
    __table_args__ = (
        Index("ix_run_launch_id", "launch_id"),
        Index("ix_run_mask_hash", "mask_hash"),
        Index("ix_run_created_at", "created_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    launch_id: int = Field(sa_column=Column(Integer, ForeignKey("launch.id", ondelete="CASCADE"), nullable=False))
    name: str
    note: str = Field(default="", sa_type=Text)
    archived_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    state: str
    verdict: str
    reason: str | None = Field(default=None, sa_type=Text)
    stage: str | None = None
    progress: float = 0.0
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    mask_name: str
    mask_hash: str
    source: str = Field(sa_type=Text)
    values: dict[str, Any] = Field(sa_type=JSON)
    q_len: int
    kv_len: int
    visible_pairs: int = Field(sa_type=BigInteger)
    density: float
    provider: str
    impl_detail: str | None = None
    batch: int
    num_q_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: str
    seed: int

    max_error: float | None = None
    mean_error: float | None = None
    tolerance: float | None = None
    yardstick_error: float | None = None
    lse_max_error: float | None = None
    rows_checked: int | None = None
    rows_total: int | None = None
    worst_index: list[int] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    nonfinite: dict[str, str] = Field(default_factory=dict, sa_type=JSON)

    median_ms: float | None = None
    p20_ms: float | None = None
    p80_ms: float | None = None
    min_ms: float | None = None
    samples_ms: list[float] = Field(default_factory=list, sa_type=JSON)
    warmup_runs: int | None = None
    tflops: float | None = None
    plan_ms: float | None = None
    cache_state: str | None = None

    device: str | None = None
    environment: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    command: str | None = Field(default=None, sa_type=Text)

    tags: list[str] = Field(default_factory=list, sa_type=JSON)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    direction: str = "forward"
    errors: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    plan_cold_ms: float | None = None
    first_call_ms: float | None = None
    launch_ms: float | None = None
    steady: bool | None = None
    remarks: list[str] = Field(default_factory=list, sa_type=JSON)


class SavedMask(SQLModel, table=True):
    """A mask that was given a name; its texts are its versions. updated_at: of its newest version or its renaming."""

    __tablename__ = "saved_mask"
    __table_args__ = (Index("ix_saved_mask_updated_at", "updated_at"),)

    id: int | None = Field(default=None, primary_key=True)
    name: str
    created_at: datetime = Field(sa_type=UtcDateTime)
    updated_at: datetime = Field(sa_type=UtcDateTime)
    archived_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class MaskVersion(SQLModel, table=True):
    """One saved text with its numbers; never changed. The columns about the mask are NULL when the text gives none."""

    __tablename__ = "mask_version"
    __table_args__ = (UniqueConstraint("mask_id", "number"), Index("ix_mask_version_mask_hash", "mask_hash"))

    id: int | None = Field(default=None, primary_key=True)
    mask_id: int = Field(sa_column=Column(Integer, ForeignKey("saved_mask.id", ondelete="CASCADE"), nullable=False))
    number: int
    note: str = Field(default="", sa_type=Text)
    source: str = Field(sa_type=Text)
    values: dict[str, Any] = Field(sa_type=JSON)
    created_at: datetime = Field(sa_type=UtcDateTime)

    mask_hash: str | None = None
    q_len: int | None = None
    kv_len: int | None = None
    visible_pairs: int | None = Field(default=None, sa_type=BigInteger)
