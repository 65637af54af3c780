"""Numbers and conditions, by operator precedence.

One grammar reads both, because `(` may begin either; which one is meant, the checker decides.
Loosest to closest: `where` `except`; `or`; `and`; `not`; comparisons (they chain); `+` `-`; `*` `//` `%`; unary `-`.
"""

from __future__ import annotations

from typing import Final, Literal, cast

from compilemask.diagnostics import Edit, Fix, Span
from compilemask.syntax.cursor import STATEMENTS, Cursor
from compilemask.syntax.limits import MAX_OPERATORS
from compilemask.syntax.relations import parse_ancestry, parse_membership, parse_near
from compilemask.syntax.round_brackets import say_round
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import (
    Align,
    Arithmetic,
    ArithmeticSign,
    BoolLiteral,
    Calling,
    Comparison,
    Delta,
    Expression,
    Group,
    Item,
    Joined,
    Logic,
    Member,
    Missing,
    Name,
    NumberLiteral,
    Prefix,
    Relation,
)

JOIN, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN = range(1, 9)
_LEVEL: Final = {
    "where": JOIN,
    "except": JOIN,
    "or": OR,
    "and": AND,
    **dict.fromkeys(("<", "<=", "==", "!=", ">", ">=", "=", "is", "in"), COMPARE),
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "//": PRODUCT,
    "%": PRODUCT,
}
FUNCTIONS: Final = ("min", "max", "abs", "len", "sum")


def parse_condition(cursor: Cursor) -> Expression:
    """A whole condition; it may begin with `where` or `except`."""
    cursor.operators = 0
    if cursor.at("where", "except"):
        return _operators(cursor, None, JOIN)
    return _operators(cursor, _operand(cursor), JOIN)


def parse_number(cursor: Cursor) -> Expression:
    """A number of a region's size: comparisons and words like `and` are left unread."""
    cursor.operators = 0
    return _expression(cursor, SUM)


def _expression(cursor: Cursor, floor: int) -> Expression:
    return _operators(cursor, _operand(cursor), floor)


def _operators(cursor: Cursor, left: Expression | None, floor: int) -> Expression:
    while not _ends(cursor) and _LEVEL.get(cursor.token.text, 0) >= floor:
        token = cursor.token
        cursor.operators += 1
        if cursor.operators > MAX_OPERATORS:
            message = f"more than {MAX_OPERATORS} operators in one place"
            cursor.report("CM213", message, token.span, "split it into several rules")
            cursor.skip_to_statement()
            break
        left = _operator(cursor, left, _LEVEL[token.text])
    return left if left is not None else Missing(cursor.here())


def _ends(cursor: Cursor) -> bool:
    token = cursor.token
    if token.kind not in (TokenKind.SYMBOL, TokenKind.KEYWORD) and not token.is_word("in"):
        return True
    return token.starts_line and cursor.brackets == 0 and token.text not in ("and", "or", "where", "except")


def _operator(cursor: Cursor, left: Expression | None, level: int) -> Expression:
    token = cursor.advance()
    if level == COMPARE and left is not None:
        return _comparison(cursor, left, token)
    right = _expression(cursor, level + 1)
    if level == JOIN:
        begin = token.span if left is None else left.span
        return Joined("where" if token.text == "where" else "except", left, right, begin.to(right.span))
    left = left if left is not None else Missing(token.span)
    span = left.span.to(right.span)
    if token.text in ("and", "or"):
        word: Literal["and", "or"] = "and" if token.text == "and" else "or"
        items = left.items if isinstance(left, Logic) and left.operator == word else (left,)
        return Logic(word, (*items, right), span)
    return Arithmetic(cast(ArithmeticSign, token.text), left, right, span)


def _comparison(cursor: Cursor, first: Expression, token: Token) -> Expression:
    links: list[tuple[str, Expression]] = []
    while True:
        if token.text == "is" and not links:
            return parse_ancestry(cursor, first, lambda at: _expression(at, SUM))
        if token.text == "in" and not links:
            return parse_membership(cursor, first, lambda at: _expression(at, SUM))
        operator = _comparison_sign(cursor, token)
        right = _expression(cursor, SUM)
        links.append((operator, right))
        if _ends(cursor) or cursor.at("is", "in") or _LEVEL.get(cursor.token.text, 0) != COMPARE:
            return Comparison(first, tuple(links), first.span.to(right.span))
        cursor.operators += 1
        token = cursor.advance()


