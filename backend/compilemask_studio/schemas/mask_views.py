"""What one mask looks like beyond its cells: its rules, its kernel tiles, what it costs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compilemask_studio.schemas.base import MAX_SOURCE_CHARS, Body, Public, Values
from compilemask_studio.schemas.masks import BatchNumber, RegionSpanPublic, SpanPublic

Token = Annotated[int, Field(strict=True, ge=0, le=2**40)]


class RulesRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    item: BatchNumber = 0
    head: BatchNumber = 0


class RegionWindowRequest(Body):
    """Queries [q_start, q_stop) and keys [k_start, k_stop) of a mask."""

    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    item: BatchNumber = 0
    head: BatchNumber = 0
    q_start: Token
    q_stop: Token
    k_start: Token
    k_stop: Token


class RegionWindow(Public):
    """Region instances with a token in the window; an axis with more than 2,000 of them there has none."""

    queries: list[RegionSpanPublic]
    keys: list[RegionSpanPublic]


class RulePartPublic(Public):
    """A rule, or of a mask made of masks a called mask, and the cells that it shows.

    hash: of these cells, which are a mask whose tiles can be read like any other's.
    """

    line: int
    span: SpanPublic
    text: str
    hash: str
    visible_pairs: int


class RuleParts(Public):
    """Rules in the order of the text. key: of the pictures of all of them; hash: of the mask itself."""

    key: str
    hash: str
    parts: list[RulePartPublic]


class TilingCandidate(Public):
    """One way to tile the mask. keys_per_query: processed, counting whole tiles; chunk: null for keys left in place."""

    title: str
    kind: Literal["rows", "packed"]
    chunk: int | None
    keys_per_query: float
    predicted_ms: float
    chosen: bool


class FormatSize(Public):
    """Bytes of the mask in one format; null with the reason why the format cannot hold it. note: what was counted."""

    name: str
    bytes: int | None
    reason: str | None
    note: str


class KernelTime(Public):
    """What the forward of one of our implementations takes on a chip, with the tiles that it would choose itself.

    auto: whether impl "auto" takes this one there. fitted, source: when, and to what, the costs were fitted. keys_per_query:
    processed, counting whole tiles. All four of tiling, kind, keys_per_query and predicted_ms are null where it has no kernel for the
    head dimension, or the mask takes too long to plan; reason says so, or why these tiles.
    """

    impl: str
    chip: str
    auto: bool
    fitted: str
    source: str
    tiling: str | None
    kind: Literal["rows", "packed"] | None
    keys_per_query: float | None
    predicted_ms: float | None
    reason: str


class BlockChoice(Public):
    """What other kernel tiles would do. processed_pairs, predicted_ms: of the cheaper tiling of these blocks."""

    block_m: int
    block_n: int
    kind: Literal["rows", "packed"]
    processed_pairs: int
    fill: float
    predicted_ms: float


class MeasuredTime(Public):
    """A stored run of this very mask that passed. predicted_ms: for its heads, null where the model says nothing:

    there are costs of the forward pass of our Triton and Hopper kernels on an H200.
    """

    run_id: int
    name: str
    provider: str
    device: str | None
    dtype: str
    num_heads: int
    head_dim: int
    median_ms: float
    predicted_ms: float | None


class Advice(Public):
    """One thing to know about the mask's cost. block_m, block_n: tiles to try; show_tiles: look at the q tiles."""

    title: str
    text: str
    block_m: int | None = None
    block_n: int | None = None
    show_tiles: bool = False


class MaskCost(Public):
    """What the mask costs with these kernel tiles. Predicted times: all heads, bf16 forward on an H200.

    candidates, blocks: of the Triton kernels. kernels: all of ours with their own tiles, the one of impl "auto" first.
    """

    hash: str
    block_m: int
    block_n: int
    num_heads: int
    head_dim: int
    kind: Literal["rows", "packed"]
    visible_pairs: int
    processed_pairs: int
    fill: float
    reason: str
    kernels: list[KernelTime]
    candidates: list[TilingCandidate]
    blocks: list[BlockChoice]
    measured: list[MeasuredTime]
    advice: list[Advice]


class FormatSizes(Public):
    """The mask in every format that it is compared with, ours last."""

    formats: list[FormatSize]


class QTileSummary(Public):
    """One q tile of the chosen plan. rows: [start, stop), as many as there are stretches, of which 64 are listed."""

    number: int
    rows: list[tuple[int, int]]
    stretches: int
    num_rows: int
    full: int
    partial: int


class QTileTable(Public):
    kind: Literal["rows", "packed"]
    reason: str
    block_m: int
    block_n: int
    total: int
    offset: int
    tiles: list[QTileSummary]


class KeyTile(Public):
    """Keys that a q tile reads together, as intervals [start, stop). full: no cell of it needs a test."""

    keys: list[tuple[int, int]]
    full: bool


class QTile(Public):
    """A q tile whole: all stretches of its rows; `total` key tiles, of which the first 2,000 are listed."""

    number: int
    rows: list[tuple[int, int]]
    total: int
    tiles: list[KeyTile]


class QTilesOfRows(Public):
    """tiles[i]: the q tile of row start + i * step; -1: no row."""

    start: int
    step: int
    tiles: list[int]
