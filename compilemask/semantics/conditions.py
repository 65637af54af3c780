"""Tree -> conditions of the program. Order and brackets stay as they are written."""

from __future__ import annotations

from typing import Literal, assert_never, cast

from compilemask.diagnostics import Fix, Label
from compilemask.semantics.numbers import element, is_index, number, unknown_number
from compilemask.semantics.program import (
    All,
    AnyOf,
    Causal,
    Chosen,
    Compare,
    Condition,
    Coordinate,
    Flag,
    InstanceIndex,
    Negate,
    Not,
    Position,
    SamePosition,
)
from compilemask.semantics.relations import ancestry, membership, near
from compilemask.semantics.report import insert, replace
from compilemask.semantics.scope import Scope
from compilemask.syntax import tree
from compilemask.syntax.words import SYNONYMS

_Sign = Literal["<", "<=", "==", "!=", ">=", ">"]


def condition(node: tree.Expression, scope: Scope) -> Condition | None:
    """The condition that `node` is, or None after a message."""
    match node:
        case tree.Missing():
            return None
        case tree.BoolLiteral(value, span):
            return Flag(value, span)
        case tree.Group(inner, _):
            return condition(inner, scope)
        case tree.Name():
            return _named(node, scope)
        case tree.Relation():
            return _relation(node, scope)
        case tree.Comparison():
            return _comparison(node, scope)
        case tree.Prefix("not", operand, span):
            item = condition(operand, scope)
            return None if item is None else Not(item, span)
        case tree.Logic(operator, items, span):
            checked = [condition(item, scope) for item in items]
            known = tuple(item for item in checked if item is not None)
            if len(known) < len(checked):
                return None
            return All(known, span) if operator == "and" else AnyOf(known, span)
        case tree.Joined():
            return _joined(node, scope)
        case tree.Ancestry():
            return ancestry(node, scope)
        case tree.Membership():
            return membership(node, scope)
        case tree.Near():
            return near(node, scope)
        case tree.Item() if _holds_bools(node, scope):
            picked = element(node, scope)
            return None if picked is None else Chosen(picked, node.span)
        case (
            tree.NumberLiteral()
            | tree.Item()
            | tree.Member()
            | tree.Delta()
            | tree.Prefix()
            | tree.Arithmetic()
            | tree.Calling()
        ):
            if number(node, scope) is not None:
                hint = "compare it: `<`, `<=`, `==`, `!=`, `>=` or `>` and another number"
                scope.report.error("CM303", "expected a condition, but this is a number", node.span, hint)
            return None
        case _:
            assert_never(node)


def _joined(node: tree.Joined, scope: Scope) -> Condition | None:
    left = None if node.left is None else condition(node.left, scope)
    right = condition(node.right, scope)
    if right is None or (left is None and node.left is not None):
        return None
    right = Not(right, node.right.span, excepted=True) if node.word == "except" else right
    return right if left is None else All((left, right), node.span)


def _named(node: tree.Name, scope: Scope) -> Condition | None:
    name, span = node.text, node.span
    parameter = scope.parameters.get(name)
    if not name:
        return None
    if is_index(node, scope):
        hint = f"compare it, as `{name} == 0`"
        scope.report.error("CM303", f"`{name}` is a number, and a condition is needed here", span, hint)
    elif parameter is not None:
        scope.used.add(name)
        if parameter.type == "bool":
            return Flag(name, span)
        if parameter.type is not None:
            labels = (Label(parameter.span, "declared here"),)
            what = "a number" if parameter.type == "int" else "a list"
            hint = "compare it, or give the parameter the type `bool`"
            scope.report.error(
                "CM303", f"`{name}` is {what}, and a condition is needed here", span, hint, labels=labels
            )
    elif name in scope.regions:
        _region(node, scope)
    else:
        _unknown(node, scope)
    return None


