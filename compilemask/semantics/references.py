"""Tree -> regions that a rule names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compilemask.diagnostics import Edit, Fix, Label, Span
from compilemask.semantics.program import RegionReference
from compilemask.semantics.report import remove
from compilemask.semantics.scope import Scope, Target
from compilemask.syntax import tree
from compilemask.syntax.spelling import spell_reference

Nodes = tuple[tree.RegionNode, ...]


@dataclass
class References:
    """Resolves the references of one rule. Instances that the rule does not name get the variables `#1`, `#2`, ...

    queries, keys: the regions of either axis; None or empty when the text has no such regions, which has had its message.
    used_only: no reference may hold an unused region.
    """

    scope: Scope
    queries: Nodes | None
    keys: Nodes | None
    fresh: int = field(default=0)
    used_only: bool = False

    def side(self, nodes: tuple[tree.ReferenceNode, ...], side: str) -> tuple[Target, ...]:
        """The regions of one side; wrong references are left out, after a message."""
        targets = [self.resolve(node, side) for node in nodes]
        return tuple(target for target in targets if target is not None)

    def resolve(self, node: tree.ReferenceNode, side: str) -> Target | None:
        level = self.queries if side == "queries" else self.keys
        if not level:
            return None
        region: tree.RegionNode | None = None
        path: list[str] = []
        indices: dict[str, Span] = {}
        good = True
        for place, part in enumerate(node.parts):
            if not part.name.text:
                return None
            found = next((r for r in level if r.name.text == part.name.text), None)
            if found is None:
                self.unknown(part.name, level, region, side, node.parts[:place])
                return None
            path.append(part.name.text)
            good = self.instance(part, found, indices) and good
            region, level = found, found.children or ()
        if region is None or not good or (self.used_only and self.has_unused(node, region)):
            return None
        return Target(RegionReference(tuple(path), tuple(indices), node.span), region)

    def instance(self, part: tree.PartNode, region: tree.RegionNode, indices: dict[str, Span]) -> bool:
        """Take the index variable of one step of a path; false after a message."""
        report, shown = self.scope.report, part.name.text
        if region.index is None:
            if part.index is None:
                return True
            labels = (Label(region.span, "declared without brackets"),)
            after = Span(part.name.span.stop, part.span.stop)
            message = f"`{shown}` does not repeat, so there is no instance to pick"
            report.error("CM307", message, part.span, f"write `{shown}`", remove(after, "the brackets"), labels=labels)
            return False
        if part.index is None:
            self.fresh += 1
            indices[f"#{self.fresh}"] = part.span
            return True
        name, span = part.index.text, part.index.span
        if name in self.scope.parameters:
            labels = (Label(self.scope.parameters[name].name.span, "the parameter is declared here"),)
            hint = f"write a new variable and a condition: `{shown}[j] .. where j == {name}`"
            report.error("CM302", f"`{name}` is a parameter already", span, hint, labels=labels)
            return False
        if name in indices:
            labels = (Label(indices[name], "used here"),)
            report.error("CM302", f"`{name}` is used twice in one path", span, "use another letter", labels=labels)
            return False
        if name:
            indices[name] = span
        return bool(name)

    def has_unused(self, node: tree.ReferenceNode, region: tree.RegionNode) -> bool:
        """Whether a reference holds an unused region: itself, or one inside; then with a message."""
        shown = node.parts[-1].name.text
        if region.unused is not None:
            labels = (Label(region.unused, "declared so here"),)
            hint = "remove the word `unused`, or take the region out of the rule"
            self.scope.report.error(
                "CM351", f"`{shown}` is unused, and a rule names it", node.span, hint, labels=labels
            )
            return True
        inside = next((child for child in _inside(region) if child.unused is not None), None)
        if inside is None:
            return False
        assert inside.unused is not None, "chosen for it"
        used = [child for child in region.children or () if not any(part.unused for part in (child, *_inside(child)))]
        others = ", ".join(f"{spell_reference(node)}.{_with_index(child)}" for child in used)
        labels = (Label(inside.unused, "declared so here"),)
        message = f"`{shown}` has `{inside.name.text}` inside, which is unused"
        hint = f"write `{others}`" if used else "name the regions inside that are used"
        fixes = (Fix(f"Write `{others}`", (Edit(node.span, others),)),) if used else ()
        self.scope.report.error("CM351", message, node.span, hint, *fixes, labels=labels)
        return True

    def unknown(
        self,
        name: tree.Name,
        level: Nodes,
        parent: tree.RegionNode | None,
        side: str,
        before: tuple[tree.PartNode, ...] = (),
    ) -> None:
        """The message about a name that is no region here. parent: the region that `before` leads to."""
        report, text = self.scope.report, name.text
        if report.nameless:
            return
        known = [region.name.text for region in level if region.name.text]
        if parent is not None:
            message = f"`{parent.name.text}` has no region `{text}` inside"
            deeper = next((p for p in _paths(level) if p[-1].name.text == text), None)
            if deeper is not None:
                self.deeper(name, parent, before, deeper)
                return
            otherwise = f"inside are {listed(known)}" if known else f"`{parent.name.text}` is not made of regions"
            report.unknown("CM304", message, text, name.span, known, otherwise)
            return
        path = next((p for p in _paths(level) if p[-1].name.text == text), None)
        if path is not None:
            shown = ".".join(_with_index(region) for region in path)
            fix = Fix(f"Write `{shown}`", (Edit(name.span, shown),))
            labels = (Label(path[-1].name.span, "declared here"),)
            message = f"`{text}` stands inside `{path[0].name.text}`"
            report.error("CM304", message, name.span, f"write `{shown}`", fix, labels=labels)
            return
        if text in self.scope.parameters:
            labels = (Label(self.scope.parameters[text].name.span, "declared here"),)
            message = f"`{text}` is a parameter, and a region is needed here"
            report.error("CM304", message, name.span, f"the regions are {listed(known)}", labels=labels)
            return
        where = "" if not self.scope.two_axes else " among the queries" if side == "queries" else " among the keys"
        if self.scope.two_axes and text in self.scope.regions:
            labels = (Label(self.scope.regions[text], "declared here"),)
            hint = "queries come before `sees`, keys behind it"
            report.error("CM304", f"there is no region `{text}`{where}", name.span, hint, labels=labels)
            return
        otherwise = f"the regions are {listed(known)}" if known else "declare it in `tokens { .. }`"
        report.unknown("CM304", f"there is no region `{text}`{where}", text, name.span, known, otherwise)

    def deeper(self, name: tree.Name, parent: tree.RegionNode, before: tuple[tree.PartNode, ...], path: Nodes) -> None:
        """The message about a region that stands further inside than the text says; path: from the parent to it."""
        inner = ".".join(region.name.text for region in path)
        shown = f"{spell_reference(tree.ReferenceNode(before, before[0].span.to(before[-1].span)))}.{inner}"
        message = f"`{name.text}` stands inside `{path[-2].name.text}`, which stands inside `{parent.name.text}`"
        if len(path) > 2:
            message = f"`{name.text}` stands further inside `{parent.name.text}`"
        labels = (Label(path[-1].name.span, "declared here"),)
        fix = Fix(f"Write `{shown}`", (Edit(name.span, inner),))
        self.scope.report.error("CM304", message, name.span, f"write `{shown}`", fix, labels=labels)


def _inside(region: tree.RegionNode) -> Iterator[tree.RegionNode]:
    for child in region.children or ():
        yield child
        yield from _inside(child)


def _with_index(region: tree.RegionNode) -> str:
    return region.name.text if region.index is None else f"{region.name.text}[{region.index.text}]"


def _paths(level: Nodes) -> list[tuple[tree.RegionNode, ...]]:
    """Paths to all regions that stand inside others."""
    paths: list[tuple[tree.RegionNode, ...]] = []
    for region in level:
        for child in region.children or ():
            paths.append((region, child))
        paths += [(region, *path) for path in _paths(region.children or ())]
    return paths


def listed(names: list[str], limit: int = 8) -> str:
    """Names for a message: `a`, `b` and `c`."""
    shown = [f"`{name}`" for name in names[:limit]]
    if len(names) > limit:
        return ", ".join(shown) + f" and {len(names) - limit} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
