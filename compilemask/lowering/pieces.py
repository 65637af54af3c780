"""The numbers of one side as pieces: stretches of tokens on which every wanted form is affine in the position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import BoolArray, IntArray, spread
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Variable, check_number
from compilemask.lowering.items import Items, counts_tokens
from compilemask.lowering.limits import MAX_AXIS, MAX_TABLE
from compilemask.lowering.numbers import Numbers, evaluate, numbers_of


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Stretches [start, stop), ascending, inside which form r has the number slope[r, n] * position + offset[r, n].

    item: the item that a piece lies in. group: the group of its item.
    """

    start: IntArray
    stop: IntArray
    item: IntArray
    group: IntArray
    slope: IntArray
    offset: IntArray

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: IntArray | BoolArray) -> Pieces:
        return Pieces(
            self.start[index],
            self.stop[index],
            self.item[index],
            self.group[index],
            self.slope[:, index],
            self.offset[:, index],
        )

    def least(self) -> IntArray:
        """The least number of each form in each piece."""
        least: IntArray = np.minimum(self.slope * self.start, self.slope * (self.stop - 1)) + self.offset
        return least

    def greatest(self) -> IntArray:
        greatest: IntArray = np.maximum(self.slope * self.start, self.slope * (self.stop - 1)) + self.offset
        return greatest


def affine_pieces(wanted: Sequence[Form], items: Items, group: IntArray, binding: Binding, span: Span) -> Pieces | None:
    """One piece per item that has tokens, or None when a form is not affine in the position."""
    rank = items.side.rank
    slopes = np.zeros((len(wanted), len(items)), np.int64)
    offsets = np.zeros((len(wanted), len(items)), np.int64)
    for row, form in enumerate(wanted):
        constant_terms = []
        reach = 0
        for term, factor in form.terms:
            if isinstance(term, Variable) and counts_tokens(term, rank):
                reach += 2 * abs(factor) * MAX_AXIS
                check_number(reach, span)
                slopes[row] += factor
                offsets[row] -= factor * items.origin(term)
            elif any(counts_tokens(variable, rank) for variable in Form(((term, 1),), 0).variables()):
                return None
            else:
                constant_terms.append((term, factor))
        rest = evaluate(Form(tuple(constant_terms), form.constant), _item_lookup(items), binding, span)
        check_number(reach + max(abs(rest.lo), abs(rest.hi)), span)
        offsets[row] += rest.array
    nonempty = np.flatnonzero(items.start < items.stop)
    return Pieces(items.start, items.stop, np.arange(len(items)), group, slopes, offsets).take(nonempty)


def token_pieces(wanted: Sequence[Form], items: Items, group: IntArray, binding: Binding, span: Span) -> Pieces:
    """Pieces from the numbers of all tokens, one by one; for forms that are not affine."""
    length = items.stop - items.start
    total = int(length.sum())
    if total > MAX_TABLE:
        raise BindError(
            "CM411",
            f"this expression is not linear in the position, and its region has {total:,} tokens; "
            f"such expressions are written out up to {MAX_TABLE:,} tokens",
            span,
            "use a linear condition, or a smaller region",
        )
    binding.spend(total * len(wanted), span)
    item, token = spread(items.start, length)

    def lookup(name: Variable) -> Numbers:
        if counts_tokens(name, items.side.rank):
            return numbers_of(token - items.origin(name)[item])
        return numbers_of(items.constant(name)[item])

    values = np.empty((len(wanted), total), np.int64)
    for row, form in enumerate(wanted):
        values[row] = evaluate(form, lookup, binding, span).array
    breaks = np.ones(total, np.bool_)
    breaks[1:] = item[1:] != item[:-1]
    return _compress(values, token, item, group[item], breaks)


def position_pieces(wanted: Sequence[Form], items: Items, group: IntArray, binding: Binding, span: Span) -> Pieces:
    """Pieces over the items themselves: position n stands for item n. The forms are constant in items."""
    lookup = _item_lookup(items)
    values = np.empty((len(wanted), len(items)), np.int64)
    for row, form in enumerate(wanted):
        values[row] = evaluate(form, lookup, binding, span).array
    breaks = np.ones(len(items), np.bool_)
    breaks[1:] = group[1:] != group[:-1]
    position = np.arange(len(items))
    return _compress(values, position, position, group, breaks)


def _item_lookup(items: Items) -> _ItemNumbers:
    return _ItemNumbers(items, {})


@dataclass(frozen=True, slots=True, eq=False)
class _ItemNumbers:
    items: Items
    known: dict[Variable, Numbers]

    def __call__(self, name: Variable) -> Numbers:
        if name not in self.known:
            self.known[name] = numbers_of(self.items.constant(name))
        return self.known[name]


def _compress(values: IntArray, token: IntArray, item: IntArray, group: IntArray, breaks: BoolArray) -> Pieces:
    """Few pieces with exactly these values; a piece never crosses a break."""
    first = np.flatnonzero(_piece_starts(values, breaks))
    length = np.diff(np.append(first, values.shape[1]))
    slope = np.zeros((len(values), len(first)), np.int64)
    several = length > 1
    slope[:, several] = values[:, first[several] + 1] - values[:, first[several]]
    offset = values[:, first] - slope * token[first]
    return Pieces(token[first], token[first] + length, item[first], group[first], slope, offset)


def _piece_starts(values: IntArray, breaks: BoolArray) -> BoolArray:
    """Where pieces start: stretches of equal steps are kept whole, from the left; all other tokens stand alone."""
    total = values.shape[1]
    starts = breaks.copy()
    if total < 2:
        return starts
    steps = np.diff(values, axis=1)
    inside = ~breaks[1:]
    changes = np.ones(total - 1, np.bool_)
    changes[1:] = np.any(steps[:, 1:] != steps[:, :-1], axis=0) | ~inside[1:] | ~inside[:-1]
    run_start = np.flatnonzero(changes)
    run_stop = np.append(run_start[1:], total - 1)
    # a constant pair is worth a piece, a sloped pair is not: q // 2 falls into pairs, q % 4 into fours
    flat = np.all(steps[:, run_start] == 0, axis=0)
    whole = inside[run_start] & ((run_stop - run_start >= 2) | flat)
    run_start, run_stop = run_start[whole], run_stop[whole]
    taken = np.zeros(len(run_start), np.bool_)
    taken[1:] = run_start[1:] == run_stop[:-1]
    begin, end = run_start + taken, run_stop + 1
    cover = np.zeros(total + 1, np.int64)
    np.add.at(cover, begin, 1)
    np.add.at(cover, end, -1)
    starts[begin] = True
    starts[end[end < total]] = True
    starts |= np.cumsum(cover[:-1]) == 0
    return starts
