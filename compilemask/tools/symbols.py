"""Every name that a text declares, with the places that use it: for outlines, renaming and hover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal

from compilemask.diagnostics import Span
from compilemask.syntax.mask_tree import ArgumentNode, EqualsClaim, MaskCall, MaskExpression, RegionClaim
from compilemask.syntax.tree import (
    Expression,
    MaskTree,
    Name,
    ReferenceNode,
    RegionNode,
)
from compilemask.tools.document import Document, axis_of, with_regions

SymbolKind = Literal["mask", "parameter", "region", "index", "example"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name. span: of the name where it is declared; declaration: of all that is declared there.

    references: the other places that name it, in the order of the text. doc: its documentation, or "".
    An index variable is declared where its region, rule or assertion first names it.
    """

    name: str
    kind: SymbolKind
    span: Span
    references: tuple[Span, ...]
    declaration: Span
    doc: str = ""


def symbols(source: str) -> tuple[Symbol, ...]:
    """The symbols of a text in the order of their declarations."""
    return symbols_of(Document.read(source))


def symbols_of(document: Document) -> tuple[Symbol, ...]:
    collector = _Collector()
    for mask in document.definitions:
        collector.declare(("mask", mask.name.text), "mask", mask.name, mask.header, mask.doc)
    for number, mask in enumerate(document.definitions):
        collector.definition(number, mask)
    for number, mask in enumerate(document.definitions):
        collector.uses(number, mask, document)
    found = [entry.symbol() for entry in collector.entries.values()]
    return tuple(sorted(found, key=lambda symbol: (symbol.span.start, symbol.span.stop)))


@dataclass(slots=True)
class _Entry:
    kind: SymbolKind
    name: Name
    declaration: Span
    doc: str
    references: list[Span] = field(default_factory=list)

    def symbol(self) -> Symbol:
        places = tuple(sorted(set(self.references)))
        return Symbol(self.name.text, self.kind, self.name.span, places, self.declaration, self.doc)


@dataclass(slots=True)
class _Collector:
    entries: dict[object, _Entry] = field(default_factory=dict)

    def declare(self, key: object, kind: SymbolKind, name: Name, declaration: Span, doc: str = "") -> None:
        if name.text and key not in self.entries:
            self.entries[key] = _Entry(kind, name, declaration, doc)

    def use(self, key: object, span: Span) -> None:
        entry = self.entries.get(key)
        if entry is not None and span != entry.name.span:
            entry.references.append(span)

    # ------------------------------------------------------------ declarations

    def definition(self, number: int, mask: MaskTree) -> None:
        for parameter in mask.parameters:
            key = ("parameter", number, parameter.name.text)
            self.declare(key, "parameter", parameter.name, parameter.span, parameter.doc)
        for axis in mask.axes:
            for region in axis.regions:
                self.region(number, axis.kind, (), region)
        for example in mask.examples:
            self.declare(("example", number, example.name.text), "example", example.name, example.span)

    def region(self, number: int, axis: str, around: tuple[str, ...], node: RegionNode) -> None:
        path = (*around, node.name.text)
        self.declare(("region", number, axis, path), "region", node.name, node.span, node.doc)
        for child in node.children or ():
            self.region(number, axis, path, child)

    # ------------------------------------------------------------ uses

    def uses(self, number: int, mask: MaskTree, document: Document) -> None:
        for axis in mask.axes:
            for region in axis.regions:
                self.sizes(number, region, {})
        owner, with_axes = with_regions(document, mask)
        home = (
            next((n for n, d in enumerate(owner.definitions) if d is with_axes), number) if owner is document else None
        )
        for rule in mask.rules:
            self.statement((number, home), mask, rule.queries, rule.keys, rule.condition, rule.span)
        for assertion in mask.assertions:
            claim = assertion.claim
            if isinstance(claim, RegionClaim):
                self.statement((number, home), with_axes, claim.queries, claim.keys, claim.condition, assertion.span)
            elif isinstance(claim, EqualsClaim):
                self.masks(number, claim.masks, document)
            else:
                self.names(number, claim, {})
        for allowance in mask.allowances:
            queries = allowance.regions if allowance.what == "empty queries" else ()
            keys = allowance.regions if allowance.what == "unseen keys" else ()
            self.statement((number, home), with_axes, queries, keys, None, allowance.span)
        if mask.body is not None:
            self.masks(number, mask.body, document)
        for example in mask.examples:
            for setting in example.settings:
                self.use(("parameter", number, setting.name.text), setting.name.span)

    def sizes(self, number: int, node: RegionNode, indices: dict[str, object]) -> None:
        if node.count is not None:
            self.names(number, node.count, indices)
        if node.index is not None:
            key = ("index", node.index.span)
            self.declare(key, "index", node.index, node.span)
            indices = {**indices, node.index.text: key}
        for size in (*node.extent, *(node.stored.arguments if node.stored is not None else ())):
            self.names(number, size, indices)
        for child in node.children or ():
            self.sizes(number, child, indices)

    def statement(
        self,
        numbers: tuple[int, int | None],
        mask: MaskTree,
        queries: tuple[ReferenceNode, ...],
        keys: tuple[ReferenceNode, ...],
        condition: Expression | None,
        span: Span,
    ) -> None:
        """A rule or an assertion about regions. numbers: of its definition, and of the one that declares the regions."""
        number, home = numbers
        indices: dict[str, object] = {}
        for side, references in (("queries", queries), ("keys", keys)):
            axis = axis_of(mask, side)
            for reference in references:
                path: tuple[str, ...] = ()
                for part in reference.parts:
                    path = (*path, part.name.text)
                    if axis is not None:
                        self.use(("region", home, axis.kind, path), part.name.span)
                    if part.index is not None:
                        key = indices.setdefault(part.index.text, ("index", part.index.span))
                        self.declare(key, "index", part.index, span)
                        self.use(key, part.index.span)
        if condition is not None:
            self.names(number, condition, indices)

    def names(self, number: int, node: object, indices: dict[str, object]) -> None:
        """The names in a number or a condition: index variables of the place, else parameters."""
        for name in names_in(node):
            self.use(indices.get(name.text, ("parameter", number, name.text)), name.span)

    def masks(self, number: int, node: MaskExpression, document: Document) -> None:
        for part in _walk(node):
            if isinstance(part, MaskCall):
                self.use(("mask", part.name.text), part.name.span)
                for argument in part.arguments:
                    self.argument(number, part, argument, document)

    def argument(self, number: int, call: MaskCall, node: ArgumentNode, document: Document) -> None:
        self.names(number, node.value, {})
        names = [mask.name.text for mask in document.definitions]
        if node.name is not None and call.name.text in names:
            self.use(("parameter", names.index(call.name.text), node.name.text), node.name.span)


def calls_in(mask: MaskTree) -> Iterator[MaskCall]:
    """All calls of other masks in a definition."""
    return (part for part in _walk((mask.body, mask.assertions)) if isinstance(part, MaskCall))


def names_in(node: object) -> Iterator[Name]:
    """All names below a node."""
    return (part for part in _walk(node) if isinstance(part, Name))


def _walk(node: object) -> Iterator[object]:
    """A node and everything below it, in the order of the text; without recursion, since texts may nest deeply."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, tuple):
            stack.extend(reversed(part))
        elif is_dataclass(part) and not isinstance(part, Span | Name):
            stack.extend(getattr(part, item.name) for item in reversed(fields(part)))
