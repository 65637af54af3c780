"""The numbers given for the parameters: checked against the parameters' types, completed with defaults."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from compilemask.diagnostics import Diagnostic, Span
from compilemask.lowering.failure import header_span
from compilemask.lowering.limits import MAX_LIST, MAX_NUMBER
from compilemask.semantics.program import CheckedMask, Parameter, ParameterType

Value = int | bool | tuple[int, ...]


def bind_values(mask: CheckedMask, values: Mapping[str, object]) -> tuple[dict[str, Value], list[Diagnostic]]:
    """The value of every parameter, and what is wrong with the given ones (all of it).

    int accepts any integer but bool; int[] any sequence or one-dimensional array of integers; bool only bool.
    """
    bound: dict[str, Value] = {}
    problems: list[Diagnostic] = []
    known = {parameter.name: parameter for parameter in mask.parameters}
    for name in values:
        if name not in known:
            problems.append(_unknown(mask, name, list(known)))
    for parameter in mask.parameters:
        if parameter.name in values:
            value = _convert(parameter, values[parameter.name])
            if isinstance(value, Diagnostic):
                problems.append(value)
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
                    f"give {parameter.name} = {_sample(parameter.type)}, or write a default behind it in the mask",
                )
            )
    return bound, problems


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


def _convert_list(parameter: Parameter, given: object) -> Value | Diagnostic:
    if isinstance(given, np.ndarray):
        if given.ndim != 1 or given.dtype.kind not in "iu":
            return _wrong_type(parameter, given, "a list of integers")
        given = given.tolist()
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        return _wrong_type(parameter, given, "a list of integers")
    if len(given) > MAX_LIST:
        return _problem(
            "CM405",
            f"the list `{parameter.name}` has {len(given):,} elements; the limit is {MAX_LIST:,}",
            parameter.span,
            "bind a shorter list",
        )
    if all(type(item) is int for item in given):
        numbers = tuple(given)
    else:
        converted = [_integer(item) for item in given]
        for place, number in enumerate(converted):
            if number is None:
                return _wrong_type(parameter, given[place], "a list of integers", f"{parameter.name}[{place}]")
        numbers = tuple(number for number in converted if number is not None)
    if numbers and max(max(numbers), -min(numbers)) >= MAX_NUMBER:
        return _too_large(parameter, max(numbers, key=abs))
    return numbers


def _integer(given: object) -> int | None:
    """The integer that `given` is, or None; a bool and a float are none."""
    if isinstance(given, (bool, np.bool_)):
        return None
    try:
        return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        return None


def _sample(kind: ParameterType) -> str:
    return {ParameterType.INT: "64", ParameterType.BOOL: "true", ParameterType.INT_LIST: "[16, 24, 8]"}[kind]


def _wrong_type(parameter: Parameter, given: object, wanted: str, name: str | None = None) -> Diagnostic:
    shown = (
        ascii(given) if isinstance(given, (bool, int, float, str, list, tuple, type(None))) else type(given).__name__
    )
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return _problem(
        "CM403",
        f"`{name or parameter.name}` got {shown}, but the parameter is {parameter.type.value}: it wants {wanted}",
        parameter.span,
        f"for example {parameter.name} = {_sample(parameter.type)}",
    )


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
