"""The runs of neighbouring pieces that are one trapezoid, put together again."""

from __future__ import annotations

import numpy as np

from compilemask.geometry import RunSet, Trapezoids
from compilemask.geometry.canonical import cut_each
from compilemask.geometry.ragged import BoolArray, IntArray


def merge_runs(runs: RunSet) -> Trapezoids:
    """Disjoint trapezoids of the same cells, ordered by (first row, first column); O(runs), near enough.

    First the canonical cut for each interval by itself, where pieces have equally many; then, where the number of
    intervals changes, shapes are joined that continue the same affine functions. A shape of one row continues any
    function through its ends.
    """
    if runs.num_pieces <= 1:
        return runs.trapezoids()
    shapes = _join_on(cut_each(runs))
    order = np.lexsort((shapes.lo(shapes.q_start), shapes.q_start))
    return shapes.take(order)


def _join_on(shapes: Trapezoids) -> Trapezoids:
    """Shapes that end where another one starts with the same functions, joined, in chains of any length."""
    above, below = _touching(shapes)
    if len(above) == 0:
        return shapes
    shapes = _settle_single_rows(shapes, above, below)
    same = np.ones(len(above), np.bool_)
    for ends in (shapes.lo_slope, shapes.lo_offset, shapes.hi_slope, shapes.hi_offset):
        same &= ends[above] == ends[below]
    root = np.arange(len(shapes))
    root[below[same]] = above[same]
    while not np.array_equal(farther := root[root], root):  # doubles the reach each time
        root = farther
    stop = shapes.q_stop.copy()
    np.maximum.at(stop, root, shapes.q_stop)
    heads = root == np.arange(len(shapes))
    return Trapezoids(
        shapes.q_start[heads],
        stop[heads],
        shapes.lo_slope[heads],
        shapes.lo_offset[heads],
        shapes.hi_slope[heads],
        shapes.hi_offset[heads],
    )


def _touching(shapes: Trapezoids) -> tuple[IntArray, IntArray]:
    """Pairs (above, below): `below` starts in the row after the last one of `above`, and continues its ends.

    Both directions count: the ends of `above` drawn on, or the ends of `below` drawn back.
    """
    down = _continued(shapes, shapes.q_stop, shapes.q_start)
    up = _continued(shapes, shapes.q_start - 1, shapes.q_stop - 1)
    return np.concatenate([down[0], up[1]]), np.concatenate([down[1], up[0]])


def _continued(shapes: Trapezoids, drawn_row: IntArray, own_row: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (a, b): a's drawn_row is b's own_row, and the ends of a, drawn on to that row, are the ends of b in it."""
    order = np.lexsort((shapes.lo(own_row), own_row))
    row, lo, hi = own_row[order], shapes.lo(own_row)[order], shapes.hi(own_row)[order]
    least, span = int(lo.min(initial=0)), int(hi.max(initial=1)) - int(lo.min(initial=0)) + 1
    drawn_lo, drawn_hi = shapes.lo(drawn_row), shapes.hi(drawn_row)
    inside = np.flatnonzero((drawn_lo >= least) & (drawn_hi < least + span) & (drawn_row >= 0))
    keys = row * span + (lo - least)
    at = np.searchsorted(keys, drawn_row[inside] * span + (drawn_lo[inside] - least))
    at = np.minimum(at, len(keys) - 1)
    found = (row[at] == drawn_row[inside]) & (lo[at] == drawn_lo[inside]) & (hi[at] == drawn_hi[inside])
    return inside[found], order[at[found]]


def _settle_single_rows(shapes: Trapezoids, above: IntArray, below: IntArray) -> Trapezoids:
    """Shapes of one row take over the functions of a longer one that leads to them, from above or else from below."""
    single: BoolArray = shapes.q_stop - shapes.q_start == 1
    lender = np.arange(len(shapes))
    for source, target in ((below, above), (above, below)):
        lends = np.flatnonzero(~single[source] & single[target] & _leads_to(shapes, source, target))
        lender[target[lends]] = source[lends]
    return Trapezoids(
        shapes.q_start,
        shapes.q_stop,
        shapes.lo_slope[lender],
        shapes.lo_offset[lender],
        shapes.hi_slope[lender],
        shapes.hi_offset[lender],
    )


def _leads_to(shapes: Trapezoids, source: IntArray, target: IntArray) -> BoolArray:
    """Whether the functions of each source go through the ends of its target, a shape of one row."""
    row = shapes.q_start[target]
    lo = shapes.lo_slope[source] * row + shapes.lo_offset[source]
    hi = shapes.hi_slope[source] * row + shapes.hi_offset[source]
    leads: BoolArray = (lo == shapes.lo(shapes.q_start)[target]) & (hi == shapes.hi(shapes.q_start)[target])
    return leads
