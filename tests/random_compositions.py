"""Random expressions of masks with their cells: NumPy's own operators read the same text another way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Cells = npt.NDArray[np.bool_]

HELPERS = """\
mask band(n: int, low: int, high: int = 3)
tokens { A: n // 2; B: n - n // 2 }
A, B sees A, B where low <= q - k < high

mask halves(parts: int[], crossed: bool = false)
tokens { A: parts[0]; B: parts[1] }
A sees A
B sees B causal
A sees B where crossed

mask nested(parts: int[], size: int) = halves(parts) or not band(n = sum(parts), low = 0 - size)

"""


@dataclass(frozen=True)
class Composition:
    """A text, the values to bind, the cells that it must have, and the expression behind its `=`."""

    source: str
    values: dict[str, Any]
    cells: Cells
    expression: str


def band(n: int, low: int, high: int = 3) -> Cells:
    q, k = np.ogrid[:n, :n]
    return (low <= q - k) & (q - k < high)


def halves(parts: tuple[int, ...], crossed: bool = False) -> Cells:
    a = parts[0]
    n = a + parts[1]
    q, k = np.ogrid[:n, :n]
    return ((q < a) & ((k < a) | crossed)) | ((q >= a) & (k >= a) & (k <= q))


def leaves(parts: tuple[int, int], size: int) -> dict[str, Cells]:
    """Calls as written, and their cells; n is the sum of the parts."""
    n = sum(parts)
    q, k = np.ogrid[:n, :n]
    owner = np.repeat(np.arange(2), parts)
    return {
        "causal(sum(parts))": k <= q,
        "documents(parts)": (owner[:, None] == owner[None, :]) & (k <= q),
        "streaming(n, sink = 1, window = size + 1)": (k <= q) & ((k < 1) | (q - k < size + 1)),
        "sliding_window(n = n, window = max(size, 1))": (k <= q) & (q - k < max(size, 1)),
        "band(n, 0 - size, size)": band(n, -size, size),
        "band(low = 1, n = n)": band(n, 1),
        "halves(parts)": halves(parts),
        "halves(parts, flag)": halves(parts, True),
        f"halves([{parts[0]}, {parts[1]}], crossed = true)": halves(parts, True),
        "nested(parts, 2)": halves(parts) | ~band(n, -2),
    }


@st.composite
def compositions(draw: st.DrawFn) -> Composition:
    parts = (draw(st.integers(0, 6)), draw(st.integers(0, 6)))
    size = draw(st.integers(0, 4))
    known = leaves(parts, size)
    text, python = draw(expressions(sorted(known), draw(st.integers(0, 3))))
    source = f"{HELPERS}mask whole(n: int, parts: int[], size: int, flag: bool) = {text}\n"
    values = {"n": sum(parts), "parts": parts, "size": size, "flag": True}
    cells = eval(python, {"c": [known[name] for name in sorted(known)]})
    return Composition(source, values, cells, text)


@st.composite
def expressions(draw: st.DrawFn, names: list[str], depth: int) -> tuple[str, str]:
    """An expression in the language, and in Python over arrays c[i]; brackets only where they were drawn."""
    sides = [draw(alternatives(names, depth)) for _ in range(draw(st.integers(1, 2 if depth else 1)))]
    text = " except ".join(side[0] for side in sides)
    python = sides[0][1]
    for _, removed in sides[1:]:
        python = f"(({python}) & ~({removed}))"
    return text, python


@st.composite
def alternatives(draw: st.DrawFn, names: list[str], depth: int) -> tuple[str, str]:
    """`a and not b or c`: and, or and not bind in Python's bit operators as they do in the language."""
    text, python = draw(operand(names, depth))
    for _ in range(draw(st.integers(0, 3))):
        word, sign = draw(st.sampled_from([("and", "&"), ("or", "|")]))
        more_text, more_python = draw(operand(names, depth))
        text, python = f"{text} {word} {more_text}", f"{python} {sign} {more_python}"
    return text, python


@st.composite
def operand(draw: st.DrawFn, names: list[str], depth: int) -> tuple[str, str]:
    if draw(st.integers(0, 3)) == 0:
        text, python = draw(operand(names, depth))
        return f"not {text}", f"~{python}"
    if depth and draw(st.booleans()):
        text, python = draw(expressions(names, depth - 1))
        return f"({text})", f"({python})"
    place = draw(st.integers(0, len(names) - 1))
    return names[place], f"c[{place}]"
