"""Descriptor and tiling of its queries -> PackedPlan, in O((runs + chunks + parts) * log)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compilemask.arguments import as_index, show
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.plan.coverage import Coverage
from compilemask.plan.layout import full_ranges, greedy_stretches
from compilemask.plan.packed_plan import PackedPlan, UInt32Array
from compilemask.plan.planner import check_block, check_descriptor, to_int32
from compilemask.plan.row_coverage import RowCoverage, cover_rows
from compilemask.plan.row_tiling import PatchedGrid, tile_rows
from compilemask.plan.tile_bits import Chunks, join_masks, tile_masks

CHUNKS = (1, 2, 4, 8, 16, 32)
HEAVY = 2  # times the median work
MAX_PARTS = 2**19  # parts of trapezoids handled at a time


def plan_packed(
    descriptor: MaskDescriptor, block_m: int, block_n: int, chunk: int = 16, grids: Sequence[PatchedGrid] = ()
) -> PackedPlan:
    """The fewest kv tiles of block_n columns that chunks of `chunk` keys with free start can be packed into.

    grids: whose patches the q tiles are; without any, q tiles are consecutive rows. The plan is exact whatever they
    say. Per q tile each chunk starts at the first visible key not yet covered, which no cover by such chunks beats;
    chunks that all queries see are packed first, so at most one tile mixes them with others.
    Raises ValueError for blocks, chunks and patches that do not fit, and for plans that do not fit int32.
    """
    check_descriptor("plan_packed", descriptor)
    block_m, block_n = check_block("block_m", block_m), check_block("block_n", block_n)
    chunk = check_chunk(block_n, chunk)
    row_index = tile_rows(descriptor.q_len, block_m, grids)
    packed = [_pack_tiles(descriptor, some, block_n, chunk) for some in _batches(descriptor, row_index)]
    work = np.concatenate([batch.work for batch in packed])
    mask_id, masks = join_masks([(batch.mask_id, batch.masks) for batch in packed])
    order, num_heavy = order_tiles(work)
    row_array, order_array, indptr_array, chunk_array, id_array = to_int32(
        row_index=row_index.ravel(),
        tile_order=order,
        kv_indptr=offsets(work),
        chunk_start=np.concatenate([batch.chunk_start for batch in packed]),
        mask_id=mask_id,
    )
    return PackedPlan(
        descriptor.q_len,
        descriptor.kv_len,
        block_m,
        block_n,
        chunk,
        descriptor.visible_pairs,
        num_heavy,
        row_array,
        order_array,
        indptr_array,
        chunk_array,
        id_array,
        masks,
    )


def count_tiles(coverage: Coverage, num_q_tiles: int, block_n: int, chunk: int) -> tuple[IntArray, IntArray]:
    """(kv tiles, full ones among them) of each q tile, as plan_packed would pack them, without the chunks."""
    start, stop, _ = greedy_stretches(coverage, chunk)
    stretch, _, full = full_ranges(coverage, chunk, start, stop)
    q_tile = start // coverage.stride
    chunks = np.bincount(q_tile, -((start - stop) // chunk), num_q_tiles).astype(np.int64)
    fulls = np.bincount(q_tile[stretch], full, num_q_tiles).astype(np.int64)
    per_tile = block_n // chunk
    return -(-chunks // per_tile), fulls // per_tile


def order_tiles(work: IntArray) -> tuple[IntArray, int]:
    """(order, num_heavy): q tiles with more than twice the median work first, heaviest first; the others as they are."""
    heavy = work > HEAVY * np.median(work) if len(work) else np.zeros(0, np.bool_)
    order = np.argsort(np.where(heavy, -work, 0), kind="stable")
    return order, int(np.count_nonzero(heavy))


def check_chunk(block_n: int, chunk: int) -> int:
    """The chunk as an int; ValueError unless chunks fill a kv tile, and a mask's words, without rest."""
    wanted = f"one of {', '.join(map(str, CHUNKS))}"
    number = as_index(chunk, "chunk", wanted)
    if number not in CHUNKS:
        raise ValueError(f"chunk must be {wanted}, got {show(number)}")
    if block_n % 32:
        raise ValueError(f"block_n of a packed plan must be a multiple of 32, got {block_n}")
    return number


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """Some q tiles: how many kv tiles each has, and those, as in PackedPlan, with masks of their own."""

    work: IntArray
    chunk_start: IntArray
    mask_id: IntArray
    masks: UInt32Array


