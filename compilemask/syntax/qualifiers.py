"""What stands between the type of a parameter and its default: `per item`, `per head`, `in 1..4096`."""

from __future__ import annotations

from compilemask.diagnostics import Edit, Fix
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.spelling import spell_value
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import ParameterNode, Per, RangeNode
from compilemask.syntax.values import parse_value

_RANGE = "a range is written `in 1..4096`, or `in 1..` without an upper end; both ends belong to it"


def parse_qualifiers(cursor: Cursor) -> tuple[Per | None, RangeNode | None]:
    """Both may stand in either order, each once."""
    per: Per | None = None
    limits: RangeNode | None = None
    seen: set[str] = set()
    while cursor.at("per", "in") and not cursor.ahead(1).is_word(":"):
        word = cursor.advance()
        if word.text in seen:
            fix = Fix(f"Remove `{word.text}`", (Edit(word.span, ""),))
            cursor.say("CM202", f"`{word.text}` stands twice behind one type", word.span, "write it once", (fix,))
        seen.add(word.text)
        if word.text == "per":
            per = _per(cursor)
        else:
            limits = _range(cursor, word)
    return per, limits


def late_qualifiers(cursor: Cursor) -> None:
    """Behind a default: say that they stand in front of it, and read them."""
    word = cursor.token
    if cursor.at("per", "in") and not cursor.ahead(1).is_word(":"):
        hint = "write `n: int in 1..9 = 4`"
        cursor.say("CM202", f"`{word.text}` stands before the default", word.span, hint)
        parse_qualifiers(cursor)


def _per(cursor: Cursor) -> Per | None:
    if cursor.accept("item"):
        return "item"
    if cursor.accept("head"):
        return "head"
    hint = "`per item` takes one value for each item of a batch, `per head` one for each query head"
    token = cursor.token
    if cursor.at_name() and not cursor.ahead(1).is_word(":"):
        fixes = tuple(Fix(f"Write `{word}`", (Edit(token.span, word),)) for word in ("item", "head"))
        cursor.report("CM202", f"expected `item` or `head` behind `per`, found `{token.text}`", token.span, hint, fixes)
        cursor.advance()
    else:
        fixes = (cursor.insert("item"), cursor.insert("head"))
        cursor.report("CM202", f"expected `item` or `head` behind `per`, but {cursor.found()}", None, hint, fixes)
    return None


def _range(cursor: Cursor, word: Token) -> RangeNode:
    minimum = parse_value(cursor) if _at_end(cursor) else None
    if cursor.accept("..") is None:
        cursor.report("CM202", f"expected `..` in a range, but {cursor.found()}", None, _RANGE, (cursor.insert(".."),))
        return RangeNode(minimum, None, cursor.span_from(word))
    maximum = parse_value(cursor) if _at_end(cursor) else None
    if minimum is None and maximum is None:
        cursor.report("CM205", f"expected a number in the range, but {cursor.found()}", None, _RANGE)
    return RangeNode(minimum, maximum, cursor.span_from(word))


def _at_end(cursor: Cursor) -> bool:
    """Whether an end of a range stands here."""
    return cursor.token.kind is TokenKind.NUMBER or cursor.at("-")


def spell_qualifiers(node: ParameterNode, source: str) -> str:
    """The canonical text, with a space in front of each: `per` first."""
    text = f" per {node.per}" if node.per else ""
    if node.range is not None:
        ends = ["".join(spell_value(end, source)) if end else "" for end in (node.range.minimum, node.range.maximum)]
        text += f" in {ends[0]}..{ends[1]}"
    return text
