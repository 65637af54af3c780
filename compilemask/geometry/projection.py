"""Which columns shapes touch, whatever their rows."""

from __future__ import annotations

import numpy as np

from compilemask.geometry.ragged import IntArray
from compilemask.geometry.runs import Trapezoids
from compilemask.geometry.transform import split_rows


def hull(shapes: Trapezoids) -> tuple[IntArray, IntArray]:
    """Least and one past the greatest column of each shape; no shape may be without rows or have rows without cells."""
    first, last = shapes.q_start, shapes.q_stop - 1
    lo = np.minimum(shapes.lo(first), shapes.lo(last))
    hi = np.maximum(shapes.hi(first), shapes.hi(last))
    return lo, hi


def solid(shapes: Trapezoids) -> tuple[Trapezoids, IntArray]:
    """The same cells in shapes of which any stretch of rows touches every column of its hull; and where each is from.

    A shape whose interval jumps clear of itself from one row to the next (such as k == 2*q) is split into its rows.
    """
    first, last = shapes.q_start, shapes.q_stop - 1
    # the width is affine, so it is least at the first row, or at the row before the last
    before_last = np.maximum(last - 1, first)
    width = np.minimum(shapes.hi(first) - shapes.lo(first), shapes.hi(before_last) - shapes.lo(before_last))
    jumps = (last > first) & ((shapes.lo_slope > width) | (-shapes.hi_slope > width))
    source = np.arange(len(shapes))
    if not jumps.any():
        return shapes, source
    rows = shapes.q_stop - shapes.q_start
    parts = Trapezoids.concat([shapes.take(~jumps), split_rows(shapes.take(jumps))])
    return parts, np.concatenate([source[~jumps], np.repeat(source[jumps], rows[jumps])])


def merge_intervals(lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
    """The union of the intervals [lo, hi): maximal, not touching, ascending. Empty intervals count for nothing."""
    used = lo < hi
    lo, hi = lo[used], hi[used]
    if len(lo) == 0:
        return lo, hi
    order = np.argsort(lo)
    lo = lo[order]
    reach = np.maximum.accumulate(hi[order])
    head = np.ones(len(lo), np.bool_)
    head[1:] = lo[1:] > reach[:-1]
    tail = np.append(head[1:], True)
    return lo[head], reach[tail]
