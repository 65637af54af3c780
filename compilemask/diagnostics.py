"""Structured messages about a mask text: one value, drawn once at the edge.

A `Diagnostic` is data (stable code, place, message, hint, edits). The terminal draws it as a caret picture
(`render`), the API sends it as JSON, the editor draws it as a squiggle with quick fixes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range [start, stop) of code-point offsets into the source text."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"span needs 0 <= start <= stop, got [{self.start}, {self.stop})")

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.stop, other.stop))


@dataclass(frozen=True, slots=True)
class Label:
    """A secondary place with its own words, such as "the brace opened here"."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `text`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A quick fix: what it does, in words, and the edits that do it."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message about a mask text.

    code: stable, "CM" and three digits; docs/errors.md has an example of each.
    span: where, in code points. labels: other places that matter. hint: what to do. fixes: edits that do it.
    """

    code: str
    severity: Severity
    message: str
    span: Span
    labels: tuple[Label, ...] = ()
    hint: str | None = None
    fixes: tuple[Fix, ...] = ()


class MaskError(ValueError):
    """A mask text, or the numbers bound to it, cannot be compiled.

    diagnostics: all errors found, at least one; source: the text they point into.
    `str(error)` is the caret picture of them all.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], source: str, filename: str = "<mask>") -> None:
        if not diagnostics:
            raise ValueError("a MaskError needs at least one diagnostic")
        self.diagnostics = tuple(diagnostics)
        self.source = source
        self.filename = filename
        super().__init__("\n\n".join(render(d, source, filename) for d in self.diagnostics))


def line_column(source: str, offset: int) -> tuple[int, int]:
    """1-based line and 1-based column (in code points) of an offset."""
    before = source[:offset]
    line = before.count("\n") + 1
    return line, offset - (before.rfind("\n") + 1) + 1


# ---------------------------------------------------------------- the caret picture

MAX_SHOWN = 100
"""Code points of a source line in a picture; a longer line is cut around its first mark."""


def render(diagnostic: Diagnostic, source: str, filename: str = "<mask>") -> str:
    """The caret picture of one diagnostic, without colour, for terminals and exceptions.

    Every marked line is shown once, in the order of the text; characters that could disturb a terminal are replaced.
    """
    line, column = line_column(source, diagnostic.span.start)
    marks = [(diagnostic.span, "^", "")] + [(label.span, "-", label.message) for label in diagnostic.labels]
    by_line: dict[int, list[tuple[int, Span, str, str]]] = {}
    for span, mark, words in marks:
        row, col = line_column(source, span.start)
        by_line.setdefault(row, []).append((col, span, mark, words))
    width = len(str(max(by_line)))
    parts = [
        f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}",
        f"{'':>{width}} --> {filename}:{line}:{column}",
    ]
    lines = source.split("\n")
    shown_before = None
    for row in sorted(by_line):
        if shown_before is not None and row > shown_before + 1:
            parts.append(f"{'':>{width}} ...")
        parts += _marked_line(f"{row:>{width}}", lines[row - 1], by_line[row])
        shown_before = row
    if diagnostic.hint:
        parts.append(f"help: {diagnostic.hint}")
    return "\n".join(parts)


def _marked_line(number: str, text: str, marks: list[tuple[int, Span, str, str]]) -> list[str]:
    """One source line and the rows of marks under it. Marks are (1-based column, span, sign, words)."""
    text = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text.rstrip("\r"))
    first = min(column for column, _, _, _ in marks) - 1
    cut = max(0, first - MAX_SHOWN // 2) if len(text) > MAX_SHOWN else 0
    stop = min(len(text), cut + MAX_SHOWN)
    lead, tail = "..." if cut else "", "..." if stop < len(text) else ""
    rows = [f"{number} | {lead}{text[cut:stop]}{tail}"]
    for column, span, sign, words in sorted(marks, key=lambda mark: (mark[2] == "-", mark[0])):
        begin = max(cut, min(column - 1, stop))
        marked = text[begin : max(begin, min(column - 1 + span.stop - span.start, stop))]
        pad = "".join("\t" if c == "\t" else " " * _columns(c) for c in text[cut:begin])
        length = max(1, sum(_columns(c) for c in marked))
        rows.append(f"{'':>{len(number)}} | {' ' * len(lead)}{pad}{sign * length}{' ' + words if words else ''}")
    return rows


def _columns(character: str) -> int:
    """Terminal columns of a character: 2 for wide ones, 0 for accents that stand on the one before."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
