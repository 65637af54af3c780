"""The canonical cut: rows of intervals, however they were cut, become the one RunSet of their cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray, all_of, offsets, spread
from compilemask.geometry.runs import RunSet


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

    Each slab must hold at least one interval, all ascending, neither touching nor empty in any of its rows; the slabs must be ascending
    and disjoint.
    """
    if slabs.num_pieces == 0:
        return RunSet.empty()
    steps = _steps(slabs)
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


def _steps(slabs: RunSet) -> _Steps:
    start, stop, count = slabs.piece_start, slabs.piece_stop, np.diff(slabs.indptr)
    joint = np.zeros(len(start), np.bool_)  # to the next slab
    joint[:-1] = (stop[:-1] == start[1:]) & (count[:-1] == count[1:])
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