def _comparison_sign(cursor: Cursor, token: Token) -> str:
    if token.text != "=":
        return token.text
    fix = Fix("Write `==`", (Edit(token.span, "=="),))
    cursor.say("CM210", "`=` gives a value; to compare, write `==`", token.span, "write `==`", (fix,))
    return "=="


# ---------------------------------------------------------------- operands


def _operand(cursor: Cursor) -> Expression:
    token = cursor.token
    if cursor.index and _nothing_follows(cursor):
        return _missing(cursor)
    match token.kind:
        case TokenKind.NUMBER:
            cursor.advance()
            return NumberLiteral(token.value, token.span)
        case TokenKind.NAME:
            return _named(cursor)
        case TokenKind.KEYWORD:
            return _keyword(cursor)
        case TokenKind.SYMBOL if token.text == "(":
            return _group(cursor)
        case TokenKind.SYMBOL if token.text == "-":
            return _prefix(cursor, "-", SIGN)
        case TokenKind.SYMBOL if token.text == "+":
            return _plus(cursor)
        case _:
            return _missing(cursor)


def _nothing_follows(cursor: Cursor) -> bool:
    """Whether the statement ends here: an operand may stand on the next line only behind an operator or in brackets."""
    token, before = cursor.token, cursor.previous
    if token.kind is TokenKind.END or token.text in STATEMENTS or cursor.at(";", "}"):
        return True
    if not token.starts_line:
        return False
    goes_on = cursor.brackets or before.text in _LEVEL or before.text in ("not", "(", ",")
    return not goes_on or cursor.line_is_rule()


def _missing(cursor: Cursor) -> Missing:
    before = cursor.previous.text
    level = _LEVEL.get(before, 0)
    wanted = (
        "a number" if level >= COMPARE else "a condition" if level or before == "not" else "a number or a condition"
    )
    cursor.report("CM205", f"expected {wanted} after `{before}`, but {cursor.found()}")
    return Missing(cursor.here())


def _named(cursor: Cursor) -> Expression:
    token = cursor.advance()
    name = Name(token.text, token.span)
    if cursor.at("[") and not cursor.token.starts_line:
        index = _index(cursor)
        second = _index(cursor) if cursor.at("[") and not cursor.token.starts_line else None
        return Item(name, index, cursor.span_from(token), second)
    if name.text == "near" and cursor.at("(") and (not cursor.token.starts_line or cursor.brackets):
        return parse_near(cursor, token, lambda at: _expression(at, SUM))
    if cursor.at("(") and not cursor.token.starts_line and cursor.token.span.start == token.span.stop:
        return _round_item(cursor, name) if name.text in cursor.lists else _unknown_call(cursor, name)
    return name


def _index(cursor: Cursor) -> Expression:
    opening = cursor.advance()
    with cursor.bracket(), cursor.nested() as allowed:
        index = _expression(cursor, SUM) if allowed else Missing(cursor.here())
        cursor.close(opening, "]", "bracket")
    return index


def _round_item(cursor: Cursor, name: Name) -> Expression:
    """`lengths(i)` of a list, which is written in square brackets."""
    indices: list[Expression] = []
    while cursor.at("(") and not cursor.token.starts_line and len(indices) < 2:
        opening = cursor.token
        indices += _arguments(cursor)
        say_round(cursor, opening)
    span = cursor.span_from(name.span)
    return Item(name, indices[0], span, *indices[1:]) if len(indices) in (1, 2) else Missing(span)


def _unknown_call(cursor: Cursor, name: Name) -> Expression:
    known = ", ".join(f"`{f}`" for f in (*FUNCTIONS, "near"))
    cursor.say("CM301", f"there is no function `{name.text}`", name.span, f"the functions are {known}")
    _arguments(cursor)
    return Missing(name.span)


def _keyword(cursor: Cursor) -> Expression:
    token = cursor.token
    if token.text in cursor.taken_words and token.text not in ("q", "k"):
        cursor.advance()
        return Name(token.text, token.span)
    match token.text:
        case "true" | "false":
            cursor.advance()
            return BoolLiteral(token.text == "true", token.span)
        case "not":
            return _prefix(cursor, "not", NOT)
        case "causal":
            cursor.advance()
            return Relation("causal", *alignment(cursor, token))
        case "same":
            cursor.advance()
            _position(cursor)
            return Relation("same position", *alignment(cursor, token))
        case "q" | "k":
            return _member(cursor, token)
        case "dx" | "dy" | "dz":
            cursor.advance()
            return Delta(token.text[1], token.span)
        case "min" | "max" | "abs" | "len" | "sum":
            return _call(cursor)
        case "aligned":
            message = "`aligned` belongs behind `causal` or `same position`"
            cursor.say("CM205", message, token.span, "write `causal aligned end`, for example")
            cursor.advance()
            _align_word(cursor)
            return Missing(token.span)
        case _:
            return _missing(cursor)


