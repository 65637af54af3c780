"""Tree -> numbers of the program."""

from __future__ import annotations

from typing import Literal, assert_never, cast

from compilemask.diagnostics import Label, Span
from compilemask.semantics.program import (
    Binary,
    Call,
    Coordinate,
    Element,
    Expression,
    InstanceIndex,
    ListFold,
    Negate,
    Number,
    ParameterValue,
    Position,
    Side,
)
from compilemask.semantics.report import insert, replace
from compilemask.semantics.scope import GRID_LETTERS, Scope
from compilemask.syntax import tree


def number(node: tree.Expression, scope: Scope) -> Expression | None:
    """The number that `node` is, or None after a message."""
    match node:
        case tree.Missing():
            return None
        case tree.NumberLiteral(value, span):
            return Number(value, span)
        case tree.Group(inner, _):
            return number(inner, scope)
        case tree.Name():
            return _named(node, scope)
        case tree.Item():
            return _item(node, scope)
        case tree.Member():
            return _member(node, scope)
        case tree.Delta(axis, span):
            key = coordinate("k", axis, span, scope)
            query = None if key is None else coordinate("q", axis, span, scope)
            return None if key is None or query is None else Binary("-", key, query, span)
        case tree.Prefix("-", operand, span):
            inner_value = number(operand, scope)
            return None if inner_value is None else Negate(inner_value, span)
        case tree.Arithmetic():
            return _arithmetic(node, scope)
        case tree.Calling():
            return _calling(node, scope)
        case (
            tree.BoolLiteral()
            | tree.Prefix()
            | tree.Comparison()
            | tree.Logic()
            | tree.Joined()
            | tree.Relation()
            | tree.Ancestry()
            | tree.Membership()
            | tree.Near()
        ):
            scope.report.error("CM303", "expected a number, but this is a condition", node.span, _CONDITION)
            return None
        case _:
            assert_never(node)


_CONDITION = "conditions join with `and`, `or`, `not`; numbers are compared with `<`, `==` and so on"


def _arithmetic(node: tree.Arithmetic, scope: Scope) -> Expression | None:
    left, right = number(node.left, scope), number(node.right, scope)
    if node.operator in ("//", "%") and isinstance(right, Number) and right.value == 0:
        scope.report.error(
            "CM316", f"`{node.operator} 0` has no value", node.right.span, "divide by a number that is not 0"
        )
        return None
    return None if left is None or right is None else Binary(node.operator, left, right, node.span)


# ---------------------------------------------------------------- names


def _named(node: tree.Name, scope: Scope) -> Expression | None:
    name, span = node.text, node.span
    if not name:
        return None
    if is_index(node, scope):
        return InstanceIndex(name, span) if bound(node, scope) else None
    parameter = scope.parameters.get(name)
    if parameter is None:
        unknown_number(node, scope)
        return None
    scope.used.add(name)
    match parameter.type:
        case "int":
            return ParameterValue(name, span)
        case "bool[]" | "int[][]" | "bool[][]":
            what = "a list" if parameter.type == "bool[]" else "a list of lists"
            hint = f"write `len({name})`, or pick an item: `{name}{'[i][j]' if parameter.type != 'bool[]' else '[i]'}`"
            scope.report.error("CM303", f"`{name}` is {what}, and a number is needed here", span, hint)
        case "int[]":
            hint = f"write one number of it, `{name}[i]`, or `len({name})`, `sum({name})`, `min({name})`, `max({name})`"
            fixes = (replace(span, f"sum({name})"), replace(span, f"len({name})"))
            scope.report.error("CM303", f"`{name}` is a list, and a number is needed here", span, hint, *fixes)
        case "bool":
            hint = "a bool parameter is a condition by itself"
            scope.report.error("CM303", f"`{name}` is true or false, and a number is needed here", span, hint)
        case None:
            pass
        case _:
            assert_never(parameter.type)
    return None


def is_index(node: tree.Name, scope: Scope) -> bool:
    """Whether `node` names an index variable of this place."""
    return node.text in (scope.sides.indices() if scope.sides else scope.indices)


def bound(node: tree.Name, scope: Scope) -> bool:
    """Whether every pair of regions of the rule gives the index variable a value; else a message."""
    missing = scope.sides.missing(node.text) if scope.sides else None
    if missing is None:
        return True
    message = f"`{node.text}` numbers no instance of `{missing.shown}`, which this rule names too"
    labels = (Label(missing.reference.span, f"no `{node.text}` here"),)
    scope.report.error("CM308", message, node.span, "write two rules, one for each region", labels=labels)
    return False


