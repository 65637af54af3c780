"""Numbers that must exist: items of lists and tables, nodes of trees, quotients, for every query and key that meet.

They are asked about before a condition is read, since what is read may leave them out: `0 * t[k]` is 0 at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from compilemask.diagnostics import Span
from compilemask.lowering.ancestry import check_parents
from compilemask.lowering.bounds import Interval, bounds_of
from compilemask.lowering.forms import Form, Operation, Operator, Variable, of_term
from compilemask.lowering.translate import ROW_FOLDS, Scope, form_of
from compilemask.semantics.program import (
    All,
    Ancestor,
    AnyOf,
    Binary,
    Call,
    Causal,
    Chosen,
    Compare,
    Condition,
    Coordinate,
    Element,
    Expression,
    Flag,
    InstanceIndex,
    ListFold,
    Member,
    Near,
    Negate,
    Not,
    Number,
    ParameterValue,
    Position,
    SamePosition,
)

Guarded = Element | ListFold | Binary | Ancestor | Member
"""What may not exist: an item, a row, a quotient, a node, a row of a table that is asked for a number."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The queries and keys of one pair of regions.

    variable: the least and the greatest number of a variable. attempt: evaluates a form for all queries and keys, and
    raises `BindError` for the first one without a number.
    """

    variable: Callable[[Variable], Interval]
    attempt: Callable[[Form, Span], None]


def check_guards(condition: Condition, scope: Scope, meeting: Meeting) -> None:
    """Raises `BindError` where a part of the condition has no number for some query and key, whatever else it says."""
    for part in _of_condition(condition):
        match part:
            case Element(name, index, span, row):
                _check_item(name, index, row, span, scope, meeting)
            case ListFold(fold, name, span, row) if row is not None:
                _check_row(ROW_FOLDS[fold], name, row, span, scope, meeting)
            case Member(_, name, row, span) if row is not None:
                _check_row("row len", name, row, span, scope, meeting)
            case Binary(("//" | "%") as sign, _, divisor, span):
                form = form_of(divisor, scope)
                lo, hi = bounds_of(form, scope.binding, meeting.variable)
                if form.terms and lo <= 0 <= hi:
                    _attempt(Operation(sign, (Form((), 1), form), form.sides, span), meeting)
            case Ancestor():
                _check_nodes(part, scope, meeting)
            case _:
                pass


def _check_item(
    name: str, index: Expression, row: Expression | None, span: Span, scope: Scope, meeting: Meeting
) -> None:
    column = form_of(index, scope)
    inside = bounds_of(column, scope.binding, meeting.variable)
    if row is None:
        if not _within(inside, len(scope.binding.array(name))):
            _attempt(Operation("element", (column,), column.sides, span, name), meeting)
        return
    table, line = scope.binding.table(name), form_of(row, scope)
    shortest = int(np.diff(table.start).min(initial=2**31))
    lines = bounds_of(line, scope.binding, meeting.variable)
    if not (_within(lines, table.num_rows) and _within(inside, shortest)):
        _attempt(Operation("item", (line, column), line.sides | column.sides, span, name), meeting)


def _check_row(operator: Operator, name: str, row: Expression, span: Span, scope: Scope, meeting: Meeting) -> None:
    table, line = scope.binding.table(name), form_of(row, scope)
    filled = operator in ("row len", "row sum") or bool(np.all(np.diff(table.start) > 0))
    if not (_within(bounds_of(line, scope.binding, meeting.variable), table.num_rows) and filled):
        _attempt(Operation(operator, (line,), line.sides, span, name), meeting)


def _check_nodes(part: Ancestor, scope: Scope, meeting: Meeting) -> None:
    check_parents(scope.binding.array(part.parents), part.parents, part.span)
    for node in (part.above, part.below):
        form = form_of(node, scope)
        if not _within(bounds_of(form, scope.binding, meeting.variable), len(scope.binding.array(part.parents))):
            _attempt(Operation("ancestor", (form, form), form.sides, part.span, part.parents), meeting)


def _within(found: Interval, count: int) -> bool:
    return found[0] >= 0 and found[1] < count


def _attempt(operation: Operation, meeting: Meeting) -> None:
    meeting.attempt(of_term(operation), operation.span)


def _of_condition(condition: Condition) -> Iterator[Guarded]:
    """The parts that may not exist, those inside of others first."""
    match condition:
        case All(items) | AnyOf(items):
            for item in items:
                yield from _of_condition(item)
        case Not(item):
            yield from _of_condition(item)
        case Compare(_, left, right):
            yield from _of_expression(left)
            yield from _of_expression(right)
        case Chosen(element):
            yield from _of_expression(element)
        case Ancestor(above, below):
            yield from _of_expression(above)
            yield from _of_expression(below)
            yield condition
        case Member(value, _, row):
            yield from _of_expression(value)
            if row is not None:
                yield from _of_expression(row)
            yield condition
        case Flag() | Near() | Causal() | SamePosition():
            return  # the numbers of `near` are made of parameters, and are read whatever becomes of it
        case _:
            assert_never(condition)


def _of_expression(expression: Expression) -> Iterator[Guarded]:
    match expression:
        case Element(_, index, _, row):
            if row is not None:
                yield from _of_expression(row)
            yield from _of_expression(index)
            yield expression
        case ListFold(_, _, _, row):
            if row is not None:
                yield from _of_expression(row)
            yield expression
        case Binary(_, left, right):
            yield from _of_expression(left)
            yield from _of_expression(right)
            yield expression
        case Negate(operand):
            yield from _of_expression(operand)
        case Call(_, arguments):
            for argument in arguments:
                yield from _of_expression(argument)
        case Number() | ParameterValue() | InstanceIndex() | Position() | Coordinate():
            return
        case _:
            assert_never(expression)
