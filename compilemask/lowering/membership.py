"""Numbers of a list, and of the rows of a table: sorted once, so that a search tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import BoolArray, IntArray, offsets
from compilemask.lowering.bands import Bands
from compilemask.lowering.binding import Binding
from compilemask.lowering.forms import Operation
from compilemask.lowering.lookups import table_rows
from compilemask.lowering.number_arrays import Lookup, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The distinct numbers of each row of a table: row r has values[number[start[r]:start[r + 1]]], ascending.

    values: all distinct numbers of the table, ascending.
    """

    values: IntArray
    number: IntArray
    start: IntArray

    def holds(self, rows: IntArray, numbers: IntArray) -> BoolArray:
        """Whether each row has the number beside it."""
        if len(self.values) == 0:
            return np.zeros(np.broadcast_shapes(rows.shape, numbers.shape), np.bool_)
        place, known = self.places(numbers)
        owner = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        # both factors are at most the length of the table, so that the codes stay far below 2^63
        codes = owner * len(self.values) + self.number
        wanted = rows * len(self.values) + place
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.asarray(known & (codes[at] == wanted))

    def places(self, numbers: IntArray) -> tuple[IntArray, BoolArray]:
        """The place of each number in `values`, and whether it is there at all."""
        if len(self.values) == 0:
            return np.zeros_like(numbers), np.zeros(numbers.shape, np.bool_)
        place = np.minimum(np.searchsorted(self.values, numbers), len(self.values) - 1)
        return np.asarray(place), np.asarray(self.values[place] == numbers)


def members_of(binding: Binding, name: str, span: Span) -> Members:
    """The numbers of the rows of an int[][] parameter."""
    table = binding.table(name)
    binding.spend(len(table.items), span)
    values, number = np.unique(table.items, return_inverse=True)
    owner = np.repeat(np.arange(table.num_rows), np.diff(table.start))
    codes = np.unique(owner * max(len(values), 1) + number)
    row, number = np.divmod(codes, max(len(values), 1))
    return Members(values, number, offsets(np.bincount(row, minlength=table.num_rows)))


def bands_of_numbers(numbers: IntArray) -> Bands:
    """The numbers as a set."""
    values = np.unique(numbers)
    fresh = np.ones(len(values), np.bool_)
    fresh[1:] = values[1:] != values[:-1] + 1
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(values))[: len(first)] - 1
    return Bands(values[first], values[last] + 1)


def is_in_row(operation: Operation, row: Numbers, number: Numbers, binding: Binding, lookup: Lookup) -> Numbers:
    """1 where the row has the number, else 0."""
    table = binding.table(operation.list_name)
    rows = table_rows(operation, row, table, lookup)
    members = members_of(binding, operation.list_name, operation.span)
    return Numbers(np.asarray(members.holds(rows, number.array), dtype=np.int64), 0, 1)
