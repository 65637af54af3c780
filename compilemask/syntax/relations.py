"""Conditions with words of their own: `j is ancestor of i in parent`, `k in kept`, `near(y, 17)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from compilemask.diagnostics import Edit, Fix, Span
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.tokens import Token
from compilemask.syntax.tree import Ancestry, Expression, Membership, Missing, Name, Near

ParseNumber = Callable[[Cursor], Expression]
_AXES: Final = ("x", "y", "z", "pos")
_OPTIONS: Final = ("dilation", "stride", "causal")


def parse_ancestry(cursor: Cursor, above: Expression, parse_number: ParseNumber) -> Expression:
    """What follows `is`, which is the last token read."""
    cursor.expect("ancestor", "after `is`", "write `j is ancestor of i in parent`")
    cursor.expect("of", "after `ancestor`")
    below = parse_number(cursor)
    cursor.expect("in", "and the list of parents", "write `j is ancestor of i in parent`")
    parents = Name("", cursor.here()) if cursor.at_line_end() else cursor.expect_name("of the list of parents")
    if not parents.text:
        cursor.report("CM202", f"expected the list of parents after `in`, but {cursor.found()}")
    return Ancestry(above, below, parents, above.span.to(cursor.previous.span))


def parse_membership(cursor: Cursor, number: Expression, parse_number: ParseNumber) -> Expression:
    """What follows `in`, which is the last token read: a list, or a row of a table."""
    hint = "write `k in kept` with a list, or `k in kept[i]` with a list of lists"
    name = Name("", cursor.here()) if cursor.at_line_end() else cursor.expect_name("of a list")
    if not name.text:
        cursor.report("CM202", f"expected a list after `in`, but {cursor.found()}", None, hint)
    row = None
    if name.text and cursor.at("[") and not cursor.token.starts_line:
        opening = cursor.advance()
        with cursor.bracket(), cursor.nested() as allowed:
            row = parse_number(cursor) if allowed else Missing(cursor.here())
            cursor.close(opening, "]", "bracket")
    return Membership(number, name, row, number.span.to(cursor.previous.span))


def parse_near(cursor: Cursor, start: Token, parse_number: ParseNumber) -> Near:
    """The brackets behind `near`, which is the last token read."""
    opening = cursor.advance()
    options: dict[str, Expression] = {}
    causal = False
    with cursor.bracket():
        axis = _axis(cursor)
        cursor.expect(",", "before the size of the window", "write `near(y, 17)`")
        kernel = parse_number(cursor)
        while cursor.accept(","):
            word = _option(cursor)
            if word == "causal":
                causal = True
            elif word is not None:
                cursor.expect("=", f"after `{word}`", f"write `{word} = 2`")
                options[word] = parse_number(cursor)
        cursor.close(opening, ")", "bracket")
    return Near(axis, kernel, options.get("dilation"), options.get("stride"), causal, cursor.span_from(start))


def _axis(cursor: Cursor) -> Literal["x", "y", "z", "pos", ""]:
    for word in _AXES:
        if cursor.accept(word):
            return word
    token = cursor.token
    fixes = tuple(
        Fix(f"Insert `{word}`", (Edit(Span(token.span.start, token.span.start), f"{word}, "),)) for word in _AXES
    )
    hint = "name the axis along which the window lies: `near(y, 17)`, or `near(pos, 17)` in a region with one size"
    cursor.report("CM202", f"expected `x`, `y`, `z` or `pos`, but {cursor.found()}", None, hint, fixes)
    return ""


def _option(cursor: Cursor) -> str | None:
    for word in _OPTIONS:
        if cursor.accept(word) or cursor.misspelt(word):
            if cursor.previous.text != word:
                cursor.advance()
            return word
    message = f"expected `dilation`, `stride` or `causal`, but {cursor.found()}"
    cursor.report("CM202", message, None, "write `near(y, 17, dilation = 2)`")
    cursor.skip_item(")")
    return None
