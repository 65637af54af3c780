"""Tiles of either direction, cut from the blocks of a ReorderedPlan: what a kernel of row tiles visits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray, offsets
from compilemask.plan.packed_plan import UInt32Array
from compilemask.plan.packing import order_tiles
from compilemask.plan.planner import to_int32
from compilemask.plan.reordered_plan import BLOCK, WORD, ReorderedPlan
from compilemask.plan.tile_plan import Int32Array

_FULL, _EMPTY = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class ReorderedTiles:
    """Tiles of block_m x block_n slots; int32 arrays, C-contiguous. Rows are queries and columns keys, or the other way round.

    Row tile t is the slots [t*block_m, (t+1)*block_m). tile_order, num_heavy: as in PackedPlan. full_indptr, full_start,
    full_count: as in TilePlan. bit_indptr[num_tiles+1]: tile t's partial tiles are bit_indptr[t]:bit_indptr[t+1], which begin
    at column bit_start and are block_n wide, with the cells masks[bit_mask], uint32[num_masks, block_m, block_n // 32], as in
    ReorderedPlan. Columns in no tile are hidden from all rows of it. Full tiles may have rows or columns that hold no query.
    """

    num_rows: int
    num_columns: int
    block_m: int
    block_n: int
    num_heavy: int
    tile_order: Int32Array
    full_indptr: Int32Array
    full_start: Int32Array
    full_count: Int32Array
    bit_indptr: Int32Array
    bit_start: Int32Array
    bit_mask: Int32Array
    masks: UInt32Array

    @property
    def num_tiles(self) -> int:
        """Row tiles."""
        return len(self.tile_order)

    @property
    def num_full(self) -> int:
        """Full tiles of columns visited, over all row tiles."""
        return int(self.full_count.sum(dtype=np.int64))

    @property
    def num_partial(self) -> int:
        """Partial ones."""
        return len(self.bit_mask)


def cuts_into(block_m: int, block_n: int) -> bool:
    """Whether blocks can be cut into tiles of this size."""
    return BLOCK % block_m == BLOCK % block_n == block_n % WORD == 0


def cut_tiles(plan: ReorderedPlan, block_m: int, block_n: int, *, transposed: bool = False) -> ReorderedTiles:
    """The tiles of a plan; transposed: rows are keys. Raises ValueError for sizes that do not cut blocks without rest."""
    if not cuts_into(block_m, block_n):
        raise ValueError(f"tiles of {block_m} x {block_n} do not cut blocks of {BLOCK} into words of {WORD} columns")
    kinds, masks = _cut_masks(plan.masks, block_m, block_n, transposed)
    row_block = np.repeat(np.arange(len(plan.block_indptr) - 1), np.diff(plan.block_indptr))
    column_block = plan.block_column.astype(np.int64)
    num_rows, num_columns = len(plan.q_order), len(plan.k_order)
    if transposed:
        row_block, column_block, num_rows, num_columns = column_block, row_block, num_columns, num_rows
    high, wide = kinds.shape[1:]
    # entry [block, r, c]
    tile = np.broadcast_to((row_block * high)[:, None, None] + np.arange(high)[:, None], (len(row_block), high, wide))
    start = (column_block[:, None, None] * wide + np.arange(wide)) * block_n
    start = np.broadcast_to(start, tile.shape)
    kind = kinds[plan.mask_id]  # -1: the last entry, which is full
    order = np.lexsort((start.ravel(), tile.ravel()))
    tile, start, kind = tile.ravel()[order], start.ravel()[order], kind.ravel()[order]
    num_tiles = num_rows // block_m
    full, partial = kind == _FULL, kind >= 0
    work = np.bincount(tile[kind != _EMPTY], minlength=num_tiles)
    tile_order, num_heavy = order_tiles(work)
    head = _heads(tile[full], start[full], block_n)
    order_array, full_indptr, full_start, full_count, bit_indptr, bit_start, bit_mask = to_int32(
        tile_order=tile_order,
        full_indptr=offsets(np.bincount(tile[full][head], minlength=num_tiles)),
        full_start=start[full][head],
        full_count=np.diff(np.append(np.flatnonzero(head), len(head))),
        bit_indptr=offsets(np.bincount(tile[partial], minlength=num_tiles)),
        bit_start=start[partial],
        bit_mask=kind[partial],
    )
    return ReorderedTiles(
        num_rows,
        num_columns,
        block_m,
        block_n,
        num_heavy,
        order_array,
        full_indptr,
        full_start,
        full_count,
        bit_indptr,
        bit_start,
        bit_mask,
        masks,
    )


def _heads(tile: IntArray, start: IntArray, block_n: int) -> BoolArray:
    """Whether each full tile begins a range: the one before belongs to another row tile or does not touch it."""
    head = np.ones(len(tile), np.bool_)
    head[1:] = (tile[1:] != tile[:-1]) | (start[1:] != start[:-1] + block_n)
    return head


def _cut_masks(masks: UInt32Array, block_m: int, block_n: int, transposed: bool) -> tuple[IntArray, UInt32Array]:
    """(kinds, masks of tiles): kinds[m, r, c] is the mask of tile (r, c) of block mask m, or _FULL or _EMPTY.

    The last kinds are of a full block.
    """
    high, wide = BLOCK // block_m, BLOCK // block_n
    cells = np.unpackbits(np.ascontiguousarray(masks, "<u4").view(np.uint8), axis=-1, bitorder="little")
    if transposed:
        cells = cells.swapaxes(1, 2)
    cells = cells.reshape(-1, high, block_m, wide, block_n).swapaxes(2, 3).reshape(-1, block_m, block_n)
    cells = np.concatenate([cells, np.ones((high * wide, block_m, block_n), np.uint8)])
    kind = np.where(cells.all((1, 2)), _FULL, _EMPTY)
    partial = np.flatnonzero(cells.any((1, 2)) & (kind != _FULL))
    words = np.packbits(cells[partial], axis=-1, bitorder="little").view("<u4").astype(np.uint32, copy=False)
    numbers: dict[bytes, int] = {}
    kind[partial] = [numbers.setdefault(one.tobytes(), len(numbers)) for one in words]
    _, first = np.unique(kind[partial], return_index=True)
    return kind.reshape(-1, high, wide), np.ascontiguousarray(words[first])
