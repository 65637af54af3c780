"""The header, the regions and the examples."""

from __future__ import annotations

from typing import Literal

from compilemask.diagnostics import Edit, Fix
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.expressions import parse_number
from compilemask.syntax.limits import MAX_LIST_ITEMS
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import (
    AxisNode,
    ExampleNode,
    Expression,
    Missing,
    Name,
    ParameterNode,
    RegionNode,
    SettingNode,
    Written,
)

TypeName = Literal["int", "bool", "int[]"]


def join_docs(before: str, behind: str) -> str:
    """Documentation above and behind one thing, as one text."""
    return "\n".join(doc for doc in (before, behind) if doc)


# ---------------------------------------------------------------- header


def parse_header(cursor: Cursor) -> tuple[Name, tuple[ParameterNode, ...], str]:
    """`mask NAME(parameters)`, from the current token on; `mask` may be missing, with a message."""
    doc = cursor.doc_before()
    cursor.accept("mask")
    name = _mask_name(cursor)
    opening = cursor.token if cursor.at("(") else None
    if cursor.expect(
        "(", "before the parameters", "a mask without parameters is written `mask name()`"
    ) is None and not _at_parameter(cursor):
        return name, (), doc
    parameters: list[ParameterNode] = []
    with cursor.bracket():
        if not cursor.at(")"):
            _parameters(cursor, parameters)
        cursor.close(opening, ")", "list of parameters")
    return name, tuple(parameters), doc


def _mask_name(cursor: Cursor) -> Name:
    """The name of the mask. It is named nowhere else, so that a word of the language will do: `mask causal(n: int)`."""
    token = cursor.token
    if token.kind is TokenKind.KEYWORD and cursor.ahead(1).is_word("("):
        cursor.advance()
        return Name(token.text, token.span)
    return cursor.expect_name("for the mask")


def _at_parameter(cursor: Cursor) -> bool:
    return cursor.at_name() and cursor.ahead(1).is_word(":")


def _parameters(cursor: Cursor, parameters: list[ParameterNode]) -> None:
    while True:
        parameters.append(_parameter(cursor))
        if not cursor.at(",", ")"):
            if not _list_goes_on(cursor, ")"):
                return
            continue
        if not cursor.accept(",") or _trailing_comma(cursor, ")"):
            return


def _list_goes_on(cursor: Cursor, closing: str) -> bool:
    """After an item with neither `,` nor the closing bracket: report, skip, and say whether another item follows."""
    if cursor.at_name() and not cursor.line_is_rule() and cursor.ahead(1).text in (":", "="):
        cursor.report("CM202", f"expected `,` before `{cursor.token.text}`", None, None, (cursor.insert(","),))
        return True
    if (
        cursor.token.kind is TokenKind.END
        or cursor.line_is_rule()
        or cursor.at("tokens", "queries", "keys", "mask", "example", "{", "}")
    ):
        return False
    cursor.report("CM202", f"expected `,` or `{closing}`, but {cursor.found()}", cursor.token.span)
    cursor.skip_item(closing)
    return bool(cursor.accept(",")) and not cursor.at(closing)


def _trailing_comma(cursor: Cursor, closing: str) -> bool:
    if not cursor.at(closing):
        return False
    comma = cursor.previous.span
    fix = Fix("Remove the comma", (Edit(comma, ""),))
    cursor.say("CM211", f"nothing follows this comma before `{closing}`", comma, "remove the comma", (fix,))
    return True


def _parameter(cursor: Cursor) -> ParameterNode:
    start = cursor.token
    before = cursor.doc_before()
    name = cursor.expect_name("of a parameter")
    type_name: TypeName | None = None
    if cursor.accept(":"):
        type_name = _type(cursor)
    elif name.text:
        hint = "a parameter has a type: `int`, `bool` or `int[]`"
        cursor.report(
            "CM202",
            f"expected `:` and a type after `{name.text}`, but {cursor.found()}",
            None,
            hint,
            (cursor.insert(": int"),),
        )
        if cursor.at("int", "bool"):
            type_name = _type(cursor)
    default = _written(cursor) if _accept_equals(cursor) else None
    doc = join_docs(before, cursor.doc_behind())
    return ParameterNode(name, type_name, default, doc, cursor.span_from(start))


def _type(cursor: Cursor) -> TypeName | None:
    if cursor.accept("bool") or (cursor.misspelt("bool", "boolean") and cursor.advance()):
        return "bool"
    token = cursor.token
    if cursor.accept("int"):
        if not cursor.at("[", "]"):
            return "int"
        opening = cursor.token
        cursor.expect("[", "in the type `int[]`")
        cursor.close(opening, "]", "type")
        return "int[]"
    hint = "the types are `int`, `bool` and `int[]`"
    fixes: tuple[Fix, ...] = ()
    if token.kind is TokenKind.NAME:
        fixes = tuple(Fix(f"Write `{t}`", (Edit(token.span, t),)) for t in ("int", "bool", "int[]"))
    cursor.report("CM202", f"expected a type, but {cursor.found()}", None, hint, fixes)
    if token.kind is TokenKind.NAME:
        cursor.advance()
    if cursor.at("["):
        cursor.advance()
        cursor.accept("]")
    return None


def _accept_equals(cursor: Cursor) -> bool:
    token = cursor.token
    if cursor.at("=="):
        fix = Fix("Write `=`", (Edit(token.span, "="),))
        cursor.say("CM210", "`==` compares; to give a value, write `=`", token.span, "write `=`", (fix,))
        cursor.advance()
        return True
    return cursor.accept("=") is not None


# ---------------------------------------------------------------- written values


