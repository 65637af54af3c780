"""F(q) + G(k) in a band, where both sides are constant on runs of tokens: the keys of each distinct F, then its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.geometry.runs import Trapezoids
from compilemask.lowering.bands import Bands
from compilemask.lowering.domain import check_runs
from compilemask.lowering.limits import UNBOUNDED
from compilemask.lowering.pieces import Pieces


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Stretches of tokens with one number for each form, ordered by group. fresh: not continuing the run before it."""

    start: IntArray
    stop: IntArray
    group: IntArray
    values: IntArray
    fresh: BoolArray

    def __len__(self) -> int:
        return len(self.start)


def runs_of(pieces: Pieces, limit: int) -> Runs | None:
    """The pieces of a group >= 0 as runs, sloped ones token by token; None when those are more than `limit`."""
    pieces = pieces.take(pieces.group >= 0)
    sloped = np.any(pieces.slope != 0, axis=0)
    length = pieces.stop - pieces.start
    count = np.where(sloped, length, 1)
    if int(count.sum()) > limit:
        return None
    piece, start = spread(pieces.start, count)
    stop = np.where(sloped[piece], start + 1, pieces.stop[piece])
    values = pieces.slope[:, piece] * start + pieces.offset[:, piece]
    order = np.argsort(pieces.group[piece], kind="stable")
    start, stop, group, values = start[order], stop[order], pieces.group[piece][order], values[:, order]
    fresh = np.ones(len(start), np.bool_)
    fresh[1:] = (group[1:] != group[:-1]) | (start[1:] != stop[:-1])
    heads = fresh.copy()
    heads[1:] |= np.any(values[:, 1:] != values[:, :-1], axis=0)
    first = np.flatnonzero(heads)
    last = np.append(first[1:], len(start))[: len(first)] - 1
    return Runs(start[first], stop[last], group[first], values[:, first], fresh[first])


@dataclass(frozen=True, slots=True, eq=False)
class LevelSets:
    """The key intervals of every class of rows, and which class each run of rows has.

    Events: at the token `at` the intervals of the classes [first, last) start (or stop).
    """

    rows: Runs
    row_class: IntArray
    starts: tuple[IntArray, IntArray, IntArray]
    stops: tuple[IntArray, IntArray, IntArray]
    num_classes: int

    def num_intervals(self) -> int:
        """Intervals of all runs of rows together."""
        _, first, last = self.starts
        change = np.zeros(self.num_classes + 1, np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last, -1)
        per_class = np.cumsum(change)[:-1]
        return int(per_class[self.row_class].sum())

    def cells(self, span: Span) -> Trapezoids:
        check_runs(self.num_intervals(), span)
        start_class, start_at = _events(*self.starts)
        _, stop_at = _events(*self.stops)
        indptr = offsets(np.bincount(start_class, minlength=self.num_classes))
        return interval_cells(self.rows, self.row_class, indptr, start_at, stop_at, span)


def interval_cells(
    rows: Runs, row_class: IntArray, indptr: IntArray, start: IntArray, stop: IntArray, span: Span
) -> Trapezoids:
    """Rectangles: each run of rows with the intervals indptr[c]:indptr[c+1] of its class c."""
    count = np.diff(indptr)[row_class]
    check_runs(int(count.sum()), span)
    row, interval = spread(indptr[row_class], count)
    return Trapezoids.rectangle(rows.start[row], rows.stop[row], start[interval], stop[interval])


def level_sets(rows: Runs, keys: Runs, lo: int, hi: int) -> LevelSets:
    """lo <= F + G < hi for one-form runs; lo and hi may be unbounded."""
    f, g = rows.values[0], keys.values[0]
    distinct, rank = np.unique(f, return_inverse=True)
    width = len(distinct) + 1
    row_key = rows.group * width + rank
    classes, row_class = np.unique(row_key, return_inverse=True)

    def class_at(bound: IntArray) -> IntArray:
        return np.searchsorted(classes, keys.group * width + np.searchsorted(distinct, bound))

    floor = np.full(len(g), -UNBOUNDED) if lo == -UNBOUNDED else lo - g
    ceiling = np.full(len(g), UNBOUNDED) if hi == UNBOUNDED else hi - g
    first, last = class_at(floor), class_at(ceiling)
    before_first, before_last = np.zeros_like(first), np.zeros_like(last)
    before_first[1:], before_last[1:] = first[:-1], last[:-1]
    before_first[keys.fresh] = before_last[keys.fresh] = 0
    starts = _difference(keys.start, first, last, before_first, before_last)
    old = np.flatnonzero(~keys.fresh)
    ending = np.append(keys.fresh[1:], True)[: len(keys)]
    ends = np.flatnonzero(ending)
    stops = _difference(keys.stop[old - 1], before_first[old], before_last[old], first[old], last[old])
    final = (keys.stop[ends], first[ends], last[ends])
    stops = tuple(np.concatenate([a, b]) for a, b in zip(stops, final, strict=True))  # type: ignore[assignment]
    return LevelSets(rows, row_class, starts, stops, len(classes))


def cells_by_level(rows: Runs, keys: Runs, bands: Bands) -> tuple[int, list[LevelSets]]:
    """The level sets of every band, and how many intervals they have together."""
    found = [level_sets(rows, keys, lo, hi) for lo, hi in zip(bands.lo.tolist(), bands.hi.tolist(), strict=True)]
    return sum(sets.num_intervals() for sets in found), found


def _difference(
    at: IntArray, first: IntArray, last: IntArray, other_first: IntArray, other_last: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """[first, last) without [other_first, other_last), as up to two ranges for each place."""
    none = other_first >= other_last
    other_first = np.where(none, last, other_first)
    other_last = np.where(none, last, other_last)
    at = np.concatenate([at, at])
    lo = np.concatenate([first, np.maximum(first, other_last)])
    hi = np.concatenate([np.minimum(last, other_first), last])
    use = lo < hi
    return at[use], lo[use], hi[use]


def _events(at: IntArray, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """(class, token) of every event, ordered by class and then by token."""
    order = np.argsort(at, kind="stable")
    owner, number = spread(first[order], (last - first)[order])
    by_class = np.argsort(number, kind="stable")
    return number[by_class], at[order][owner][by_class]
