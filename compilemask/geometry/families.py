"""Runs that repeat at equal steps, folded into families: one entry for a staircase, a grid of windows, equal documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from compilemask.geometry.ragged import IntArray, all_of, offsets, spread
from compilemask.geometry.runs import SHAPE_ARRAYS, Trapezoids

LEVELS = 3
"""Repetitions that may be nested, such as along lines, from line to line and from frame to frame."""

MOVING = ("q_start", "q_stop", "lo_offset", "hi_offset")
"""What a step changes; the slopes of a family are those of its first run."""

MAX_STRANDS = 16
"""Progressions that may take turns in one order and are still told apart."""

MANY = 2**14
"""Runs up to which every level tries all of them, and both with strands and without, to find the shorter form."""

MIN_REPEATS = 3
"""Two runs are always at equal steps, so two alone are no family."""


@dataclass(frozen=True, slots=True, eq=False)
class RunFamilies:
    """Families of trapezoids, each a first one and how it repeats; n of them.

    counts: int64[n, LEVELS], how often each level repeats what the levels before it made; 1 where it does not.
    steps: int64[n, LEVELS, 4], what one repetition adds to MOVING; 0 where it does not repeat.
    Member (i, j, ...) of a family is its first run with i*steps[0] + j*steps[1] + ... added, i < counts[0] and so on.
    """

    first: Trapezoids
    counts: IntArray
    steps: IntArray

    @classmethod
    def of(cls, shapes: Trapezoids) -> RunFamilies:
        """Each shape by itself."""
        n = len(shapes)
        return cls(shapes, np.ones((n, LEVELS), np.int64), np.zeros((n, LEVELS, len(MOVING)), np.int64))

    def take(self, index: IntArray) -> RunFamilies:
        """The families at the given indices."""
        return RunFamilies(self.first.take(index), self.counts[index], self.steps[index])

    def frozen(self) -> RunFamilies:
        """These families, their arrays made read-only."""
        self.first.frozen()
        self.counts.setflags(write=False)
        self.steps.setflags(write=False)
        return self

    def __len__(self) -> int:
        return len(self.first)

    @property
    def num_runs(self) -> int:
        """Members of all families."""
        return int(self.counts.prod(axis=1).sum())

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers that are needed, as int64: six for a first run, five for each level that repeats."""
        return 8 * (len(SHAPE_ARRAYS) * len(self) + (1 + len(MOVING)) * int(np.count_nonzero(self.counts > 1)))

    def unfold(self) -> Trapezoids:
        """All members: family by family, the first level fastest."""
        size = self.counts.prod(axis=1)
        owner = np.repeat(np.arange(len(self)), size)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
        moved = np.stack([getattr(self.first, name) for name in MOVING], axis=1)[owner]
        for level in range(LEVELS):
            number, place = np.divmod(number, self.counts[owner, level])
            moved += place[:, None] * self.steps[owner, level]
        q_start, q_stop, lo_offset, hi_offset = np.ascontiguousarray(moved.T)
        return Trapezoids(q_start, q_stop, self.first.lo_slope[owner], lo_offset, self.first.hi_slope[owner], hi_offset)


def fold(shapes: Trapezoids) -> RunFamilies:
    """The shapes in families, ordered by (first row, first column) of their first runs; O(shapes * log).

    shapes: ordered so, no two with one first cell. The result is a function of them alone, so equal masks have equal
    families. It is short, not always the shortest: each level takes the longest progressions that it meets, first those
    along the diagonal.
    """
    turns = (1, MAX_STRANDS) if len(shapes) <= MANY else (MAX_STRANDS,)
    return min((_folded(shapes, strands) for strands in turns), key=lambda families: families.nbytes)


