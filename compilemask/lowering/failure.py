"""How a pass of the lowering reports what is wrong with a binding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from compilemask.diagnostics import Diagnostic, Label, Span
from compilemask.semantics.program import CheckedMask


class BindError(Exception):
    """Carries one diagnostic from the depth of a pass to `lower`, which makes a `MaskError` of it."""

    def __init__(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.diagnostic = Diagnostic(code=code, severity="error", message=message, span=span, hint=hint)
        super().__init__(message)

    def add_label(self, label: Label) -> None:
        """Names another place that matters."""
        self.diagnostic = replace(self.diagnostic, labels=(*self.diagnostic.labels, label))


def too_many_runs(message: str, span: Span) -> BindError:
    """The failure of a mask that is too scattered."""
    return BindError(
        "CM410",
        message,
        span,
        "scattered keys make a mask large: repeat the pattern less often, or bind smaller numbers",
    )


@contextmanager
def sizes_reported(what: str, span: Span) -> Iterator[None]:
    """Around calls of the geometry, which refuses sets of cells that are too scattered by a ValueError."""
    try:
        yield
    except ValueError as problem:
        raise too_many_runs(f"{what} too many runs: {problem}", span) from None


def header_span(mask: CheckedMask) -> Span:
    """The words `mask name` of a text: where messages about the whole mask point."""
    found = re.compile(rf"^[ \t]*(mask\s+{re.escape(mask.name)})\b", re.MULTILINE).search(mask.source, mask.span.start)
    return Span(*found.span(1)) if found else mask.span
