"""Bit patterns of partial tiles, each different one built once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from compilemask.geometry.projection import hull
from compilemask.geometry.ragged import IntArray, offsets, spread
from compilemask.plan.packed_plan import UInt32Array
from compilemask.plan.row_coverage import RowCoverage

MAX_CELL_ROWS = 2**21  # rows of patches expanded at a time, to bound the memory


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """Chunks of partial tiles: places [start, stop), ascending, disjoint; see Coverage.

    tile: the partial tile of each, column: of the tile, where it begins; none reaches across a multiple of 32 columns.
    """

    start: IntArray
    stop: IntArray
    tile: IntArray
    column: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Patches:
    """What parts show in chunks: rows slot..slot+rows of a tile, `width` columns from `column` on, ends relative to them.

    lo, hi: the ends in the first row, lo_slope, hi_slope: their steps from row to row.
    """

    slot: IntArray
    rows: IntArray
    column: IntArray
    width: IntArray
    lo: IntArray
    lo_slope: IntArray
    hi: IntArray
    hi_slope: IntArray

    def take(self, index: IntArray) -> _Patches:
        return _Patches(*(getattr(self, name)[index] for name in _Patches.__slots__))


def tile_masks(
    rows: RowCoverage, chunks: Chunks, num_tiles: int, block_m: int, block_n: int
) -> tuple[IntArray, UInt32Array]:
    """(number of the mask of each partial tile, masks uint32[num_masks, block_m, block_n // 32], all different).

    Tiles that look alike relative to their chunks are recognised before any bit is drawn; the drawn ones are compared
    bit by bit. O(parts that cross the chunks * log + bits of the different ones).
    """
    patches, tile = _patches(rows, chunks)
    indptr = offsets(np.bincount(tile, minlength=num_tiles))
    outline = np.stack([getattr(patches, name) for name in _Patches.__slots__], axis=1)
    look, first = _number_lists(outline, indptr)
    drawn = _draw(patches, indptr, first, block_m, block_n)
    same, kept = _number_lists(drawn.reshape(len(drawn), block_m * (block_n // 32)), np.arange(len(drawn) + 1))
    return same[look], np.ascontiguousarray(drawn[kept])


def join_masks(parts: list[tuple[IntArray, UInt32Array]]) -> tuple[IntArray, UInt32Array]:
    """(mask_id, masks) of several lists of kv tiles end to end, equal masks once; mask_id -1 stays."""
    if len(parts) == 1:
        return parts[0]
    start = offsets(np.array([len(masks) for _, masks in parts], np.int64))
    masks = np.concatenate([masks for _, masks in parts])
    same, kept = _number_lists(masks.reshape(len(masks), masks.shape[1] * masks.shape[2]), np.arange(len(masks) + 1))
    mask_id = [np.where(ids < 0, -1, ids + first) for (ids, _), first in zip(parts, start[:-1], strict=True)]
    joined = np.append(same, -1)[np.concatenate(mask_id)]
    return joined, np.ascontiguousarray(masks[kept])


def _patches(rows: RowCoverage, chunks: Chunks) -> tuple[_Patches, IntArray]:
    """(patches, their tile): one for each part and chunk it crosses, ordered by tile, column, slot."""
    coverage = rows.coverage
    first = np.searchsorted(chunks.stop, coverage.span_start, side="right")
    last = np.searchsorted(chunks.start, coverage.span_stop, side="left")
    part, chunk = spread(first, np.maximum(last - first, 0))
    shapes = coverage.shapes
    row, count = shapes.q_start, shapes.q_stop - shapes.q_start
    # relative to the place, which is the column plus the same number for the whole q tile
    shift = coverage.span_start - hull(shapes)[0]
    origin = chunks.start[chunk]
    lo = (shapes.lo(row) + shift)[part] - origin
    hi = (shapes.hi(row) + shift)[part] - origin
    lo_slope, hi_slope, last_row = shapes.lo_slope[part], shapes.hi_slope[part], count[part] - 1
    # ends outside of the chunk in all rows look alike, wherever they are
    over = np.maximum(lo, lo + lo_slope * last_row) <= 0
    lo[over], lo_slope[over] = 0, 0
    width = (chunks.stop - chunks.start)[chunk]
    beyond = np.minimum(hi, hi + hi_slope * last_row) >= width
    hi[beyond], hi_slope[beyond] = width[beyond], 0
    tile, slot, column = chunks.tile[chunk], rows.slot[part], chunks.column[chunk]
    order = np.lexsort((slot, column, tile))
    patches = _Patches(slot, count[part], column, width, lo, lo_slope, hi, hi_slope)
    return patches.take(order), tile[order]


def _number_lists(items: IntArray | UInt32Array, indptr: IntArray) -> tuple[IntArray, IntArray]:
    """(number of each list among the different ones, the first list of each number): lists of rows, compared exactly."""
    width = items.dtype.itemsize * items.shape[1]
    view = memoryview(np.ascontiguousarray(items).tobytes())
    ends = (indptr * width).tolist()
    numbers: dict[bytes, int] = {}
    number = [numbers.setdefault(bytes(view[a:b]), len(numbers)) for a, b in pairwise(ends)]
    found = np.array(number, np.int64)
    _, first = np.unique(found, return_index=True)
    return found, first


def _draw(patches: _Patches, indptr: IntArray, tiles: IntArray, block_m: int, block_n: int) -> UInt32Array:
    """uint32[len(tiles), block_m, block_n // 32]: the bits of the given tiles."""
    words = block_n // 32
    masks = np.zeros((len(tiles), block_m, words), np.uint32)
    flat = masks.reshape(-1)
    owner, patch = spread(indptr[tiles], np.diff(indptr)[tiles])
    ends = np.cumsum(patches.rows[patch])
    begin = 0
    while begin < len(patch):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + MAX_CELL_ROWS, side="right")), begin + 1)
        some = patches.take(patch[begin:end])
        item, step = spread(np.zeros(end - begin, np.int64), some.rows)
        width = some.width[item]
        lo = np.clip(some.lo[item] + some.lo_slope[item] * step, 0, width)
        hi = np.clip(some.hi[item] + some.hi_slope[item] * step, 0, width)
        bits = (_below(hi) & ~_below(lo)) << (some.column[item] % 32)
        word = (owner[begin:end][item] * block_m + some.slot[item] + step) * words + some.column[item] // 32
        np.bitwise_or.at(flat, word, bits.astype(np.uint32))
        begin = end
    return masks


def _below(end: IntArray) -> IntArray:
    """Integers with the bits 0 to end - 1 set; end at most 32."""
    return (np.int64(1) << end) - 1
