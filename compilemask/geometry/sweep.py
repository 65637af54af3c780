"""The slab sweep: rows cut so that in each slab the order of all ends, with ties, is the same in every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.geometry.runs import Trapezoids, check_magnitudes

MAX_ENDS = 2**24
"""Ends of shapes, counted once in each slab they cross, that one sweep accepts (about 2 GB of working memory)."""
PATIENCE = 8
"""Rounds after which slabs are halved as well: a line that crosses a thousand others would need a thousand rounds."""


@dataclass(frozen=True, slots=True, eq=False)
class Slabs:
    """Disjoint ascending row ranges [start, stop); slab i's ends are indptr[i]:indptr[i+1], sorted by value.

    Ends are affine: slope*q + offset.
    opens: +1 where the end is a shape's lo, -1 where it is a hi. owner: the number of the set the shape is in.
    tied: whether the next end of the slab has the same value, in all of its rows.
    """

    start: IntArray
    stop: IntArray
    indptr: IntArray
    slope: IntArray
    offset: IntArray
    opens: IntArray
    owner: IntArray
    tied: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    slab: IntArray
    slope: IntArray
    offset: IntArray
    opens: IntArray
    owner: IntArray

    def take(self, index: IntArray | BoolArray) -> _Ends:
        return _Ends(self.slab[index], self.slope[index], self.offset[index], self.opens[index], self.owner[index])


def sweep(shapes: Trapezoids, owner: IntArray) -> Slabs:
    """Ordered slabs of all ends of all shapes; `owner[i]` is the number of the set that shape i belongs to.

    Raises ValueError for rows beyond 2**31 - 1, ends beyond 2**61, and for more than MAX_ENDS ends.
    """
    check_magnitudes(shapes)
    shapes, kept = without_empty_rows(shapes)
    start, stop, ends = _first_slabs(shapes, owner[kept])
    done: list[Slabs] = []
    settled = rounds = 0
    while len(start):
        _check_size(settled + len(ends.slab))
        ends, first, last = _sort(start, stop, ends)
        cuts = _crossings(start, stop, ends, first, last)
        if len(cuts) == 0:
            done.append(_slabs(start, stop, ends, first))
            break
        unordered = np.zeros(len(start), np.bool_)
        unordered[np.searchsorted(start, cuts, side="right") - 1] = True
        ordered = ~unordered[ends.slab]
        ready = ends.take(ordered)
        number = np.cumsum(~unordered) - 1
        ready = _Ends(number[ready.slab], ready.slope, ready.offset, ready.opens, ready.owner)
        done.append(_slabs(start[~unordered], stop[~unordered], ready, first[ordered]))
        settled, rounds = settled + len(ready.slab), rounds + 1
        if rounds >= PATIENCE:
            cuts = np.union1d(cuts, (start[unordered] + stop[unordered]) // 2)
        start, stop, ends = _cut(start, stop, ends.take(~ordered), unordered, cuts)
    return _merge(done)


def without_empty_rows(shapes: Trapezoids) -> tuple[Trapezoids, IntArray]:
    """The shapes cut down to their rows with cells (one range, as the width is affine), and which shapes they were."""
    grow = shapes.hi_slope - shapes.lo_slope
    width = shapes.hi_offset - shapes.lo_offset  # at row 0
    divisor = np.where(grow == 0, 1, grow)
    start = np.where(grow > 0, np.maximum(shapes.q_start, -width // divisor + 1), shapes.q_start)
    stop = np.where(grow < 0, np.minimum(shapes.q_stop, -(width // divisor)), shapes.q_stop)
    kept = np.flatnonzero((start < stop) & ((grow != 0) | (width > 0)))
    rest = shapes.take(kept)
    return Trapezoids(start[kept], stop[kept], rest.lo_slope, rest.lo_offset, rest.hi_slope, rest.hi_offset), kept


def _first_slabs(shapes: Trapezoids, owner: IntArray) -> tuple[IntArray, IntArray, _Ends]:
    cuts = _distinct(np.concatenate([shapes.q_start, shapes.q_stop]))
    first = np.searchsorted(cuts, shapes.q_start)
    count = np.searchsorted(cuts, shapes.q_stop) - first
    _check_size(2 * int(count.sum()))
    shape, slab = spread(first, count)
    one = np.ones(len(shape), np.int64)
    ends = _Ends(
        np.concatenate([slab, slab]),
        np.concatenate([shapes.lo_slope[shape], shapes.hi_slope[shape]]),
        np.concatenate([shapes.lo_offset[shape], shapes.hi_offset[shape]]),
        np.concatenate([one, -one]),
        np.concatenate([owner[shape], owner[shape]]),
    )
    return _without_gaps(cuts[:-1], cuts[1:], ends)


def _check_size(ends: int) -> None:
    if ends > MAX_ENDS:
        raise ValueError(
            f"the shapes cut each other into {ends} interval ends, more than the {MAX_ENDS} one mask may have; "
            f"describe it with fewer or longer shapes"
        )


def _without_gaps(start: IntArray, stop: IntArray, ends: _Ends) -> tuple[IntArray, IntArray, _Ends]:
    """Drops slabs that no shape covers."""
    used = np.bincount(ends.slab, minlength=len(start)) > 0
    number = np.cumsum(used) - 1
    return start[used], stop[used], _Ends(number[ends.slab], ends.slope, ends.offset, ends.opens, ends.owner)


def _sort(start: IntArray, stop: IntArray, ends: _Ends) -> tuple[_Ends, IntArray, IntArray]:
    """Ends sorted by (slab, value at its first row, value at its last row), and those two values."""
    first = ends.slope * start[ends.slab] + ends.offset
    last = ends.slope * (stop - 1)[ends.slab] + ends.offset
    base_first, base_last = int(first.min()), int(last.min())
    span_first, span_last = int(first.max()) - base_first + 1, int(last.max()) - base_last + 1
    if len(start) * span_first * span_last < 2**62:
        # one sort of one packed key is several times faster than a lexicographic sort
        order = np.argsort((ends.slab * span_first + (first - base_first)) * span_last + (last - base_last))
    else:
        order = np.lexsort((last, first, ends.slab))
    return ends.take(order), first[order], last[order]


def _crossings(start: IntArray, stop: IntArray, ends: _Ends, first: IntArray, last: IntArray) -> IntArray:
    """Rows at which slabs must be cut: strictly inside their slab, where sorted neighbours meet, cross or part."""
    gap_first, gap_last = first[1:] - first[:-1], last[1:] - last[:-1]
    # sorted, so gap_first >= 0, and gap_first == 0 implies gap_last >= 0
    bad = np.flatnonzero((ends.slab[1:] == ends.slab[:-1]) & ((gap_first > 0) != (gap_last > 0)))
    if len(bad) == 0:
        return bad
    top, bottom = start[ends.slab[bad]], stop[ends.slab[bad]]
    gap = gap_first[bad]
    closing = gap > 0
    grow = np.where(closing, ends.slope[bad + 1] - ends.slope[bad], -1)
    meet = np.where(closing, top - gap // grow, top)  # first row at which the gap is <= 0
    cut_after = (gap + grow * (meet - top) == 0) & (meet + 1 < bottom)
    return _distinct(np.concatenate([meet[closing], meet[cut_after] + 1]))


def _distinct(rows: IntArray) -> IntArray:
    """Each row once, ascending; np.unique does the same and takes three times as long on few rows."""
    rows.sort()
    fresh = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=fresh[1:])
    return rows[fresh]


def _cut(
    start: IntArray, stop: IntArray, ends: _Ends, unordered: BoolArray, cuts: IntArray
) -> tuple[IntArray, IntArray, _Ends]:
    """The unordered slabs, cut at the given rows, each part with all ends of its slab."""
    old_start, old_stop = start[unordered], stop[unordered]
    new_start = np.union1d(old_start, cuts)
    parent = np.searchsorted(old_start, new_start, side="right") - 1
    new_stop = np.append(new_start[1:], old_stop[-1])
    new_stop = np.minimum(new_stop, old_stop[parent])
    count = np.bincount(parent, minlength=len(old_start))
    slab = (np.cumsum(unordered) - 1)[ends.slab]
    _check_size(int(count[slab].sum()))
    end, part = spread((np.cumsum(count) - count)[slab], count[slab])
    return new_start, new_stop, _Ends(part, ends.slope[end], ends.offset[end], ends.opens[end], ends.owner[end])


def _slabs(start: IntArray, stop: IntArray, ends: _Ends, first: IntArray) -> Slabs:
    tied = np.zeros(len(first), np.bool_)
    tied[:-1] = (ends.slab[1:] == ends.slab[:-1]) & (first[1:] == first[:-1])
    indptr = offsets(np.bincount(ends.slab, minlength=len(start)))
    return Slabs(start, stop, indptr, ends.slope, ends.offset, ends.opens, ends.owner, tied)


def _merge(parts: list[Slabs]) -> Slabs:
    """All slabs of all parts, ascending."""
    if not parts:
        none = np.zeros(0, np.int64)
        return Slabs(none, none, np.zeros(1, np.int64), none, none, none, none, np.zeros(0, np.bool_))
    if len(parts) == 1:
        return parts[0]
    start = np.concatenate([part.start for part in parts])
    order = np.argsort(start)
    count = np.concatenate([np.diff(part.indptr) for part in parts])
    _, end = spread((np.cumsum(count) - count)[order], count[order])
    return Slabs(
        start[order],
        np.concatenate([part.stop for part in parts])[order],
        offsets(count[order]),
        np.concatenate([part.slope for part in parts])[end],
        np.concatenate([part.offset for part in parts])[end],
        np.concatenate([part.opens for part in parts])[end],
        np.concatenate([part.owner for part in parts])[end],
        np.concatenate([part.tied for part in parts])[end],
    )
