"""Structured messages about a mask text: one value, drawn once at the edge.

A `Diagnostic` is data (stable code, place, message, hint, edits). The terminal draws it as a caret picture
(`render`), the API sends it as JSON, the editor draws it as a squiggle with quick fixes.
"""

from __future__ import annotations

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


def render(diagnostic: Diagnostic, source: str, filename: str = "<mask>") -> str:
    """The caret picture of one diagnostic, without colour, for terminals and exceptions."""
    line, column = line_column(source, diagnostic.span.start)
    parts = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}", f"  --> {filename}:{line}:{column}"]
    marks = [(diagnostic.span, "^", "")] + [(label.span, "-", label.message) for label in diagnostic.labels]
    width = len(str(max(line_column(source, span.start)[0] for span, _, _ in marks)))
    lines = source.split("\n")
    for span, mark, words in marks:
        row, col = line_column(source, span.start)
        text = lines[row - 1]
        length = max(1, min(span.stop - span.start, len(text) - col + 1))
        pad = "".join("\t" if c == "\t" else " " for c in text[: col - 1])
        parts.append(f"{row:>{width}} | {text}")
        parts.append(f"{'':>{width}} | {pad}{mark * length}{' ' + words if words else ''}")
    if diagnostic.hint:
        parts.append(f"help: {diagnostic.hint}")
    return "\n".join(parts)
