"""Bounds of a form in closed form, from those of its variables: never too narrow, and often exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from compilemask.geometry.ragged import IntArray
from compilemask.lowering.binding import Binding
from compilemask.lowering.forms import Form, Operation, Variable
from compilemask.lowering.limits import MAX_NUMBER

Interval = tuple[int, int]
"""The least and the greatest number, both included."""

_ANY: Interval = (-MAX_NUMBER, MAX_NUMBER)


def bounds_of(form: Form, binding: Binding, variable: Callable[[Variable], Interval]) -> Interval:
    """Bounds of the numbers of a form; variable: those of its variables."""
    lo = hi = form.constant
    for term, factor in form.terms:
        ends = variable(term) if isinstance(term, Variable) else _of_operation(term, binding, variable)
        lo, hi = lo + min(factor * ends[0], factor * ends[1]), hi + max(factor * ends[0], factor * ends[1])
    return lo, hi


def _of_operation(operation: Operation, binding: Binding, variable: Callable[[Variable], Interval]) -> Interval:
    parts = [bounds_of(operand, binding, variable) for operand in operation.operands]
    match operation.operator:
        case "*":
            corners = [one * other for one in parts[0] for other in parts[1]]
            return min(corners), max(corners)
        case "//":
            return _quotient(*parts)
        case "%":
            return _remainder(*parts)
        case "min":
            return min(lo for lo, _ in parts), min(hi for _, hi in parts)
        case "max":
            return max(lo for lo, _ in parts), max(hi for _, hi in parts)
        case "element":
            return _of_numbers(binding.array(operation.list_name))
        case "item":
            return _of_numbers(binding.table(operation.list_name).items)
        case "row len":
            return _of_numbers(np.diff(binding.table(operation.list_name).start))
        case "row min" | "row max":
            return _of_numbers(binding.table(operation.list_name).items)
        case "row sum":
            return _ANY
        case "ancestor" | "member":
            return 0, 1
        case _:
            assert_never(operation.operator)


def _quotient(left: Interval, right: Interval) -> Interval:
    if right[0] <= 0 <= right[1]:
        reach = max(abs(left[0]), abs(left[1]))
        return -reach, reach
    corners = [one // other for one in left for other in right]
    return min(corners), max(corners)


def _remainder(left: Interval, right: Interval) -> Interval:
    lo, hi = min(right[0] + 1, 0), max(right[1] - 1, 0)
    if left[0] >= 0 and right[0] > 0:
        hi = min(hi, left[1])
    return lo, hi


def _of_numbers(numbers: IntArray) -> Interval:
    return (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
