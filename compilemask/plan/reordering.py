"""Descriptor and grids of its tokens -> ReorderedPlan, in O((runs + parts) * log)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.projection import merge_intervals
from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.plan.packed_plan import UInt32Array
from compilemask.plan.planner import check_descriptor, to_int32
from compilemask.plan.reordered_plan import BLOCK, WORD, ReorderedPlan
from compilemask.plan.row_coverage import RowCoverage, cover_rows
from compilemask.plan.row_tiling import PatchedGrid, patch_order
from compilemask.plan.tile_bits import Chunks, join_masks, tile_masks

MAX_PARTS = 2**19  # parts of trapezoids handled at a time


def reorder(
    descriptor: MaskDescriptor, q_grids: Sequence[PatchedGrid], k_grids: Sequence[PatchedGrid]
) -> ReorderedPlan:
    """The blocks that the visible pairs lie in when grids of queries and of keys are stored patch after patch.

    The plan is exact whatever the grids say. Raises TypeError for what is no descriptor, ValueError for plans that do not
    fit int32.
    """
    check_descriptor("reorder", descriptor)
    q_order, k_order = token_order(descriptor.q_len, q_grids), token_order(descriptor.kv_len, k_grids)
    segments = segments_of(k_order)
    rows = q_order.reshape(-1, BLOCK)
    parts = int(np.count_nonzero(np.diff(rows, axis=1) != 1) + len(rows)) * descriptor.runs_per_row_mean
    batches = np.array_split(rows, max(1, min(-int(-parts // MAX_PARTS), len(rows))))
    found = [_blocks_of(cover_rows(descriptor, some), segments, len(some)) for some in batches]
    mask_id, masks = join_masks([(batch.mask_id, batch.masks) for batch in found])
    q_array, k_array, indptr, column, id_array = to_int32(
        q_order=q_order,
        k_order=k_order,
        block_indptr=offsets(np.concatenate([batch.count for batch in found])),
        block_column=np.concatenate([batch.column for batch in found]),
        mask_id=mask_id,
    )
    return ReorderedPlan(
        descriptor.q_len,
        descriptor.kv_len,
        descriptor.visible_pairs,
        q_array,
        k_array,
        indptr,
        column,
        id_array,
        masks,
    )


def token_order(length: int, grids: Sequence[PatchedGrid]) -> IntArray:
    """int64: the token in each slot, -1 for none; grids patch after patch, the stretches between them as they are.

    Every grid and every stretch begins at a multiple of BLOCK, so that none of them cuts the blocks of the next. Of
    overlapping grids the earlier one has the token.
    """
    free = np.ones(length, np.bool_)
    regions: list[IntArray] = []
    for patched in grids:
        tokens, _ = patch_order(length, patched)
        regions.append(tokens[free[tokens]])
        free[patched.grid.start : patched.grid.stop] = False
    rest = np.flatnonzero(free)
    regions += np.split(rest, np.flatnonzero(np.diff(rest) != 1) + 1)
    regions = sorted((region for region in regions if len(region)), key=lambda region: int(region.min()))
    padded = [np.append(region, np.full(-len(region) % BLOCK, -1)) for region in regions]
    return np.concatenate(padded) if padded else np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Tokens [start, stop) in consecutive slots from `slot` on; ascending, every token in one. num_slots: of all."""

    start: IntArray
    stop: IntArray
    slot: IntArray
    num_slots: int


