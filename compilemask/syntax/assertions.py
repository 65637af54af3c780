"""Assertions: what must hold of a mask, whatever its numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, Literal

from compilemask.diagnostics import Edit, Fix
from compilemask.syntax.compositions import parse_masks
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.expressions import alignment, parse_number
from compilemask.syntax.mask_tree import (
    AssertNode,
    CausalClaim,
    Claim,
    DecimalLiteral,
    EqualsClaim,
    EveryClaim,
    MeasureClaim,
    RegionClaim,
)
from compilemask.syntax.rules import parse_references, parse_rule_condition, rule_end
from compilemask.syntax.tokens import Token, TokenKind
from compilemask.syntax.tree import Missing

_COMPARISONS: Final = ("<", "<=", "==", "!=", ">", ">=")
_SHAPE: Final = (
    "assert `causal`, `every query sees a key`, `every key is seen`, `A never sees B`, `A sees all B`, "
    "`density < 0.3`, `visible <= 1000` or `equals causal(n)`"
)


def parse_assertion(cursor: Cursor) -> AssertNode | None:
    """`assert CLAIM`, from `assert` on; None, with a message, when nothing can be made of it."""
    start = cursor.token
    before = cursor.doc_before()
    cursor.advance()
    claim = _claim(cursor)
    if claim is None:
        cursor.skip_statement()
        return None
    rule_end(cursor)
    doc = cursor.doc(before)
    return AssertNode(claim, doc, cursor.span_from(start))


def _claim(cursor: Cursor) -> Claim | None:
    token, after = cursor.token, cursor.ahead(1)
    if cursor.at_line_end() or token.starts_line:
        cursor.report("CM205", f"expected a claim after `assert`, but {cursor.found()}", None, _SHAPE)
        return None
    if cursor.accept("causal"):
        return CausalClaim(*alignment(cursor, token))
    if token.is_word("every") and not after.is_word("[") and not after.is_word("sees"):
        return _every(cursor)
    if token.is_word("density") or token.is_word("visible"):
        if after.text in (*_COMPARISONS, "="):
            return _measure(cursor, "density" if token.text == "density" else "visible")
    elif token.is_word("equals") and not after.is_word("sees") and not after.is_word("never"):
        cursor.advance()
        masks = parse_masks(cursor)
        return EqualsClaim(masks, token.span.to(masks.span))
    return _regions(cursor)


def _every(cursor: Cursor) -> EveryClaim | None:
    start = cursor.advance()
    word = _word(cursor, "query", "key")
    if word:
        what: Literal["query", "key"] = "query" if word == "query" else "key"
        rest = ("sees", "a", "key") if what == "query" else ("is", "seen")
        if all(_expect_word(cursor, word) for word in rest):
            return EveryClaim(what, cursor.span_from(start))
        return None
    hint = "write `assert every query sees a key` or `assert every key is seen`"
    fixes = (cursor.insert("query sees a key"), cursor.insert("key is seen"))
    cursor.report("CM202", f"expected `query` or `key` after `every`, but {cursor.found()}", None, hint, fixes)
    return None


def _measure(cursor: Cursor, measure: Literal["density", "visible"]) -> MeasureClaim:
    start = cursor.advance()
    sign = cursor.advance()
    text = sign.text
    if text == "=":
        fix = Fix("Write `==`", (Edit(sign.span, "=="),))
        cursor.say("CM210", "`=` gives a value; to compare, write `==`", sign.span, "write `==`", (fix,))
        text = "=="
    after, behind = cursor.ahead(1), cursor.ahead(2)
    if cursor.token.kind in (TokenKind.DECIMAL, TokenKind.NUMBER) and after.is_word("%") and _begins_a_line(behind):
        return _percent(cursor, measure, text, start)
    if cursor.token.kind is TokenKind.DECIMAL:
        token = cursor.advance()
        return MeasureClaim(measure, text, DecimalLiteral(token.text, token.span), cursor.span_from(start))
    return MeasureClaim(measure, text, parse_number(cursor), cursor.span_from(start))


def _begins_a_line(token: Token) -> bool:
    return token.starts_line or token.kind is TokenKind.END


def _percent(cursor: Cursor, measure: Literal["density", "visible"], sign: str, start: Token) -> MeasureClaim:
    """`density < 50%`: a share is a number from 0 to 1."""
    number = cursor.advance()
    cursor.advance()
    span = cursor.span_from(number)
    message = f"`{cursor.source[span.start : span.stop]}`: shares are written as numbers, without a percent sign"
    bound = DecimalLiteral(number.text, number.span)
    if measure == "visible":
        cursor.say("CM205", message, span, "`visible` is a number of cells; to compare a share, write `density`")
        return MeasureClaim(measure, sign, bound, cursor.span_from(start))
    share = format(Decimal(number.text.replace("_", "")).scaleb(-2).normalize(), "f")
    share = share if "." in share else f"{share}.0"
    hint = f"write `{share}`: the density is the visible share of all cells, from 0 to 1"
    cursor.say("CM205", message, span, hint, (Fix(f"Write `{share}`", (Edit(span, share),)),))
    return MeasureClaim(measure, sign, bound, cursor.span_from(start))


def _regions(cursor: Cursor) -> RegionClaim | None:
    start = cursor.token
    if not cursor.at_name() and not cursor.at("sees"):
        cursor.report("CM205", f"expected a claim after `assert`, but {cursor.found()}", cursor.token.span, _SHAPE)
        return None
    queries = parse_references(cursor, keys=False)
    verb: Literal["never sees", "sees all"]
    if _word(cursor, "never"):
        if not _expect_word(cursor, "sees"):
            return None
        verb = "never sees"
    elif _word(cursor, "sees"):
        verb = "sees all"
        if not _word(cursor, "all"):
            hint = "`sees all` asserts that every cell is visible, `never sees` that none is"
            cursor.report(
                "CM202", f"expected `all` after `sees`, but {cursor.found()}", None, hint, (cursor.insert("all"),)
            )
    else:
        fixes = (cursor.insert("never sees"), cursor.insert("sees all"))
        message = f"expected `never sees` or `sees all`, but {cursor.found()}"
        cursor.report("CM202", message, None, _SHAPE, fixes)
        return None
    keys = parse_references(cursor, keys=True)
    goes_on = not cursor.at_line_end() or cursor.at("and", "or", "where", "except", "aligned")
    condition = parse_rule_condition(cursor) if goes_on else None
    if isinstance(condition, Missing):
        condition = None
    return RegionClaim(verb, queries, keys, condition, cursor.span_from(start))


def _word(cursor: Cursor, *words: str) -> str | None:
    """Read one of the words, and say which; also a misspelt one, with a message. Behind `sees` a line may go on below."""
    word = next((word for word in words if cursor.at(word)), None)
    if cursor.at_line_end() and not (word and cursor.previous.is_word("sees")):
        return None
    word = word or cursor.misspelt(*words)
    if word:
        cursor.advance()
    return word


def _expect_word(cursor: Cursor, word: str) -> bool:
    if _word(cursor, word):
        return True
    message = f"expected `{word}` after `{cursor.previous.text}`, but {cursor.found()}"
    cursor.report("CM202", message, None, _SHAPE, (cursor.insert(word),))
    return False