def unknown_number(node: tree.Name, scope: Scope) -> None:
    """The message about a name that is neither a parameter nor an index variable of this place."""
    name, span = node.text, node.span
    if name in scope.regions:
        labels = (Label(scope.regions[name], "declared here"),)
        hint = "regions stand on both sides of `sees`, separated by commas; a condition speaks of numbers"
        scope.report.error("CM303", f"`{name}` is a region, and a number is needed here", span, hint, labels=labels)
    elif scope.sides and (name in scope.indices or (len(name) == 1 and name.islower())):
        silent = [
            t for t in (*scope.sides.keys, *scope.sides.queries) if t.region.index and t.reference.indices[-1][0] == "#"
        ]
        shown = f"{silent[0].shown}[{name}]" if silent else f"D[{name}]"
        hint = f"bind it in brackets behind a region that repeats: `{shown}`"
        fixes = (insert(silent[0].reference.span.stop, f"[{name}]"),) if silent else ()
        scope.report.error("CM308", f"`{name}` numbers no instance in this rule", span, hint, *fixes)
    else:
        indices = scope.sides.indices() if scope.sides else set(scope.indices)
        known = {n for n in (*scope.parameters, *indices) if not n.startswith("#")}
        otherwise = f"add a parameter: `{name}: int`" if scope.parameters else "declare it as a parameter of the mask"
        scope.report.unknown("CM301", f"there is no parameter or index `{name}`", name, span, known, otherwise)


def _item(node: tree.Item, scope: Scope) -> Expression | None:
    found = element(node, scope)
    if found is not None and scope.parameters[found.name].type in ("bool[]", "bool[][]"):
        hint = "it is a condition by itself"
        scope.report.error("CM303", "this is true or false, and a number is needed here", node.span, hint)
        return None
    return found


def element(node: tree.Item, scope: Scope) -> Element | None:
    """An item of a list or table, or None after a message."""
    indices = [number(index, scope) for index in (node.index, node.second) if index is not None]
    if not list_parameter(node.name, scope):
        return None
    name = node.name.text
    kind = scope.parameters[name].type or ""
    if kind.count("[]") != len(indices):
        labels = (Label(scope.parameters[name].span, "declared here"),)
        if len(indices) == 2:
            message, hint = f"`{name}` is a list of type `{kind}`, and one index picks its item", f"write `{name}[i]`"
        else:
            message = f"`{name}` is a list of lists, and two indices pick an item"
            hint = f"write `{name}[i][j]`, or ask about a whole row: `len({name}[i])`"
        scope.report.error("CM303", message, node.span, hint, labels=labels)
        return None
    known = [index for index in indices if index is not None]
    if len(known) < len(indices):
        return None
    return Element(name, known[-1], node.span, known[0] if len(known) == 2 else None)


def list_parameter(node: tree.Name, scope: Scope) -> bool:
    """Whether `node` names a list or a table; else a message."""
    name, span = node.text, node.span
    parameter = scope.parameters.get(name)
    if parameter is None:
        lists = {n for n, p in scope.parameters.items() if p.type is not None and p.type.endswith("[]")}
        if name in scope.regions or is_index(node, scope):
            scope.report.error(
                "CM303", f"`{name}` is no list", span, "brackets pick a number from an `int[]` parameter"
            )
        elif name:
            otherwise = f"add a parameter: `{name}: int[]`"
            scope.report.unknown("CM301", f"there is no list `{name}`", name, span, lists, otherwise)
        return False
    scope.used.add(name)
    if parameter.type in ("int", "bool"):
        labels = (Label(parameter.span, "declared here"),)
        hint = f"give it the type `int[]`, or write `{name}` alone"
        scope.report.error("CM303", f"`{name}` is no list but of type `{parameter.type}`", span, hint, labels=labels)
    return parameter.type is not None and parameter.type.endswith("[]")


# ---------------------------------------------------------------- positions


def _member(node: tree.Member, scope: Scope) -> Expression | None:
    if node.side in scope.parameters:
        return None  # a parameter was named so, and had its message
    if scope.sides is None:
        outside(node.span, scope)
        return None
    match node.field:
        case "":
            return Position(node.side, "axis", node.span)
        case "pos":
            return Position(node.side, "region", node.span)
        case _:
            return coordinate(node.side, node.field, node.span, scope)


def outside(span: Span, scope: Scope) -> None:
    """The message about a position where there is none."""
    hint = "a size is made of parameters and index variables"
    scope.report.error("CM315", "positions exist in the conditions of rules only", span, hint)


