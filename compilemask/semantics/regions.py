"""Tree -> axes and regions of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compilemask.diagnostics import Label, Span
from compilemask.semantics.numbers import number
from compilemask.semantics.orders import stored_order
from compilemask.semantics.program import Axis, Expression, InstanceIndex, ListFold, Number, ParameterValue, Region
from compilemask.semantics.report import insert
from compilemask.semantics.scope import Scope
from compilemask.syntax import tree
from compilemask.syntax.limits import MAX_REGIONS


def check_axis(node: tree.AxisNode, scope: Scope) -> Axis:
    """The regions of one axis. After an error some of them are left out, and the report has failed."""
    if not node.regions:
        hint = "name at least one: `S: n`"
        scope.report.error("CM305", f"`{node.kind}` has no regions", node.keyword, hint)
    if sum(1 for _ in all_regions(node.regions)) > MAX_REGIONS:
        hint = "a region that repeats, `D[i]: lengths[i]`, stands for any number of them"
        scope.report.error("CM217", f"`{node.kind}` has more than {MAX_REGIONS} regions", node.keyword, hint)
        return Axis((), node.span)
    return Axis(_regions(node.regions, scope), node.span)


def all_regions(regions: tuple[tree.RegionNode, ...]) -> Iterator[tree.RegionNode]:
    """The regions and those inside them, outer ones first."""
    for region in regions:
        yield region
        yield from all_regions(region.children or ())


def _regions(nodes: tuple[tree.RegionNode, ...], scope: Scope) -> tuple[Region, ...]:
    seen: dict[str, Span] = {}
    regions = []
    for node in nodes:
        name = node.name
        message = f"there are two regions `{name.text}`"
        new = scope.report.first_of_name(name.text, name.span, seen, message, "rename one of them")
        if new and name.text in scope.parameters:
            _taken_by_parameter(name, scope)
        region = _region(node, scope)
        if region is not None:
            regions.append(region)
    return tuple(regions)


def _taken_by_parameter(name: tree.Name, scope: Scope) -> None:
    labels = (Label(scope.parameters[name.text].name.span, "the parameter is declared here"),)
    hint = "rename one of them: every name of a text means one thing"
    scope.report.error("CM302", f"`{name.text}` is a parameter already", name.span, hint, labels=labels)


def _region(node: tree.RegionNode, scope: Scope) -> Region | None:
    inner, index = scope, None
    if node.index is not None:
        _check_index(node.index, scope)
        index = node.index.text
        inner = scope.place({**scope.indices, index: node.index.span}, None)
    count, counts = _count(node, scope)
    sizes = [number(size, inner) for size in node.extent]
    extent = tuple(size for size in sizes if size is not None)
    children = _regions(node.children, inner) if node.children is not None else ()
    if node.children == ():
        scope.report.error("CM305", f"`{node.name.text}` has no regions inside", node.span, "give it a size: `S: n`")
    if len(extent) < len(sizes) or not node.name.text or (node.index is not None and count is None):
        return None
    names = tuple(dict.fromkeys(fold.name for fold in counts))
    for child in children:
        if child.stored is not None and child.stored.table is not None:
            message = f"`{child.name}` is stored in pages, and stands inside `{node.name.text}`"
            hint = "its free slots would belong to the region around it: declare it beside the others"
            scope.report.error("CM350", message, child.stored.span, hint)
    stored = stored_order(node.stored, node, inner) if node.stored is not None else None
    return Region(
        node.name.text,
        index,
        count,
        extent,
        children,
        node.doc,
        node.span,
        names,
        counts,
        stored,
        node.unused is not None,
    )


def _check_index(index: tree.Name, scope: Scope) -> None:
    name, span = index.text, index.span
    if name in scope.parameters:
        labels = (Label(scope.parameters[name].name.span, "the parameter is declared here"),)
        hint = f"brackets hold a new variable; to repeat `{name}` times, write `[i < {name}]`"
        scope.report.error("CM302", f"`{name}` is a parameter already", span, hint, labels=labels)
    elif name in scope.indices:
        labels = (Label(scope.indices[name], "used here for the region around"),)
        scope.report.error(
            "CM302", f"`{name}` is used twice, one inside the other", span, "use another letter", labels=labels
        )


def _count(node: tree.RegionNode, scope: Scope) -> tuple[Expression | None, tuple[ListFold, ...]]:
    """How often the region repeats, and the lengths of all lists that say so."""
    if node.index is None:
        return None, ()
    if node.count is not None:
        return number(node.count, scope), ()
    index = node.index.text
    counts: dict[tuple[str, Expression | None], ListFold] = {}
    unknown = False
    for item in _items_of_region(node):
        if not _is_list(item.name.text, scope):
            unknown |= _is_named(item.index, index)
            continue
        if _is_named(item.index, index):
            counts.setdefault((item.name.text, None), ListFold("len", item.name.text, item.span))
        if item.second is not None and _is_named(item.second, index):
            row = _row(item.index, scope)
            if row is not None:
                key = (item.name.text, replace(row, span=Span(0, 0)))
                counts.setdefault(key, ListFold("len", item.name.text, item.span, row))
    if counts:
        return next(iter(counts.values())), tuple(counts.values())
    if index and not unknown:
        message = f"how many instances does `{node.name.text}` have?"
        hint = f"write their number, `{node.name.text}[{index} < count]`, or take their sizes from a list, `lengths[{index}]`"
        scope.report.error("CM306", message, node.index.span, hint, insert(node.index.span.stop, " < count"))
    return None, ()


def _row(node: tree.Expression, scope: Scope) -> Expression | None:
    """The row of a table that counts instances: a variable of a region around, a parameter or a number."""
    if isinstance(node, tree.Name) and node.text in scope.indices:
        return InstanceIndex(node.text, node.span)
    if isinstance(node, tree.Name) and node.text in scope.parameters and scope.parameters[node.text].type == "int":
        return ParameterValue(node.text, node.span)
    if isinstance(node, tree.NumberLiteral):
        return Number(node.value, node.span)
    return None


def _is_named(node: tree.Expression, name: str) -> bool:
    return isinstance(node, tree.Name) and node.text == name


def _is_list(name: str, scope: Scope) -> bool:
    kind = scope.parameters[name].type if name in scope.parameters else None
    return kind is not None and kind.endswith("[]")


def _items_of_region(node: tree.RegionNode) -> Iterator[tree.Item]:
    for size in node.extent:
        yield from _items(size)
    for argument in node.stored.arguments if node.stored is not None else ():
        yield from _items(argument)
    for child in node.children or ():
        if child.count is not None:
            yield from _items(child.count)
        yield from _items_of_region(child)


def _items(node: tree.Expression) -> Iterator[tree.Item]:
    match node:
        case tree.Item():
            yield node
            yield from _items(node.index)
            if node.second is not None:
                yield from _items(node.second)
        case tree.Arithmetic():
            yield from _items(node.left)
            yield from _items(node.right)
        case tree.Prefix():
            yield from _items(node.operand)
        case tree.Group():
            yield from _items(node.inner)
        case tree.Calling():
            for argument in node.arguments:
                yield from _items(argument)
        case _:
            return
