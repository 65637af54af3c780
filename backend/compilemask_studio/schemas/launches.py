"""What Run starts: one mask and shape, or a sweep over several, with one or more providers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from compilemask_studio.schemas.base import (
    MAX_SOURCE_CHARS,
    Body,
    Direction,
    Dtype,
    LaunchState,
    Public,
    Tag,
    Value,
    Values,
)
from compilemask_studio.schemas.runs import RunPublic

HeadDim = Annotated[int, Field(ge=8, le=256)]
BatchSize = Annotated[int, Field(ge=1, le=64)]
MAX_STEPS = 64


class Shape(Body):
    batch: BatchSize = 1
    num_q_heads: Annotated[int, Field(ge=1, le=256)] = 4
    num_kv_heads: Annotated[int, Field(ge=1, le=256)] = 4
    head_dim: HeadDim = 64


class Sweep(Body):
    """What varies. A list that is empty leaves the launch's own number; the cases are all combinations of the lists.

    values: for a parameter of the mask, the values that it takes. together: the lists of `values` are of one length and
    go side by side, the first of each, the second of each, instead of in all combinations.
    """

    values: Annotated[
        dict[Annotated[str, Field(max_length=100)], Annotated[list[Value], Field(min_length=1, max_length=MAX_STEPS)]],
        Field(max_length=8),
    ] = Field(default={})
    together: bool = False
    batches: Annotated[list[BatchSize], Field(max_length=MAX_STEPS)] = Field(default=[])
    head_dims: Annotated[list[HeadDim], Field(max_length=MAX_STEPS)] = Field(default=[])
    dtypes: Annotated[list[Dtype], Field(max_length=3)] = Field(default=[])
    directions: Annotated[list[Direction], Field(max_length=3)] = Field(default=[])


class LaunchCreate(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    providers: Annotated[list[str], Field(min_length=1, max_length=16)]
    shape: Shape = Shape()
    dtype: Dtype = "float32"
    direction: Direction = "forward"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    sweep: Sweep = Sweep()
    name: Annotated[str, Field(max_length=200)] = ""
    tags: Annotated[list[Tag], Field(max_length=16)] = Field(default=[])


class RunCounts(Public):
    """How many runs a launch has. finished: with or without a result. failed: wrong, or without a result."""

    total: int
    finished: int
    passed: int
    failed: int


class LaunchSummary(Public):
    """A launch without its runs."""

    id: int
    name: str
    state: LaunchState
    reason: str | None
    position: int | None = Field(description="place in the queue, 0 for the running one, None when finished")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    counts: RunCounts
    progress: float = Field(description="0 to 1; the run that is being measured counts in part")


class LaunchPublic(LaunchSummary):
    """A launch with some of its runs, in the order in which they are measured."""

    request: LaunchCreate | None = Field(description="what was asked for; None when an older version did not keep it")
    offset: int
    runs: list[RunPublic]


class LaunchLog(Public):
    """The end of what the launch's workers printed, and why runs of it failed."""

    text: str
    cut: bool = Field(description="whether there was more before it")


class CaseEstimate(Public):
    """One case of a launch before it is started. FLOPs and bytes of one provider."""

    values: Values
    batch: int
    head_dim: int
    dtype: Dtype
    direction: Direction
    q_len: int | None
    kv_len: int | None
    visible_pairs: int | None
    flops: int | None
    bytes: int | None
    problem: str | None = Field(description="why this case cannot be run, None when it can")


class LaunchEstimate(Public):
    """What a launch would be. seconds: from earlier runs; None when there are none to tell by."""

    case_count: int
    run_count: int
    flops: int = Field(description="of all runs that can be run, one pass each")
    seconds: float | None
    basis: str
    cases: list[CaseEstimate]
