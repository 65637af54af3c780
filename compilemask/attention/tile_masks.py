"""The cells of partial tiles, spelled out row by row: what a kernel reads instead of affine runs.

A piece of a RunSet is a stretch of rows in which every interval is affine, so one kv tile can be crossed by dozens of runs
of which each row has one. Reading them run by run inside the kernel costs more than the tile's matrix products. Here each
partial tile becomes a few vectors with one packed interval for each of its rows, relative to the tile's first column; equal
vectors are stored once (along a diagonal all tiles have the same ones), so the table stays small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from compilemask.plan.tile_plan import TilePlan

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

LENGTH_SHIFT = 16
MIN_GAPS = 4
_ROWS_PER_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class TileMasks:
    """The partial tiles of a plan in two lists by what their rows need; int32 arrays, C-contiguous.

    ends[num_vectors, block_m]: row i of a tile has the columns [lo, lo + length) of it, packed as lo + (length << 16).
    Interval tiles: every row sees at most one interval. q tile t has interval_indptr[t]:interval_indptr[t+1] of
    interval_start (first column) and interval_ends (the row of `ends` that holds what each row sees).
    Gap tiles: some row sees several intervals. q tile t has gap_indptr[t]:gap_indptr[t+1] of gap_start; tile g has
    gap_ends_indptr[g]:gap_ends_indptr[g+1] of gap_ends, rows of `ends` that together hold what each row does NOT see; at
    least MIN_GAPS of them, filled up with empty ones, so that most plans have the same number for every tile.
    """

    ends: Int32Array
    interval_indptr: Int32Array
    interval_start: Int32Array
    interval_ends: Int32Array
    gap_indptr: Int32Array
    gap_start: Int32Array
    gap_ends_indptr: Int32Array
    gap_ends: Int32Array


def tile_masks(plan: TilePlan) -> TileMasks:
    """Spell out the partial tiles of `plan`; time and memory follow (partial tiles) x block_m, in bounded chunks."""
    owner = np.repeat(np.arange(plan.num_q_tiles, dtype=np.int64), np.diff(plan.partial_indptr))
    counts = np.zeros(plan.num_partial, np.int64)
    distinct = _DistinctRows(plan.block_m)
    vectors: list[Int64Array] = []
    for first, last in _chunks(plan):
        tiles, count = _spell(plan, owner, first, last)
        counts[first:last] = count
        vectors.append(distinct.add(tiles))
    vector = np.concatenate(vectors) if vectors else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    is_gap = counts > 1
    gap_tiles = np.flatnonzero(is_gap)
    return TileMasks(
        ends=distinct.rows(),
        interval_indptr=_indptr(owner[~is_gap], plan.num_q_tiles),
        interval_start=_int32(plan.partial_start[~is_gap]),
        interval_ends=_int32(vector[indptr[:-1][~is_gap]]),
        gap_indptr=_indptr(owner[is_gap], plan.num_q_tiles),
        gap_start=_int32(plan.partial_start[is_gap]),
        gap_ends_indptr=_int32(np.concatenate([[0], np.cumsum(counts[gap_tiles])])),
        gap_ends=_int32(vector[np.repeat(is_gap, counts)]),
    )


def _spell(plan: TilePlan, owner: Int64Array, first: int, last: int) -> tuple[Int32Array, Int64Array]:
    """Partial tiles [first, last): their vectors, tile after tile, and how many each has (1: an interval tile)."""
    tile, row, lo, hi = _visible(plan, owner, first, last)
    num_tiles = last - first
    cell_row = tile * plan.block_m + row
    is_head = np.ones(len(tile), bool)
    is_head[1:] = cell_row[1:] != cell_row[:-1]
    heads = np.flatnonzero(is_head)
    rank = np.arange(len(tile)) - np.repeat(heads, np.diff(np.append(heads, len(tile))))
    most = np.zeros(num_tiles, np.int64)
    np.maximum.at(most, tile, rank + 1)
    count = np.where(most > 1, np.maximum(most + 1, MIN_GAPS), 1)
    base = np.concatenate([[0], np.cumsum(count)])
    out_lo = np.zeros((base[-1], plan.block_m), np.int32)
    out_hi = np.zeros((base[-1], plan.block_m), np.int32)

    simple = most[tile] <= 1
    out_lo[base[tile[simple]], row[simple]] = lo[simple]
    out_hi[base[tile[simple]], row[simple]] = hi[simple]
    out_hi[base[:-1][most > 1]] = plan.block_n
    many = ~simple
    slot, row, lo, hi = base[tile[many]] + rank[many], row[many], lo[many], hi[many]
    out_lo[slot + 1, row] = hi
    out_hi[slot + 1, row] = plan.block_n
    out_hi[slot, row] = lo
    return out_lo + ((out_hi - out_lo) << LENGTH_SHIFT), count


def _visible(
    plan: TilePlan, owner: Int64Array, first: int, last: int
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """The visible intervals of partial tiles [first, last), by tile, row, start: (tile - first, row in tile, lo, hi).

    lo and hi count from the tile's first column and are clipped to it.
    """
    indptr = plan.partial_run_indptr.astype(np.int64)
    tile = np.repeat(np.arange(first, last), np.diff(indptr[first : last + 1]))
    run = plan.partial_run[indptr[first] : indptr[last]]
    top = owner[tile] * plan.block_m
    row_start = np.maximum(plan.run_q_start[run], top)
    row_stop = np.minimum(plan.run_q_stop[run], np.minimum(top + plan.block_m, plan.q_len))
    num_rows = np.maximum(row_stop - row_start, 0)
    which = np.repeat(np.arange(len(run)), num_rows)
    within = np.arange(len(which)) - np.repeat(np.cumsum(num_rows) - num_rows, num_rows)
    q, tile, run = row_start[which] + within, tile[which], run[which]
    start, stop = plan.partial_start[tile].astype(np.int64), plan.partial_stop[tile].astype(np.int64)
    lo = np.clip(plan.run_lo_slope[run].astype(np.int64) * q + plan.run_lo_offset[run], start, stop) - start
    hi = np.clip(plan.run_hi_slope[run].astype(np.int64) * q + plan.run_hi_offset[run], start, stop) - start
    keep = lo < hi
    tile, row, lo, hi = tile[keep] - first, (q - owner[tile] * plan.block_m)[keep], lo[keep], hi[keep]
    order = np.lexsort((lo, row, tile))
    return tile[order], row[order], lo[order], hi[order]


def _chunks(plan: TilePlan) -> Iterator[tuple[int, int]]:
    """Ranges of partial tiles with a bounded number of (run, row) entries each."""
    indptr = plan.partial_run_indptr.astype(np.int64)
    cost = (indptr[1:] - indptr[:-1] + 1) * plan.block_m
    chunk = np.cumsum(cost) // _ROWS_PER_CHUNK
    borders = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), plan.num_partial] if plan.num_partial else []
    return pairwise(borders)


class _DistinctRows:
    """Numbers rows of a growing table, equal rows with one number."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._number: dict[bytes, int] = {}

    def add(self, rows: Int32Array) -> Int64Array:
        """The number of each row."""
        number = self._number
        return np.array([number.setdefault(row.tobytes(), len(number)) for row in rows], np.int64)

    def rows(self) -> Int32Array:
        """All distinct rows by number."""
        return np.frombuffer(b"".join(self._number), np.int32).reshape(-1, self._width).copy()


def _indptr(owner: Int64Array, num_q_tiles: int) -> Int32Array:
    return _int32(np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=num_q_tiles))]))


def _int32(values: npt.NDArray[np.integer]) -> Int32Array:
    return np.ascontiguousarray(values, np.int32)
