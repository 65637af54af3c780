"""The shapes of the HTTP interface. Offsets into source text are UTF-16 code units, as editors count."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

MAX_SOURCE_CHARS = 64_000


def _mask_value(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    """One message for the whole union, in place of one for each of its members."""
    try:
        return handler(value)
    except ValidationError:
        wanted = "must be a whole number, true or false, or a list of whole numbers"
        raise PydanticCustomError("mask_value", wanted) from None


Value = Annotated[StrictBool | StrictInt | list[StrictInt], WrapValidator(_mask_value)]
Values = dict[Annotated[str, Field(max_length=100)], Value]
Verdict = Literal["pending", "passed", "failed", "error", "cancelled"]
LaunchState = Literal["queued", "running", "done", "failed", "cancelled", "lost"]
RunState = Literal["queued", "running", "done", "failed", "cancelled"]
Dtype = Literal["bfloat16", "float16", "float32"]


class Public(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Body(BaseModel):
    """What a client sends. An unknown field is an error, not silently dropped."""

    model_config = ConfigDict(extra="forbid")


# ---------------------------------------------------------------- language and compile


class SpanPublic(Public):
    start: int
    stop: int


class LabelPublic(Public):
    span: SpanPublic
    message: str


class EditPublic(Public):
    span: SpanPublic
    text: str


class FixPublic(Public):
    title: str
    edits: list[EditPublic]


class DiagnosticPublic(Public):
    code: str
    severity: Literal["error", "warning"]
    message: str
    span: SpanPublic
    labels: list[LabelPublic]
    hint: str | None
    fixes: list[FixPublic]
    line: int
    column: int


class Word(Public):
    """A word of the language, with its documentation in Markdown."""

    name: str
    kind: Literal["keyword", "relation", "type", "function", "symbol"]
    doc: str


class LanguageTables(Public):
    words: list[Word]


class ParameterPublic(Public):
    name: str
    type: Literal["int", "bool", "int[]"]
    default: Value | None
    doc: str


class ExamplePublic(Public):
    name: str
    values: Values


class ProgramPublic(Public):
    name: str
    doc: str
    parameters: list[ParameterPublic]
    examples: list[ExamplePublic]


class PresetPublic(Public):
    name: str
    title: str
    doc: str
    source: str
    values: Values
    hash: str
    q_len: int
    kv_len: int


class RegionSpanPublic(Public):
    """A region instance on one axis: [start, stop) tokens; `label` is "H" or "R[3]"."""

    name: str
    label: str
    start: int
    stop: int


class TileCounts(Public):
    """128 x 128 grid tiles by kind (block sizes as asked), and what the kernel visits with its free kv starts."""

    block_m: int
    block_n: int
    full: int
    partial: int
    empty: int
    visited_full: int
    visited_partial: int
    processed_pairs: int
    fill: float = Field(description="visible pairs / processed pairs, 0 when nothing is processed")


class MaskStatistics(Public):
    q_len: int
    kv_len: int
    visible_pairs: int
    density: float
    pieces: int
    runs: int
    runs_per_row_max: int
    runs_per_row_mean: float
    empty_rows: int
    first_empty_row: int | None
    unseen_keys: int
    descriptor_bytes: int
    tiles: TileCounts


class MaskPublic(Public):
    hash: str
    levels: int = Field(description="zoom levels 0..levels-1; at the last one the mask fits one 256 x 256 tile")
    statistics: MaskStatistics
    query_regions: list[RegionSpanPublic]
    key_regions: list[RegionSpanPublic]
    regions_shown: bool = Field(description="false when an axis has too many instances to list")


class Timings(Public):
    check_ms: float
    bind_ms: float
    plan_ms: float


class CompileRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = {}
    revision: int = 0
    block_m: Literal[16, 32, 64, 128, 256] = 128
    block_n: Literal[16, 32, 64, 128, 256] = 128


class CompileResult(Public):
    """`mask` is None when there is an error. `values` are the numbers really bound: given ones, else the first
    example's, else defaults, else a guess by type (then named in `assumed`)."""

    revision: int
    program: ProgramPublic | None
    values: Values
    assumed: list[str]
    diagnostics: list[DiagnosticPublic]
    mask: MaskPublic | None
    timings: Timings


class RunRow(Public):
    """One trapezoid: rows [q_start, q_stop), keys [lo_slope*q + lo_offset, hi_slope*q + hi_offset)."""

    q_start: int
    q_stop: int
    lo_slope: int
    lo_offset: int
    hi_slope: int
    hi_offset: int
    pairs: int


class RunTable(Public):
    total: int
    offset: int
    rows: list[RunRow]


class RowIntervals(Public):
    q: int
    intervals: list[tuple[int, int]]


class ExportRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = {}


# ---------------------------------------------------------------- environment


class ProviderInfo(Public):
    """An impl of ours or a peer: usable here, and if not why not (and what would help)."""

    name: str
    title: str
    kind: Literal["impl", "peer"]
    usable: bool
    reason: str | None


class DeviceInfo(Public):
    name: str
    kind: Literal["cpu", "cuda"]
    memory_bytes: int | None
    detail: str


class Environment(Public):
    state: Literal["probing", "ready", "failed"]
    reason: str | None
    providers: list[ProviderInfo]
    devices: list[DeviceInfo]
    versions: dict[str, str]


# ---------------------------------------------------------------- launches and runs


class Shape(Body):
    batch: Annotated[int, Field(ge=1, le=64)] = 1
    num_q_heads: Annotated[int, Field(ge=1, le=256)] = 4
    num_kv_heads: Annotated[int, Field(ge=1, le=256)] = 4
    head_dim: Annotated[int, Field(ge=8, le=256)] = 64


class LaunchCreate(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = {}
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
    error_text: str | None
    nonfinite: dict[str, str] = {}
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


# ---------------------------------------------------------------- errors


class ErrorBody(Public):
    code: str
    message: str
    hint: str | None = None


class ErrorResponse(Public):
    error: ErrorBody
