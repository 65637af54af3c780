"""Tilings of a mask as the kernels would take them: which rows are one q tile, and which keys it reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.ragged import IntArray
from compilemask.plan import (
    KernelChoice,
    KernelCosts,
    PackedPlan,
    TilePlan,
    TilingChoice,
    choose_kernel_tiling,
    choose_plan,
    tile_crossings,
)
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import KeyTile, QTile, QTilesOfRows, QTileSummary, QTileTable
from compilemask_studio.services.bounded_cache import BoundedCache
from compilemask_studio.services.tile_statistics import MAX_CROSSINGS

MAX_STRETCHES = 64
MAX_KEY_TILES = 2000
ROWS_AT_ONCE = 256
Interval = tuple[int, int]


class PlanService:
    """Plans are made when somebody looks at them, and kept while room lasts."""

    def __init__(self) -> None:
        self._choices: BoundedCache[tuple[str, int, int, int, int], TilingChoice] = BoundedCache(
            max_items=64, max_bytes=256_000_000
        )
        self._kernels: BoundedCache[tuple[str, str, str, int], KernelChoice] = BoundedCache(
            max_items=64, max_bytes=256_000_000
        )

    def choose(
        self, descriptor: MaskDescriptor, block_m: int, block_n: int, num_heads: int = 16, head_dim: int = 128
    ) -> TilingChoice:
        """The cheaper tiling of these blocks; StudioError 409 for a mask that takes too long to plan."""
        key = (descriptor.hash, block_m, block_n, num_heads, head_dim)
        known = self._choices.get(key)
        if known is None:
            _check_steps(descriptor, block_m)
            chunks = (16, 8) if block_n % 32 == 0 else ()
            known = choose_plan(descriptor, block_m, block_n, chunks=chunks, num_heads=num_heads, head_dim=head_dim)
            self._choices.put(key, known, _plan_bytes(known.plan))
        return known

    def choose_kernel(self, descriptor: MaskDescriptor, kernel: KernelCosts, head_dim: int) -> KernelChoice:
        """The tiles that a kernel with some for head_dim would take; StudioError 409 as for `choose`."""
        key = (descriptor.hash, kernel.impl, kernel.chip, head_dim)
        known = self._kernels.get(key)
        if known is None:
            _check_steps(descriptor, min(one.block_m for one in kernel.tilings_for(head_dim)))
            known = choose_kernel_tiling(descriptor, kernel, head_dim=head_dim)
            self._kernels.put(key, known, _plan_bytes(known.plan))
        return known

    def table(self, descriptor: MaskDescriptor, block_m: int, block_n: int, offset: int, limit: int) -> QTileTable:
        """q tiles offset .. offset + limit, by number."""
        choice = self.choose(descriptor, block_m, block_n)
        total = choice.plan.num_q_tiles
        numbers = range(offset, min(offset + limit, total))
        return QTileTable(
            kind=choice.kind,
            reason=choice.reason,
            block_m=block_m,
            block_n=block_n,
            total=total,
            offset=offset,
            tiles=[_summary(choice.plan, number) for number in numbers],
        )

    def tile(self, descriptor: MaskDescriptor, block_m: int, block_n: int, number: int) -> QTile:
        """One q tile; StudioError 404 `q_tile_unknown` when there are fewer."""
        plan = self.choose(descriptor, block_m, block_n).plan
        if number >= plan.num_q_tiles:
            raise StudioError(404, "q_tile_unknown", f"there is no q tile {number}: the plan has {plan.num_q_tiles}")
        total = sum(_tile_counts(plan, number))
        tiles = [tile for _, tile in zip(range(MAX_KEY_TILES), _key_tiles(plan, number), strict=False)]
        return QTile(number=number, rows=_stretches(_rows(plan, number)), total=total, tiles=tiles)

    def of_rows(self, descriptor: MaskDescriptor, block_m: int, block_n: int, start: int, step: int) -> QTilesOfRows:
        """The q tiles of 256 rows, `step` apart."""
        plan = self.choose(descriptor, block_m, block_n).plan
        rows = start + step * np.arange(ROWS_AT_ONCE)
        inside = rows < descriptor.q_len
        tiles = np.full(ROWS_AT_ONCE, -1, np.int64)
        tiles[inside] = _tiles_of(plan)[rows[inside]] if isinstance(plan, PackedPlan) else rows[inside] // block_m
        return QTilesOfRows(start=start, step=step, tiles=tiles.tolist())


def _check_steps(descriptor: MaskDescriptor, block_m: int) -> None:
    steps = tile_crossings(descriptor, block_m)
    if steps > MAX_CROSSINGS:
        message = f"planning this mask takes {steps:,} steps, and the studio does up to {MAX_CROSSINGS:,}"
        raise StudioError(409, "mask_too_large", message, "take fewer tokens, or larger tiles")


def _plan_bytes(plan: TilePlan | PackedPlan) -> int:
    if isinstance(plan, PackedPlan):
        return plan.nbytes
    return 4 * (8 * plan.num_q_tiles + 8 * plan.num_partial + len(plan.partial_run)) + 24 * len(plan.run_q_start)


def _tiles_of(plan: PackedPlan) -> IntArray:
    """The q tile of every row."""
    slots = np.flatnonzero(plan.row_index >= 0)
    tiles = np.empty(plan.q_len, np.int64)
    tiles[plan.row_index[slots]] = slots // plan.block_m
    return tiles


def _rows(plan: TilePlan | PackedPlan, number: int) -> IntArray:
    if isinstance(plan, PackedPlan):
        slots = plan.row_index[number * plan.block_m : (number + 1) * plan.block_m]
        return np.sort(slots[slots >= 0]).astype(np.int64)
    return np.arange(number * plan.block_m, min((number + 1) * plan.block_m, plan.q_len))


def _stretches(rows: IntArray) -> list[Interval]:
    """Ascending rows as intervals [start, stop)."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    parts = np.split(rows, breaks) if len(rows) else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _tile_counts(plan: TilePlan | PackedPlan, number: int) -> tuple[int, int]:
    """(full, partial) key tiles of a q tile."""
    if isinstance(plan, PackedPlan):
        ids = plan.mask_id[plan.kv_indptr[number] : plan.kv_indptr[number + 1]]
        full = int(np.count_nonzero(ids < 0))
        return full, len(ids) - full
    full = int(plan.full_count[plan.full_indptr[number] : plan.full_indptr[number + 1]].sum())
    return full, int(plan.partial_indptr[number + 1] - plan.partial_indptr[number])


