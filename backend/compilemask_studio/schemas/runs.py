"""Runs: measured rows, what can be asked about them and done with them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from compilemask_studio.schemas.base import Body, Direction, Dtype, Public, Quantity, RunState, Tag, Values, Verdict


class QuantityErrorPublic(Public):
    """The error of one tensor against dense attention in float64.

    worst_index: where the largest error is: [batch, head, position, channel]; the position is a query for o, lse and dq, a
    key for dk and dv; lse has no channel. nonfinite: how many elements are NaN or infinite. named: numbers of this row
    that are NaN or infinite themselves, by name.
    """

    quantity: Quantity
    passed: bool | None = Field(description="None in rows of versions that did not judge it by itself")
    max_error: float | None
    mean_error: float | None
    tolerance: float | None
    yardstick_error: float | None = Field(description="the same error of plain dense attention in the run's dtype")
    worst_index: list[int] | None
    nonfinite: int = 0
    named: dict[str, str] = Field(default={})


class RunPublic(Public):
    """One measured row. Numbers that could not be measured are None, and so are NaN and infinities, which are named in
    `nonfinite` (field name -> "NaN", "Infinity" or "-Infinity"); `error_text` is that of `max_error`.

    Speed fields are None unless the verdict is "passed".
    """

    id: int
    launch_id: int
    name: str
    note: str
    tags: list[str]
    archived_at: datetime | None
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
    direction: Direction
    seed: int
    # verification
    errors: list[QuantityErrorPublic] = Field(description="by tensor; the fields below are those of o and lse")
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
    plan_cold_ms: float | None
    first_call_ms: float | None
    launch_ms: float | None
    cache_state: Literal["cold", "warm"] | None
    flags: list[str] = Field(description="why these times should be read with care, in words")
    remarks: list[str] = Field(description="what the provider had to say")
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
    tags: Annotated[list[Tag], Field(max_length=16)] | None = None


RunAction = Literal["archive", "restore", "delete", "undelete", "tag", "untag"]


class RunsChange(Body):
    """The same thing done to several runs. `tag` is needed by "tag" and "untag"."""

    ids: Annotated[list[Annotated[int, Field(ge=1, le=2**63 - 1)]], Field(min_length=1, max_length=1000)]
    action: RunAction
    tag: Tag | None = None


class RunsChanged(Public):
    ids: list[int] = Field(description="the runs that were changed; the others were in that state already")


RunSort = Literal[
    "id",
    "created_at",
    "name",
    "mask_name",
    "provider",
    "dtype",
    "direction",
    "device",
    "state",
    "verdict",
    "q_len",
    "kv_len",
    "head_dim",
    "density",
    "visible_pairs",
    "max_error",
    "median_ms",
    "tflops",
    "plan_ms",
    "launch_ms",
]


class RunFilter(Body):
    """Which runs. `q` is a piece of the name, note, mask name or provider; `preset` is a mask name."""

    q: Annotated[str, Field(max_length=200)] | None = None
    preset: Annotated[str, Field(max_length=200)] | None = None
    provider: Annotated[str, Field(max_length=200)] | None = None
    verdict: Verdict | None = None
    dtype: Dtype | None = None
    direction: Direction | None = None
    device: Annotated[str, Field(max_length=200)] | None = None
    head_dim: Annotated[int, Field(ge=1, le=2**31)] | None = None
    tag: Tag | None = None
    launch: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    mask: Annotated[str, Field(max_length=128, description="the hash of a mask")] | None = None
    archived: bool = False


class RunExport(RunFilter):
    format: Literal["csv", "json"] = "csv"
    ids: Annotated[str, Field(max_length=10_000, description="run ids, separated by commas: only these")] | None = None


class RunQuery(RunFilter):
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    sort: RunSort = "created_at"
    order: Literal["asc", "desc"] = "desc"


RunGroupField = Literal["mask_name", "provider", "dtype", "direction", "device", "verdict", "head_dim", "launch_id"]


class RunGroupQuery(RunFilter):
    by: RunGroupField


class RunGroup(Public):
    """Runs that agree in one field. fastest_ms: the least median of those that passed."""

    value: str | None
    label: str
    count: int
    passed: int
    failed: int = Field(description="wrong results and errors")
    fastest_ms: float | None
    fastest_id: int | None
    latest_at: datetime


class RunGroups(Public):
    by: RunGroupField
    total: int
    groups: list[RunGroup] = Field(description="the largest first, at most 500")


class Facet(Public):
    value: str
    count: int


class RunFacets(Public):
    """The values that there are, with the number of runs that have each, the commonest first."""

    masks: list[Facet]
    providers: list[Facet]
    devices: list[Facet]
    dtypes: list[Facet]
    directions: list[Facet]
    tags: list[Facet]
    archived: int = Field(description="runs in the archive")
