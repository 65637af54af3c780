"""Rules: which regions see which, and under which condition."""

from __future__ import annotations

from compilemask.diagnostics import Edit, Fix, Span
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.expressions import parse_condition
from compilemask.syntax.limits import MAX_REFERENCES
from compilemask.syntax.round_brackets import at_round_index, say_round
from compilemask.syntax.tokens import TokenKind
from compilemask.syntax.tree import Expression, Missing, Name, PartNode, ReferenceNode, RuleNode

_SHAPE = "a rule reads `QUERIES sees KEYS`, and may go on with a condition"


def parse_rule(cursor: Cursor) -> RuleNode | None:
    """One rule; None, with a message, when the statement is none."""
    start = cursor.token
    before = cursor.doc_before()
    queries = parse_references(cursor, keys=False)
    if not _sees(cursor):
        cursor.skip_statement()
        return None
    keys = parse_references(cursor, keys=True)
    condition = (
        None
        if cursor.at_line_end() and not cursor.at("and", "or", "where", "except", "aligned")
        else parse_rule_condition(cursor)
    )
    rule_end(cursor)
    doc = cursor.doc(before)
    return RuleNode(queries, keys, condition, doc, cursor.span_from(start))


def _sees(cursor: Cursor) -> bool:
    if cursor.accept("sees"):
        return True
    if cursor.misspelt("sees"):
        cursor.advance()
        return True
    if (cursor.at_line_end() and cursor.token.kind is not TokenKind.NAME) or cursor.token.starts_line:
        cursor.report(
            "CM206", f"this is no rule: expected `sees`, but {cursor.found()}", None, _SHAPE, (cursor.insert("sees"),)
        )
        return False
    token, after = cursor.token, cursor.ahead(1)
    if token.kind is TokenKind.NAME and after.kind is TokenKind.NAME and not after.starts_line:
        fix = Fix("Write `sees`", (Edit(token.span, "sees"),))
        cursor.say("CM208", f"`{token.text}` is not a word of the language", token.span, _SHAPE, (fix,))
        cursor.advance()
        return True
    cursor.report("CM206", f"expected `sees`, but {cursor.found()}", token.span, _SHAPE, (cursor.insert("sees"),))
    return cursor.at_name()


def parse_references(cursor: Cursor, keys: bool) -> tuple[ReferenceNode, ...]:
    """Regions separated by commas; keys: they stand behind the verb."""
    references: list[ReferenceNode] = []
    while True:
        if not keys and cursor.at("sees"):
            cursor.report("CM206", "expected a region before `sees`", cursor.token.span, _SHAPE)
            references.append(_no_reference(cursor.here()))
        elif keys and (cursor.line_is_rule() or not cursor.at_name()):
            after = cursor.previous.text
            cursor.report("CM206", f"expected a region after `{after}`, but {cursor.found()}", None, _SHAPE)
            references.append(_no_reference(cursor.here()))
        else:
            references.append(_reference(cursor))
        if not cursor.accept(","):
            break
    if len(references) > MAX_REFERENCES:
        message = f"one side of a rule may name {MAX_REFERENCES} regions, and this names {len(references)}"
        cursor.say("CM217", message, references[MAX_REFERENCES].span, "write several rules")
    return tuple(references[:MAX_REFERENCES])


def _no_reference(here: Span) -> ReferenceNode:
    return ReferenceNode((PartNode(Name("", here), None, here),), here)


def _reference(cursor: Cursor) -> ReferenceNode:
    start = cursor.token
    parts = [_part(cursor)]
    while cursor.accept("."):
        parts.append(_part(cursor))
    return ReferenceNode(tuple(parts), cursor.span_from(start))


def _part(cursor: Cursor) -> PartNode:
    start = cursor.token
    name = cursor.expect_name("for a region")
    index = None
    if cursor.at("[") and not cursor.token.starts_line:
        opening = cursor.advance()
        with cursor.bracket():
            index = _instance(cursor)
            cursor.close(opening, "]", "bracket")
    elif at_round_index(cursor):
        opening = cursor.advance()
        with cursor.bracket():
            index = _instance(cursor, ")")
            cursor.close(opening, ")", "bracket")
        say_round(cursor, opening)
    return PartNode(name, index, cursor.span_from(start))


def _instance(cursor: Cursor, closing: str = "]") -> Name:
    token = cursor.token
    if token.kind is TokenKind.NUMBER:
        cursor.advance()
        hint = f"to pick instance {token.text}, name it and add a condition: `[j] .. where j == {token.text}`"
        cursor.say("CM307", "brackets hold a variable that numbers the instances", token.span, hint)
        return Name("", token.span)
    if cursor.at("]"):
        here = cursor.token.span
        hint = "write a variable, as `D[i]`, or leave the brackets out to mean every instance"
        cursor.say("CM202", "expected a variable inside the brackets, but found `]`", here, hint, (cursor.insert("i"),))
        return Name("", here)
    name = cursor.expect_name("for the number of the instance")
    if (
        name.text
        and not cursor.at(closing, "sees")
        and not cursor.at_line_end()
        and cursor.token.kind is TokenKind.SYMBOL
    ):
        cursor.skip_item(closing)
        span = cursor.span_from(token)
        hint = f"name the instance, and write the rest as a condition: `[j] .. where j == {cursor.source[span.start : span.stop][:40]}`"
        cursor.say("CM307", "brackets hold one variable that numbers the instances", span, hint)
    return name


def parse_rule_condition(cursor: Cursor) -> Expression | None:
    """The condition behind the regions of a rule."""
    token = cursor.token
    if cursor.at("and", "or"):
        fix = Fix("Write `where`", (Edit(token.span, "where"),))
        message = f"`{token.text}` stands before the first condition of the rule"
        cursor.say("CM205", message, token.span, "the first condition follows directly, or behind `where`", (fix,))
        cursor.advance()
    elif cursor.at_name() and cursor.misspelt("where", "except"):
        cursor.advance()
    condition = parse_condition(cursor)
    return None if isinstance(condition, Missing) and condition.span.start == condition.span.stop else condition


def rule_end(cursor: Cursor) -> None:
    """The end of the statement, or the message about what stands there."""
    if cursor.at_line_end() and not cursor.at("}"):
        cursor.accept(";")
        return
    if cursor.at("}", ")", "]"):
        cursor.report(
            "CM204", f"`{cursor.token.text}` closes nothing", cursor.token.span, "remove it", (_remove(cursor),)
        )
    elif cursor.at("sees"):
        message = "a second `sees` in one rule"
        cursor.report("CM207", message, cursor.token.span, "write each rule on a line of its own")
    elif cursor.at(","):
        fix = Fix("Write `and`", (Edit(cursor.token.span, " and"),))
        cursor.report("CM207", "conditions are not joined by commas", cursor.token.span, "write `and` or `or`", (fix,))
    else:
        message = f"the condition ends before {cursor.found().removeprefix('found ')}"
        fixes: tuple[Fix, ...] = ()
        hint = "something is missing between: an operator, `and` or `or`, or a new line for the next rule"
        if cursor.token.kind is TokenKind.NAME or cursor.at("causal", "same", "not", "(", "q", "k", "dx", "dy", "dz"):
            fixes = (cursor.insert("and"), cursor.insert("or"))
        cursor.report("CM207", message, cursor.token.span, hint, fixes)
    cursor.skip_statement()
    if cursor.at("}"):
        cursor.advance()


def _remove(cursor: Cursor) -> Fix:
    return Fix(f"Remove `{cursor.token.text}`", (Edit(cursor.token.span, ""),))