def _summary(plan: TilePlan | PackedPlan, number: int) -> QTileSummary:
    rows = _rows(plan, number)
    stretches = _stretches(rows)
    full, partial = _tile_counts(plan, number)
    return QTileSummary(
        number=number,
        rows=stretches[:MAX_STRETCHES],
        stretches=len(stretches),
        num_rows=len(rows),
        full=full,
        partial=partial,
    )


def _key_tiles(plan: TilePlan | PackedPlan, number: int) -> Iterator[KeyTile]:
    """Full ones first."""
    if isinstance(plan, PackedPlan):
        for tile in range(int(plan.kv_indptr[number]), int(plan.kv_indptr[number + 1])):
            starts = plan.chunk_start[tile]
            starts = np.sort(starts[starts >= 0])
            keys = (starts[:, None] + np.arange(plan.chunk)).ravel().astype(np.int64)
            keys = np.unique(keys[keys < plan.kv_len])
            yield KeyTile(keys=_stretches(keys), full=bool(plan.mask_id[tile] < 0))
        return
    for full in range(int(plan.full_indptr[number]), int(plan.full_indptr[number + 1])):
        first = int(plan.full_start[full])
        for column in range(first, first + int(plan.full_count[full]) * plan.block_n, plan.block_n):
            yield KeyTile(keys=[(column, column + plan.block_n)], full=True)
    for partial in range(int(plan.partial_indptr[number]), int(plan.partial_indptr[number + 1])):
        yield KeyTile(keys=[(int(plan.partial_start[partial]), int(plan.partial_stop[partial]))], full=False)
