"""Items and rows of tables, for arrays of indices. Whatever lies outside of a table is an error, never a wrapped index."""

from __future__ import annotations

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray
from compilemask.lowering.binding import Binding, Table
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Operation
from compilemask.lowering.number_arrays import Lookup, Numbers, circumstances, numbers_of


def table_item(operation: Operation, row: Numbers, column: Numbers, binding: Binding, lookup: Lookup) -> Numbers:
    """`answers[row][column]`."""
    table = binding.table(operation.list_name)
    rows = table_rows(operation, row, table, lookup)
    start = table.start[rows]
    lengths = table.start[rows + 1] - start if table.num_rows else np.zeros_like(rows)
    outside = (column.array < 0) | (column.array >= lengths)
    if bool(np.any(outside)):
        number = _first(column.array, outside)
        at = _first(rows, outside)
        where = _where(operation, outside, lookup)
        raise BindError(
            "CM407",
            f"`{operation.list_name}[{at}][{number}]` does not exist{where}: row {at} has {_elements(_first(lengths, outside))}",
            operation.span,
            "give lists of matching lengths, or keep the index inside the row",
        )
    known = numbers_of(table.items)
    found = (
        table.items[start + column.array] if len(table.items) else np.zeros(np.shape(start + column.array), np.int64)
    )
    return Numbers(np.asarray(found), known.lo, known.hi)


def row_fold(operation: Operation, row: Numbers, binding: Binding, lookup: Lookup) -> Numbers:
    """`len(answers[row])`, and sum, min and max of a row."""
    table = binding.table(operation.list_name)
    rows = table_rows(operation, row, table, lookup)
    if table.num_rows == 0:
        return Numbers(np.zeros_like(rows), 0, 0)
    lengths = np.diff(table.start)
    fold = operation.operator.removeprefix("row ")
    if fold in ("min", "max"):
        empty = lengths[rows] == 0
        if bool(np.any(empty)):
            name = f"{operation.list_name}[{_first(rows, empty)}]"
            raise BindError(
                "CM407",
                f"{fold}({name}) needs an element, but the row is empty",
                operation.span,
                f"give {name} at least one element",
            )
    match fold:
        case "len":
            per_row = lengths
        case "sum":
            ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.items)])
            per_row = ends[table.start[1:]] - ends[table.start[:-1]]
        case _:
            per_row = np.zeros(table.num_rows, np.int64)
            filled = np.flatnonzero(lengths)
            choose = np.minimum if fold == "min" else np.maximum
            per_row[filled] = choose.reduceat(table.items, table.start[filled]) if len(filled) else 0
    known = numbers_of(per_row)
    return Numbers(np.asarray(per_row[rows]), known.lo, known.hi)


def table_rows(operation: Operation, row: Numbers, table: Table, lookup: Lookup) -> IntArray:
    """The numbers of rows, all of which the table has."""
    outside = (row.array < 0) | (row.array >= table.num_rows)
    if bool(np.any(outside)):
        where = _where(operation, outside, lookup)
        raise BindError(
            "CM407",
            f"`{operation.list_name}[{_first(row.array, outside)}]` does not exist{where}: the table has "
            f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}",
            operation.span,
            "give tables of matching sizes, or keep the index inside the table",
        )
    return np.asarray(row.array)


def _where(operation: Operation, outside: BoolArray, lookup: Lookup) -> str:
    terms = tuple(term for operand in operation.operands for term in operand.terms)
    return circumstances(Form(terms, 0), np.asarray(outside), lookup)


def _first(numbers: IntArray, chosen: BoolArray) -> int:
    return int(np.broadcast_to(numbers, np.shape(chosen))[chosen].flat[0])


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"