def _folded(shapes: Trapezoids, strands: int) -> RunFamilies:
    """The families when up to so many progressions may take turns along the diagonal."""
    families = RunFamilies.of(shapes)
    for level in range(LEVELS):
        families, folded = _fold_level(families, level, strands)
        if not folded:
            break
    return families


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where the first run of each family stands, in numbers that a step may leave as they are."""

    start: IntArray
    stop: IntArray
    lo: IntArray  # in its first row
    hi: IntArray

    def take(self, index: IntArray) -> _Place:
        return _Place(self.start[index], self.stop[index], self.lo[index], self.hi[index])


_Kept = Callable[[_Place], tuple[IntArray, ...]]

_DIRECTIONS: tuple[_Kept, ...] = (
    lambda at: (at.stop - at.start, at.hi - at.lo, at.lo - at.start),  # along the diagonal: documents, grids, chunks
    lambda at: (at.stop, at.start, at.hi - at.lo),  # across the keys: stripes
    lambda at: (at.stop - at.start, at.hi, at.lo),  # down the queries
    lambda at: (at.stop - at.start, at.lo),  # stairs that grow to the right
    lambda at: (at.stop - at.start, at.hi),  # stairs that shrink from the left
    lambda at: (at.stop, at.hi - at.lo),  # diagonals that end in one row
    lambda at: (at.start, at.hi - at.lo),  # diagonals that begin in one row
    lambda _: (),
)
"""What progressions of a direction have in common; tried in this order, each on what the ones before it left."""

_MIX = np.array(
    [-7046029254386353131, -4417276706812531889, 1609587929392839161, -8796714831421723037, 2870177450012600261],
    np.int64,
)
"""Odd and otherwise arbitrary: they make one number of several, which is compared in place of them."""


def _fold_level(families: RunFamilies, level: int, strands: int) -> tuple[RunFamilies, bool]:
    """One more level of repetition, and whether there is any."""
    first, moving = families.first, np.stack([getattr(families.first, name) for name in MOVING], axis=1)
    place = _Place(first.q_start, first.q_stop, first.lo(first.q_start), first.hi(first.q_start))
    alike = np.column_stack([first.lo_slope, first.hi_slope, *_levels_before(families, level)])
    kind, position = _mixed(alike.T), moving @ _MIX[: len(MOVING)]
    left = np.arange(len(families))
    if level > 0 and len(left) > MANY:
        left = np.flatnonzero(families.counts[:, level - 1] > 1)
    counts, steps = np.ones(len(families), np.int64), np.zeros_like(moving)
    single = np.ones(len(families), np.bool_)
    for number, kept in enumerate(_DIRECTIONS):
        if len(left) < MIN_REPEATS:
            break
        key = _mixed((kind[left], *kept(place.take(left))))
        order = np.argsort(key, kind="stable")
        group = np.cumsum(np.append(False, key[order[1:]] != key[order[:-1]]))
        if number == 0 and strands > 1:  # along the diagonal the tokens of a tile look alike and take turns
            strand = _untwisted(position[left[order]], group, strands)
            order, group = order[strand], group[strand]
        begin, count = _progressions(position[left[order]], group)
        begin, count = _confirmed(alike, moving, left[order], begin, count)
        item, after = left[order[begin]], left[order[begin + 1]]
        counts[item], steps[item] = count, moving[after] - moving[item]
        _, used = spread(begin, count)
        single[left[order[used]]] = False
        left = left[single[left]]
    heads = np.flatnonzero(single | (counts > 1))
    folded = families.take(heads)
    folded.counts[:, level] = counts[heads]
    folded.steps[:, level] = steps[heads]
    return folded, len(heads) < len(families)


def _levels_before(families: RunFamilies, level: int) -> list[IntArray]:
    """How the levels before this one repeat, in columns."""
    before = [families.counts[:, n] for n in range(level)]
    return before + [families.steps[:, n, m] for n in range(level) for m in range(len(MOVING))]


def _mixed(columns: Iterable[IntArray]) -> IntArray:
    """One number for each row of the columns, equal for equal rows and hardly ever for others."""
    mixed: IntArray = np.zeros(1, np.int64)
    for number, column in enumerate(columns):
        mixed = (mixed ^ (mixed >> 29)) * _MIX[number % len(_MIX)] + column
    return mixed


def _confirmed(
    alike: IntArray, moving: IntArray, items: IntArray, begin: IntArray, count: IntArray
) -> tuple[IntArray, IntArray]:
    """The stretches of items that are progressions: single numbers were compared so far, which might be equal by chance."""
    owner, row = spread(begin, count)
    item, head = items[row], items[begin][owner]
    step = moving[items[begin + 1]] - moving[items[begin]]
    true = np.all(moving[item] == moving[head] + (row - begin[owner])[:, None] * step[owner], axis=1)
    true &= np.all(alike[item] == alike[head], axis=1)
    whole = all_of(true, offsets(count))
    return begin[whole], count[whole]


def _untwisted(position: IntArray, group: IntArray, most_strands: int) -> IntArray:
    """An order of the rows in which those of several progressions that take turns in a group stand together.

    position: a linear function of what moves. group: the number of the group of each row, ascending. The steps over 1, 2, ... most_strands rows are compared, and
    a group is split into as many strands as make most of its steps equal; the fewest of those that come near.
    """
    groups = int(group[-1]) + 1
    most, strands = np.zeros(groups, np.int64), np.ones(groups, np.int64)
    for number in range(1, most_strands + 1):
        together = group[2 * number :] == group[: -2 * number]
        if not together.any():
            break
        step = position[number:] - position[:-number]
        equal = together & (step[number:] == step[:-number])
        count = np.bincount(group[2 * number :][equal], minlength=groups)
        better = count > (most if number == 1 else most + 2)
        most[better], strands[better] = count[better], number
    begin = np.searchsorted(group, np.arange(groups))
    strand = (np.arange(len(group)) - begin[group]) % strands[group]
    return np.lexsort((strand, group))


def _progressions(position: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """(first row, number of rows) of the stretches of MIN_REPEATS or more rows with equal steps from row to row.

    position: a linear function of what moves. group: of each row; a stretch stays in one. A row that two stretches share goes to the longer one, on a tie to the
    earlier one.
    """
    step = position[1:] - position[:-1]
    link = np.flatnonzero(group[1:] == group[:-1])
    if len(link) == 0:
        return link, link
    head = np.ones(len(link), np.bool_)
    head[1:] = (link[1:] != link[:-1] + 1) | (step[link[1:]] != step[link[:-1]])
    begin = link[head]
    count = np.diff(np.append(np.flatnonzero(head), len(link))) + 1
    stop = begin + count
    shared = begin[1:] == stop[:-1] - 1
    to_earlier = count[:-1] >= count[1:]
    begin[1:] += shared & to_earlier
    stop[:-1] -= shared & ~to_earlier
    long = stop - begin >= MIN_REPEATS
    return begin[long], (stop - begin)[long]
