"""Allowances: queries that see nothing and keys that nobody sees, where they are meant."""

from __future__ import annotations

from typing import Final

from compilemask.diagnostics import Edit, Fix, Span
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.mask_tree import AllowNode, Idle
from compilemask.syntax.rules import parse_references
from compilemask.syntax.tokens import TokenKind
from compilemask.syntax.tree import ReferenceNode

_SHAPE: Final = "write `allow empty queries`, or `allow unseen keys in K` for a region"


def begins_allowance(cursor: Cursor) -> bool:
    """Whether `allow` stands here as a word: it is a name where a rule begins with it."""
    after = cursor.ahead(1)
    goes_on = after.kind is TokenKind.NAME or after.text in ("queries", "keys")
    return cursor.at("allow") and not after.starts_line and goes_on


def parse_allowance(cursor: Cursor) -> AllowNode | None:
    """`allow empty queries`, from `allow` on; None, with a message, when nothing can be made of it."""
    start = cursor.advance()
    what = _what(cursor)
    if what is None:
        cursor.skip_statement()
        return None
    regions: tuple[ReferenceNode, ...] = ()
    if cursor.at("in") and not cursor.token.starts_line:
        cursor.advance()
        regions = parse_references(cursor, keys=True)
    return AllowNode(what, regions, cursor.span_from(start))


def _what(cursor: Cursor) -> Idle | None:
    """The two words behind `allow`; of one of them lost or misspelt, a message, and what is meant."""
    kinds: dict[str, Idle] = {"empty": "empty queries", "unseen": "unseen keys"}
    for first, what in kinds.items():
        noun = what.split()[1]
        if cursor.at(first) or cursor.misspelt(first):
            cursor.advance()
            if cursor.at(noun) and not cursor.token.starts_line:
                cursor.advance()
                return what
            if not cursor.at_line_end() and cursor.misspelt(noun):
                cursor.advance()
                return what
            message = f"expected `{noun}` after `{first}`, but {cursor.found()}"
            cursor.report("CM202", message, None, _SHAPE, (cursor.insert(noun),))
            return None
        if cursor.at(noun):
            at = Span(cursor.token.span.start, cursor.token.span.start)
            fix = Fix(f"Insert `{first}`", (Edit(at, f"{first} "),))
            cursor.say("CM202", f"expected `{first}` before `{noun}`", cursor.token.span, _SHAPE, (fix,))
            cursor.advance()
            return what
    cursor.report(
        "CM202", f"expected `empty queries` or `unseen keys` after `allow`, but {cursor.found()}", None, _SHAPE
    )
    return None
