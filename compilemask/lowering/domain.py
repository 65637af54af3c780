"""Which items of the query side meet which items of the key side, before any token is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry import RunSet, Trapezoids, intersection, normalize, split_rows
from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.lowering.failure import sizes_reported, too_many_runs
from compilemask.lowering.items import Items, Side, finer, instances_as_items
from compilemask.lowering.limits import CHUNK, MAX_RUNS
from compilemask.lowering.pieces import Pieces


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Rectangles of a grid: rows [q_lo, q_hi) of an order of the query pieces x [k_lo, k_hi) of one of the key pieces."""

    q_lo: IntArray
    q_hi: IntArray
    k_lo: IntArray
    k_hi: IntArray

    @property
    def num_pairs(self) -> int:
        return int(((self.q_hi - self.q_lo) * (self.k_hi - self.k_lo)).sum())

    def pairs(self) -> Iterator[tuple[IntArray, IntArray]]:
        """All (row, column) pairs, in chunks."""
        width = self.k_hi - self.k_lo
        ends = offsets((self.q_hi - self.q_lo) * width)
        for first in range(0, int(ends[-1]), CHUNK):
            number = np.arange(first, min(first + CHUNK, int(ends[-1])))
            block = np.searchsorted(ends, number, side="right") - 1
            inside = number - ends[block]
            row, column = np.divmod(inside, width[block])
            yield self.q_lo[block] + row, self.k_lo[block] + column


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Pairs of items: those of one group (>= 0) on both sides, further limited to `ranges` when there are some.

    ranges: a set of (query item, key item) pairs, inside the groups. span: the rule, for messages about its size.
    """

    q: Items
    k: Items
    q_group: IntArray
    k_group: IntArray
    ranges: RunSet | None
    span: Span

    def regrouped(self, q_keys: Sequence[IntArray], k_keys: Sequence[IntArray]) -> Domain:
        """Only pairs of items that also agree in every key; keys align with the items."""
        q_group, k_group = self.q_group, self.k_group
        for q_key, k_key in zip(q_keys, k_keys, strict=True):
            _, number = np.unique(np.concatenate([q_key, k_key]), return_inverse=True)
            base = int(number.max(initial=0)) + 1
            q_group = np.where(q_group < 0, -1, q_group * base + number[: len(q_key)])
            k_group = np.where(k_group < 0, -1, k_group * base + number[len(q_key) :])
            q_group, k_group = _matched(q_group, k_group)
        fresh = replace(self, q_group=q_group, k_group=k_group)
        return fresh if self.ranges is None else fresh._within_groups()

    def _within_groups(self) -> Domain:
        """The same groups, and of the ranges the pairs that share one."""
        numbers = [
            replace(side, start=np.arange(len(side)), stop=np.arange(1, len(side) + 1)) for side in (self.q, self.k)
        ]
        same_group = Domain(numbers[0], numbers[1], self.q_group, self.k_group, None, self.span).cells()
        with sizes_reported("this rule makes", self.span):
            return self.limited(normalize(same_group))

    def limited(self, pairs: RunSet) -> Domain:
        """Only pairs of items in `pairs`, which lie inside the groups."""
        if self.ranges is None:
            return replace(self, ranges=pairs)
        with sizes_reported("this rule makes", self.span):
            return replace(self, ranges=intersection(self.ranges, pairs))

    def deeper(self, q_level: int, k_level: int) -> Domain:
        """The same tokens, with items cut into lines where a level asks for it."""
        if q_level <= self.q.level and k_level <= self.k.level:
            return self
        q, q_counts = _cut(self.q, q_level, self.span)
        k, k_counts = _cut(self.k, k_level, self.span)
        ranges = self.ranges
        if ranges is not None:
            q_ends, k_ends = offsets(q_counts), offsets(k_counts)
            old = self._rectangles(ranges)
            rows = q_ends[old.q_start], q_ends[old.q_stop]
            with sizes_reported("this rule makes", self.span):
                ranges = normalize(Trapezoids.rectangle(*rows, k_ends[old.lo_offset], k_ends[old.hi_offset]))
        return Domain(q, k, np.repeat(self.q_group, q_counts), np.repeat(self.k_group, k_counts), ranges, self.span)

    def blocks(self, q: Pieces, k: Pieces) -> tuple[Pieces, Pieces, Blocks]:
        """Pieces that meet: by ranges when there are some, else by group. The pieces may come back in another order."""
        if self.ranges is None:
            return blocks_by_group(q, k)
        old = self._rectangles(self.ranges)
        return (
            q,
            k,
            Blocks(
                np.searchsorted(q.item, old.q_start),
                np.searchsorted(q.item, old.q_stop),
                np.searchsorted(k.item, old.lo_offset),
                np.searchsorted(k.item, old.hi_offset),
            ),
        )

    def cells(self) -> Trapezoids:
        """All tokens of all pairs, as rectangles."""
        if self.ranges is None:
            q, q_group = merged(self.q, self.q_group)
            k, k_group = merged(self.k, self.k_group)
            none = np.zeros((0, len(q)), np.int64)
            q_pieces = Pieces(q.start, q.stop, np.arange(len(q)), q_group, none, none)
            none = np.zeros((0, len(k)), np.int64)
            k_pieces = Pieces(k.start, k.stop, np.arange(len(k)), k_group, none, none)
            q_pieces, k_pieces, blocks = blocks_by_group(q_pieces, k_pieces)
            check_runs(blocks.num_pairs, self.span)
            parts = [
                Trapezoids.rectangle(q_pieces.start[a], q_pieces.stop[a], k_pieces.start[b], k_pieces.stop[b])
                for a, b in blocks.pairs()
            ]
            return Trapezoids.concat(parts)
        old = self._rectangles(self.ranges)
        q_owner, q_start, q_stop = _stretches(self.q, old.q_start, old.q_stop)
        q_count = np.bincount(q_owner, minlength=len(old))
        k_owner, k_start, k_stop = _stretches(self.k, old.lo_offset, old.hi_offset)
        k_count = np.bincount(k_owner, minlength=len(old))
        check_runs(int((q_count * k_count).sum()), self.span)
        row, column = spread(offsets(k_count)[:-1][q_owner], k_count[q_owner])
        return Trapezoids.rectangle(q_start[row], q_stop[row], k_start[column], k_stop[column])

    def _rectangles(self, ranges: RunSet) -> Trapezoids:
        """Ranges as rectangles: lo_offset and hi_offset are the first and the one past the last key item."""
        shapes = ranges.trapezoids()
        flat = (shapes.lo_slope == 0) & (shapes.hi_slope == 0)
        if flat.all():
            return shapes
        with sizes_reported("this rule makes", self.span):
            rows = Trapezoids.concat([shapes.take(flat), split_rows(shapes.take(~flat))])
        return rows.take(np.argsort(rows.q_start, kind="stable"))


def domain_of(q: Side, k: Side, span: Span) -> Domain:
    """All pairs of instances that agree in the instance numbers that both sides name."""
    q_items, k_items = instances_as_items(q), instances_as_items(k)
    q_group, k_group = np.zeros(len(q_items), np.int64), np.zeros(len(k_items), np.int64)
    everything = Domain(q_items, k_items, q_group, k_group, None, span)
    shared = [name for name in q.columns if name in k.columns]
    return everything.regrouped([q.columns[name] for name in shared], [k.columns[name] for name in shared])


def merged(items: Items, group: IntArray) -> tuple[Items, IntArray]:
    """Neighbouring items of one group joined; items in no group left out. Only absolute positions keep their meaning."""
    use = np.flatnonzero((group >= 0) & (items.start < items.stop))
    start, stop, group = items.start[use], items.stop[use], group[use]
    fresh = np.ones(len(use), np.bool_)
    fresh[1:] = (start[1:] != stop[:-1]) | (group[1:] != group[:-1])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(use))[: len(first)] - 1
    return Items(items.side, 0, start[first], stop[last], items.instance[use[first]], ()), group[first]


def blocks_by_group(q: Pieces, k: Pieces) -> tuple[Pieces, Pieces, Blocks]:
    """The pieces ordered by group, those without a group left out, and one block per group."""
    q, k = _by_group(q), _by_group(k)
    groups = q.group[_changes(q.group)]
    return (
        q,
        k,
        Blocks(
            np.searchsorted(q.group, groups),
            np.searchsorted(q.group, groups, side="right"),
            np.searchsorted(k.group, groups),
            np.searchsorted(k.group, groups, side="right"),
        ),
    )


def check_runs(count: int, span: Span) -> None:
    if count > MAX_RUNS:
        raise too_many_runs(f"this needs {count:,} pieces of rows and keys; the limit is {MAX_RUNS:,}", span)


def _by_group(pieces: Pieces) -> Pieces:
    order = np.argsort(pieces.group, kind="stable")
    return pieces.take(order[np.searchsorted(pieces.group[order], 0) :])


def _changes(group: IntArray) -> BoolArray:
    fresh = np.ones(len(group), np.bool_)
    fresh[1:] = group[1:] != group[:-1]
    return fresh


def _matched(q_group: IntArray, k_group: IntArray) -> tuple[IntArray, IntArray]:
    """The groups renumbered from 0, and -1 for those that the other side lacks."""
    numbers, number = np.unique(np.concatenate([q_group, k_group]), return_inverse=True)
    q_number, k_number = number[: len(q_group)], number[len(q_group) :]
    both = (np.bincount(q_number, minlength=len(numbers)) > 0) & (np.bincount(k_number, minlength=len(numbers)) > 0)
    both &= numbers >= 0
    fresh = np.where(both, np.cumsum(both) - 1, -1)
    return fresh[q_number], fresh[k_number]


def _cut(items: Items, level: int, span: Span) -> tuple[Items, IntArray]:
    if level <= items.level:
        return items, np.ones(len(items), np.int64)
    return finer(items, level, span)


def _stretches(items: Items, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """(owner, start, stop): the maximal stretches of tokens of the items [first[n], last[n]), for each owner n in order."""
    if len(items) == 0:
        none = np.zeros(0, np.int64)
        return none, none, none
    gap = np.zeros(len(items), np.bool_)
    gap[1:] = items.start[1:] != items.stop[:-1]
    number = np.cumsum(gap, dtype=np.int64)
    stretch_first = np.flatnonzero(np.append([True], gap[1:]))
    stretch_stop = items.stop[np.append(stretch_first[1:], len(items)) - 1]
    owner, stretch = spread(number[first], number[last - 1] - number[first] + 1)
    start = np.maximum(items.start[first[owner]], items.start[stretch_first[stretch]])
    stop = np.minimum(items.stop[last[owner] - 1], stretch_stop[stretch])
    use = start < stop
    return owner[use], start[use], stop[use]
