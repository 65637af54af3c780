"""The canonical cut: rows of intervals, however they were cut, become the one RunSet of their cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray, all_of, offsets, spread
from compilemask.geometry.runs import RunSet, Trapezoids, check_magnitudes


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Stretches of rows over which the differences of all ends from row to row are constant, before merging.

    A step is either the inside of one slab or the junction of two touching slabs with equally many intervals.
    Its rows are [first, last]; neighbours in one block share a row. Its ends are indptr[i]:indptr[i+1].
    """

    first: IntArray
    last: IntArray
    joined: BoolArray  # to the step before: both lie in one block of equally many intervals
    indptr: IntArray
    lo_slope: IntArray
    lo_value: IntArray  # at row `first`
    hi_slope: IntArray
    hi_value: IntArray


def recut(slabs: RunSet) -> RunSet:
    """The canonical form of slabs: like a RunSet, but cut anywhere. O(runs).

    Each slab must hold at least one interval, all ascending, neither touching nor empty in any of its rows; the slabs
    must be ascending and disjoint.
    """
    if slabs.num_pieces == 0:
        return RunSet.empty()
    joint = _joints(slabs)
    return _cut(slabs, joint) if joint.any() else _level_single_rows(slabs)


def _level_single_rows(slabs: RunSet) -> RunSet:
    """The canonical form of slabs of which none is joint to the next: only pieces of one row change, to slopes 0."""
    single = slabs.piece_stop - slabs.piece_start == 1
    if not single.any():
        return slabs
    count = slabs.indptr[1:] - slabs.indptr[:-1]
    flat = np.repeat(single, count)
    row = np.repeat(slabs.piece_start, count)[flat]
    ends = []
    for slopes, offset in ((slabs.lo_slope, slabs.lo_offset), (slabs.hi_slope, slabs.hi_offset)):
        slope, value = slopes.copy(), offset.copy()
        value[flat] += slope[flat] * row
        slope[flat] = 0
        ends += [slope, value]
    return RunSet(slabs.piece_start, slabs.piece_stop, slabs.indptr, *ends)


def cut_each(runs: RunSet) -> Trapezoids:
    """The same cells, with the canonical cut made for each interval by itself instead of for all of a row at once.

    Followed are the intervals of one rank in touching pieces with equally many intervals. In no useful order.
    """
    if runs.num_pieces == 0:
        return Trapezoids.empty()
    shapes = runs.trapezoids()
    count = np.diff(runs.indptr)
    block = np.cumsum(np.append(True, ~_joints(runs)[:-1])) - 1
    rank = np.arange(len(shapes)) - np.repeat(runs.indptr[:-1], count)
    chain = np.repeat(block, count) * int(count.max()) + rank
    order = np.argsort(chain, kind="stable")
    shapes, chain = shapes.take(order), chain[order]
    lone = np.arange(len(shapes) + 1)
    slabs = RunSet(
        shapes.q_start, shapes.q_stop, lone, shapes.lo_slope, shapes.lo_offset, shapes.hi_slope, shapes.hi_offset
    )
    return _cut(slabs, np.append(chain[1:] == chain[:-1], False)).trapezoids()


def _joints(slabs: RunSet) -> BoolArray:
    """Whether each slab touches the next one and has as many intervals."""
    count = np.diff(slabs.indptr)
    touches = (slabs.piece_stop[:-1] == slabs.piece_start[1:]) & (count[:-1] == count[1:])
    return np.append(touches, False)


def _cut(slabs: RunSet, joint: BoolArray) -> RunSet:
    """The canonical cut of slabs of which some are joint to the next one."""
    steps = _steps(slabs, joint)
    head = ~(steps.joined & _same_slopes_as_before(steps))
    first_step = np.flatnonzero(head)
    last_step = np.append(first_step[1:], len(head)) - 1
    start = steps.first[first_step]
    stop = steps.last[last_step] + 1
    rows = stop - start
    shared = steps.joined[first_step][1:]
    to_earlier = rows[:-1] >= rows[1:]
    start[1:] += shared & to_earlier
    stop[:-1] -= shared & ~to_earlier
    kept = np.flatnonzero(start < stop)
    return _pieces(steps, first_step[kept], start[kept], stop[kept])


