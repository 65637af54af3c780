"""The regions of an axis."""

from __future__ import annotations

from typing import Literal

from compilemask.diagnostics import Edit, Fix, Span
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.expressions import parse_number
from compilemask.syntax.round_brackets import at_round_index, say_round
from compilemask.syntax.tokens import TokenKind
from compilemask.syntax.tree import AxisNode, Expression, Missing, Name, RegionNode, StoredNode


def parse_axis(cursor: Cursor, kind: Literal["tokens", "queries", "keys"]) -> AxisNode:
    """`tokens { .. }`, from behind the keyword on; the keyword is the last token read, or missing with a message."""
    keyword = cursor.previous.span if cursor.previous.text == kind or not cursor.at("{") else cursor.token.span
    regions = _block(cursor, "the regions")
    return AxisNode(kind, regions, keyword, keyword.to(cursor.span_from(keyword)))


def _block(cursor: Cursor, what: str) -> tuple[RegionNode, ...]:
    opening = cursor.token if cursor.at("{") else None
    if cursor.at(":"):
        colon = cursor.advance().span
        cursor.say(
            "CM202", "no `:` stands before a block", colon, "remove it", (Fix("Remove `:`", (Edit(colon, ""),)),)
        )
        opening = cursor.token if cursor.at("{") else None
    cursor.expect("{", f"before {what}")
    regions: list[RegionNode] = []
    outer, cursor.brackets = cursor.brackets, 0
    while True:
        while cursor.accept(";"):
            pass
        if cursor.at("}") or _block_is_over(cursor):
            break
        before = cursor.index
        regions.append(_region(cursor))
        _region_end(cursor)
        if cursor.index == before:
            cursor.advance()
    cursor.brackets = outer
    cursor.close(opening, "}", "block")
    return tuple(regions)


def _block_is_over(cursor: Cursor) -> bool:
    """Whether a statement begins here, so that the closing brace must be missing."""
    token = cursor.token
    return (
        token.kind is TokenKind.END
        or cursor.at("mask", "tokens", "queries", "keys", "example")
        or cursor.line_is_rule()
    )


def _region_end(cursor: Cursor) -> None:
    token = cursor.token
    if cursor.at(";", "}") or _block_is_over(cursor) or token.starts_line:
        return
    fix = (cursor.insert(";"),) if token.kind is TokenKind.NAME else ()
    hint = "regions stand on lines of their own, or `;` separates them"
    if cursor.at(","):
        fix = (Fix("Write `;`", (Edit(token.span, ";"),)),)
    cursor.report("CM207", f"expected `;` or a new line after the region, but {cursor.found()}", token.span, hint, fix)
    if token.kind is TokenKind.NAME and cursor.ahead(1).text in (":", "[", "{"):
        return
    if cursor.accept(","):
        return
    while not (cursor.at(";", "}") or _block_is_over(cursor) or cursor.token.starts_line):
        cursor.advance()


def _region(cursor: Cursor) -> RegionNode:
    start = cursor.token
    before = cursor.doc_before()
    name = cursor.expect_name("for a region")
    index, count = None, None
    if (cursor.at("[") and not cursor.token.starts_line) or at_round_index(cursor):
        index, count = _region_index(cursor)
    extent: tuple[Expression, ...] = ()
    children = None
    colon = cursor.accept(":")
    if cursor.at("{") or (not colon and _brace_is_missing(cursor)):
        if colon:
            fix = Fix("Remove `:`", (Edit(colon.span, ""),))
            cursor.say("CM202", "a region made of regions takes no `:`", colon.span, "write `doc[i] { .. }`", (fix,))
        with cursor.nested() as allowed:
            children = _block(cursor, "the inner regions") if allowed else ()
    elif colon or _missing_colon(cursor, name):
        extent = _extent(cursor)
    else:
        extent = (Missing(cursor.here()),)
    stored = _stored(cursor) if extent and cursor.at("stored") and not cursor.token.starts_line else None
    word = cursor.accept("unused") if extent and not cursor.token.starts_line else None
    span = cursor.span_from(start)
    unused = None if word is None else word.span
    return RegionNode(name, index, count, extent, children, cursor.doc(before), span, stored, unused)


