"""Numbers that callers give: integers of any library, checked in one place."""

from __future__ import annotations

import operator
from typing import SupportsIndex

_LONGEST = 60


def as_index(value: object, name: str, wanted: str = "an integer") -> int:
    """The int that a value is: Python's and NumPy's integers, all that have `__index__`; ValueError for bools and others.

    name, wanted: for the message, "name must be wanted, got ...".
    """
    if type(value) is int:
        return value
    if isinstance(value, SupportsIndex) and not _is_bool(value):
        try:
            return int(operator.index(value))
        except TypeError:
            pass  # arrays have __index__ too, and refuse unless they are one integer
    raise ValueError(f"{name} must be {wanted}, got {show(value)}")


def show(value: object) -> str:
    """A value for a message, in one short line: numbers, strings and None as they are, of anything else its type."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    if not isinstance(value, int | float | complex | str | None):
        return str(value) if getattr(value, "shape", None) == () else type(value).__name__
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _is_bool(value: object) -> bool:
    """NumPy's bools have no `__index__`, but tensors of one bool do."""
    return isinstance(value, bool) or "bool" in str(getattr(value, "dtype", ""))
