"""Numbers of many tokens at once, with bounds, and how a message tells which of them is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compilemask.geometry.runs import IntArray
from compilemask.lowering.forms import Form, Variable


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values that broadcast together, with lo <= every value <= hi."""

    array: IntArray
    lo: int
    hi: int


Lookup = Callable[[Variable], Numbers]


def numbers_of(array: IntArray) -> Numbers:
    if array.size == 0:
        return Numbers(array, 0, 0)
    return Numbers(array, int(array.min()), int(array.max()))


def circumstances(form: Form, failing: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], lookup: Lookup) -> str:
    """ " for i = 3, j = 1": the variables of `form` at the first failing place; those without a name are left out."""
    place = int(np.argmax(failing)) if failing.ndim else 0
    words = []
    for variable in dict.fromkeys(form.variables()):
        if not variable.shown:
            continue
        value = lookup(variable).array
        seen = np.broadcast_to(value, np.broadcast_shapes(failing.shape, value.shape))
        words.append(f"{variable.shown} = {int(seen.flat[place])}")
    return f" for {', '.join(words)}" if words else ""
