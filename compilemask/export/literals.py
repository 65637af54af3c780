"""Text and numbers as Python literals that nothing in them can break out of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

Value = int | bool | Sequence[int] | Sequence[Sequence[int]]

MAX_COLUMNS = 110


def text_literal(text: str) -> str:
    """A bracketed string literal in pure ASCII, one source line per line of text."""
    lines = text.splitlines(keepends=True) if text else [""]
    return "\n".join(["(", *(f"    {line!a}" for line in lines), ")"])


def values_literal(values: Mapping[str, Value]) -> str:
    """A dict literal. Raises TypeError for a value that is no integer, bool, sequence of them or sequence of those."""
    lines = ["{"]
    for name, value in values.items():
        if isinstance(value, bool | int):
            lines.append(f"    {name!a}: {value!r},")
        else:
            lines.append(f"    {name!a}: [")
            lines.extend(f"        {line}" for line in _item_lines(name, value))
            lines.append("    ],")
    return "\n".join([*lines, "}"])


def _item_lines(name: str, value: object) -> list[str]:
    """The lines between the brackets of a list, or of a list of lists."""
    if _is_list(value) and all(type(item) in (int, bool) for item in value):
        return number_lines(value, MAX_COLUMNS - 8)
    if not _is_list(value) or not all(_is_list(row) for row in value):
        raise TypeError(f"values are integers, bools, lists and tables of them, got {ascii(value)[:80]} for {name!a}")
    lines: list[str] = []
    for row in value:
        inside = _item_lines(name, row)
        lines += (
            [f"[{inside[0] if inside else ''}],"] if len(inside) < 2 else ["[", *(f"    {x}" for x in inside), "],"]
        )
    return lines


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def number_lines(numbers: Iterable[int], width: int) -> list[str]:
    """Numbers with commas behind them, in lines of at most `width` columns."""
    lines: list[str] = []
    line: list[str] = []
    used = 0
    for number in numbers:
        shown = f"{number if isinstance(number, bool) else int(number)},"
        if line and used + len(shown) + 1 > width:
            lines.append(" ".join(line))
            line, used = [], 0
        line.append(shown)
        used += len(shown) + 1
    return [*lines, " ".join(line)] if line else lines
