"""Tree -> conditions with words of their own: ancestors in a tree, numbers of a list, windows pushed inside at the border."""

from __future__ import annotations

from compilemask.diagnostics import Label, Span
from compilemask.semantics.numbers import coordinate, list_parameter, number
from compilemask.semantics.program import Ancestor, Coordinate, Expression, Member, Near, Number, Position, Side
from compilemask.semantics.scope import Scope
from compilemask.syntax import tree


def ancestry(node: tree.Ancestry, scope: Scope) -> Ancestor | None:
    above, below = number(node.above, scope), number(node.below, scope)
    name = node.parents
    if not name.text or not list_parameter(name, scope):
        return None
    kind = scope.parameters[name.text].type
    if kind != "int[]":
        labels = (Label(scope.parameters[name.text].span, "declared here"),)
        hint = "give it the type `int[]`: for each node the number of the node above it, or -1"
        scope.report.error("CM303", f"`{name.text}` is no list of numbers", name.span, hint, labels=labels)
        return None
    return None if above is None or below is None else Ancestor(above, below, name.text, node.span)


def membership(node: tree.Membership, scope: Scope) -> Member | None:
    value = number(node.number, scope)
    row = None if node.row is None else number(node.row, scope)
    name = node.list_name
    if not name.text or not list_parameter(name, scope):
        return None
    kind = scope.parameters[name.text].type
    wanted = "int[]" if node.row is None else "int[][]"
    if kind != wanted:
        labels = (Label(scope.parameters[name.text].span, "declared here"),)
        hints = {
            "int[]": f"of a list of lists, name a row: `{name.text}[i]`",
            "int[][]": f"write the list without brackets: `.. in {name.text}`",
        }
        hint = hints[wanted] if kind in ("int[]", "int[][]") else f"an item of it is a condition: `{name.text}[k]`"
        what = "list" if node.row is None else "list of lists"
        scope.report.error("CM303", f"`{name.text}` is no {what} of numbers", name.span, hint, labels=labels)
        return None
    if value is None or (row is None and node.row is not None):
        return None
    return Member(value, name.text, row, node.span)


def near(node: tree.Near, scope: Scope) -> Near | None:
    query, key = _place("q", node, scope), _place("k", node, scope)
    outside = scope.place({}, None)
    kernel = number(node.kernel, outside)
    dilation, stride = _option(node.dilation, node.span, outside), _option(node.stride, node.span, outside)
    if query is None or key is None or kernel is None or dilation is None or stride is None:
        return None
    return Near(query, key, kernel, dilation, stride, node.causal, node.span)


def _place(side: Side, node: tree.Near, scope: Scope) -> Coordinate | Position | None:
    match node.axis:
        case "":
            return None
        case "pos":
            return _position(side, node.span, scope)
        case letter:
            return coordinate(side, letter, node.span, scope)


def _position(side: Side, span: Span, scope: Scope) -> Position | None:
    grids = [t for t in (scope.sides.side(side) if scope.sides else ()) if len(t.region.extent) > 1]
    if grids:
        labels = (Label(grids[0].region.span, "a grid"),)
        hint = "name its axes one by one: `near(y, 17) and near(x, 17)`"
        message = f"`{grids[0].shown}` is a grid, whose window lies along an axis"
        if message not in scope.told:
            scope.told.add(message)
            scope.report.error("CM309", message, span, hint, labels=labels)
        return None
    return Position(side, "region", span)


def _option(node: tree.Expression | None, span: Span, scope: Scope) -> Expression | None:
    return Number(1, span) if node is None else number(node, scope)
