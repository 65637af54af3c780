"""The numbers given for the parameters: checked against the parameters' types, completed with defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from compilemask.arguments import as_index, show
from compilemask.diagnostics import Diagnostic, Span
from compilemask.lowering.failure import header_span
from compilemask.lowering.limits import MAX_BATCH_CELLS, MAX_LIST, MAX_NUMBER
from compilemask.lowering.ranges import range_problem
from compilemask.semantics.program import CheckedMask, Parameter, ParameterType, Value


def bind_values(
    mask: CheckedMask, values: Mapping[str, object], spread: bool = False
) -> tuple[dict[str, Value], list[Diagnostic]]:
    """The value of every parameter, and what is wrong with the given ones (all of it).

    int accepts any integer but bool; int[] any sequence or one-dimensional array of integers; bool only bool; bool[] a
    sequence or array of them; int[][] and bool[][] sequences of those, or a two-dimensional array.
    spread: parameters that may differ per item or head may have sequences of such values.
    """
    bound: dict[str, Value] = {}
    problems: list[Diagnostic] = []
    known = {parameter.name: parameter for parameter in mask.parameters}
    for name in values:
        if name not in known:
            problems.append(_unknown(mask, name, list(known)))
    for parameter in mask.parameters:
        if parameter.name in values:
            given = values[parameter.name]
            many = spread and parameter.per is not None
            value = _spread(parameter, given) if many and _is_spread(parameter, given) else _in_range(parameter, given)
            if isinstance(value, Diagnostic):
                problems.append(
                    replace(value, hint=_batch_hint(parameter)) if many and value.code == "CM403" else value
                )
            else:
                bound[parameter.name] = value
        elif parameter.default is not None:
            bound[parameter.name] = parameter.default
        else:
            problems.append(
                _problem(
                    "CM401",
                    f"parameter `{parameter.name}` has no value",
                    parameter.span,
                    f"give {parameter.name} = {sample(parameter.type)}, or write a default behind it in the mask",
                )
            )
    return bound, problems


def _in_range(parameter: Parameter, given: object) -> Value | Diagnostic:
    value = _convert(parameter, given)
    problem = None if isinstance(value, Diagnostic) else range_problem(parameter, value)
    return value if problem is None else problem


def _is_spread(parameter: Parameter, given: object) -> bool:
    """Whether a value is meant as one for each item or head."""
    if parameter.per is None:
        return False
    depth = 0
    while depth <= parameter.type.depth:
        if isinstance(given, np.ndarray) and given.ndim:
            given = list(given[:1])
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            return False
        depth += 1
        given = given[0] if len(given) else None
    return True


def _spread(parameter: Parameter, given: object) -> Value | Diagnostic:
    """A value for each item or head, each checked as a value of the parameter."""
    assert isinstance(given, (Sequence, np.ndarray)), "only sequences are spread"
    if len(given) > MAX_BATCH_CELLS:
        return _too_long(parameter, len(given), None, MAX_BATCH_CELLS)
    found: list[Any] = []
    for place, item in enumerate(given):
        value = _in_range(replace(parameter, name=f"{parameter.name}[{place}]"), item)
        if isinstance(value, Diagnostic):
            return value
        found.append(value)
    return tuple(found)


def _convert(parameter: Parameter, given: object) -> Value | Diagnostic:
    match parameter.type:
        case ParameterType.BOOL:
            if isinstance(given, (bool, np.bool_)):
                return bool(given)
            return _wrong_type(parameter, given, "true or false")
        case ParameterType.INT:
            number = _integer(given)
            if number is None:
                return _wrong_type(parameter, given, "one integer")
            return number if abs(number) < MAX_NUMBER else _too_large(parameter, number)
        case ParameterType.INT_LIST:
            return _convert_list(parameter, given)
        case ParameterType.BOOL_LIST:
            return _convert_bools(parameter, given)
        case ParameterType.INT_TABLE | ParameterType.BOOL_TABLE:
            return _convert_table(parameter, given)


def _convert_bools(parameter: Parameter, given: object, name: str | None = None) -> tuple[bool, ...] | Diagnostic:
    wanted = "a list of true and false"
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype == np.bool_:
        given = given.tolist()
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        return _wrong_type(parameter, given, wanted, name)
    if len(given) > MAX_LIST:
        return _too_long(parameter, len(given), name)
    for place, item in enumerate(given):
        if not isinstance(item, (bool, np.bool_)):
            return _wrong_type(parameter, item, wanted, f"{name or parameter.name}[{place}]")
    return tuple(bool(item) for item in given)


def _convert_table(parameter: Parameter, given: object) -> Value | Diagnostic:
    """Rows of a table, each a list; a two-dimensional array is one too."""
    if isinstance(given, np.ndarray):
        if given.ndim != 2:
            return _wrong_type(parameter, given, "a list of lists")
        given = list(given)
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        return _wrong_type(parameter, given, "a list of lists")
    rows: list[tuple[int, ...]] = []
    total = 0
    for place, row in enumerate(given):
        name = f"{parameter.name}[{place}]"
        found = _convert_bools(parameter, row, name) if parameter.type.is_bool else _convert_list(parameter, row, name)
        if isinstance(found, Diagnostic):
            return found
        total += len(found) + 1
        if total > MAX_LIST:
            return _too_long(parameter, total, None)
        rows.append(found)
    return tuple(rows)


def _too_long(parameter: Parameter, length: int, name: str | None, limit: int = MAX_LIST) -> Diagnostic:
    return _problem(
        "CM405",
        f"the list `{name or parameter.name}` has {length:,} elements; the limit is {limit:,}",
        parameter.span,
        "bind a shorter list",
    )


def _convert_list(parameter: Parameter, given: object, name: str | None = None) -> tuple[int, ...] | Diagnostic:
    if isinstance(given, np.ndarray):
        if given.ndim != 1 or given.dtype.kind not in "iu":
            return _wrong_type(parameter, given, "a list of integers", name)
        given = given.tolist()
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        return _wrong_type(parameter, given, "a list of integers", name)
    if len(given) > MAX_LIST:
        return _too_long(parameter, len(given), name)
    if all(type(item) is int for item in given):
        numbers = tuple(given)
    else:
        converted = [_integer(item) for item in given]
        for place, number in enumerate(converted):
            if number is None:
                shown = f"{name or parameter.name}[{place}]"
                return _wrong_type(parameter, given[place], "a list of integers", shown)
        numbers = tuple(number for number in converted if number is not None)
    if numbers and max(max(numbers), -min(numbers)) >= MAX_NUMBER:
        return _too_large(parameter, max(numbers, key=abs))
    return numbers


def _integer(given: object) -> int | None:
    """The integer that `given` is, or None; bools of any library, and floats, are none."""
    try:
        return as_index(given, "")
    except ValueError:
        return None


def sample(kind: ParameterType) -> str:
    """A value of a type as it is written in a text, for messages."""
    return {
        ParameterType.INT: "64",
        ParameterType.BOOL: "true",
        ParameterType.INT_LIST: "[16, 24, 8]",
        ParameterType.BOOL_LIST: "[true, false]",
        ParameterType.INT_TABLE: "[[16, 24], [8]]",
        ParameterType.BOOL_TABLE: "[[true, false], [true, true]]",
    }[kind]


def _wrong_type(parameter: Parameter, given: object, wanted: str, name: str | None = None) -> Diagnostic:
    shown = ascii(given) if isinstance(given, (str, list, tuple)) else show(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    hint = f"for example {parameter.name} = {sample(parameter.type)}"
    if isinstance(given, (list, tuple, np.ndarray)):
        if parameter.per is not None:
            hint = f"this is about one mask: give one value, that of one {parameter.per}"
        elif parameter.type in (ParameterType.INT, ParameterType.BOOL):
            hint += f"; for a list, declare `{parameter.name}: {parameter.type.value}[]`"
    elif parameter.type.depth and hasattr(given, "tolist"):
        hint += f"; of a tensor, give {parameter.name}.tolist()"
    return _problem(
        "CM403",
        f"`{name or parameter.name}` got {shown}, but the parameter is {parameter.type.value}: it wants {wanted}",
        parameter.span,
        hint,
    )


def _batch_hint(parameter: Parameter) -> str:
    """What a parameter that may differ in a batch takes."""
    one = sample(parameter.type)
    name = parameter.name
    return f"give one value for all {parameter.per}s, {name} = {one}, or one for each {parameter.per}, {name} = [{one}, {one}]"


def _too_large(parameter: Parameter, number: int) -> Diagnostic:
    shown = str(number) if abs(number) < 10**30 else f"a number of {number.bit_length()} bits"
    return _problem(
        "CM409", f"`{parameter.name}` got {shown}; numbers stay below 2^60", parameter.span, "bind a smaller number"
    )


def _unknown(mask: CheckedMask, name: str, known: list[str]) -> Diagnostic:
    near = get_close_matches(str(name), known, n=1)
    if near:
        hint = f"did you mean `{near[0]}`?"
    else:
        hint = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
    return _problem("CM402", f"mask `{mask.name}` has no parameter `{name}`", header_span(mask), hint)


def _problem(code: str, message: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic(code=code, severity="error", message=message, span=span, hint=hint)
