"""What may stand at a place of a text: words of the language, and the names that the text declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final, Literal

from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import MaskTree
from compilemask.syntax.words import words
from compilemask.tools.context import Context, context_at
from compilemask.tools.document import (
    Document,
    axis_of,
    callable_masks,
    region_paths,
    shown_path,
    signature,
    title,
    with_regions,
)

CompletionKind = Literal[
    "keyword", "relation", "type", "function", "symbol", "parameter", "region", "index", "mask", "example"
]
_CLAIMS: Final = ("causal", "every query sees a key", "every key is seen", "density", "visible", "equals")
_STATEMENTS: Final = ("tokens", "queries", "keys", "assert", "allow", "example", "mask")
_CONDITIONS: Final = ("causal", "same position", "not", "true", "false")
_JOINS: Final = ("and", "or", "where", "except")
_POSITIONS: Final = ("q", "k", "q.pos", "k.pos", "dx", "dy", "dz")
_FUNCTIONS: Final = ("min", "max", "abs", "len", "sum")
_BEFORE_NUMBERS: Final = frozenset({"+", "-", "*", "//", "%", "<", "<=", "==", "!=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Completion:
    """One thing that may stand at a place. detail: one line about it. insert: what replaces the word being typed."""

    label: str
    kind: CompletionKind
    detail: str
    insert: str


def complete(source: str, offset: int) -> tuple[Completion, ...]:
    """What may stand at an offset (code points), best first; only what begins with the word before the offset."""
    document = Document.read(source)
    context = context_at(document, offset)
    if context is None:
        return ()
    found = dict.fromkeys(_candidates(context, document, document.definition(offset)))
    prefix = context.prefix.lower()
    return tuple(item for item in found if item.label.lower().startswith(prefix))


def _candidates(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    match context.kind:
        case "none":
            names = _STATEMENTS if mask.header.stop else ("mask",)
            yield from _words(*names)
            yield from _regions(document, mask, "queries")
        case "mask":
            yield from _header(context, document, mask)
        case "block":
            yield from _block(context, document, mask)
        case "example":
            yield from _example(context, document, mask)
        case "assert" if context.previous == "assert":
            yield from _words(*_CLAIMS)
            yield from _regions(document, mask, "queries")
        case "assert" if context.has("equals"):
            yield from _masks(context, document, mask)
        case "assert" if context.has("density", "visible") and not context.has("sees"):
            yield from _numbers(document, mask, context)
        case "allow" if context.previous == "allow":
            yield from _words("empty queries", "unseen keys")
        case "allow" if context.has("in"):
            yield from _regions(document, mask, "queries" if context.has("queries") else "keys")
        case "allow":
            yield from _words("in")
        case "rule" | "assert":
            yield from _rule(context, document, mask)


@cache
def _table() -> dict[str, Completion]:
    return {word.name: Completion(word.name, word.kind, title(word.doc), word.name) for word in words()}


def _words(*names: str) -> Iterator[Completion]:
    for name in names:
        if name in _table():
            yield _table()[name]


# ---------------------------------------------------------------- statements


def _header(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    depth = len(context.brackets)
    closed = any(token.text == ")" for token in context.tokens) and depth == 0
    if context.has("=") and (closed or _body_began(context)):
        yield from _masks(context, document, mask)
    elif depth and context.previous == ":":
        yield from (item for item in _table().values() if item.kind == "type")
    elif depth and context.previous == "=":
        yield from _words("true", "false")


def _body_began(context: Context) -> bool:
    """Whether the brackets of the header are closed, so that `=` begins an expression of masks."""
    depth = 0
    for token in context.tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "=" and depth == 0:
            return True
    return False


def _block(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    """Sizes; the names of regions are new."""
    if context.has(":") or context.previous == "<" or len(context.brackets) > 1:
        yield from _numbers(document, mask, context, sizes=True)
        if context.previous and context.tokens[-1].kind in (TokenKind.NAME, TokenKind.NUMBER):
            yield from _words("x", "stored", "unused")


def _example(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    if context.previous in ("(", ",") and len(context.brackets) == 1:
        given = {token.text for token in context.tokens}
        for parameter in mask.parameters:
            if parameter.name.text and parameter.name.text not in given:
                shown = document.text(parameter.span)
                yield Completion(parameter.name.text, "parameter", shown, f"{parameter.name.text} = ")
    elif context.previous == "=":
        yield from _words("true", "false")


def _masks(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    masks = callable_masks(document)
    call = _call(context.tokens, context.brackets)
    if call is not None and call.text in masks:
        owner, callee = masks[call.text]
        if context.previous in ("(", ","):
            for parameter in callee.parameters:
                name = parameter.name.text
                yield Completion(name, "parameter", owner.text(parameter.span), f"{name} = ")
        yield from _numbers(document, mask, context, sizes=True)
        yield from _words("true", "false")
    elif context.previous == ")":
        yield from _words("and", "or", "except")
    else:
        yield from _words("not")
        for name, (owner, callee) in masks.items():
            if callee is not mask:
                yield Completion(name, "mask", signature(owner, callee), f"{name}(")


def _call(tokens: tuple[Token, ...], brackets: tuple[int, ...]) -> Token | None:
    """The name before the innermost open bracket, when it belongs to the expression of masks."""
    if not brackets or brackets[-1] == 0:
        return None
    token = tokens[brackets[-1] - 1]
    return (
        token if token.kind in (TokenKind.NAME, TokenKind.KEYWORD) and token.text not in ("not", "and", "or") else None
    )


def _rule(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    previous, before = context.previous, context.tokens[-2].text if len(context.tokens) > 1 else ""
    behind = context.has("sees")
    if previous == "." and before in ("q", "k"):
        yield from (Completion(name, "symbol", f"{before}.{name}", name) for name in ("pos", "x", "y", "z"))
    elif previous == ".":
        yield from _inside(context, document, mask, "keys" if behind else "queries")
    elif previous == "same":
        yield Completion("position", "relation", "same position", "position")
    elif previous == "aligned":
        yield from (Completion(side, "relation", f"aligned {side}", side) for side in ("start", "end"))
    elif not behind and previous != ",":
        yield from _words("never sees", "sees all") if context.kind == "assert" else _words("sees")
    elif previous in ("sees", "all") or (previous == "," and not _in_condition(context)):
        yield from _regions(document, mask, "keys" if behind else "queries")
        if context.kind == "assert" and previous == "sees" and before != "never":
            yield Completion("all", "keyword", "sees all", "all")
    elif previous == "in":
        for parameter in mask.parameters:
            if parameter.type == "int[]":
                yield Completion(parameter.name.text, "parameter", document.text(parameter.span), parameter.name.text)
            elif parameter.type == "int[][]":
                yield _parameter(document, mask, parameter.name.text)
    elif previous in _BEFORE_NUMBERS or (previous in (",", "[") and _in_condition(context)):
        yield from _numbers(document, mask, context)
    elif previous in ("and", "or", "not", "where", "except", "(") or not _in_condition(context):
        yield from _conditions(context, document, mask)
    else:
        yield from _words(*_JOINS, "in")
        if previous in ("causal", "position"):
            yield Completion("aligned", "relation", "aligned start, aligned end", "aligned ")


def _in_condition(context: Context) -> bool:
    """Whether the regions behind the verb are over."""
    texts = [token.text for token in context.tokens]
    behind = context.tokens[texts.index("sees") + 1 :] if "sees" in texts else ()
    words_of_conditions = {"where", "except", "and", "or", "not", "causal", "same", "(", *_BEFORE_NUMBERS}
    if any(token.text in words_of_conditions for token in behind):
        return True
    names = [token for token in behind if token.kind in (TokenKind.NAME, TokenKind.KEYWORD)]
    return any(token.text in ("q", "k", "dx", "dy", "dz", *_FUNCTIONS) for token in names)


def _conditions(context: Context, document: Document, mask: MaskTree) -> Iterator[Completion]:
    if not _in_condition(context):
        yield from _words("where", "except")
    yield from _words(*_CONDITIONS)
    for parameter in mask.parameters:
        if parameter.type == "bool":
            yield _parameter(document, mask, parameter.name.text)
    yield from _numbers(document, mask, context)


# ---------------------------------------------------------------- names


def _parameter(document: Document, mask: MaskTree, name: str) -> Completion:
    node = next(p for p in mask.parameters if p.name.text == name)
    detail = document.text(node.span) + (f"  {title(node.doc)}" if node.doc else "")
    listed = node.type is not None and node.type.endswith("[]")
    return Completion(name, "parameter", detail, f"{name}[" if listed else name)


def _numbers(document: Document, mask: MaskTree, context: Context, sizes: bool = False) -> Iterator[Completion]:
    """Parameters and functions; in rules positions and index variables as well."""
    for parameter in mask.parameters:
        if parameter.name.text and parameter.type != "bool":
            item = _parameter(document, mask, parameter.name.text)
            inside = context.previous == "(" and len(context.tokens) > 1 and context.tokens[-2].text in _FUNCTIONS
            yield Completion(item.label, item.kind, item.detail, item.label) if inside else item
    for name in dict.fromkeys(_indices(context.tokens)):
        yield Completion(name, "index", "the number of the instance, from 0", name)
    if not sizes:
        yield from _words(*_POSITIONS)
    yield from _words(*_FUNCTIONS)


def _indices(tokens: tuple[Token, ...]) -> Iterator[str]:
    """Index variables that the statement has named already: in brackets behind a name."""
    for opening, token in pairwise(tokens):
        if opening.text == "[" and token.kind is TokenKind.NAME:
            yield token.text


def _regions(document: Document, mask: MaskTree, side: str) -> Iterator[Completion]:
    owner, mask = with_regions(document, mask)
    axis = axis_of(mask, side)
    for path in region_paths(axis.regions if axis is not None else ()):
        shown = shown_path(path)
        detail = owner.text(path[-1].span) + (f"  {title(path[-1].doc)}" if path[-1].doc else "")
        yield Completion(shown, "region", detail, shown)


def _inside(context: Context, document: Document, mask: MaskTree, side: str) -> Iterator[Completion]:
    """The regions inside the one before the dot."""
    names: list[str] = []
    depth = 0
    for token in reversed(context.tokens[:-1]):
        depth += (token.text == "]") - (token.text == "[")
        if depth == 0 and token.kind is TokenKind.NAME:
            names.insert(0, token.text)
        elif depth == 0 and token.text not in (".", "["):
            break
    owner, mask = with_regions(document, mask)
    axis = axis_of(mask, side)
    for path in region_paths(axis.regions if axis is not None else ()):
        if [region.name.text for region in path[:-1]] == names:
            shown = shown_path(path[-1:])
            yield Completion(shown, "region", owner.text(path[-1].span), shown)