def segments_of(order: IntArray) -> Segments:
    """The maximal stretches of consecutive tokens in consecutive slots."""
    held = order >= 0
    head = held.copy()
    head[1:] &= order[1:] != order[:-1] + 1
    slot = np.flatnonzero(head)
    ends = np.append(np.flatnonzero(head | ~held), len(order))
    size = ends[np.searchsorted(ends, slot, side="right")] - slot
    by_token = np.argsort(order[slot])
    slot, size = slot[by_token], size[by_token]
    return Segments(order[slot], order[slot] + size, slot, len(order))


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Pieces of intervals of keys in slots: `size` slots from `slot` on of a q tile, the keys from the place `place` on."""

    tile: IntArray
    place: IntArray
    slot: IntArray
    size: IntArray

    def take(self, chosen: IntArray | BoolArray) -> Moved:
        return Moved(self.tile[chosen], self.place[chosen], self.slot[chosen], self.size[chosen])


def move(start: IntArray, stop: IntArray, stride: int, segments: Segments) -> Moved:
    """Intervals [start, stop) of places (see Coverage), cut where the keys do not lie in consecutive slots."""
    tile = start // stride
    lo, hi = start - tile * stride, stop - tile * stride
    first = np.searchsorted(segments.stop, lo, side="right")
    last = np.searchsorted(segments.start, hi, side="left")
    owner, segment = spread(first, last - first)
    begin = np.maximum(lo[owner], segments.start[segment])
    size = np.minimum(hi[owner], segments.stop[segment]) - begin
    slot = segments.slot[segment] + begin - segments.start[segment]
    return Moved(tile[owner], tile[owner] * stride + begin, slot, size)


def visited_blocks(rows: RowCoverage, segments: Segments, block: int) -> tuple[IntArray, BoolArray, Moved]:
    """(blocks, whether full, seen pieces): block c of q tile t is the number t * (num_slots // block + 1) + c; ascending."""
    coverage = rows.coverage
    seen = move(coverage.seen_start, coverage.seen_stop, coverage.stride, segments)
    always = move(coverage.always_start, coverage.always_stop, coverage.stride, segments)
    per_tile = segments.num_slots // block + 1
    begin = seen.slot // block
    _, visited = spread(seen.tile * per_tile + begin, (seen.slot + seen.size - 1) // block + 1 - begin)
    at = always.tile * per_tile * block + always.slot
    start, stop = merge_intervals(at, at + always.size)
    first = -(-start // block)
    _, full = spread(first, np.maximum(stop // block - first, 0))
    blocks = np.unique(visited)
    return blocks, np.isin(blocks, full, assume_unique=True), seen


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The blocks of some q tiles: how many each has, and those, as in ReorderedPlan, with masks of their own."""

    count: IntArray
    column: IntArray
    mask_id: IntArray
    masks: UInt32Array


def _blocks_of(rows: RowCoverage, segments: Segments, num_tiles: int) -> _Blocks:
    blocks, full, seen = visited_blocks(rows, segments, BLOCK)
    per_tile = segments.num_slots // BLOCK + 1
    tile, column = np.divmod(blocks, per_tile)
    partial = blocks[~full]
    pieces = _cut_at_words(seen)
    at = pieces.tile * per_tile + pieces.slot // BLOCK
    number = np.minimum(np.searchsorted(partial, at), max(len(partial) - 1, 0))
    tested = partial[number] == at if len(partial) else np.zeros(len(at), np.bool_)
    pieces, number = pieces.take(tested), number[tested]
    order = np.argsort(pieces.place)
    pieces, number = pieces.take(order), number[order]
    chunks = Chunks(pieces.place, pieces.place + pieces.size, number, pieces.slot % BLOCK)
    mask, masks = tile_masks(rows, chunks, len(partial), BLOCK, BLOCK)
    mask_id = np.full(len(blocks), -1, np.int64)
    mask_id[~full] = mask
    return _Blocks(np.bincount(tile, minlength=num_tiles), column, mask_id, masks)


def _cut_at_words(pieces: Moved) -> Moved:
    """The pieces cut at multiples of WORD slots."""
    first = pieces.slot // WORD
    owner, word = spread(first, (pieces.slot + pieces.size - 1) // WORD + 1 - first)
    slot = np.maximum(pieces.slot[owner], word * WORD)
    size = np.minimum((pieces.slot + pieces.size)[owner], (word + 1) * WORD) - slot
    return Moved(pieces.tile[owner], pieces.place[owner] + slot - pieces.slot[owner], slot, size)