def _written(cursor: Cursor) -> Written:
    start = cursor.token
    if cursor.accept("true"):
        return Written(True, start.span)
    if cursor.accept("false"):
        return Written(False, start.span)
    if cursor.at("["):
        return _written_list(cursor)
    value = _signed(cursor)
    if value is None:
        message = f"expected a value, but {cursor.found()}"
        cursor.report("CM205", message, None, "a value is a number, `true`, `false` or a list `[3, 4]`")
        return Written(None, cursor.here())
    return Written(value, cursor.span_from(start))


def _signed(cursor: Cursor) -> int | None:
    if cursor.at("-") and cursor.ahead(1).kind is TokenKind.NUMBER:
        cursor.advance()
        return -cursor.advance().value
    return cursor.advance().value if cursor.token.kind is TokenKind.NUMBER else None


def _written_list(cursor: Cursor) -> Written:
    opening = cursor.advance()
    values: list[int] = []
    with cursor.bracket():
        if not cursor.at("]"):
            _items(cursor, values)
        cursor.close(opening, "]", "list")
    if len(values) > MAX_LIST_ITEMS:
        message = f"a written list may have {MAX_LIST_ITEMS:,} numbers, and this has {len(values):,}"
        cursor.say("CM217", message, opening.span, "give longer lists as parameters when the mask is bound")
    return Written(tuple(values), cursor.span_from(opening))


def _items(cursor: Cursor, values: list[int]) -> None:
    while True:
        value = _signed(cursor)
        if value is None:
            cursor.report("CM205", f"expected a number in the list, but {cursor.found()}", cursor.token.span)
            cursor.skip_item("]", ")")
        else:
            values.append(value)
        if not cursor.at(",", "]"):
            if cursor.token.kind is not TokenKind.NUMBER:
                return
            cursor.report(
                "CM202",
                f"expected `,` between the numbers of a list, but {cursor.found()}",
                None,
                None,
                (cursor.insert(","),),
            )
            continue
        if not cursor.accept(",") or _trailing_comma(cursor, "]"):
            return


# ---------------------------------------------------------------- regions


def parse_axis(cursor: Cursor, kind: Literal["tokens", "queries", "keys"]) -> AxisNode:
    """`tokens { .. }`, from behind the keyword on; the keyword is the last token read, or missing with a message."""
    keyword = cursor.previous.span if cursor.previous.text == kind or not cursor.at("{") else cursor.token.span
    regions = _block(cursor, "the regions")
    return AxisNode(kind, regions, keyword, keyword.to(cursor.span_from(keyword)))


def _block(cursor: Cursor, what: str) -> tuple[RegionNode, ...]:
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
    name = cursor.expect_name("of a region")
    index, count = None, None
    if cursor.at("[") and not cursor.token.starts_line:
        index, count = _region_index(cursor)
    extent: tuple[Expression, ...] = ()
    children = None
    colon = cursor.accept(":")
    if cursor.at("{"):
        if colon:
            fix = Fix("Remove `:`", (Edit(colon.span, ""),))
            cursor.say("CM202", "a region made of regions takes no `:`", colon.span, "write `doc[i] { .. }`", (fix,))
        with cursor.nested() as allowed:
            children = _block(cursor, "the inner regions") if allowed else ()
    elif colon or _missing_colon(cursor, name):
        extent = _extent(cursor)
    else:
        extent = (Missing(cursor.here()),)
    doc = join_docs(before, cursor.doc_behind())
    return RegionNode(name, index, count, extent, children, doc, cursor.span_from(start))


def _missing_colon(cursor: Cursor, name: Name) -> bool:
    """Say that the colon is missing; whether a size stands here all the same."""
    shown = f"after `{name.text}`" if name.text else "before the size"
    hint = "a region has a size, `S: n`, or regions inside, `doc[i] { .. }`"
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
        cursor.close(opening, "]", "bracket")
    return index, count


def _extent(cursor: Cursor) -> tuple[Expression, ...]:
    sizes = [parse_number(cursor)]
    while not cursor.token.starts_line and cursor.accept("x"):
        sizes.append(parse_number(cursor))
    if len(sizes) > 3:
        message = f"a grid has two or three sizes, and this has {len(sizes)}"
        cursor.say(
            "CM202", message, sizes[0].span.to(sizes[-1].span), "multiply sizes that need no coordinate of their own"
        )
    return tuple(sizes[:3])


# ---------------------------------------------------------------- examples


def parse_example(cursor: Cursor) -> ExampleNode:
    """`example small(n = 64)`, from the current token on; `example` may be missing, with a message."""
    start = cursor.token
    cursor.accept("example")
    name = cursor.expect_name("for the example")
    settings: list[SettingNode] = []
    opening = cursor.token if cursor.at("(") else None
    if cursor.expect("(", "before the values") is not None or cursor.ahead(1).is_word("="):
        with cursor.bracket():
            if not cursor.at(")"):
                _settings(cursor, settings)
            cursor.close(opening, ")", "list of values")
    return ExampleNode(name, tuple(settings), cursor.span_from(start))


def _settings(cursor: Cursor, settings: list[SettingNode]) -> None:
    while True:
        start = cursor.token
        name = cursor.expect_name("of a parameter")
        if _accept_equals(cursor) or _missing_equals(cursor):
            settings.append(SettingNode(name, _written(cursor), cursor.span_from(start)))
        if not cursor.at(",", ")"):
            if not _list_goes_on(cursor, ")"):
                return
            continue
        if not cursor.accept(",") or _trailing_comma(cursor, ")"):
            return


def _missing_equals(cursor: Cursor) -> bool:
    """Say that `=` is missing; whether a value stands here all the same."""
    cursor.report("CM202", f"expected `=` and a value, but {cursor.found()}", None, None, (cursor.insert("="),))
    token: Token = cursor.token
    return token.kind is TokenKind.NUMBER or cursor.at("[", "-", "true", "false")
