"""Launches, runs, comparisons and their events."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from compilemask_studio.schemas.base import (
    MAX_SOURCE_CHARS,
    Body,
    Dtype,
    LaunchState,
    Public,
    RunState,
    Values,
    Verdict,
)


class Shape(Body):
    batch: Annotated[int, Field(ge=1, le=64)] = 1
    num_q_heads: Annotated[int, Field(ge=1, le=256)] = 4
    num_kv_heads: Annotated[int, Field(ge=1, le=256)] = 4
    head_dim: Annotated[int, Field(ge=8, le=256)] = 64


class LaunchCreate(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    providers: Annotated[list[str], Field(min_length=1, max_length=8)]
    shape: Shape = Shape()
    dtype: Dtype = "float32"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    name: Annotated[str, Field(max_length=200)] = ""


class RunPublic(Public):
    """One measured row. Numbers that could not be measured are None, and so are NaN and infinities, which are named in
    `nonfinite` (field name -> "NaN", "Infinity" or "-Infinity"); `error_text` is that of `max_error`.

    Speed fields are None unless the verdict is "passed".
    """

    id: int
    launch_id: int
    name: str
    note: str
    state: RunState
    verdict: Verdict
    reason: str | None
    stage: str | None
    progress: float
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    # what was run
    mask_name: str
    mask_hash: str
    source: str
    values: Values
    q_len: int
    kv_len: int
    visible_pairs: int
    density: float
    provider: str
    impl_detail: str | None
    batch: int
    num_q_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: Dtype
    seed: int
    # verification
    max_error: float | None
    mean_error: float | None
    tolerance: float | None
    yardstick_error: float | None
    lse_max_error: float | None
    worst_index: list[int] | None
    rows_checked: int | None = Field(description="query rows compared with the reference, of `rows_total`")
    rows_total: int | None
    error_text: str | None
    nonfinite: dict[str, str] = Field(default={})
    # measurement
    median_ms: float | None
    p20_ms: float | None
    p80_ms: float | None
    min_ms: float | None
    samples_ms: list[float]
    warmup_runs: int | None
    tflops: float | None
    plan_ms: float | None
    cache_state: Literal["cold", "warm"] | None
    # where
    device: str | None
    environment: dict[str, str]
    command: str | None = Field(
        description="the command that repeats this run; it may begin with a comment line that says which file it needs"
    )


class RunPage(Public):
    total: int
    offset: int
    limit: int
    items: list[RunPublic]


class RunUpdate(Body):
    name: Annotated[str, Field(max_length=200)] | None = None
    note: Annotated[str, Field(max_length=5000)] | None = None


class LaunchPublic(Public):
    id: int
    name: str
    state: LaunchState
    reason: str | None
    position: int | None = Field(description="place in the queue, 0 for the running one, None when finished")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    runs: list[RunPublic]


class ComparedRun(Public):
    run: RunPublic
    ratio: float | None = Field(description="baseline median / this median; above 1 is faster than the baseline")
    significant: bool | None = Field(description="the 20-80 % intervals do not touch and the change is over 3 %")


class FieldDifference(Public):
    field: str
    values: list[str]


class Comparison(Public):
    baseline_id: int
    runs: list[ComparedRun]
    differences: list[FieldDifference]
    warnings: list[str]


RunSort = Literal[
    "id",
    "created_at",
    "name",
    "mask_name",
    "provider",
    "dtype",
    "device",
    "state",
    "verdict",
    "q_len",
    "kv_len",
    "density",
    "visible_pairs",
    "max_error",
    "median_ms",
    "tflops",
]


class RunFilter(Body):
    """Which runs. `q` is a piece of the name, note, mask name or provider; `preset` is a mask name."""

    q: Annotated[str, Field(max_length=200)] | None = None
    preset: Annotated[str, Field(max_length=200)] | None = None
    provider: Annotated[str, Field(max_length=200)] | None = None
    verdict: Verdict | None = None
    dtype: Dtype | None = None
    device: Annotated[str, Field(max_length=200)] | None = None


class RunExport(RunFilter):
    format: Literal["csv", "json"] = "csv"


class RunQuery(RunFilter):
    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    sort: RunSort = "created_at"
    order: Literal["asc", "desc"] = "desc"


class LaunchEvent(Public):
    kind: Literal["launch"] = "launch"
    launch: LaunchPublic


class RunEvent(Public):
    kind: Literal["run"] = "run"
    run: RunPublic


class ResetEvent(Public):
    """Events were missed: read the lists again."""

    kind: Literal["reset"] = "reset"