def _stored(cursor: Cursor) -> StoredNode:
    """`stored tiles(8, 16)`, `stored zigzag(ranks)`, `stored pages(table, size)`."""
    start = cursor.advance()
    order: Literal["tiles", "zigzag", "pages", ""] = ""
    orders: tuple[Literal["tiles", "zigzag", "pages"], ...] = ("tiles", "zigzag", "pages")
    for word in orders:
        if cursor.at(word) or cursor.misspelt(word):
            cursor.advance()
            order = word
            break
    if not order:
        fixes = tuple(cursor.insert(word) for word in orders)
        hint = "for example `stored tiles(8, 16)`, `stored zigzag(ranks)`, `stored pages(table, size)`"
        cursor.report("CM202", f"expected an order after `stored`, but {cursor.found()}", None, hint, fixes)
    opening = cursor.token
    arguments: list[Expression] = []
    if cursor.expect("(", f"after `{order or 'stored'}`") is not None:
        with cursor.bracket():
            while True:
                arguments.append(parse_number(cursor))
                if not cursor.accept(","):
                    break
            cursor.close(opening, ")", "bracket")
    else:
        arguments.append(Missing(cursor.here()))
    return StoredNode(order, tuple(arguments), cursor.span_from(start))


def _brace_is_missing(cursor: Cursor) -> bool:
    """Whether a region follows directly, so that the brace before it must be missing."""
    return cursor.at_name() and not cursor.token.starts_line and cursor.ahead(1).is_word(":")


def _missing_colon(cursor: Cursor, name: Name) -> bool:
    """Say that the colon is missing; whether a size stands here all the same."""
    shown = f"after `{name.text}`" if name.text else "before the size"
    hint = "a region has a size, `S: n`, or regions inside, `doc[i] { .. }`"
    if cursor.at("=", "=="):
        fix = Fix("Write `:`", (Edit(cursor.token.span, ":"),))
        cursor.say("CM202", f"expected `:` {shown}, but {cursor.found()}", cursor.token.span, hint, (fix,))
        cursor.advance()
        return True
    cursor.report("CM202", f"expected `:` {shown}, but {cursor.found()}", None, hint, (cursor.insert(":"),))
    return not cursor.at_line_end() and not cursor.token.starts_line and not cursor.at("[", "]", "<")


def _region_index(cursor: Cursor) -> tuple[Name | None, Expression | None]:
    opening = cursor.advance()
    count: Expression | None = None
    with cursor.bracket():
        index = cursor.expect_name("for the number of the instance, as `i` in `D[i]`")
        if cursor.token.kind is TokenKind.NUMBER:
            cursor.advance()
        if cursor.at("<="):
            token = cursor.advance()
            fix = Fix("Write `<`", (Edit(token.span, "<"),))
            cursor.say(
                "CM202",
                "instances are counted from 0, so their number is written with `<`",
                token.span,
                "write `<`",
                (fix,),
            )
            count = parse_number(cursor)
        elif cursor.accept("<"):
            count = parse_number(cursor)
        cursor.close(opening, ")" if opening.text == "(" else "]", "bracket")
    if opening.text == "(":
        say_round(cursor, opening)
    return index, count


def _grid_goes_on(cursor: Cursor) -> bool:
    """Whether another size of a grid follows, though without its `x`; then with a message."""
    comma = cursor.at(",")
    first = cursor.ahead(1) if comma else cursor.token
    second = cursor.ahead(2 if comma else 1)
    if first.starts_line or first.kind not in (TokenKind.NAME, TokenKind.NUMBER) or second.text in (":", "[", "{"):
        return False
    span = cursor.token.span
    edit = Edit(span, " x") if comma else Edit(Span(span.start, span.start), "x ")
    hint = "a grid is written `height x width`; regions are separated by `;`"
    cursor.say(
        "CM202",
        f"expected `x` between the sizes of a grid, but {cursor.found()}",
        span,
        hint,
        (Fix("Write `x`", (edit,)),),
    )
    if comma:
        cursor.advance()
    return True


def _extent(cursor: Cursor) -> tuple[Expression, ...]:
    sizes = [parse_number(cursor)]
    while (
        not cursor.token.starts_line
        and not cursor.at("stored", "unused")
        and (cursor.accept("x") or _grid_goes_on(cursor))
    ):
        sizes.append(parse_number(cursor))
    if len(sizes) > 3:
        message = f"a grid has two or three sizes, and this has {len(sizes)}"
        cursor.say(
            "CM202", message, sizes[0].span.to(sizes[-1].span), "multiply sizes that need no coordinate of their own"
        )
    return tuple(sizes[:3])
