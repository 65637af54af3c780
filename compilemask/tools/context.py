"""Where in a text a word is being typed: what kind of statement it is in, and what stands before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from compilemask.syntax.cursor import CONTINUES, STATEMENTS
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.tools.document import Document

StatementKind = Literal["none", "mask", "block", "rule", "assert", "allow", "example"]
_JOINING: Final = frozenset({"and", "or", "not", "where", "except", "sees", "never", "equals", "assert"})
_OPERATORS: Final = frozenset(
    {"+", "-", "*", "//", "%", "<", "<=", "==", "!=", ">", ">=", "=", ",", "(", "[", ":", "."}
)
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")


@dataclass(frozen=True, slots=True)
class Context:
    """kind: of the statement. tokens: of the statement, up to the word. prefix: the part of the word before the cursor.

    brackets: the open round and square brackets of the statement, as places in `tokens`, the innermost last.
    """

    kind: StatementKind
    tokens: tuple[Token, ...]
    prefix: str
    brackets: tuple[int, ...]

    @property
    def previous(self) -> str:
        """The text of the token before the word, or ""."""
        return self.tokens[-1].text if self.tokens else ""

    def has(self, *texts: str) -> bool:
        return any(token.text in texts for token in self.tokens)


def context_at(document: Document, offset: int) -> Context | None:
    """None inside comments and numbers, where nothing is completed."""
    if any(c.span.start < offset <= c.span.stop for c in document.comments):
        return None
    word = _WORD.search(document.source, max(0, offset - 64), offset)
    start = word.start() if word else offset
    before = [token for token in document.tokens if token.span.stop <= start]
    if any(
        t.kind in (TokenKind.NUMBER, TokenKind.DECIMAL) and t.span.start < offset <= t.span.stop
        for t in document.tokens
    ):
        return None
    braces = 0
    first = 0
    for place, token in enumerate(before):
        if token.text in STATEMENTS and token.kind is TokenKind.KEYWORD and not _allowed(before, place):
            braces, first = 0, place
        elif token.text == "{":
            braces += 1
            first = place + 1
        elif token.text == "}":
            braces = max(0, braces - 1)
            first = place + 1
        elif token.text == ";" or (token.starts_line and _begins(before, first, place)):
            first = place + (token.text == ";")
    line = document.source[before[-1].span.stop : start] if before else "\n"
    if "\n" in line and _ended(before[first:]):
        first = len(before)
    tokens = tuple(before[first:])
    return Context(_kind(tokens, braces), tokens, document.source[start:offset], tuple(_open(list(tokens))))


def _allowed(tokens: list[Token], place: int) -> bool:
    """Whether a word is the noun of an allowance: `allow empty queries`."""
    return [token.text for token in tokens[max(0, place - 2) : place]] in (["allow", "empty"], ["allow", "unseen"])


def _begins(tokens: list[Token], first: int, place: int) -> bool:
    """Whether the token at the beginning of a line begins a statement."""
    return _ended(tokens[first:place]) and tokens[place].text not in (*CONTINUES, "=")


def _ended(tokens: list[Token]) -> bool:
    """Whether a statement may end behind these tokens."""
    return not tokens or (not _open(tokens) and tokens[-1].text not in (_JOINING | _OPERATORS))


def _open(tokens: list[Token]) -> list[int]:
    places: list[int] = []
    for place, token in enumerate(tokens):
        if token.text in ("(", "["):
            places.append(place)
        elif token.text in (")", "]") and places:
            places.pop()
    return places


def _kind(tokens: tuple[Token, ...], braces: int) -> StatementKind:
    if braces:
        return "block"
    if not tokens:
        return "none"
    match tokens[0].text if tokens[0].kind is TokenKind.KEYWORD else "":
        case "mask":
            return "mask"
        case "assert":
            return "assert"
        case "example":
            return "example"
        case "tokens" | "queries" | "keys":
            return "block"
        case _:
            allows = tokens[0].text == "allow" and (len(tokens) == 1 or tokens[1].text in ("empty", "unseen"))
            return "allow" if allows else "rule"
