"""A text as tools look at it: its tokens, its comments and its definitions, whatever is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from compilemask.diagnostics import Span
from compilemask.presets import preset_names, preset_source
from compilemask.semantics.masks import MAX_DEPTH
from compilemask.syntax import parse
from compilemask.syntax.lexer import lex
from compilemask.syntax.mask_tree import MaskCall, MaskExcept, MaskExpression, MaskGroup, MaskLogic, MaskNot
from compilemask.syntax.tokens import Comment, Token
from compilemask.syntax.tree import AxisNode, MaskTree, RegionNode


@dataclass(frozen=True, slots=True)
class Document:
    """tokens: without the last one, which is the end. definitions: the masks of the text, in order."""

    source: str
    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]
    definitions: tuple[MaskTree, ...]

    @classmethod
    def read(cls, source: str) -> Document:
        found = lex(source)
        tree, _ = parse(source)
        return cls(source, found.tokens[:-1], found.comments, (*tree.helpers, tree))

    def definition(self, offset: int) -> MaskTree:
        """The mask that an offset lies in."""
        return next((d for d in self.definitions if offset <= d.span.stop), self.definitions[-1])

    def text(self, span: Span) -> str:
        """The text at a span on one line, without comments."""
        lines = self.source[span.start : span.stop].split("\n")
        return " ".join(" ".join(line.split("#")[0] for line in lines).split())


def axis_of(mask: MaskTree, side: str) -> AxisNode | None:
    """The axis of the "queries" or of the "keys"."""
    return next((axis for axis in mask.axes if axis.kind in ("tokens", side)), None)


def region_paths(regions: tuple[RegionNode, ...]) -> Iterator[tuple[RegionNode, ...]]:
    """The path of every region, from the outermost, in the order of the text."""
    for region in regions:
        if region.name.text:
            yield (region,)
            for path in region_paths(region.children or ()):
                yield (region, *path)


def shown_path(path: tuple[RegionNode, ...]) -> str:
    """`doc[i].P`, as rules name it."""
    return ".".join(r.name.text + (f"[{r.index.text}]" if r.index is not None and r.index.text else "") for r in path)


@cache
def preset_document(name: str) -> Document:
    """A preset as a document; ValueError for a name that is none."""
    return Document.read(preset_source(name))


def callable_masks(document: Document) -> dict[str, tuple[Document, MaskTree]]:
    """The masks that a text may call, by their names: its own ones, and the presets that they do not hide."""
    found = {name: preset_document(name) for name in preset_names()}
    masks = {name: (preset, preset.definitions[-1]) for name, preset in found.items()}
    return masks | {d.name.text: (document, d) for d in reversed(document.definitions) if d.name.text}


def with_regions(document: Document, mask: MaskTree) -> tuple[Document, MaskTree]:
    """The mask whose regions a mask has: itself, or the first one that it is made of, as far as that is known."""
    for _ in range(MAX_DEPTH):
        call = first_call(mask.body) if mask.body is not None else None
        found = callable_masks(document).get(call.name.text) if call is not None else None
        if found is None:
            break
        document, mask = found
    return document, mask


def first_call(node: MaskExpression) -> MaskCall | None:
    """The first call of an expression of masks, or None in a broken one."""
    match node:
        case MaskCall():
            return node
        case MaskNot(inner, _) | MaskGroup(inner, _) | MaskExcept(inner, _, _):
            return first_call(inner)
        case MaskLogic(_, items, _):
            return first_call(items[0])
        case _:
            return None


def signature(document: Document, mask: MaskTree) -> str:
    """`documents(lengths: int[])`"""
    return f"{mask.name.text}({', '.join(document.text(p.span) for p in mask.parameters)})"


def title(doc: str) -> str:
    """The first line of a documentation."""
    return doc.split("\n")[0]
