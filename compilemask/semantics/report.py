"""Where the passes of the checker put their messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from compilemask.diagnostics import Diagnostic, Edit, Fix, Label, Span
from compilemask.syntax.limits import MAX_DIAGNOSTICS


@dataclass
class Report:
    """Messages of one pass over one text, up to MAX_DIAGNOSTICS.

    nameless: a declaration has lost its name, and an unknown name may well be that one; it makes no message of its own.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    nameless: bool = False
    guess: bool = False
    """The text has a syntax error, and a declaration may be lost: an unknown name makes one message, not one for each use."""
    _told: set[str] = field(default_factory=set)

    @property
    def full(self) -> bool:
        """Whether there are as many errors as are listed. Warnings make room for errors."""
        return sum(d.severity == "error" for d in self.diagnostics) >= MAX_DIAGNOSTICS

    @property
    def failed(self) -> bool:
        return any(d.severity == "error" for d in self.diagnostics)

    def error(
        self, code: str, message: str, span: Span, hint: str | None = None, *fixes: Fix, labels: tuple[Label, ...] = ()
    ) -> None:
        if not self.full:
            self.diagnostics = within_limit(
                [*self.diagnostics, Diagnostic(code, "error", message, span, labels, hint, fixes)]
            )

    def warning(
        self, code: str, message: str, span: Span, hint: str | None = None, *fixes: Fix, labels: tuple[Label, ...] = ()
    ) -> None:
        if len(self.diagnostics) < MAX_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic(code, "warning", message, span, labels, hint, fixes))

    def first_of_name(self, name: str, span: Span, seen: dict[str, Span], message: str, hint: str) -> bool:
        """Whether a name is new among `seen`, which takes it; else the message, with the place of the first one.

        A name that is lost, "", is new each time.
        """
        if name in seen:
            self.error("CM302", message, span, hint, labels=(Label(seen[name], "the first one is here"),))
            return False
        if name:
            seen[name] = span
        return True

    def unknown(self, code: str, message: str, name: str, span: Span, known: Iterable[str], otherwise: str) -> None:
        """An unknown name: with the nearest known one as a quick fix, or else with the hint `otherwise`."""
        if self.full or self.nameless or (self.guess and message in self._told):
            return
        self._told.add(message)
        near = nearest(name, known)
        if near is None:
            self.error(code, message, span, otherwise)
        else:
            self.error(code, message, span, f"did you mean `{near}`?", replace(span, near))


def within_limit(found: list[Diagnostic]) -> list[Diagnostic]:
    """Up to MAX_DIAGNOSTICS messages in their order: errors before warnings, so that a text with an error always shows one."""
    while len(found) > MAX_DIAGNOSTICS:
        last = max((place for place, d in enumerate(found) if d.severity == "warning"), default=len(found) - 1)
        found = [*found[:last], *found[last + 1 :]]
    return found


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, if one does."""
    names = sorted(set(known))
    folded = {n.lower(): n for n in reversed(names)}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if close:
        return folded[close[0]]
    starts = [n for n in names if len(name) >= 2 and n.lower().startswith(name.lower())]
    return starts[0] if len(starts) == 1 else None


def replace(span: Span, text: str) -> Fix:
    """The quick fix that writes `text` in place of `span`."""
    return Fix(f"Write `{text}`", (Edit(span, text),))


def insert(offset: int, text: str) -> Fix:
    """The quick fix that writes `text` at `offset`."""
    return Fix(f"Insert `{text.strip()}`", (Edit(Span(offset, offset), text),))


def remove(span: Span, what: str) -> Fix:
    """The quick fix that takes `span` away."""
    return Fix(f"Remove {what}", (Edit(span, ""),))
