"""Expressions and conditions at one cell, in plain integers: for explanations, one cell at a time."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from compilemask.diagnostics import Span
from compilemask.lowering.failure import BindError
from compilemask.lowering.layout import Instances
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
    Value,
)

_ORDER = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One cell of a pair of regions: absolute positions, the instances that they lie in, and the instance numbers."""

    values: Mapping[str, Value]
    q: int
    k: int
    queries: Instances
    keys: Instances
    q_instance: int
    k_instance: int
    indices: Mapping[str, int]

    def place(self, side: str) -> tuple[int, Instances, int]:
        return (self.q, self.queries, self.q_instance) if side == "q" else (self.k, self.keys, self.k_instance)

    def position(self, side: str) -> int:
        """Counted from the start of the region instance."""
        token, instances, instance = self.place(side)
        return token - int(instances.start[instance])

    def length(self, side: str) -> int:
        _, instances, instance = self.place(side)
        return int(instances.stop[instance] - instances.start[instance])

    def extent(self, side: str, axis: int) -> int:
        _, instances, instance = self.place(side)
        return int(instances.extents[axis][instance])

    def coordinate(self, side: str, axis: int) -> int:
        _, instances, instance = self.place(side)
        rest = self.position(side)
        for later in range(len(instances.extents) - 1, axis, -1):
            rest //= int(instances.extents[later][instance])
        return rest % int(instances.extents[axis][instance])


def number(expression: Expression, cell: Cell) -> int:
    """The number that an expression is at a cell."""
    match expression:
        case Number(value):
            return value
        case ParameterValue(name):
            return int(_scalar(cell.values[name]))
        case Element(name, index, span, row):
            numbers = _numbers(cell.values[name]) if row is None else _row(name, row, span, cell)
            place = number(index, cell)
            if not 0 <= place < len(numbers):
                raise BindError("CM407", f"`{name}[{place}]` does not exist", span)
            return int(numbers[place])
        case ListFold(fold, name, span, row):
            rows = _rows(cell.values[name])
            if row is None and fold == "len":
                return len(rows)
            if row is None and fold == "sum":
                return sum(sum(item) if isinstance(item, tuple) else item for item in rows)
            numbers = _numbers(rows) if row is None else _row(name, row, span, cell)
            return {"len": len, "sum": sum, "min": min, "max": max}[fold](numbers)  # type: ignore[operator, no-any-return]
        case InstanceIndex(name):
            return cell.indices[name]
        case Position(side, frame):
            return cell.place(side)[0] if frame == "axis" else cell.position(side)
        case Coordinate(side, axis):
            return cell.coordinate(side, axis)
        case Binary(sign, left, right, span):
            a, b = number(left, cell), number(right, cell)
            if sign in ("//", "%") and b == 0:
                raise BindError("CM408", f"the divisor of `{sign}` is 0 here", span)
            return int(_ARITHMETIC[sign](a, b))
        case Negate(operand):
            return -number(operand, cell)
        case Call(function, arguments):
            found = [number(argument, cell) for argument in arguments]
            match function:
                case "min":
                    return min(found)
                case "max":
                    return max(found)
                case "abs":
                    return abs(found[0])
        case _:
            assert_never(expression)


def holds(condition: Condition, cell: Cell) -> bool:
    """Whether a condition holds at a cell."""
    match condition:
        case All(items):
            return all(holds(item, cell) for item in items)
        case AnyOf(items):
            return any(holds(item, cell) for item in items)
        case Not(item):
            return not holds(item, cell)
        case Flag(value):
            return bool(cell.values[value]) if isinstance(value, str) else value
        case Compare(sign, left, right):
            return bool(_ORDER[sign](number(left, cell), number(right, cell)))
        case Chosen(element):
            return number(element, cell) != 0
        case Ancestor(above, below, parents):
            return _is_ancestor(condition, number(above, cell), number(below, cell), _numbers(cell.values[parents]))
        case Member(value, name, row, span):
            return number(value, cell) in (_numbers(cell.values[name]) if row is None else _row(name, row, span, cell))
        case Near():
            return _is_near(condition, cell)
        case Causal(align):
            return _lead(align, cell) >= 0
        case SamePosition(align):
            return _lead(align or "start", cell) == 0
        case _:
            assert_never(condition)


def failing_part(condition: Condition, cell: Cell, source: str) -> str:
    """The smallest part of a failing condition that already fails, in its own words and with its numbers."""
    match condition:
        case All(items):
            return failing_part(next(item for item in items if not holds(item, cell)), cell, source)
        case Compare(_, left, right, span):
            numbers = f": {number(left, cell)} and {number(right, cell)}"
            return f"`{_text(source, span.start, span.stop)}` is false{numbers}"
        case Not(excepted=True):
            return f"`{_text(source, condition.span.start, condition.span.stop)}` is true, and excepted"
        case AnyOf() | Not() | Flag() | Chosen() | Ancestor() | Member() | Near() | Causal() | SamePosition():
            return f"`{_text(source, condition.span.start, condition.span.stop)}` is false"
        case _:
            assert_never(condition)


def _is_ancestor(condition: Ancestor, above: int, below: int, parents: tuple[int, ...]) -> bool:
    """Every step goes to a node before, so that the way up ends."""
    for node in (above, below):
        if not 0 <= node < len(parents):
            raise BindError("CM407", f"node {node} does not exist in `{condition.parents}`", condition.span)
    while (over := parents[below]) >= 0:
        if over >= below:
            message = f"`{condition.parents}[{below}]` is {over}, but the parent of a node is a node before it, or -1"
            raise BindError("CM422", message, condition.span)
        if over == above:
            return True
        below = over
    return False


def _is_near(near: Near, cell: Cell) -> bool:
    """By the definition: one line of every dilation-th place, and in it a window around the leader."""
    q, k = number(near.query, cell), number(near.key, cell)
    kernel, dilation, stride = (number(size, cell) for size in (near.kernel, near.dilation, near.stride))
    if q % dilation != k % dilation:
        return False
    length = cell.length("q") if isinstance(near.query, Position) else cell.extent("q", near.query.axis)
    last = (length - 1 - q % dilation) // dilation
    q, k = q // dilation, k // dilation
    leader = min(q // stride * stride + (stride - 1 if near.causal else stride // 2), last)
    if near.causal:
        return k <= q and leader - k < kernel
    start = min(max(leader - kernel // 2, 0), last - kernel + 1)
    return start <= k < start + kernel


def _lead(align: str | None, cell: Cell) -> int:
    """How far the query is ahead of the key."""
    match align:
        case None:
            return cell.q - cell.k
        case "start":
            return cell.position("q") - cell.position("k")
        case _:
            return cell.position("q") - cell.length("q") - (cell.position("k") - cell.length("k"))


def _text(source: str, start: int, stop: int) -> str:
    return " ".join(source[start:stop].split())


def _scalar(value: Value) -> int:
    assert isinstance(value, int), "the checker lets only int parameters stand as numbers"
    return value


def _rows(value: Value) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
    assert isinstance(value, tuple), "the checker lets only lists and tables stand as lists"
    return value


def _numbers(value: Value) -> tuple[int, ...]:
    return tuple(item for item in _rows(value) if not isinstance(item, tuple))


def _row(name: str, row: Expression, span: Span, cell: Cell) -> tuple[int, ...]:
    """One row of a table."""
    rows, place = _rows(cell.values[name]), number(row, cell)
    found = rows[place] if 0 <= place < len(rows) else None
    if not isinstance(found, tuple):
        raise BindError("CM407", f"`{name}[{place}]` does not exist", span)
    return found
