"""Expressions of the checked mask into forms: parameters replaced by their values, names by sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from compilemask.lowering import forms
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import K_SIDE, Q_SIDE, Form, Operation, Operator, Variable
from compilemask.lowering.number_arrays import Numbers
from compilemask.lowering.numbers import evaluate
from compilemask.semantics.program import (
    Binary,
    Call,
    Coordinate,
    Element,
    Expression,
    InstanceIndex,
    ListFold,
    Negate,
    Number,
    ParameterValue,
    Position,
    Value,
)

AXIS_LETTERS = {1: "x", 2: "yx", 3: "zyx"}
ROW_FOLDS: Mapping[str, Operator] = {"len": "row len", "sum": "row sum", "min": "row min", "max": "row max"}


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean at one place: the values of the parameters, the sides of the instance numbers, the grids' ranks."""

    binding: Binding
    index_sides: Mapping[str, int] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)


def form_of(expression: Expression, scope: Scope) -> Form:
    """The form of an expression; raises `BindError` when constants overflow or divide by zero."""
    match expression:
        case Number(value, span):
            return forms.constant(value, span)
        case ParameterValue(name, span):
            return forms.constant(_int(scope, name), span)
        case ListFold():
            return _fold(expression, scope)
        case Element():
            return _element(expression, scope)
        case InstanceIndex(name):
            return forms.of_term(Variable(scope.index_sides[name], "index", name))
        case Position(side, frame):
            return forms.of_term(Variable(_side(side), frame))
        case Coordinate(side, axis):
            letters = AXIS_LETTERS[scope.ranks[side]]
            return forms.of_term(Variable(_side(side), "coordinate", letters[axis], axis))
        case Binary():
            return _binary(expression, scope)
        case Negate(operand, span):
            return forms.scale(form_of(operand, scope), -1, span)
        case Call():
            return _call(expression, scope)
        case _:
            assert_never(expression)


def _binary(expression: Binary, scope: Scope) -> Form:
    left, right, span = form_of(expression.left, scope), form_of(expression.right, scope), expression.span
    match expression.operator:
        case "+":
            return forms.add(left, right, span)
        case "-":
            return forms.add(left, right, span, -1)
        case "*":
            return forms.multiply(left, right, span)
        case "//" | "%":
            return forms.divide(expression.operator, left, right, span)


def _call(expression: Call, scope: Scope) -> Form:
    operands = tuple(form_of(argument, scope) for argument in expression.arguments)
    match expression.function:
        case "abs":
            return forms.magnitude(operands[0], expression.span)
        case "min" | "max":
            return forms.extreme(expression.function, operands, expression.span)


def _fold(expression: ListFold, scope: Scope) -> Form:
    if expression.row is not None:
        row = form_of(expression.row, scope)
        operator = ROW_FOLDS[expression.fold]
        return _known(Operation(operator, (row,), row.sides, expression.span, expression.name), scope)
    numbers = _list(scope, expression.name)
    if not numbers and expression.fold in ("min", "max"):
        raise BindError(
            "CM407",
            f"{expression.fold}({expression.name}) needs an element, but the list is empty",
            expression.span,
            f"give {expression.name} at least one element",
        )
    match expression.fold:
        case "len":
            number = len(numbers)
        case "sum":
            number = sum(_all_numbers(scope.binding.values[expression.name]))
        case "min":
            number = min(numbers)
        case "max":
            number = max(numbers)
    return forms.constant(number, expression.span)


def _known(operation: Operation, scope: Scope) -> Form:
    """A look-up as a form; as a constant when its indices are constants."""
    form = forms.of_term(operation)
    if any(operand.terms for operand in operation.operands):
        return form
    return forms.constant(int(evaluate(form, no_variable, scope.binding, operation.span).array), operation.span)


def no_variable(variable: Variable) -> Numbers:
    """The look-up of forms that are constants."""
    raise AssertionError(f"a constant does not depend on {variable.shown}")


def _element(expression: Element, scope: Scope) -> Form:
    index = form_of(expression.index, scope)
    if expression.row is not None:
        row = form_of(expression.row, scope)
        sides = row.sides | index.sides
        return _known(Operation("item", (row, index), sides, expression.span, expression.name), scope)
    numbers = _list(scope, expression.name)
    if index.terms:
        return forms.of_term(Operation("element", (index,), index.sides, expression.span, expression.name))
    if not 0 <= index.constant < len(numbers):
        raise BindError(
            "CM407",
            f"`{expression.name}[{index.constant}]` does not exist: the list has "
            f"{len(numbers)} element{'' if len(numbers) == 1 else 's'}",
            expression.span,
            "indices count from 0 and do not wrap around",
        )
    return forms.constant(numbers[index.constant], expression.span)


def _int(scope: Scope, name: str) -> int:
    value = scope.binding.values[name]
    assert isinstance(value, int), f"the checker lets only int parameters stand as numbers, got {name}"
    return int(value)


def _list(scope: Scope, name: str) -> list[int]:
    """The numbers of a list, or the rows of a table as zeros: only their number is asked for."""
    value = scope.binding.values[name]
    assert isinstance(value, tuple), f"the checker lets only lists and tables stand as lists, got {name}"
    return [0 if isinstance(item, tuple) else int(item) for item in value]


def _all_numbers(value: Value) -> Iterator[int]:
    """The numbers of a list, or of all rows of a table."""
    assert isinstance(value, tuple), "the checker lets only lists and tables stand as lists"
    for item in value:
        yield from item if isinstance(item, tuple) else (item,)


def _side(side: str) -> int:
    return Q_SIDE if side == "q" else K_SIDE
