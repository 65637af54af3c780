"""Written values, and what lists have in common."""

from __future__ import annotations

from collections.abc import Callable

from compilemask.diagnostics import Edit, Fix, Span
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.limits import MAX_LIST_ITEMS
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import Written


def accept_equals(cursor: Cursor) -> bool:
    """Read `=`; also `==` or `:`, with a message."""
    token = cursor.token
    if cursor.at("==", ":"):
        fix = Fix("Write `=`", (Edit(token.span, "="),))
        does = "compares" if cursor.at("==") else "gives a type or a size"
        cursor.say("CM210", f"`{token.text}` {does}; to give a value, write `=`", token.span, "write `=`", (fix,))
        cursor.advance()
        return True
    return cursor.accept("=") is not None


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


def trailing_comma(cursor: Cursor, closing: str) -> bool:
    """Whether the comma just read is the last thing in its list, with a message."""
    if not cursor.at(closing):
        return False
    comma = cursor.previous.span
    fix = Fix("Remove the comma", (Edit(comma, ""),))
    cursor.say("CM211", f"nothing follows this comma before `{closing}`", comma, "remove the comma", (fix,))
    return True


def comma_list(cursor: Cursor, closing: str, read: Callable[[], None]) -> None:
    """Items up to the closing sign, each read by `read`, with commas between them; at least one is read."""
    while True:
        read()
        if not cursor.at(",", closing):
            if not _list_goes_on(cursor, closing):
                return
            continue
        if not cursor.accept(",") or trailing_comma(cursor, closing):
            return


def parse_value(cursor: Cursor) -> Written:
    """A number, `true`, `false` or a list; a missing value is None, with a message."""
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
    if cursor.at(",") and cursor.ahead(1).kind is TokenKind.NUMBER:
        return _unopened_list(cursor, start, value)
    return Written(value, cursor.span_from(start))


def _unopened_list(cursor: Cursor, start: Token, first: int) -> Written:
    """A list that has lost its opening bracket, with a message."""
    values = [first]
    at = Span(start.span.start, start.span.start)
    cursor.say(
        "CM202", "expected `[` before the numbers of a list", start.span, None, (Fix("Insert `[`", (Edit(at, "["),)),)
    )
    while cursor.at(",") and cursor.ahead(1).kind is TokenKind.NUMBER:
        cursor.advance()
        values.append(cursor.advance().value)
    cursor.accept("]")
    return Written(tuple(values), cursor.span_from(start))


def _signed(cursor: Cursor) -> int | None:
    if cursor.at("-") and cursor.ahead(1).kind is TokenKind.NUMBER:
        cursor.advance()
        return -cursor.advance().value
    return cursor.advance().value if cursor.token.kind is TokenKind.NUMBER else None


def _written_list(cursor: Cursor) -> Written:
    opening = cursor.advance()
    values: list[int | tuple[int, ...]] = []
    with cursor.bracket():
        if not cursor.at("]"):
            _items(cursor, values)
        cursor.close(opening, "]", "list")
    count = sum(len(value) if isinstance(value, tuple) else 1 for value in values)
    if count > MAX_LIST_ITEMS:
        message = f"a written list may have {MAX_LIST_ITEMS:,} numbers, and this has {count:,}"
        cursor.say("CM217", message, opening.span, "give longer lists as parameters when the mask is bound")
    lists = tuple(value for value in values if isinstance(value, tuple))
    numbers = tuple(value for value in values if not isinstance(value, tuple))
    if lists and numbers:
        return Written(None, cursor.span_from(opening))
    return Written(lists or numbers, cursor.span_from(opening))


_ALL_OR_NONE = "a list holds numbers, `[3, 4]`, or lists, `[[3, 4], [5]]`"


def _inner_list(cursor: Cursor) -> tuple[int, ...]:
    """A list inside a list, with its own brackets; deeper lists are not read."""
    opening = cursor.advance()
    values: list[int | tuple[int, ...]] = []
    with cursor.bracket():
        if not cursor.at("]"):
            _items(cursor, values, inner=True)
        cursor.close(opening, "]", "list")
    return tuple(value for value in values if not isinstance(value, tuple))


def _item(cursor: Cursor, inner: bool) -> int | tuple[int, ...] | None:
    if cursor.at("[") and not inner:
        return _inner_list(cursor)
    if cursor.at("true", "false"):
        return cursor.advance().text == "true"
    return _signed(cursor)


def _items(cursor: Cursor, values: list[int | tuple[int, ...]], inner: bool = False) -> None:
    mixed = False
    while True:
        start = cursor.token
        value = _item(cursor, inner)
        if value is None:
            cursor.report("CM205", f"expected a number in the list, but {cursor.found()}", cursor.token.span)
            cursor.skip_item("]", ")")
        else:
            if values and isinstance(value, tuple) != isinstance(values[0], tuple) and not mixed:
                message, mixed = "numbers and lists stand side by side in this list", True
                cursor.say("CM205", message, cursor.span_from(start), _ALL_OR_NONE)
            values.append(value)
        if not cursor.at(",", "]"):
            if cursor.token.kind is not TokenKind.NUMBER and (inner or not cursor.at("[")):
                return
            cursor.report(
                "CM202",
                f"expected `,` between the numbers of a list, but {cursor.found()}",
                None,
                None,
                (cursor.insert(","),),
            )
            continue
        if not cursor.accept(",") or trailing_comma(cursor, "]"):
            return
