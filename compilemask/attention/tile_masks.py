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

from compilemask.geometry.ragged import offsets, spread
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
    """Spell out the partial tiles of `plan`; time and memory follow (distinct partial tiles) x block_m, in bounded chunks."""
    runs = _local_runs(plan)
    kind, models = _kinds(runs)
    model_counts = np.zeros(len(models), np.int64)
    distinct = _DistinctRows(plan.block_m)
    model_vectors: list[Int64Array] = []
    for first, last in _chunks(np.diff(runs.indptr)[models], plan.block_m):
        tiles, count = _spell(runs, models[first:last], plan.block_m, plan.block_n)
        model_counts[first:last] = count
        model_vectors.append(distinct.add(tiles))
    vectors_of_models = np.concatenate(model_vectors) if model_vectors else np.zeros(0, np.int64)
    counts = model_counts[kind]
    vector = vectors_of_models[spread(offsets(model_counts)[:-1][kind], counts)[1]]
    indptr = offsets(counts)
    is_gap = counts > 1
    gap_tiles = np.flatnonzero(is_gap)
    return TileMasks(
        ends=distinct.rows(),
        interval_indptr=_indptr(runs.owner[~is_gap], plan.num_q_tiles),
        interval_start=_int32(plan.partial_start[~is_gap]),
        interval_ends=_int32(vector[indptr[:-1][~is_gap]]),
        gap_indptr=_indptr(runs.owner[is_gap], plan.num_q_tiles),
        gap_start=_int32(plan.partial_start[is_gap]),
        gap_ends_indptr=_int32(offsets(counts[gap_tiles])),
        gap_ends=_int32(vector[np.repeat(is_gap, counts)]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _LocalRuns:
    """The runs of the partial tiles, counted from each tile's first row and column; int64.

    Tile p belongs to q tile owner[p], has width[p] columns and the runs indptr[p]:indptr[p+1] of row_start, row_stop and ends,
    [lo slope, lo offset, hi slope, hi offset] each. Ends that lie outside for all rows of a run are 0 or the width.
    """

    owner: Int64Array
    width: Int64Array
    indptr: Int64Array
    row_start: Int64Array
    row_stop: Int64Array
    ends: Int64Array


def _local_runs(plan: TilePlan) -> _LocalRuns:
    owner = np.repeat(np.arange(plan.num_q_tiles, dtype=np.int64), np.diff(plan.partial_indptr))
    start, stop = plan.partial_start.astype(np.int64), plan.partial_stop.astype(np.int64)
    indptr = plan.partial_run_indptr.astype(np.int64)
    tile = np.repeat(np.arange(plan.num_partial), np.diff(indptr))
    run, top, width = plan.partial_run, owner[tile] * plan.block_m, (stop - start)[tile]
    row_start = np.maximum(plan.run_q_start[run] - top, 0)
    row_stop = np.minimum(plan.run_q_stop[run] - top, np.minimum(plan.block_m, plan.q_len - top))
    row_stop = np.maximum(row_stop, row_start)
    ends = np.empty((len(run), 4), np.int64)
    sides = ((plan.run_lo_slope, plan.run_lo_offset), (plan.run_hi_slope, plan.run_hi_offset))
    for side, (slopes, constants) in enumerate(sides):
        slope = slopes[run].astype(np.int64)
        offset = slope * top + constants[run] - start[tile]
        first, last = slope * row_start + offset, slope * (row_stop - 1) + offset
        before, behind = np.maximum(first, last) <= 0, np.minimum(first, last) >= width
        ends[:, 2 * side] = np.where(before | behind, 0, slope)
        ends[:, 2 * side + 1] = np.where(before, 0, np.where(behind, width, offset))
    return _LocalRuns(owner, stop - start, indptr, row_start, row_stop, ends)


def _kinds(runs: _LocalRuns) -> tuple[Int64Array, Int64Array]:
    """(for each tile the number of its kind, for each kind one of its tiles): tiles of equal runs have equal cells."""
    width = np.repeat(runs.width, np.diff(runs.indptr))
    table = np.column_stack([width, runs.row_start, runs.row_stop, runs.ends])
    size, spelled, bounds = table.shape[1] * table.itemsize, table.tobytes(), runs.indptr.tolist()
    number: dict[bytes, int] = {}
    kind = [number.setdefault(spelled[size * a : size * b], len(number)) for a, b in pairwise(bounds)]
    kinds = np.array(kind, np.int64)
    return kinds, np.unique(kinds, return_index=True)[1].astype(np.int64)


def _spell(runs: _LocalRuns, tiles: Int64Array, block_m: int, block_n: int) -> tuple[Int32Array, Int64Array]:
    """The vectors of some tiles, tile after tile, and how many each has (1: an interval tile)."""
    tile, row, lo, hi = _visible(runs, tiles)
    cell_row = tile * block_m + row
    if (cell_row[1:] > cell_row[:-1]).all():
        # No row has two intervals, as under most masks of documents; and they are in order.
        ends = np.zeros((len(tiles), block_m), np.int32)
        ends[tile, row] = lo + ((hi - lo) << LENGTH_SHIFT)
        return ends, np.ones(len(tiles), np.int64)
    order = np.lexsort((lo, cell_row))
    tile, row, lo, hi, cell_row = (x[order] for x in (tile, row, lo, hi, cell_row))
    is_head = np.ones(len(tile), bool)
    is_head[1:] = cell_row[1:] != cell_row[:-1]
    heads = np.flatnonzero(is_head)
    rank = np.arange(len(tile)) - np.repeat(heads, np.diff(np.append(heads, len(tile))))
    most = np.zeros(len(tiles), np.int64)
    np.maximum.at(most, tile, rank + 1)
    count = np.where(most > 1, np.maximum(most + 1, MIN_GAPS), 1)
    base = offsets(count)
    out_lo = np.zeros((base[-1], block_m), np.int32)
    out_hi = np.zeros((base[-1], block_m), np.int32)

    simple = most[tile] <= 1
    out_lo[base[tile[simple]], row[simple]] = lo[simple]
    out_hi[base[tile[simple]], row[simple]] = hi[simple]
    out_hi[base[:-1][most > 1]] = block_n
    many = ~simple
    slot, row, lo, hi = base[tile[many]] + rank[many], row[many], lo[many], hi[many]
    out_lo[slot + 1, row] = hi
    out_hi[slot + 1, row] = block_n
    out_hi[slot, row] = lo
    return out_lo + ((out_hi - out_lo) << LENGTH_SHIFT), count


def _visible(runs: _LocalRuns, tiles: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """The visible intervals of some tiles, by place of the tile among them: (place, row in tile, lo, hi).

    lo and hi count from the tile's first column and are clipped to it.
    """
    place, run = spread(runs.indptr[tiles], np.diff(runs.indptr)[tiles])
    which, row = spread(runs.row_start[run], (runs.row_stop - runs.row_start)[run])
    place, ends = place[which], runs.ends[run[which]]
    width = runs.width[tiles][place]
    lo = np.clip(ends[:, 0] * row + ends[:, 1], 0, width)
    hi = np.clip(ends[:, 2] * row + ends[:, 3], 0, width)
    keep = lo < hi
    return place[keep], row[keep], lo[keep], hi[keep]


def _chunks(num_runs: Int64Array, block_m: int) -> Iterator[tuple[int, int]]:
    """Ranges of tiles with a bounded number of (run, row) entries each. num_runs: of each tile."""
    chunk = np.cumsum((num_runs + 1) * block_m) // _ROWS_PER_CHUNK
    borders = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(num_runs)] if len(num_runs) else []
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
