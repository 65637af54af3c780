"""What a place of a text means, in Markdown: declared names with their documentation, words with theirs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from compilemask.diagnostics import Span
from compilemask.syntax.lexer import lex
from compilemask.syntax.mask_tree import MaskCall
from compilemask.syntax.tokens import Token
from compilemask.syntax.tree import MaskTree
from compilemask.syntax.words import Word, words
from compilemask.tools.document import Document, callable_masks, signature
from compilemask.tools.symbols import Symbol, calls_in, symbols_of


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show about the text at a span."""

    span: Span
    markdown: str


def hover(source: str, offset: int) -> Hover | None:
    """What stands at an offset (code points), or None where nothing is to be said."""
    document = Document.read(source)
    place = next((n for n, t in enumerate(document.tokens) if t.span.start <= offset < t.span.stop), None)
    if place is None:
        return None
    token = document.tokens[place]
    for symbol in symbols_of(document):
        if token.span in (symbol.span, *symbol.references):
            return Hover(token.span, _about(symbol, document))
    return _call(document, token) or _word(document.tokens, place)


def _about(symbol: Symbol, document: Document) -> str:
    match symbol.kind:
        case "index":
            return f"`{symbol.name}` numbers the instances of a region that repeats, from 0."
        case "mask":
            mask = next(m for m in document.definitions if m.name.text == symbol.name)
            return _declared(f"mask {signature(document, mask)}", symbol.doc)
        case _:
            return _declared(document.text(symbol.declaration), symbol.doc)


def _declared(text: str, doc: str) -> str:
    return f"```mask\n{text}\n```" + (f"\n\n{doc}" if doc else "")


def _call(document: Document, token: Token) -> Hover | None:
    """A preset that is called, or the name of one of its parameters in a call."""
    masks = callable_masks(document)
    for call in (call for mask in document.definitions for call in calls_in(mask)):
        if call.name.text in masks:
            owner, mask = masks[call.name.text]
            if call.name.span == token.span:
                return Hover(token.span, _declared(f"mask {signature(owner, mask)}", mask.doc))
            found = _argument(call, token, owner, mask)
            if found is not None:
                return found
    return None


def _argument(call: MaskCall, token: Token, owner: Document, mask: MaskTree) -> Hover | None:
    for argument in call.arguments:
        if argument.name is not None and argument.name.span == token.span:
            for parameter in mask.parameters:
                if parameter.name.text == token.text:
                    return Hover(token.span, _declared(owner.text(parameter.span), parameter.doc))
    return None


# ---------------------------------------------------------------- words


@cache
def _spellings() -> tuple[tuple[tuple[str, ...], Word], ...]:
    """The tokens that each word is made of, longer ones first; pairs of brackets are two words."""
    found: list[tuple[tuple[str, ...], Word]] = []
    for word in words():
        parts = word.name.split(" ")
        if word.kind == "symbol" and len(parts) == 2 and not parts[0][0].isalnum():
            found += [((part,), word) for part in parts]
        elif word.name.startswith("#"):
            continue
        else:
            found.append((tuple(token.text for token in lex(word.name).tokens[:-1]), word))
    return tuple(sorted(found, key=lambda item: -len(item[0])))


def _word(tokens: tuple[Token, ...], place: int) -> Hover | None:
    texts = tuple(token.text for token in tokens)
    for spelling, word in _spellings():
        for first in range(max(0, place - len(spelling) + 1), place + 1):
            if texts[first : first + len(spelling)] == spelling and _is_meant(tokens, first, spelling):
                span = tokens[first].span.to(tokens[first + len(spelling) - 1].span)
                return Hover(span, f"**{word.name}**\n\n{word.doc}")
    return None


def _is_meant(tokens: tuple[Token, ...], first: int, spelling: tuple[str, ...]) -> bool:
    """Whether a word is meant where it stands alone: those of assertions are names elsewhere."""
    if len(spelling) > 1 or spelling[0] not in ("density", "visible", "equals"):
        return True
    return first > 0 and tokens[first - 1].is_word("assert")