def _steps(slabs: RunSet, joint: BoolArray) -> _Steps:
    start, stop, count = slabs.piece_start, slabs.piece_stop, np.diff(slabs.indptr)
    alone = (stop - start == 1) & ~joint
    alone[1:] &= ~joint[:-1]
    present = np.stack([(stop - start >= 2) | alone, joint], axis=1)
    slab, is_joint = np.nonzero(present)
    first = np.where(is_joint, stop[slab] - 1, start[slab])
    last = np.where(is_joint, stop[slab], stop[slab] - 1)
    joined = np.zeros(len(slab), np.bool_)
    joined[1:] = (slab[1:] == slab[:-1]) | ((slab[1:] == slab[:-1] + 1) & (is_joint[:-1] == 1))

    owner, run = spread(slabs.indptr[slab], count[slab])
    at = first[owner]
    across = np.flatnonzero(is_joint[owner])  # their slope is the jump to the next slab's first row
    ends = []
    for slope, offset in ((slabs.lo_slope, slabs.lo_offset), (slabs.hi_slope, slabs.hi_offset)):
        value = slope[run] * at + offset[run]
        step = slope[run]
        after = run[across] + count[slab[owner[across]]]
        step[across] = slope[after] * (at[across] + 1) + offset[after] - value[across]
        ends += [step, value]
    return _Steps(first, last, joined, offsets(count[slab]), *ends)


def _same_slopes_as_before(steps: _Steps) -> BoolArray:
    """Whether each step has the slopes of the step before; only meaningful where it is joined to it."""
    count = np.diff(steps.indptr)
    before = np.maximum(np.arange(len(steps.lo_slope)) - np.repeat(count, count), 0)
    same = (steps.lo_slope == steps.lo_slope[before]) & (steps.hi_slope == steps.hi_slope[before])
    return all_of(same, steps.indptr)


def _pieces(steps: _Steps, step: IntArray, start: IntArray, stop: IntArray) -> RunSet:
    count = np.diff(steps.indptr)[step]
    owner, end = spread(steps.indptr[step], count)
    single = (stop - start == 1)[owner]
    ends = []
    for slopes, values in ((steps.lo_slope, steps.lo_value), (steps.hi_slope, steps.hi_value)):
        slope = slopes[end]
        # values stand at the first row of the step, the piece may start one row later
        value = values[end] + slope * (start - steps.first[step])[owner]
        slope[single] = 0
        ends += [slope, value - slope * start[owner]]
    return RunSet(start, stop, offsets(count), *ends)


def check_canonical(runs: RunSet) -> None:
    """Raises ValueError unless the runs are the canonical form of their cells. O(runs)."""
    pieces, count = runs.num_pieces, np.diff(runs.indptr)
    consistent = (
        len(runs.piece_stop) == pieces
        and len(runs.indptr) == pieces + 1
        and runs.indptr[0] == 0
        and runs.indptr[-1] == runs.num_runs
        and len(runs.lo_slope) == len(runs.lo_offset) == len(runs.hi_slope) == len(runs.hi_offset)
    )
    if not consistent or np.any(count < 1):
        raise ValueError("runs are inconsistent: lengths of the arrays and indptr must agree, every piece needs a run")
    if pieces == 0:
        return
    check_magnitudes(runs.trapezoids())
    if np.any(runs.piece_start >= runs.piece_stop) or np.any(runs.piece_start[1:] < runs.piece_stop[:-1]):
        raise ValueError("pieces of runs must be ascending, disjoint and not empty")
    shapes = runs.trapezoids()
    inner = np.ones(runs.num_runs, np.bool_)  # has a run before it in its piece
    inner[runs.indptr[:-1]] = False
    for row in (shapes.q_start, shapes.q_stop - 1):
        lo, hi = shapes.lo(row), shapes.hi(row)
        if np.any(lo >= hi) or np.any(inner[1:] & (lo[1:] <= hi[:-1])):
            raise ValueError("intervals of a row must be ascending, not empty, and must not touch")
    if not recut(runs).equal(runs):
        raise ValueError("runs are not cut canonically; pass their trapezoids through normalize()")