def _region(node: tree.Name, scope: Scope) -> None:
    labels = (Label(scope.regions[node.text], "declared here"),)
    hint = "regions of one side are separated by commas; a rule for other queries begins on a new line"
    fixes: tuple[Fix, ...] = ()
    if scope.sides and scope.sides.keys:
        before = max(target.reference.span.stop for target in scope.sides.keys)
        fixes = (insert(before, ","),) if before <= node.span.start else ()
    scope.report.error(
        "CM303", f"`{node.text}` is a region, and a condition is needed here", node.span, hint, *fixes, labels=labels
    )


def _unknown(node: tree.Name, scope: Scope) -> None:
    name, span = node.text, node.span
    bools = {n for n, p in scope.parameters.items() if p.type == "bool"}
    known = {"causal", "same", "true", "false", "not", "where", "except", *bools}
    meant = next((word for word, others in SYNONYMS.items() if name in others), None)
    if meant is not None:
        scope.report.error(
            "CM301", f"there is no condition `{name}`", span, f"did you mean `{meant}`?", replace(span, meant)
        )
        return
    otherwise = f"conditions are `causal`, `same position`, comparisons, and parameters: add `{name}: bool`"
    if len(name) == 1 and name.islower():
        unknown_number(node, scope)
    else:
        scope.report.unknown("CM301", f"there is no condition `{name}`", name, span, known, otherwise)


def _relation(node: tree.Relation, scope: Scope) -> Condition | None:
    if scope.two_axes and node.align is None:
        message = f"`{node.name}` needs an alignment here, because queries and keys may differ in number"
        hint = (
            "`aligned start` sets the first query over the first key; "
            "`aligned end` sets the last query over the last key, as decoding with a key cache does"
        )
        fixes = tuple(insert(node.span.stop, f" aligned {align}") for align in ("start", "end"))
        scope.report.error("CM310", message, node.span, hint, *fixes)
        return None
    if node.name == "causal":
        return Causal(node.align, node.span)
    return SamePosition(node.align, node.span)


def _comparison(node: tree.Comparison, scope: Scope) -> Condition | None:
    fixes = _compared_flag(node, scope)
    if fixes is not None:
        hint = "write the condition alone, or `not` before it"
        scope.report.error("CM303", "conditions are not compared", node.span, hint, *fixes)
        return None
    sides = [number(node.first, scope)] + [number(right, scope) for _, right in node.links]
    nodes = [node.first] + [right for _, right in node.links]
    found: list[Compare] = []
    for (sign, _), left, right, first, second in zip(node.links, sides, sides[1:], nodes, nodes[1:], strict=False):
        if left is not None and right is not None:
            found.append(Compare(cast(_Sign, sign), left, right, first.span.to(second.span)))
    if len(found) < len(node.links):
        return None
    for value in sides:
        if isinstance(value, Negate) and isinstance(value.operand, Position | Coordinate | InstanceIndex):
            hint = "a window reads `q - k < 4`"
            scope.report.warning(
                "CM504", "nothing stands before this minus sign, so the number is never above 0", value.span, hint
            )
    return found[0] if len(found) == 1 else All(tuple(found), node.span)


def _compared_flag(node: tree.Comparison, scope: Scope) -> tuple[Fix, ...] | None:
    """Quick fixes for `flag == true`, or None when no side is a condition."""
    operands = [node.first] + [right for _, right in node.links]
    flags = [o for o in operands if isinstance(o, tree.Name) and _is_bool(o, scope)]
    literals = [o for o in operands if isinstance(o, tree.BoolLiteral)]
    if not flags and not literals:
        return None
    scope.used.update(flag.text for flag in flags)
    if len(operands) == 2 and len(flags) == 1 and len(literals) == 1 and node.links[0][0] in ("==", "!="):
        wanted = literals[0].value == (node.links[0][0] == "==")
        return (replace(node.span, flags[0].text if wanted else f"not {flags[0].text}"),)
    return ()


def _holds_bools(node: tree.Item, scope: Scope) -> bool:
    parameter = scope.parameters.get(node.name.text)
    return parameter is not None and parameter.type in ("bool[]", "bool[][]")


def _is_bool(node: tree.Name, scope: Scope) -> bool:
    parameter = scope.parameters.get(node.text)
    return parameter is not None and parameter.type == "bool" and not is_index(node, scope)
