"""Tree -> checked mask. All messages of a text are gathered in one pass."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from compilemask.diagnostics import Diagnostic, Label, Span
from compilemask.semantics.allowances import check_allowances
from compilemask.semantics.assertions import Place, check_assertions, region_nodes
from compilemask.semantics.compositions import composition
from compilemask.semantics.mask_program import Allowance, Assertion, MaskExpression, calls, count_calls, depth
from compilemask.semantics.masks import MAX_DEPTH, NO_LIBRARY, Library, Masks, too_deep
from compilemask.semantics.parameters import check_examples, check_parameters
from compilemask.semantics.program import Axis, CheckedMask, Region, Rule
from compilemask.semantics.references import Nodes, References
from compilemask.semantics.regions import all_regions, check_axis
from compilemask.semantics.report import Report, remove, within_limit
from compilemask.semantics.rules import check_rule
from compilemask.semantics.scope import Scope
from compilemask.syntax import tree
from compilemask.syntax.limits import MAX_CALLS, MAX_RULES
from compilemask.syntax.mask_tree import MaskExpression as MaskExpressionNode


def check(
    node: tree.MaskTree, source: str, library: Library = NO_LIBRARY
) -> tuple[CheckedMask | None, tuple[Diagnostic, ...]]:
    """Give the names and operators of a tree their meaning.

    library: masks that the text may call beside its own. Returns the checked mask, or None when there is an error here
    or the tree is not complete; and the messages in the order of the text. The messages of `parse` are not repeated.
    """
    definitions = (*node.helpers, node)
    nameless = not node.complete and any(_has_nameless(definition) for definition in definitions)

    def check_one(definition: tree.MaskTree, masks: Masks) -> tuple[CheckedMask | None, list[Diagnostic]]:
        report = Report(nameless=nameless, guess=not node.complete)
        checked = check_definition(definition, source, report, masks)
        if checked is not None and (lost := _lost(definition, checked)) is not None:
            _not_understood(lost, report)
            checked = None
        return checked, report.diagnostics

    masks = Masks(definitions, library, check_one)
    mask = masks.all()
    found = masks.messages + _about_names(definitions, masks)
    failed = any(d.severity == "error" for d in found)
    if mask is None and node.complete and not failed:
        unexplained = Report()
        _not_understood(node.span, unexplained)
        found += unexplained.diagnostics
    found.sort(key=lambda d: (d.span.start, d.span.stop, d.code))
    return None if failed or not node.complete else mask, tuple(within_limit(found))


def _not_understood(span: Span, report: Report) -> None:
    """No part of a text is ever left out silently, not even by a defect of the checker."""
    message = "this has no meaning here, and no message says why"
    hint = "write it in another way; this is a defect of the checker, so please report the text"
    report.error("CM303", message, span, hint)


def _lost(node: tree.MaskTree, mask: CheckedMask) -> Span | None:
    """The first part of a definition that its checked mask lacks."""
    for written, kept in (
        (node.rules, mask.rules),
        (node.assertions, mask.assertions),
        (node.allowances, mask.allowances),
        (node.examples, mask.examples),
        (node.parameters, mask.parameters),
    ):
        spans = {part.span for part in kept}
        lost = next((part.span for part in written if part.span not in spans), None)
        if lost is not None:
            return lost
    kept_places: set[Span] = set()

    def visit(regions: tuple[Region, ...]) -> None:
        for region in regions:
            kept_places.add(region.span)
            visit(region.children)

    if mask.composition is None:
        for axis in (mask.queries, *(() if mask.keys is None else (mask.keys,))):
            visit(axis.regions)
    return next((r.span for axis in node.axes for r in all_regions(axis.regions) if r.span not in kept_places), None)


def check_definition(node: tree.MaskTree, source: str, report: Report, masks: Masks) -> CheckedMask | None:
    """One mask of the text, or None after a message."""
    parameters = check_parameters(node.parameters, report)
    declared = {p.name.text: p for p in reversed(node.parameters) if p.name.text}
    two_axes = any(axis.kind != "tokens" for axis in node.axes)
    scope = Scope(report, declared, _region_places(node), two_axes)
    composed = None
    if node.body is None:
        queries, keys = _axes(node, scope)
        rules = _rules(node, scope)
        place = Place(scope, *_sides(node), masks, source)
        assertions, allowances = check_assertions(node.assertions, place), check_allowances(node.allowances, place)
    else:
        rules = ()
        composed, queries, keys, assertions, allowances = _composed(node, node.body, scope, masks, source)
    examples = check_examples(node.examples, declared, report)
    if node.complete and not report.failed and (node.body is None or composed is not None):
        _warn_unused(node, scope)
    if report.failed or not node.complete or queries is None:
        return None
    mask = CheckedMask(
        *(
            node.name.text,
            node.doc,
            parameters,
            queries,
            keys,
            rules,
            examples,
            source,
            node.span,
            composed,
            assertions,
        ),
        allowances,
    )
    if count_calls(mask) > MAX_CALLS:
        message = (
            f"`{mask.name}` is made of {count_calls(mask):,} masks, those inside them counted; the limit is {MAX_CALLS}"
        )
        report.error("CM217", message, node.name.span, "write some of the masks out: with regions and rules")
    elif depth(mask) > MAX_DEPTH:
        too_deep(node.name.span, report)
    return None if report.failed else mask


def _composed(
    node: tree.MaskTree, body: MaskExpressionNode, scope: Scope, masks: Masks, source: str
) -> tuple[MaskExpression | None, Axis | None, Axis | None, tuple[Assertion, ...], tuple[Allowance, ...]]:
    """The expression of a mask made of masks; its axes without regions; its assertions and allowances, which may name
    regions of the first operand."""
    checked = composition(body, scope, masks)
    if checked is None:
        return None, None, None, (), ()
    first = next(calls(checked)).mask
    while first.composition is not None:
        first = next(calls(first.composition)).mask
    queries = region_nodes(first.queries, body.span)
    keys = queries if first.keys is None else region_nodes(first.keys, body.span)
    inner = Scope(scope.report, scope.parameters, _places((*queries, *keys)), first.keys is not None, scope.used)
    place = Place(inner, queries, keys, masks, source)
    assertions, allowances = check_assertions(node.assertions, place), check_allowances(node.allowances, place)
    empty = Axis((), body.span)
    return checked, empty, None if first.keys is None else empty, assertions, allowances


def _about_names(definitions: tuple[tree.MaskTree, ...], masks: Masks) -> list[Diagnostic]:
    """Messages about masks of one name, and warnings about masks that nobody calls."""
    report = Report()
    seen: dict[str, Span] = {}
    for definition in definitions:
        name = definition.name
        message = f"there are two masks `{name.text}`"
        report.first_of_name(name.text, name.span, seen, message, "rename one of them")
    failed = report.failed or any(d.severity == "error" for d in masks.messages)
    if definitions[-1].complete and not failed:
        for definition in definitions[:-1]:
            if definition.name.text not in masks.called:
                hint = f"call it, remove it, or move it to the end: the text is about `{definitions[-1].name.text}`"
                message = f"the mask `{definition.name.text}` is not used"
                report.warning("CM505", message, definition.name.span, hint)
    return report.diagnostics


# ---------------------------------------------------------------- axes


def _region_places(node: tree.MaskTree) -> dict[str, Span]:
    """Where each region is declared first."""
    return _places(tuple(region for axis in node.axes for region in axis.regions))


def _places(nodes: Nodes) -> dict[str, Span]:
    places: dict[str, Span] = {}

    def visit(regions: Nodes) -> None:
        for region in regions:
            if region.name.text:
                places.setdefault(region.name.text, region.name.span)
            visit(region.children or ())

    visit(nodes)
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


def _sides(node: tree.MaskTree) -> tuple[Nodes | None, Nodes | None]:
    """The regions that queries and keys may be named by; None where the text has none, or too many axes."""
    kinds = {axis.kind: axis.regions for axis in reversed(node.axes)}
    if "tokens" in kinds and len(kinds) > 1:
        return None, None
    queries, keys = (kinds.get("tokens", kinds.get(side)) for side in ("queries", "keys"))
    return queries, keys


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
    queries, keys = _sides(node)
    rules = []
    seen: dict[object, Span] = {}
    for rule in node.rules[:MAX_RULES]:
        if not node.axes or scope.report.full:  # full of errors: no rule of a mask without one is passed over
            break
        checked = check_rule(rule, scope, References(scope, queries, keys, used_only=True))
        if checked is not None:
            rules.append(checked)
            _warn_twice(checked, seen, scope.report)
    return tuple(rules)


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
