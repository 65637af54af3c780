"""Text and numbers as Python literals that nothing in them can break out of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Value = int | bool | Sequence[int]

MAX_COLUMNS = 110


def text_literal(text: str) -> str:
    """A bracketed string literal in pure ASCII, one source line per line of text."""
    lines = text.splitlines(keepends=True) if text else [""]
    return "\n".join(["(", *(f"    {line!a}" for line in lines), ")"])


def values_literal(values: Mapping[str, Value]) -> str:
    """A dict literal. Raises TypeError for a value that is no integer, bool or sequence of integers."""
    lines = ["{"]
    for name, value in values.items():
        if isinstance(value, bool | int):
            lines.append(f"    {name!a}: {value!r},")
        elif not isinstance(value, list | tuple) or not all(type(item) is int for item in value):
            raise TypeError(f"values are integers, bools and lists of integers, got {ascii(value)[:80]} for {name!a}")
        else:
            lines.append(f"    {name!a}: [")
            lines.extend(f"        {line}" for line in number_lines(value, MAX_COLUMNS - 8))
            lines.append("    ],")
    return "\n".join([*lines, "}"])


def number_lines(numbers: Iterable[int], width: int) -> list[str]:
    """Numbers with commas behind them, in lines of at most `width` columns."""
    lines: list[str] = []
    line: list[str] = []
    used = 0
    for number in numbers:
        shown = f"{int(number)},"
        if line and used + len(shown) + 1 > width:
            lines.append(" ".join(line))
            line, used = [], 0
        line.append(shown)
        used += len(shown) + 1
    return [*lines, " ".join(line)] if line else lines
