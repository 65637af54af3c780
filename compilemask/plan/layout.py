"""Where the kv tiles of each q tile stand: as few as possible, and then as many full ones as possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.geometry.ragged import IntArray, spread
from compilemask.plan.coverage import Coverage


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Ascending disjoint stretches [start, stop) of places, each laid with tiles of block_n from its start.

    The last tile of a stretch may be shorter. full_start, full_count: its tiles that all rows see, as ranges.
    """

    start: IntArray
    stop: IntArray
    full_start: IntArray
    full_count: IntArray

    def partial_tiles(self, block_n: int) -> tuple[IntArray, IntArray]:
        """(start, stop) of the tiles that are in no full range, ascending."""
        # stretches and the full ranges in them are ascending, so sorting pairs up what lies between them
        start = np.sort(np.concatenate([self.start, self.full_start + self.full_count * block_n]))
        stop = np.sort(np.concatenate([self.full_start, self.stop]))
        owner, number = spread(np.zeros(len(start), np.int64), -((start - stop) // block_n))
        tile_start = start[owner] + number * block_n
        return tile_start, np.minimum(tile_start + block_n, stop[owner])


def lay_tiles(coverage: Coverage, block_n: int) -> Layout:
    """The least number of tiles per q tile, found greedily; then tiles are pulled left where that makes more of them
    full.

    Greedy is optimal: each tile starts at the first column not covered yet, so no other layout covers more with as
    many. The pulls are the best ones where a stretch has one interval that all rows see, as in all bands.
    """
    start, stop, slack = greedy_stretches(coverage, block_n)
    cut = _pulled(coverage, block_n, start, stop, slack)
    moved = cut > 0
    # a stretch that is cut is laid again from the cut on
    start, stop = np.concatenate([start, cut[moved]]), np.concatenate([np.where(moved, cut, stop), stop[moved]])
    order = np.argsort(start)
    start, stop = start[order], stop[order]
    _, full_start, full_count = full_ranges(coverage, block_n, start, stop)
    return Layout(start, stop, full_start, full_count)


def greedy_stretches(coverage: Coverage, block_n: int) -> tuple[IntArray, IntArray, IntArray]:
    """(start, stop, slack) of stretches: slack is how many places the last tile has left behind stop.

    All chains of intervals that a tile could link step together, one stretch at a time: O(tiles) steps at most.
    """
    lo, hi = coverage.seen_start, coverage.seen_stop
    q_tile = lo // coverage.stride
    head = np.ones(len(lo), np.bool_)
    head[1:] = (q_tile[1:] != q_tile[:-1]) | (lo[1:] - hi[:-1] >= block_n - 1)
    chain_start = np.flatnonzero(head)
    chain_stop = np.append(chain_start[1:], len(lo))
    current, place, end = chain_start, lo[chain_start], chain_stop
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    while len(current):
        reach = place - (place - hi[current]) // block_n * block_n  # the end of the tile that covers hi
        after = np.minimum(np.searchsorted(hi, reach, side="right"), end)
        more = after < end
        upcoming = np.where(more, lo[np.minimum(after, len(lo) - 1)], reach)
        stop = np.where(upcoming < reach, reach, hi[after - 1])
        found.append((place, stop, reach - stop))
        current, place, end = after[more], np.maximum(upcoming, reach)[more], end[more]
    if not found:
        return lo, hi, lo
    start, stop, slack = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(start)
    return start[order], stop[order], slack[order]


def _pulled(coverage: Coverage, block_n: int, start: IntArray, stop: IntArray, slack: IntArray) -> IntArray:
    """The place in each stretch from which to lay its tiles anew, or 0: it costs no tile and makes more of them full.

    It is where all rows start to see the columns, or as near to it as the slack allows; the tile before gets shorter.
    """
    cut = np.zeros(len(start), np.int64)
    always, stretch = _overlaps(coverage, start, stop)
    if len(always) == 0:
        return cut
    origin = start[stretch]
    left = np.maximum(coverage.always_start[always], origin)
    right = np.minimum(coverage.always_stop[always], stop[stretch])
    boundary = origin - (origin - left) // block_n * block_n
    pull = np.minimum(boundary - left, slack[stretch])
    gain = (right - boundary + pull) // block_n - np.maximum(right - boundary, 0) // block_n
    gain[boundary >= stop[stretch]] = 0
    if not gain.any():
        return cut
    best = np.zeros(len(start), np.int64)
    np.maximum.at(best, stretch, gain)
    chosen = np.flatnonzero((gain > 0) & (gain == best[stretch]))[::-1]
    cut[stretch[chosen]] = (boundary - pull)[chosen]  # the first of equals is written last

    # other intervals of the stretch may lose by it: count again
    moved = np.flatnonzero(cut)
    halves_start, halves_stop = np.stack([start, cut], 1)[moved].ravel(), np.stack([cut, stop], 1)[moved].ravel()
    before, _, count = full_ranges(coverage, block_n, start[moved], stop[moved])
    half, _, half_count = full_ranges(coverage, block_n, halves_start, halves_stop)
    full = np.bincount(before, count, len(moved)).astype(np.int64)
    full_pulled = np.bincount(half // 2, half_count, len(moved)).astype(np.int64)
    cut[moved[full_pulled <= full]] = 0
    return cut


def _overlaps(coverage: Coverage, start: IntArray, stop: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (always interval, stretch) that share a place, ascending in both."""
    first = np.searchsorted(stop, coverage.always_start, side="right")
    last = np.searchsorted(start, coverage.always_stop, side="left")
    return spread(first, np.maximum(last - first, 0))


def full_ranges(
    coverage: Coverage, block_n: int, start: IntArray, stop: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """(stretch, start, count) of the tiles of the stretches that lie inside an always interval, ascending."""
    always, stretch = _overlaps(coverage, start, stop)
    origin = start[stretch]
    left = np.maximum(coverage.always_start[always], origin)
    first = origin - (origin - left) // block_n * block_n
    count = (np.minimum(coverage.always_stop[always], stop[stretch]) - first) // block_n
    full = count > 0
    return stretch[full], first[full], count[full]
