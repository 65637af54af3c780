"""Whether the numbers given for a parameter are in the range that the text declares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compilemask.diagnostics import Diagnostic
from compilemask.semantics.program import Parameter, Value

_FEW = 64


def range_problem(parameter: Parameter, value: Value, name: str | None = None) -> Diagnostic | None:
    """The message about the first number of a value that leaves its range. name: of the value, else the parameter's."""
    lo, hi = parameter.minimum, parameter.maximum
    if lo is None and hi is None:
        return None
    for place, number in _suspects(value, lo, hi, name or parameter.name):
        limit = f"less than {lo}" if lo is not None and number < lo else f"more than {hi}"
        shown = f"{'' if lo is None else lo}..{'' if hi is None else hi}"
        return Diagnostic(
            code="CM440",
            severity="error",
            message=f"`{place}` got {number}, which is {limit}",
            span=parameter.span,
            hint=f"`{parameter.name.split('[')[0]}` takes {shown}, both ends included",
        )
    return None


def _suspects(value: object, lo: int | None, hi: int | None, name: str) -> Iterator[tuple[str, int]]:
    """The numbers outside of the range, with their places."""
    if isinstance(value, int):
        if (lo is not None and value < lo) or (hi is not None and value > hi):
            yield name, value
    elif not isinstance(value, tuple):
        raise AssertionError("values are numbers, bools and lists of them")
    elif len(value) > _FEW and not isinstance(value[0], tuple):
        numbers = np.array(value, np.int64)
        outside = np.zeros(len(numbers), np.bool_)
        if lo is not None:
            outside |= numbers < lo
        if hi is not None:
            outside |= numbers > hi
        for place in np.flatnonzero(outside)[:1].tolist():
            yield f"{name}[{place}]", int(numbers[place])
    else:
        for place, item in enumerate(value):
            yield from _suspects(item, lo, hi, f"{name}[{place}]")
