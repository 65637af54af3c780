"""The tokens of a mask text."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from compilemask.diagnostics import Diagnostic, Span


class TokenKind(Enum):
    NAME = "name"
    KEYWORD = "keyword"
    NUMBER = "number"
    DECIMAL = "decimal"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `text` is the language's spelling, also where the source has a foreign one (`&&` reads as `and`).

    starts_line: nothing but space and comments stands before it on its line. value: of a NUMBER, else 0. A DECIMAL stands behind `density` and a comparison only.
    """

    kind: TokenKind
    text: str
    span: Span
    starts_line: bool
    value: int = 0

    def is_word(self, text: str) -> bool:
        """Whether this is the keyword, symbol or name `text`."""
        return self.text == text and self.kind in (TokenKind.NAME, TokenKind.KEYWORD, TokenKind.SYMBOL)


@dataclass(frozen=True, slots=True)
class Comment:
    """`# ...` or `## ...`, to the end of its line. own_line: no token stands before it on its line.

    before: the number of tokens that stand before it in the text.
    """

    text: str
    span: Span
    documentation: bool
    own_line: bool
    before: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into tokens (the last is END), its comments, and what was wrong with its characters.

    complete: false when characters were left out or changed, so that the tokens are a guess.
    """

    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]
    diagnostics: tuple[Diagnostic, ...]
    complete: bool
    docs_before: dict[int, str] = field(default_factory=dict)
    """Documentation on the lines above token number i."""
    docs_behind: dict[int, str] = field(default_factory=dict)
    """Documentation behind token number i on the same line."""