def _position(cursor: Cursor) -> None:
    if cursor.at("position") or cursor.misspelt("position"):
        cursor.advance()
    else:
        cursor.report(
            "CM202", f"expected `position` after `same`, but {cursor.found()}", None, None, (cursor.insert("position"),)
        )


def alignment(cursor: Cursor, start: Token) -> tuple[Align | None, Span]:
    """`aligned start` or `aligned end` if it stands here, and the span from `start` to its end."""
    align = None
    if cursor.accept("aligned"):
        align = _align_word(cursor)
    return align, cursor.span_from(start)


def _align_word(cursor: Cursor) -> Align | None:
    for word in ("start", "end"):
        if not cursor.token.starts_line and cursor.accept(word):
            return "start" if word == "start" else "end"
    fixes = (cursor.insert("start"), cursor.insert("end"))
    cursor.report("CM202", f"expected `start` or `end` after `aligned`, but {cursor.found()}", None, None, fixes)
    return None


def _member(cursor: Cursor, token: Token) -> Expression:
    cursor.advance()
    side: Literal["q", "k"] = "q" if token.text == "q" else "k"
    if not cursor.accept("."):
        return Member(side, "", token.span)
    field = cursor.token
    if field.text in ("pos", "x", "y", "z"):
        cursor.advance()
        return Member(side, field.text, cursor.span_from(token))
    fixes = (
        tuple(Fix(f"Write `{f}`", (Edit(field.span, f),)) for f in ("pos", "x", "y", "z"))
        if field.kind is TokenKind.NAME
        else ()
    )
    message = f"expected `pos`, `x`, `y` or `z` after `{side}.`, but {cursor.found()}"
    cursor.report(
        "CM202", message, None, f"a position has `{side}.pos`, and on a grid `{side}.y` and `{side}.x`", fixes
    )
    if field.kind is TokenKind.NAME and not cursor.at_line_end():
        cursor.advance()
    return Missing(cursor.span_from(token))


def _prefix(cursor: Cursor, operator: str, level: int) -> Expression:
    token = cursor.advance()
    cursor.operators += 1
    with cursor.nested() as allowed:
        operand = _expression(cursor, level) if allowed else Missing(cursor.here())
    return Prefix("not" if operator == "not" else "-", operand, token.span.to(operand.span))


def _plus(cursor: Cursor) -> Expression:
    token = cursor.token
    fix = Fix("Remove `+`", (Edit(token.span, ""),))
    cursor.say("CM205", "something is missing before `+`", token.span, "a number needs no plus sign", (fix,))
    cursor.advance()
    with cursor.nested() as allowed:
        return _expression(cursor, SIGN) if allowed else Missing(cursor.here())


def _group(cursor: Cursor) -> Expression:
    opening = cursor.advance()
    with cursor.bracket(), cursor.nested() as allowed:
        inner = _expression(cursor, JOIN) if allowed else Missing(cursor.here())
        if not cursor.close(opening, ")", "bracket") and cursor.at(","):
            _skip_to_bracket(cursor)
    return Group(inner, cursor.span_from(opening))


def _skip_to_bracket(cursor: Cursor) -> None:
    """Behind an unexpected comma, go on behind the closing bracket if it stands on the same line."""
    while not cursor.token.starts_line and not cursor.at_line_end() and not cursor.at(")"):
        cursor.advance()
    cursor.accept(")")


def _call(cursor: Cursor) -> Expression:
    token = cursor.advance()
    if not cursor.at("("):
        cursor.expect("(", f"after `{token.text}`")
        return Missing(token.span)
    return Calling(token.text, _arguments(cursor), cursor.span_from(token))


def _arguments(cursor: Cursor) -> tuple[Expression, ...]:
    opening = cursor.advance()
    arguments = []
    with cursor.bracket(), cursor.nested() as allowed:
        while allowed:
            arguments.append(_expression(cursor, JOIN))
            if not cursor.accept(","):
                break
        cursor.close(opening, ")", "bracket")
    return tuple(arguments)
