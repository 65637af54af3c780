"""Language, compiler and views of a mask. Offsets into source text are UTF-16 code units, as editors count."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compilemask_studio.schemas.base import MAX_SOURCE_CHARS, Body, Public, Value, Values

MAX_TILES_AT_ONCE = 32

BlockSize = Literal[16, 32, 64, 128, 256]
BatchNumber = Annotated[int, Field(strict=True, ge=0, le=2**31)]


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
    """parameters: those whose numbers the message is about; none when it is about the text."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    span: SpanPublic
    labels: list[LabelPublic]
    hint: str | None
    fixes: list[FixPublic]
    line: int
    column: int
    parameters: list[str]


class Word(Public):
    """A word of the language, with its documentation in Markdown."""

    name: str
    kind: Literal["keyword", "relation", "type", "function", "symbol"]
    doc: str


class LanguageTables(Public):
    words: list[Word]


class ParameterPublic(Public):
    """minimum, maximum: of the number, or of every number of a list; null without a limit.

    per: set when the value may be a list with one value of this type for each batch item, or for each query head.
    """

    name: str
    type: Literal["int", "bool", "int[]", "bool[]", "int[][]", "bool[][]"]
    default: Value | None
    doc: str
    minimum: int | None
    maximum: int | None
    per: Literal["item", "head"] | None


class ExamplePublic(Public):
    name: str
    values: Values


class ProgramPublic(Public):
    name: str
    doc: str
    parameters: list[ParameterPublic]
    examples: list[ExamplePublic]


class PresetPublic(Public):
    """family: what the mask is for; presets come family by family."""

    name: str
    family: str
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
    families: int = Field(description="runs that repeat at equal steps counted once")
    runs_per_row_max: int
    runs_per_row_mean: float
    empty_rows: int
    first_empty_row: int | None
    unseen_keys: int
    descriptor_bytes: int
    compact_bytes: int = Field(description="of the numbers that tell the families")
    tiles: TileCounts


class MaskPublic(Public):
    hash: str
    levels: int = Field(description="zoom levels 0..levels-1; at the last one the mask fits one 256 x 256 tile")
    statistics: MaskStatistics
    query_regions: list[RegionSpanPublic]
    key_regions: list[RegionSpanPublic]
    regions_shown: bool = Field(description="false when an axis has too many instances to list")


class CounterExample(Public):
    """The first query and key that break an assertion; one of them is null where it is about a whole row or column."""

    q: int | None
    k: int | None


class AssertionPublic(Public):
    """One assertion of the text and whether it holds for the numbers bound.

    message: what was found, when it does not hold; the same message is among the diagnostics. failing_cells: cells that
    break it; queries or keys where it is about those.
    """

    text: str
    span: SpanPublic
    line: int
    holds: bool
    message: str | None
    counter_example: CounterExample | None
    failing_cells: int


class BatchPlace(Public):
    """Which mask of a batch an answer is about; both counted from 0. An axis on which nothing differs has size 1."""

    num_items: int
    num_heads: int
    item: int
    head: int


class Timings(Public):
    check_ms: float
    bind_ms: float
    plan_ms: float


class TilePlace(Body):
    """One density tile: level z, row y and column x of tiles."""

    z: Annotated[int, Field(strict=True, ge=0, le=62)]
    y: Annotated[int, Field(strict=True, ge=0, le=2**62)]
    x: Annotated[int, Field(strict=True, ge=0, le=2**62)]


class TileBundle(Public):
    """Density tiles of a mask. content: their bytes, 65,536 each, one after another, as zlib packs them (RFC 1950), in base64."""

    tiles: list[TilePlace]
    content: str


class CompileRequest(Body):
    """tiles: what a picture of the mask needs, as far as somebody knows who has not seen it; those outside of it are left out."""

    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    revision: int = 0
    block_m: BlockSize | None = Field(default=128, description="null: as large as the mask gives sense to")
    block_n: BlockSize | None = Field(default=128, description="as block_m")
    item: BatchNumber = 0
    head: BatchNumber = 0
    tiles: list[TilePlace] = Field(default=[], max_length=MAX_TILES_AT_ONCE)


class CompileResult(Public):
    """`mask` is None when there is an error, unless all errors are assertions that do not hold. `values` are the numbers really bound: given ones, else the first
    example's, else defaults, else a guess by type (then named in `assumed`). `batch`: of a batch, which of its masks this is: the one asked for,
    or the last one where there are fewer; null without a batch. `tiles`: those asked for that the mask has; null without a mask."""

    revision: int
    program: ProgramPublic | None
    values: Values
    assumed: list[str]
    diagnostics: list[DiagnosticPublic]
    mask: MaskPublic | None
    assertions: list[AssertionPublic]
    batch: BatchPlace | None
    tiles: TileBundle | None
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


class FamilyRepeat(Public):
    """How often what stands before it repeats, and what each repetition adds to rows and ends."""

    count: int
    rows: int
    rows_stop: int
    lo: int
    hi: int


class RunFamily(Public):
    """A first run and how it repeats: along the first of `repeats`, that again along the second, and so on."""

    first: RunRow
    repeats: list[FamilyRepeat]
    runs: int


class FamilyTable(Public):
    total: int
    offset: int
    families: list[RunFamily]


class RowIntervals(Public):
    """Keys that a query sees, as intervals [start, stop); `total` of them, of which the first 20,000 are listed."""

    q: int
    total: int
    pairs: int
    intervals: list[tuple[int, int]]


class RunPlace(Public):
    """The number of a run in the descriptor's order; null for a hidden cell."""

    number: int | None


class ColumnIntervals(Public):
    """Queries that see a key, as intervals [start, stop); `total` of them, of which the first 20,000 are listed."""

    k: int
    total: int
    pairs: int
    intervals: list[tuple[int, int]]


class ExportRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})


class ExplainRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    item: BatchNumber = 0
    head: BatchNumber = 0
    q: Annotated[int, Field(strict=True, ge=0)]
    k: Annotated[int, Field(strict=True, ge=0)]


class RulePublic(Public):
    """A rule, or of a mask made of masks a called mask, and why it does not show the cell (null when it does)."""

    line: int
    span: SpanPublic
    text: str
    reason: str | None


class CellExplanation(Public):
    """Why a query sees a key, or not. q_region, k_region: labels of the innermost regions that they are in.

    rules: those that make the cell visible; of a hidden cell the others, the nearest first, at most five.
    reason: why the cell is hidden, in one line; null for a visible one. q_token, k_token: the places that conditions count,
    where the mask stores its tokens in another order; null where they are q and k themselves.
    """

    q: int
    k: int
    visible: bool
    q_region: str
    k_region: str
    q_token: int | None
    k_token: int | None
    rules: list[RulePublic]
    reason: str | None