def _batches(descriptor: MaskDescriptor, row_index: IntArray) -> list[IntArray]:
    """The q tiles in groups of about MAX_PARTS parts, to bound the memory; at least one group."""
    segments = int(np.count_nonzero(np.diff(row_index, axis=1) != 1)) + len(row_index)
    parts = segments * descriptor.runs_per_row_mean
    return np.array_split(row_index, max(1, min(-int(-parts // MAX_PARTS), len(row_index))))


def _pack_tiles(descriptor: MaskDescriptor, row_index: IntArray, block_n: int, chunk: int) -> _Packed:
    rows = cover_rows(descriptor, row_index)
    chunks = _cover(rows.coverage, chunk)
    packing = _pack(chunks, len(row_index), block_n // chunk)
    chunk_start = np.full((packing.num_tiles, block_n // chunk), -1, np.int64)
    chunk_start[packing.tile, packing.position] = chunks.start % rows.coverage.stride
    mask_id, masks = _masks(rows, chunks, packing, row_index.shape[1], block_n)
    return _Packed(np.diff(packing.indptr), chunk_start, mask_id, masks)


@dataclass(frozen=True, slots=True, eq=False)
class _Cover:
    """Chunks of all q tiles, ascending: places [start, stop), and whether all rows of the q tile see all of it."""

    width: int
    start: IntArray
    stop: IntArray
    q_tile: IntArray
    full: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Packing:
    """Where each chunk went: kv tile `tile`, chunk number `position` in it; q tile t has indptr[t]:indptr[t+1]."""

    tile: IntArray
    position: IntArray
    indptr: IntArray
    full: BoolArray  # of each kv tile

    @property
    def num_tiles(self) -> int:
        return len(self.full)


def _cover(coverage: Coverage, chunk: int) -> _Cover:
    start, stop, _ = greedy_stretches(coverage, chunk)
    stretch, number = spread(np.zeros(len(start), np.int64), -((start - stop) // chunk))
    place = start[stretch] + number * chunk
    q_tile = place // coverage.stride
    border = (q_tile + 1) * coverage.stride - 1
    before = np.searchsorted(coverage.always_start, place, side="right")
    always_stop = np.append(0, coverage.always_stop)[before]  # of the last interval that starts at or before the chunk
    return _Cover(chunk, place, np.minimum(place + chunk, border), q_tile, always_stop >= place + chunk)


def _pack(chunks: _Cover, num_q_tiles: int, per_tile: int) -> _Packing:
    """Chunks into tiles: per q tile the full ones first, then the others, both ascending."""
    count = np.bincount(chunks.q_tile, minlength=num_q_tiles)
    fulls = np.bincount(chunks.q_tile, chunks.full, num_q_tiles).astype(np.int64)
    tiles = -(-count // per_tile)
    indptr = offsets(tiles)
    full_before: IntArray = np.cumsum(chunks.full) - chunks.full
    place = np.arange(len(chunks.full)) - offsets(count)[chunks.q_tile]  # among the chunks of the q tile
    full_place = full_before - offsets(fulls)[chunks.q_tile]
    rank = np.where(chunks.full, full_place, fulls[chunks.q_tile] + place - full_place)
    owner, number = spread(np.zeros(num_q_tiles, np.int64), tiles)
    return _Packing(
        indptr[chunks.q_tile] + rank // per_tile, rank % per_tile, indptr, number < (fulls // per_tile)[owner]
    )


def _masks(
    rows: RowCoverage, chunks: _Cover, packing: _Packing, block_m: int, block_n: int
) -> tuple[IntArray, UInt32Array]:
    """(mask_id, masks) of the plan."""
    partial = ~packing.full[packing.tile]
    number = np.cumsum(~packing.full) - 1  # of each partial tile among them
    mask, masks = tile_masks(
        rows,
        Chunks(
            chunks.start[partial],
            chunks.stop[partial],
            number[packing.tile[partial]],
            packing.position[partial] * chunks.width,
        ),
        int(np.count_nonzero(~packing.full)),
        block_m,
        block_n,
    )
    mask_id = np.full(packing.num_tiles, -1, np.int64)
    mask_id[~packing.full] = mask
    return mask_id, masks
