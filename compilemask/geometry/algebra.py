"""Boolean functions of sets of cells, each one sweep over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compilemask.geometry.canonical import recut
from compilemask.geometry.ragged import BoolArray, IntArray, offsets
from compilemask.geometry.runs import RunSet, Trapezoids, check_magnitudes
from compilemask.geometry.sweep import Slabs, sweep, without_empty_rows
from compilemask.geometry.verdicts import surely_apart, surely_within

Keep = Callable[[BoolArray], BoolArray]

MEMBERSHIPS_AT_ONCE = 2**24
"""Sets times ends of shapes that are looked at together: more are taken in parts, so that memory does not grow with both."""


def normalize(shapes: Trapezoids) -> RunSet:
    """The cells that lie in at least one of the shapes, in canonical form.

    Raises ValueError for rows beyond 2**31 - 1, ends beyond 2**61, and shapes that cut each other into too many parts.
    """
    if _in_rows_of_their_own(shapes):
        check_magnitudes(shapes)
        shapes, _ = without_empty_rows(shapes)
        lone = np.arange(len(shapes) + 1)
        return recut(
            RunSet(
                shapes.q_start,
                shapes.q_stop,
                lone,
                shapes.lo_slope,
                shapes.lo_offset,
                shapes.hi_slope,
                shapes.hi_offset,
            )
        )
    slabs = sweep(shapes, np.zeros(len(shapes), np.int64))
    return _select(slabs, np.cumsum(slabs.opens)[~slabs.tied] > 0)


def _in_rows_of_their_own(shapes: Trapezoids) -> bool:
    """Whether each shape begins below the last row of the one before it, so that there is nothing to sweep."""
    return bool(np.all(shapes.q_start[1:] >= shapes.q_stop[:-1]) and np.all(shapes.q_start <= shapes.q_stop))


def combine(sets: Sequence[RunSet | Trapezoids], keep: Keep) -> RunSet:
    """The cells whose memberships in the sets satisfy `keep`, in canonical form. Shapes of a set may overlap.

    keep: bool[num_sets, n] -> bool[n], a function of each column alone. It must be False where all memberships are
    False: to complement, pass the rectangle that bounds the result as one of the sets.
    """
    if np.any(keep(np.zeros((len(sets), 1), np.bool_))):
        raise ValueError("keep must be False for cells in none of the sets; add a bounding rectangle to the sets")
    shapes = [part.trapezoids() if isinstance(part, RunSet) else part for part in sets]
    owner = np.repeat(np.arange(len(sets)), np.array([len(part) for part in shapes], np.int64))
    slabs = sweep(Trapezoids.concat(shapes), owner)
    disjoint = all(isinstance(part, RunSet) for part in sets)
    kept = [np.asarray(keep(inside), np.bool_) for inside in _memberships(slabs, len(sets), disjoint)]
    return _select(slabs, np.concatenate([np.zeros(0, np.bool_), *kept]))


def _memberships(slabs: Slabs, num_sets: int, disjoint: bool) -> Iterator[BoolArray]:
    """bool[num_sets, gaps]: in which sets each gap between two ends lies, some slabs at a time."""
    depth: type[np.signedinteger[Any]] = np.int8 if disjoint else np.int32  # of overlaps
    steps = np.arange(0, len(slabs.opens), max(1, MEMBERSHIPS_AT_ONCE // max(1, num_sets)))
    cuts = np.append(np.unique(slabs.indptr[np.searchsorted(slabs.indptr, steps)]), len(slabs.opens))
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        opens = np.zeros((num_sets, stop - start), depth)
        opens[slabs.owner[start:stop], np.arange(stop - start)] = slabs.opens[start:stop]
        yield np.cumsum(opens, axis=1, dtype=depth)[:, ~slabs.tied[start:stop]] > 0


def _select(slabs: Slabs, kept: BoolArray) -> RunSet:
    """The canonical set of the gaps that are kept: gap i follows the i-th end that is not tied to the next one.

    The gap after the last end of a slab is outside of every shape, so it is never kept: slabs cannot run together.
    """
    slab = np.repeat(np.arange(len(slabs.start)), np.diff(slabs.indptr))[~slabs.tied]
    slope, offset = slabs.slope[~slabs.tied], slabs.offset[~slabs.tied]
    before = np.zeros(len(kept), np.bool_)
    before[1:] = kept[:-1]
    lo = np.flatnonzero(kept & ~before)
    hi = np.flatnonzero(before & ~kept)
    count = np.bincount(slab[lo], minlength=len(slabs.start))
    used = count > 0
    return recut(
        RunSet(slabs.start[used], slabs.stop[used], offsets(count[used]), slope[lo], offset[lo], slope[hi], offset[hi])
    )


def union(a: RunSet, b: RunSet) -> RunSet:
    """Cells in a or b."""
    if a.num_pieces == 0 or b.num_pieces == 0:
        return a if b.num_pieces == 0 else b
    return combine([a, b], lambda inside: inside[0] | inside[1])


def intersection(a: RunSet | Trapezoids, b: RunSet | Trapezoids) -> RunSet:
    """Cells in both a and b, each a set or shapes that may overlap."""
    if surely_apart(_shapes(a), _shapes(b)):
        return RunSet.empty()
    return combine([a, b], lambda inside: inside[0] & inside[1])


def difference(a: RunSet | Trapezoids, b: RunSet | Trapezoids) -> RunSet:
    """Cells in a that are not in b, each a set or shapes that may overlap."""
    if surely_within(_shapes(a), _shapes(b)):
        return RunSet.empty()
    return combine([a, b], lambda inside: inside[0] & ~inside[1])


def _shapes(cells: RunSet | Trapezoids) -> Trapezoids:
    return cells.trapezoids() if isinstance(cells, RunSet) else cells


def complement(cells: RunSet, q_len: int, kv_len: int) -> RunSet:
    """Cells of rows [0, q_len) x columns [0, kv_len) that are not in the set."""
    return difference(rectangle(0, q_len, 0, kv_len), cells)


def rectangle(q_start: int, q_stop: int, k_start: int, k_stop: int) -> RunSet:
    """Rows [q_start, q_stop) x columns [k_start, k_stop)."""
    return normalize(Trapezoids.rectangle(q_start, q_stop, k_start, k_stop))


def slice_columns(cells: RunSet, start: int, stop: int) -> RunSet:
    """The cells with start <= k < stop, where they are (no shift)."""
    if cells.num_pieces == 0:
        return cells
    window = rectangle(int(cells.piece_start[0]), int(cells.piece_stop[-1]), start, stop)
    return intersection(cells, window)


def slice_rows(cells: RunSet, start: int, stop: int) -> RunSet:
    """The cells with start <= q < stop, where they are (no shift)."""
    piece_start = np.maximum(cells.piece_start, start)
    piece_stop = np.minimum(cells.piece_stop, stop)
    used = piece_start < piece_stop
    count = np.diff(cells.indptr)
    run: IntArray = np.flatnonzero(np.repeat(used, count))
    return recut(
        RunSet(
            piece_start[used],
            piece_stop[used],
            offsets(count[used]),
            cells.lo_slope[run],
            cells.lo_offset[run],
            cells.hi_slope[run],
            cells.hi_offset[run],
        )
    )
