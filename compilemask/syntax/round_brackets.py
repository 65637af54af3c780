"""Indices in round brackets, `D(i): docs(i)`: one message for all of them in a text, whose quick fix writes them square."""

from __future__ import annotations

from dataclasses import replace

from compilemask.diagnostics import Edit, Fix
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.tokens import Token, TokenKind

_MESSAGE = "an index stands in square brackets, and these are round"
_HINT = "write `D[i]` and `lengths[i]`; round brackets are for functions, masks and conditions"


def at_round_index(cursor: Cursor) -> bool:
    """Whether `(i)` or `(i < count)` stands directly behind the last token read."""
    if not cursor.at("(") or cursor.token.span.start != cursor.previous.span.stop:
        return False
    return cursor.ahead(1).kind in (TokenKind.NAME, TokenKind.NUMBER) and cursor.ahead(2).text in (")", "<", "<=")


def say_round(cursor: Cursor, opening: Token) -> None:
    """The message about the brackets from `opening` to the last token read; from the second on they join its quick fix."""
    closing = cursor.previous.span
    edits = (Edit(opening.span, "["), Edit(closing, "]")) if cursor.previous.text == ")" else (Edit(opening.span, "["),)
    if cursor.round_message is None:
        cursor.round_message = len(cursor.diagnostics)
        fix = Fix("Write square brackets", edits)
        cursor.say("CM202", _MESSAGE, cursor.span_from(opening), _HINT, (fix,))
    elif cursor.round_message < len(cursor.diagnostics):
        told = cursor.diagnostics[cursor.round_message]
        joined = replace(told.fixes[0], edits=(*told.fixes[0].edits, *edits))
        cursor.diagnostics[cursor.round_message] = replace(told, fixes=(joined,))
