"""Tree -> checked mask. All messages of a text are gathered in one pass."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from compilemask.diagnostics import Diagnostic, Label, Span
from compilemask.semantics.conditions import condition
from compilemask.semantics.parameters import check_examples, check_parameters
from compilemask.semantics.program import Axis, CheckedMask, Rule
from compilemask.semantics.references import Nodes, References
from compilemask.semantics.regions import check_axis
from compilemask.semantics.report import Report, remove
from compilemask.semantics.scope import Scope, Sides
from compilemask.syntax import tree
from compilemask.syntax.limits import MAX_RULES


def check(node: tree.MaskTree, source: str) -> tuple[CheckedMask | None, tuple[Diagnostic, ...]]:
    """Give the names and operators of a tree their meaning.

    Returns the checked mask, or None when there is an error here or the tree is not complete; and the messages in the
    order of the text. The messages of `parse` are not repeated.
    """
    report = Report(nameless=not node.complete and _has_nameless(node))
    parameters = check_parameters(node.parameters, report)
    declared = {p.name.text: p for p in reversed(node.parameters) if p.name.text}
    two_axes = any(axis.kind != "tokens" for axis in node.axes)
    scope = Scope(report, declared, _region_places(node), two_axes)
    queries, keys = _axes(node, scope)
    rules = _rules(node, scope)
    examples = check_examples(node.examples, declared, report)
    if node.complete and not report.failed:
        _warn_unused(node, scope)
    found = tuple(sorted(report.diagnostics, key=lambda d: (d.span.start, d.span.stop, d.code)))
    if report.failed or not node.complete or queries is None:
        return None, found
    mask = CheckedMask(node.name.text, node.doc, parameters, queries, keys, rules, examples, source, node.span)
    return mask, found


# ---------------------------------------------------------------- axes


def _region_places(node: tree.MaskTree) -> dict[str, Span]:
    """Where each region is declared first."""
    places: dict[str, Span] = {}

    def visit(regions: Nodes) -> None:
        for region in regions:
            if region.name.text:
                places.setdefault(region.name.text, region.name.span)
            visit(region.children or ())

    for axis in node.axes:
        visit(axis.regions)
    return places


def _has_nameless(node: tree.MaskTree) -> bool:
    """Whether a parameter or a region has lost its name."""

    def some(regions: Nodes) -> bool:
        return any(not region.name.text or some(region.children or ()) for region in regions)

    return any(not p.name.text for p in node.parameters) or any(some(axis.regions) for axis in node.axes)


def _axes(node: tree.MaskTree, scope: Scope) -> tuple[Axis | None, Axis | None]:
    """The axes of queries and keys; keys is None when they share one."""
    report = scope.report
    first: dict[str, tree.AxisNode] = {}
    checked: dict[str, Axis] = {}
    for axis in node.axes:
        if axis.kind in first:
            labels = (Label(first[axis.kind].keyword, "the first one is here"),)
            hint = "put all regions of an axis into one block"
            report.error("CM305", f"`{axis.kind}` stands twice", axis.keyword, hint, labels=labels)
            continue
        first[axis.kind] = axis
        checked[axis.kind] = check_axis(axis, scope)
    if "tokens" in first and len(first) > 1:
        other = next(axis for kind, axis in first.items() if kind != "tokens")
        labels = (Label(first["tokens"].keyword, "one axis for both is declared here"),)
        hint = "write `tokens` alone, or `queries` and `keys`"
        report.error("CM305", f"`{other.kind}` cannot stand beside `tokens`", other.keyword, hint, labels=labels)
    elif "tokens" not in first and len(first) == 1:
        (axis,) = first.values()
        missing = "keys" if axis.kind == "queries" else "queries"
        hint = f"add `{missing} {{ .. }}`, or write `tokens` for one axis that both share"
        report.error("CM305", f"`{axis.kind}` is here, but `{missing}` is not", axis.keyword, hint)
    elif not first and node.complete:
        end = Span(node.header.stop, node.header.stop)
        report.error("CM305", "the mask has no regions", end, "add `tokens { S: n }` below the header")
    if "tokens" in checked:
        return checked["tokens"], None
    return checked.get("queries"), checked.get("keys")


# ---------------------------------------------------------------- rules


def _rules(node: tree.MaskTree, scope: Scope) -> tuple[Rule, ...]:
    if not node.rules and node.axes and node.complete:
        end = node.axes[-1].span.stop
        hint = "add one below the regions: `S sees S causal`"
        scope.report.error("CM314", "no rule says which tokens see which", Span(end, end), hint)
    if len(node.rules) > MAX_RULES:
        span = node.rules[MAX_RULES].span
        scope.report.error(
            "CM217", f"a mask may have {MAX_RULES} rules, and this is one more", span, "use repeated regions"
        )
    kinds = {axis.kind: axis.regions for axis in reversed(node.axes)}
    queries, keys = (kinds.get("tokens", kinds.get(side)) for side in ("queries", "keys"))
    if "tokens" in kinds and len(kinds) > 1:
        queries = keys = None
    rules = []
    seen: dict[object, Span] = {}
    for rule in node.rules[:MAX_RULES]:
        if not node.axes or scope.report.full:
            break
        checked = _rule(rule, scope, References(scope, queries, keys))
        if checked is not None:
            rules.append(checked)
            _warn_twice(checked, seen, scope.report)
    return tuple(rules)


def _rule(node: tree.RuleNode, scope: Scope, references: References) -> Rule | None:
    queries = references.side(node.queries, "queries")
    keys = references.side(node.keys, "keys")
    inner = scope.place(scope.indices, Sides(queries, keys))
    whole = len(queries) == len(node.queries) and len(keys) == len(node.keys)
    checked = None
    if node.condition is not None:
        checked = condition(node.condition, inner) if whole else None
        if checked is None:
            if not whole:
                _use_names(node.condition, scope)
            return None
    if not whole:
        return None
    return Rule(
        tuple(target.reference for target in queries),
        tuple(target.reference for target in keys),
        checked,
        node.span,
        node.doc,
    )


def _use_names(node: object, scope: Scope) -> None:
    """Count the parameters of a condition that cannot be checked as used."""
    if isinstance(node, tree.Name):
        scope.used.add(node.text)
    elif isinstance(node, tuple):
        for item in node:
            _use_names(item, scope)
    elif is_dataclass(node) and not isinstance(node, Span):
        for item in fields(node):
            _use_names(getattr(node, item.name), scope)


# ---------------------------------------------------------------- warnings


def _warn_twice(rule: Rule, seen: dict[object, Span], report: Report) -> None:
    key = _without_spans((rule.queries, rule.keys, rule.condition))
    if key in seen:
        labels = (Label(seen[key], "the first one is here"),)
        report.warning(
            "CM502",
            "this rule stands here twice",
            rule.span,
            "remove one",
            remove(rule.span, "the rule"),
            labels=labels,
        )
    else:
        seen[key] = rule.span


def _without_spans(node: object) -> object:
    if isinstance(node, Span):
        return None
    if isinstance(node, tuple):
        return tuple(_without_spans(item) for item in node)
    if is_dataclass(node):
        return (type(node).__name__, *(_without_spans(getattr(node, item.name)) for item in fields(node)))
    return node


def _warn_unused(node: tree.MaskTree, scope: Scope) -> None:
    for parameter in node.parameters:
        name = parameter.name
        if name.text and name.text not in scope.used:
            scope.report.warning(
                "CM501",
                f"the parameter `{name.text}` is not used",
                name.span,
                "remove it, or use it in a size or a rule",
            )
