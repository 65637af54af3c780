"""Masks made of masks: calls joined by `and`, `or`, `not` and `except`, with the precedence of conditions."""

from __future__ import annotations

from typing import Final, Literal

from compilemask.diagnostics import Edit, Fix
from compilemask.syntax.cursor import STATEMENTS, Cursor
from compilemask.syntax.expressions import parse_number
from compilemask.syntax.limits import MAX_OPERATORS
from compilemask.syntax.mask_tree import (
    ArgumentNode,
    MaskCall,
    MaskExcept,
    MaskExpression,
    MaskGroup,
    MaskLogic,
    MaskNot,
)
from compilemask.syntax.tokens import TokenKind
from compilemask.syntax.tree import Expression, Missing, Name, Written
from compilemask.syntax.values import accept_equals, comma_list, parse_value

EXCEPT, OR, AND, NOT = range(1, 5)
_LEVEL: Final = {"except": EXCEPT, "or": OR, "and": AND, "where": AND}
_SHAPE: Final = "masks are called, `documents(lengths)`, and joined by `and`, `or`, `not` and `except`"


def parse_masks(cursor: Cursor) -> MaskExpression:
    """An expression of masks, up to the end of its statement."""
    cursor.operators = 0
    return _expression(cursor, EXCEPT)


def _expression(cursor: Cursor, floor: int) -> MaskExpression:
    left = _operand(cursor)
    while not _ends(cursor) and _LEVEL.get(cursor.token.text, 0) >= floor:
        cursor.operators += 1
        if cursor.operators > MAX_OPERATORS:
            hint = "give a part of it a name: a mask of its own"
            cursor.report("CM213", f"more than {MAX_OPERATORS} operators in one place", cursor.token.span, hint)
            cursor.skip_to_statement()
            break
        left = _operator(cursor, left)
    return left


def _ends(cursor: Cursor) -> bool:
    token = cursor.token
    return token.kind is not TokenKind.KEYWORD or (
        token.starts_line and cursor.brackets == 0 and token.text not in _LEVEL
    )


def _operator(cursor: Cursor, left: MaskExpression) -> MaskExpression:
    token = cursor.advance()
    if token.text == "where":
        fix = Fix("Write `and`", (Edit(token.span, "and"),))
        cursor.say("CM215", "masks are joined by `and`, not by `where`", token.span, "write `and`", (fix,))
    right = _expression(cursor, _LEVEL[token.text] + 1)
    span = left.span.to(right.span)
    if token.text == "except":
        return MaskExcept(left, right, span)
    word: Literal["and", "or"] = "or" if token.text == "or" else "and"
    items = left.items if isinstance(left, MaskLogic) and left.operator == word else (left,)
    return MaskLogic(word, (*items, right), span)


def _operand(cursor: Cursor) -> MaskExpression:
    token = cursor.token
    if _nothing_follows(cursor):
        cursor.report("CM205", f"expected a mask after `{cursor.previous.text}`, but {cursor.found()}", None, _SHAPE)
        return Missing(cursor.here())
    if token.kind in (TokenKind.NAME, TokenKind.KEYWORD) and cursor.ahead(1).is_word("(") and token.text != "not":
        return _call(cursor)
    if token.is_word("("):
        opening = cursor.advance()
        with cursor.bracket(), cursor.nested() as allowed:
            inner = _expression(cursor, EXCEPT) if allowed else Missing(cursor.here())
            cursor.close(opening, ")", "bracket")
        return MaskGroup(inner, cursor.span_from(opening))
    if token.is_word("not"):
        cursor.advance()
        cursor.operators += 1
        with cursor.nested() as allowed:
            operand = _expression(cursor, NOT) if allowed else Missing(cursor.here())
        return MaskNot(operand, token.span.to(operand.span))
    return _no_mask(cursor)


def _nothing_follows(cursor: Cursor) -> bool:
    token, before = cursor.token, cursor.previous
    if token.kind is TokenKind.END or token.text in STATEMENTS or cursor.at(";", "}", ")"):
        return True
    goes_on = cursor.brackets or before.text in _LEVEL or before.text in ("not", "(", "=", "equals")
    return token.starts_line and (not goes_on or cursor.line_is_rule())


def _no_mask(cursor: Cursor) -> MaskExpression:
    token = cursor.token
    if token.kind is TokenKind.NAME:
        fix = Fix("Insert `()`", (Edit(token.span, token.text + "()"),))
        message = f"`{token.text}` is not called: arguments stand behind the name of a mask"
        cursor.report("CM215", message, token.span, _SHAPE, (fix,))
        cursor.advance()
        return Missing(token.span)
    message = f"expected a mask, but {cursor.found()}"
    if token.kind is TokenKind.KEYWORD:
        message = f"`{token.text}` is no mask here"
    cursor.report("CM215", message, token.span, _SHAPE + "; conditions belong to rules")
    cursor.skip_statement()
    return Missing(token.span)


# ---------------------------------------------------------------- arguments


def _call(cursor: Cursor) -> MaskCall:
    token = cursor.advance()
    arguments: list[ArgumentNode] = []
    opening = cursor.advance()
    with cursor.bracket(), cursor.nested() as allowed:
        if allowed and not cursor.at(")"):
            comma_list(cursor, ")", lambda: arguments.append(_argument(cursor)))
        cursor.close(opening, ")", "list of arguments")
    return MaskCall(Name(token.text, token.span), tuple(arguments), cursor.span_from(token))


def _argument(cursor: Cursor) -> ArgumentNode:
    start = cursor.token
    name = None
    if cursor.ahead(1).text in ("=", "==", ":") and start.kind in (TokenKind.NAME, TokenKind.KEYWORD):
        name = cursor.expect_name("for a parameter")
        accept_equals(cursor)
    return ArgumentNode(name, _value(cursor), cursor.span_from(start))


def _value(cursor: Cursor) -> Expression | Written:
    if cursor.at("["):
        return parse_value(cursor)
    if cursor.at(",", ")"):
        cursor.report("CM205", f"expected an argument, but {cursor.found()}", cursor.token.span)
        return Missing(cursor.here())
    kept = cursor.operators
    value = parse_number(cursor)
    cursor.operators = kept
    return value