def coordinate(side: Side, letter: str, span: Span, scope: Scope) -> Coordinate | None:
    """`q.y` and so on, or None after a message."""
    if scope.sides is None:
        if side == "k":
            outside(span, scope)
        return None
    axes = set()
    for target in scope.sides.side(side):
        region = target.region
        letters = GRID_LETTERS.get(len(region.extent), "")
        if letter not in letters:
            labels = (Label(region.span, _shape_words(region)),)
            message = f"`{target.shown}` has no coordinate `{letter}`"
            others = any(len(other.region.extent) > 1 for other in scope.sides.side(side))
            if letters:
                hint = f"its coordinates are {' and '.join(f'`{side}.{c}`' for c in letters)}"
            elif others:
                hint = f"write a rule of its own for `{target.shown}`"
            else:
                hint = f"a grid is declared as `img: height x width`; in other regions write `{side}.pos`"
            if message not in scope.told:
                scope.told.add(message)
                scope.report.error("CM309", message, span, hint, labels=labels)
            return None
        axes.add(letters.index(letter))
    if len(axes) > 1:
        hint = "write one rule for the grids with two sizes and one for those with three"
        scope.report.error("CM309", "the regions of this side have grids with two and with three sizes", span, hint)
        return None
    return Coordinate(side, axes.pop(), span) if axes else None


def _shape_words(region: tree.RegionNode) -> str:
    if region.children is not None:
        return "made of regions"
    return "declared with one size" if len(region.extent) == 1 else f"a grid with {len(region.extent)} sizes"


# ---------------------------------------------------------------- functions


def _calling(node: tree.Calling, scope: Scope) -> Expression | None:
    arguments = node.arguments
    if len(arguments) == 1 and node.function != "abs":
        inner = arguments[0]
        parameter = scope.parameters.get(inner.text) if isinstance(inner, tree.Name) else None
        fold = cast(Literal["len", "sum", "min", "max"], node.function)
        if isinstance(inner, tree.Name) and parameter is not None and _can_fold(fold, parameter.type):
            scope.used.add(inner.text)
            return None if parameter.type is None else ListFold(fold, inner.text, node.span)
        if isinstance(inner, tree.Item) and inner.second is None and _is_table(fold, inner.name, scope):
            scope.used.add(inner.name.text)
            row = number(inner.index, scope)
            return None if row is None else ListFold(fold, inner.name.text, node.span, row)
    if node.function in ("len", "sum"):
        _not_a_list(node, scope)
        return None
    values = [number(argument, scope) for argument in arguments]
    if not _right_count(node, scope):
        return None
    known = tuple(value for value in values if value is not None)
    function = cast(Literal["min", "max", "abs"], node.function)
    return Call(function, known, node.span) if len(known) == len(values) else None


def _can_fold(fold: str, kind: str | None) -> bool:
    """Whether a function takes a whole parameter of this type."""
    match fold:
        case "len":
            return kind is None or kind.endswith("[]")
        case "sum":
            return kind in ("int[]", "int[][]", None)
        case _:
            return kind in ("int[]", None)


def _is_table(fold: str, name: tree.Name, scope: Scope) -> bool:
    """Whether a function takes a row of the parameter."""
    parameter = scope.parameters.get(name.text)
    return parameter is not None and (parameter.type == "int[][]" or (fold == "len" and parameter.type == "bool[][]"))


def _not_a_list(node: tree.Calling, scope: Scope) -> None:
    hint = f"write `{node.function}(lengths)` with an `int[]` parameter"
    if len(node.arguments) == 1 and isinstance(node.arguments[0], tree.Name):
        name = node.arguments[0].text
        if name and list_parameter(node.arguments[0], scope):
            hint = f"`len({name})` counts its {'rows' if scope.parameters[name].type == 'bool[][]' else 'items'}"
            message = f"`{node.function}` takes a list of numbers, and `{name}` is one of true and false"
            scope.report.error("CM317", message, node.span, hint)
    elif not any(isinstance(argument, tree.Missing) for argument in node.arguments):
        scope.report.error("CM317", f"`{node.function}` takes one list parameter", node.span, hint)


def _right_count(node: tree.Calling, scope: Scope) -> bool:
    count = len(node.arguments)
    if node.function == "abs" and count != 1:
        scope.report.error("CM317", f"`abs` takes one number, and got {count}", node.span, "write `abs(q - k)`")
        return False
    if node.function != "abs" and count < 2:
        if any(isinstance(argument, tree.Missing) for argument in node.arguments):
            return False
        hint = f"write `{node.function}(a, b)`, or `{node.function}(lengths)` with an `int[]` parameter"
        scope.report.error("CM317", f"`{node.function}` takes two numbers or more, or one list", node.span, hint)
        return False
    return True
