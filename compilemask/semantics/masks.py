"""Which mask a name means: one of the same text, else one of a library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from compilemask.diagnostics import Diagnostic, Label, Span
from compilemask.semantics.program import CheckedMask
from compilemask.semantics.report import Report
from compilemask.syntax import tree

MAX_DEPTH: Final = 16
"""Masks that may stand above each other in a chain of calls."""


@dataclass(frozen=True, slots=True)
class Library:
    """Masks that every text may call. find: the checked mask of one of the names."""

    names: tuple[str, ...]
    find: Callable[[str], CheckedMask]


def _no_mask(name: str) -> CheckedMask:
    raise KeyError(name)


NO_LIBRARY: Final = Library((), _no_mask)

CheckOne = Callable[[tree.MaskTree, "Masks"], tuple[CheckedMask | None, list[Diagnostic]]]


@dataclass
class Masks:
    """The definitions of one text, each checked once, when it is first asked for.

    chain: the definitions that are being checked, each with the call that asked for it.
    """

    definitions: tuple[tree.MaskTree, ...]
    library: Library
    check_one: CheckOne
    chain: list[tuple[str, Span]] = field(default_factory=list)
    checked: dict[int, CheckedMask | None] = field(default_factory=dict)
    messages: list[Diagnostic] = field(default_factory=list)
    called: set[str] = field(default_factory=set)

    def all(self) -> CheckedMask | None:
        """Checks every definition; the last one is the result."""
        mask = None
        for definition in self.definitions:
            mask = self._check(definition, definition.name.span)
        return mask

    def find(self, name: tree.Name, report: Report) -> CheckedMask | None:
        """The mask of a name, or None: after a message here, or because its own definition has one."""
        definition = next((d for d in self.definitions if d.name.text == name.text), None)
        if definition is not None:
            self.called.add(name.text)
            if any(name.text == link for link, _ in self.chain):
                self._cycle(name, report)
                return None
            if len(self.chain) > MAX_DEPTH:
                too_deep(name.span, report)
                return None
            return self._check(definition, name.span)
        if name.text in self.library.names:
            return self.library.find(name.text)
        known = {d.name.text for d in self.definitions[:-1]} | set(self.library.names)
        message = f"there is no mask `{name.text}`"
        otherwise = "define it above in this text, or call one of the presets"
        report.unknown("CM331", message, name.text, name.span, known, otherwise)
        return None

    def _check(self, definition: tree.MaskTree, span: Span) -> CheckedMask | None:
        key = id(definition)
        if key not in self.checked:
            self.chain.append((definition.name.text, span))
            self.checked[key], found = self.check_one(definition, self)
            self.chain.pop()
            self.messages += found
        return self.checked[key]

    def _cycle(self, name: tree.Name, report: Report) -> None:
        names = [link for link, _ in self.chain]
        loop = self.chain[names.index(name.text) :]
        shown = " calls ".join(f"`{link}`" for link in (*[link for link, _ in loop], name.text))
        labels = tuple(Label(span, f"`{link}` is called here") for link, span in loop[1:])
        hint = "a mask is made of others, never of itself"
        if len(loop) == 1 and name.text in self.library.names:
            hint = f"to call the preset `{name.text}`, give the mask of this text another name"
        report.error("CM332", f"a mask that is made of itself: {shown}", name.span, hint, labels=labels)


def too_deep(span: Span, report: Report) -> None:
    """The message about a chain of calls that is too long."""
    hint = "write some of the masks out: with regions and rules"
    report.error("CM217", f"masks call masks more than {MAX_DEPTH} deep", span, hint)
