"""Row tiles with contiguous keys, or re-tiled queries with packed keys: the cheaper one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from compilemask.arguments import as_index, show
from compilemask.descriptor import MaskDescriptor
from compilemask.plan.candidates import Price, Pricing, Region, price_regions, price_rows
from compilemask.plan.cost_model import H200, CostModel
from compilemask.plan.packed_plan import PackedPlan
from compilemask.plan.packing import check_chunk, plan_packed
from compilemask.plan.planner import check_block, check_descriptor, plan_tiles
from compilemask.plan.row_tiling import PatchedGrid
from compilemask.plan.structure import infer_structure
from compilemask.plan.tile_plan import TilePlan

MIN_GAIN = 1.05  # the model is not exact, and packing needs a larger descriptor: the gain must be worth it
MAX_PACKED_ROWS = 2**24  # packed plans hold an entry for each query

Kind = Literal["rows", "packed"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tiling that was considered. chunk: None for rows. grids: whose patches the q tiles are; none: row-major.

    columns: keys processed per query, counting whole tiles. milliseconds: predicted, for all heads. Both are estimated
    from a sample of q tiles where kind is "packed".
    """

    kind: Kind
    chunk: int | None
    grids: tuple[PatchedGrid, ...]
    columns: float
    milliseconds: float

    def __str__(self) -> str:
        if self.kind == "rows":
            return "row tiles, keys in place"
        tiles = " and ".join(
            f"patches of {_sides(patched.patch)} in the {_sides(patched.grid.shape)} grid from {patched.grid.start} on"
            for patched in self.grids
        )
        return f"{tiles or 'row tiles'}, keys packed in chunks of {self.chunk}"


@dataclass(frozen=True, slots=True)
class TilingChoice:
    """The tiling chosen for a descriptor. plan is a TilePlan for "rows" and a PackedPlan for "packed".

    chosen: the candidate it was built from; candidates: all of them, rows first; reason: why, in words.
    """

    kind: Kind
    plan: TilePlan | PackedPlan
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    reason: str


def choose_plan(
    descriptor: MaskDescriptor,
    block_m: int = 128,
    block_n: int = 64,
    *,
    chunks: Sequence[int] = (16, 8),
    num_heads: int = 16,
    head_dim: int = 128,
    model: CostModel = H200,
) -> TilingChoice:
    """Plans the descriptor in the way that the cost model finds fastest; exact in either case.

    Tried are plan_tiles, and packed keys with row-major q tiles and with patches of the grids that the runs show. A
    candidate must be MIN_GAIN times faster than a simpler one to be chosen over it: rows, then packed, chunks in the
    order given. num_heads: q heads of all batch elements, which share the plan.
    Raises ValueError as plan_tiles and plan_packed do, and for fewer than one head or head dimension.
    """
    check_descriptor("choose_plan", descriptor)
    num_heads, head_dim = as_index(num_heads, "num_heads"), as_index(head_dim, "head_dim")
    if min(num_heads, head_dim) < 1:
        raise ValueError(f"num_heads and head_dim must be at least 1, got {show(num_heads)} and {show(head_dim)}")
    block_m, block_n = check_block("block_m", block_m), check_block("block_n", block_n)
    chunks = [check_chunk(block_n, chunk) for chunk in chunks]
    rows_plan = plan_tiles(descriptor, block_m, block_n)
    pricing = Pricing(block_m, block_n, head_dim, model)

    def candidate(kind: Kind, chunk: int | None, grids: tuple[PatchedGrid, ...], price: Price) -> Candidate:
        time = model.milliseconds(price.total_us, price.heaviest_us, num_heads)
        return Candidate(kind, chunk, grids, price.pairs / max(descriptor.q_len, 1), time)

    rows = candidate("rows", None, (), price_rows(rows_plan, pricing))
    if descriptor.q_len > MAX_PACKED_ROWS:
        reason = f"{descriptor.q_len} queries are more than the {MAX_PACKED_ROWS} that packing is considered for"
        return TilingChoice("rows", rows_plan, rows, (rows,), reason)
    regions = price_regions(descriptor, infer_structure(descriptor), chunks, pricing)
    packed = [[candidate("packed", chunk, *tiling) for tiling in _tilings(regions[chunk])] for chunk in chunks]
    chosen = rows
    for same_chunk in packed:
        best = min(same_chunk, key=lambda one: one.milliseconds)
        if best.milliseconds * MIN_GAIN < chosen.milliseconds:
            chosen = best
    candidates = (rows, *(one for same_chunk in packed for one in same_chunk))
    reason = _reason(chosen, candidates)
    if chosen.chunk is None:
        return TilingChoice("rows", rows_plan, chosen, candidates, reason)
    plan = plan_packed(descriptor, block_m, block_n, chosen.chunk, chosen.grids)
    return TilingChoice("packed", plan, chosen, candidates, reason)


def _tilings(regions: tuple[Region, ...]) -> Iterator[tuple[tuple[PatchedGrid, ...], Price]]:
    """All regions row-major; then, for each patch of each grid, that one with the best of all other regions."""
    plain = [region.options[0] for region in regions]
    yield _together(regions, plain)
    best = [region.best() for region in regions]
    for number, region in enumerate(regions):
        for option in region.options[1:]:
            yield _together(regions, [*best[:number], option, *best[number + 1 :]])


def _together(
    regions: tuple[Region, ...], options: list[tuple[tuple[int, ...] | None, Price]]
) -> tuple[tuple[PatchedGrid, ...], Price]:
    grids = tuple(
        PatchedGrid(region.grid, patch)
        for region, (patch, _) in zip(regions, options, strict=True)
        if region.grid is not None and patch is not None
    )
    price = Price(0.0, 0.0, 0.0)
    for _, part in options:
        price += part
    return grids, price


def _reason(chosen: Candidate, candidates: tuple[Candidate, ...]) -> str:
    """One sentence with the predicted figures of the chosen tiling and of its best rival of the other kind."""
    rivals = [one for one in candidates if one.kind != chosen.kind]
    text = f"{chosen}: {_figures(chosen)}"
    if not rivals:
        return text
    rival = min(rivals, key=lambda one: one.milliseconds)
    return f"{text}; {rival}: {_figures(rival)}"


def _figures(one: Candidate) -> str:
    return f"{one.columns:.0f} keys a query, {one.milliseconds:.3f} ms predicted"


def _sides(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
