"""Forms evaluated over arrays, in int64 that never wraps: bounds of every intermediate number travel along."""

from __future__ import annotations

from functools import reduce

import numpy as np

from compilemask.diagnostics import Span
from compilemask.lowering.ancestry import is_ancestor
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Operation, Variable
from compilemask.lowering.limits import MAX_NUMBER
from compilemask.lowering.lookups import row_fold, table_item
from compilemask.lowering.membership import is_in_row
from compilemask.lowering.number_arrays import Lookup, Numbers, circumstances, numbers_of

__all__ = ["Lookup", "Numbers", "evaluate", "numbers_of"]


def evaluate(form: Form, lookup: Lookup, binding: Binding, span: Span) -> Numbers:
    """The form's numbers; raises `BindError` where they overflow, divide by zero or leave a list."""
    total = Numbers(np.asarray(form.constant, dtype=np.int64), form.constant, form.constant)
    for term, factor in form.terms:
        match term:
            case Variable():
                value, place = lookup(term), span
            case Operation():
                value, place = _operate(term, lookup, binding), term.span
        total = _plus(total, _times(value, Numbers(np.asarray(factor, dtype=np.int64), factor, factor), place), place)
    return total


def _guard(lo: int, hi: int, span: Span) -> None:
    if lo <= -MAX_NUMBER or hi >= MAX_NUMBER:
        raise BindError(
            "CM409",
            "these numbers may leave the range of exact arithmetic, -2^60 to 2^60",
            span,
            "use smaller factors, or divide before multiplying",
        )


def _plus(left: Numbers, right: Numbers, span: Span) -> Numbers:
    lo, hi = left.lo + right.lo, left.hi + right.hi
    _guard(lo, hi, span)
    if left.lo == left.hi == 0:
        return right
    return Numbers(np.asarray(left.array + right.array), lo, hi)


def _times(left: Numbers, right: Numbers, span: Span) -> Numbers:
    corners = [left.lo * right.lo, left.lo * right.hi, left.hi * right.lo, left.hi * right.hi]
    lo, hi = min(corners), max(corners)
    _guard(lo, hi, span)
    if right.lo == right.hi == 1:
        return left
    return Numbers(np.asarray(left.array * right.array), lo, hi)


def _operate(operation: Operation, lookup: Lookup, binding: Binding) -> Numbers:
    values = [evaluate(operand, lookup, binding, operation.span) for operand in operation.operands]
    match operation.operator:
        case "*":
            return _times(values[0], values[1], operation.span)
        case "//" | "%":
            return _divide(operation, values[0], values[1], lookup)
        case "min":
            array = reduce(np.minimum, (value.array for value in values))
            return Numbers(np.asarray(array), min(v.lo for v in values), min(v.hi for v in values))
        case "max":
            array = reduce(np.maximum, (value.array for value in values))
            return Numbers(np.asarray(array), max(v.lo for v in values), max(v.hi for v in values))
        case "element":
            return _element(operation, values[0], binding, lookup)
        case "item":
            return table_item(operation, values[0], values[1], binding, lookup)
        case "row len" | "row sum" | "row min" | "row max":
            return row_fold(operation, values[0], binding, lookup)
        case "member":
            return is_in_row(operation, values[0], values[1], binding, lookup)
        case "ancestor":
            return is_ancestor(operation, values[0], values[1], binding, lookup)


def _divide(operation: Operation, left: Numbers, right: Numbers, lookup: Lookup) -> Numbers:
    if right.lo <= 0 <= right.hi and bool(np.any(right.array == 0)):
        where = circumstances(operation.operands[1], np.asarray(right.array == 0), lookup)
        raise BindError(
            "CM408",
            f"the divisor of `{operation.operator}` is 0{where}",
            operation.span,
            "bind numbers that keep it from 0, or write the condition without a division",
        )
    if operation.operator == "//":
        reach = max(abs(left.lo), abs(left.hi)) + 1
        lo, hi = (0 if left.lo >= 0 and right.lo > 0 else -reach), reach
        if right.lo == right.hi:
            ends = sorted((left.lo // right.lo, left.hi // right.lo))
            lo, hi = ends[0], ends[1]
        return Numbers(np.asarray(left.array // right.array), lo, hi)
    return Numbers(np.asarray(left.array % right.array), min(right.lo + 1, 0), max(right.hi - 1, 0))


def _element(operation: Operation, index: Numbers, binding: Binding, lookup: Lookup) -> Numbers:
    numbers = binding.array(operation.list_name)
    outside = (index.array < 0) | (index.array >= len(numbers))
    if bool(np.any(outside)):
        first = int(np.broadcast_to(index.array, outside.shape)[outside].flat[0])
        where = circumstances(operation.operands[0], np.asarray(outside), lookup)
        raise BindError(
            "CM407",
            f"`{operation.list_name}[{first}]` does not exist{where}: the list has "
            f"{len(numbers)} element{'' if len(numbers) == 1 else 's'}",
            operation.span,
            "give lists of matching lengths, or keep the index inside the list",
        )
    known = numbers_of(numbers)
    found = np.asarray(numbers[index.array]) if len(numbers) else np.zeros_like(index.array)
    return Numbers(found, known.lo, known.hi)
