"""Tree -> the order in which a region is stored."""

from __future__ import annotations

from compilemask.diagnostics import Label
from compilemask.semantics.numbers import list_parameter, number
from compilemask.semantics.program import Stored
from compilemask.semantics.scope import Scope
from compilemask.syntax import tree


def stored_order(node: tree.StoredNode, region: tree.RegionNode, scope: Scope) -> Stored | None:
    """The order, or None after a message. scope: of the region's sizes."""
    if not node.order or any(isinstance(argument, tree.Missing) for argument in node.arguments):
        return None
    table, arguments = None, node.arguments
    if node.order == "pages":
        if scope.indices:
            hint = "give each token its page by a list, and compare: `k // size == page[q // size]`"
            scope.report.error("CM350", "pages hold one region, and this one repeats", node.span, hint)
            return None
        if len(arguments) != 2 or not isinstance(arguments[0], tree.Name):
            hint = "write `pages(table, size)`: for each page of the text its number, and the tokens of a page"
            scope.report.error("CM350", "`pages` takes a list of pages and the size of a page", node.span, hint)
            return None
        if not _is_numbers(arguments[0], scope):
            return None
        table, arguments = arguments[0].text, arguments[1:]
    wanted = {"tiles": len(region.extent), "zigzag": 1, "pages": 1}[node.order]
    if len(region.extent) > 1 and node.order != "tiles":
        hint = "a grid is stored in `tiles`"
        scope.report.error("CM350", f"`{node.order}` orders a region with one size", node.span, hint)
        return None
    if len(arguments) != wanted:
        sizes = "one number" if wanted == 1 else f"{wanted} numbers, the sides of a tile"
        labels = (Label(region.span, "the region"),)
        message = f"`{node.order}` takes {sizes} here, and got {len(arguments)}"
        scope.report.error("CM350", message, node.span, "give one number for each size", labels=labels)
        return None
    known = tuple(found for found in (number(argument, scope) for argument in arguments) if found is not None)
    return Stored(node.order, known, table, node.span) if len(known) == len(arguments) else None


def _is_numbers(name: tree.Name, scope: Scope) -> bool:
    if not list_parameter(name, scope):
        return False
    if scope.parameters[name.text].type != "int[]":
        scope.report.error("CM303", f"`{name.text}` is no list of numbers", name.span, "give it the type `int[]`")
        return False
    return True
