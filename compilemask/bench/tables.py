"""Rows as tables: for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compilemask.bench.rows import Row

COLUMNS = ("provider", "verdict", "ms", "20-80 %", "rate", "plan ms", "error", "rows", "how")
_CASE_FIELDS = ("direction", "dtype", "head_dim")
_NOTHING = "-"


def cells(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(headings, lines). What varies among the rows has columns of its own in front: the mask's numbers, direction, dtype, head_dim."""
    numbers = [name for name in _names(rows) if len({repr(row["values"].get(name)) for row in rows}) > 1]
    fields = [name for name in _CASE_FIELDS if len({row[name] for row in rows}) > 1]
    lines = [
        (
            *(_short(row["values"].get(name, _NOTHING)) for name in numbers),
            *(str(row[name]) for name in fields),
            *_results(row),
        )
        for row in rows
    ]
    return (*numbers, *fields, *COLUMNS), lines


def text_table(rows: Sequence[Row]) -> str:
    """Columns as wide as their widest cell, under the headings."""
    headings, lines = cells(rows)
    table = [headings, *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(headings))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table
    )


def markdown_table(rows: Sequence[Row]) -> str:
    """A table as forges show it."""
    headings, lines = cells(rows)
    table = [headings, tuple("---" for _ in headings), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in table) + "\n"


def rate(tflops: float | None) -> str:
    """In the unit that leaves its digits before the point."""
    if tflops is None:
        return _NOTHING
    if tflops >= 1:
        return f"{tflops:.1f} TFLOP/s"
    return f"{tflops * 1e3:.1f} GFLOP/s" if tflops >= 1e-3 else f"{tflops * 1e6:.1f} MFLOP/s"


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row["values"]))


def _results(row: Row) -> tuple[str, ...]:
    name, verdict = str(row["provider"]), str(row["verdict"])
    if verdict == "error":
        return (name, verdict, *[_NOTHING] * 6, str(row["reason"]))
    middle = row["p20_ms"] is not None and f"{row['p20_ms']:.3f}-{row['p80_ms']:.3f}"
    words = [row["impl_detail"], row["reason"], *row["notes"]]
    return (
        name,
        verdict,
        _number(row["median_ms"], ".3f"),
        middle or _NOTHING,
        rate(row["tflops"]),
        _number(row["plan_ms"], ".1f"),
        _worst(row["errors"]),
        f"{row['rows_checked']}/{row['rows_total']}" if row["rows_checked"] is not None else _NOTHING,
        "; ".join(word for word in words if word),
    )


def _worst(errors: Sequence[dict[str, Any]]) -> str:
    """The error that is the largest part of what it may be, with its name."""
    if not errors:
        return _NOTHING
    worst = max(errors, key=lambda error: error["max_error"] / max(error["tolerance"], 1e-300))
    return f"{worst['quantity']} {worst['max_error']:.2e} of {worst['tolerance']:.2e}"


def _number(value: float | None, form: str) -> str:
    return _NOTHING if value is None else format(value, form)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:20]}..."
