"""What is allowed but seldom meant: queries and keys that take no part, rules that never match."""

from __future__ import annotations

import numpy as np

from compilemask.diagnostics import Diagnostic, Span
from compilemask.lowering.compositions import shown_at
from compilemask.lowering.covered_rules import covered_rules
from compilemask.lowering.failure import header_span
from compilemask.lowering.idle_places import idle_places
from compilemask.lowering.layout import Instances, Layout
from compilemask.lowering.lower import Lowered
from compilemask.lowering.provenance import innermost
from compilemask.lowering.storage import same_order
from compilemask.semantics.program import Axis, CheckedMask, Region, RegionReference, Rule


def bind_warnings(mask: CheckedMask, lowered: Lowered) -> tuple[Diagnostic, ...]:
    """Warnings about the bound mask, in the order of the text."""
    found = [
        _warning(
            "CM513",
            "this rule matches no cell with these numbers",
            rule.span,
            "its condition is never true",
        )
        for rule, shapes in zip(mask.rules, lowered.rule_shapes, strict=True)
        if len(shapes) == 0 and _has_tokens(rule, lowered)
    ]
    found += covered_rules(mask, lowered)
    found += _mixed_orders(mask, lowered)
    for rule in mask.rules:
        found += _without_partner(rule, lowered)
    found += _idle(mask, lowered)
    return tuple(sorted(found, key=lambda d: (d.span.start, d.code)))


def _idle(mask: CheckedMask, lowered: Lowered) -> list[Diagnostic]:
    """Queries and keys that take no part, where the text does not say that this is meant."""
    failed = {result.code for result in lowered.assertions if not result.holds}
    found = []
    paths = _allowed(mask, "empty queries")
    if paths is not None and "CM602" not in failed:
        rows = idle_places(lowered.descriptor, "queries", lowered.query_layout, paths)
        if rows.first is not None:
            label, span = _declared(mask, mask.queries, lowered.query_layout, rows.first)
            message = (
                f"{_count(rows.count, 'query sees', 'queries see')} no key; the first is q = {rows.first}, in {label}"
            )
            hint = (
                "their attention output is 0; add a rule if they should see something, or else say so: "
                "`allow empty queries`, or `unused` behind the size of padding"
            )
            found.append(_warning("CM511", message, span, hint))
    paths = _allowed(mask, "unseen keys")
    if paths is not None and "CM603" not in failed:
        keys = idle_places(lowered.descriptor, "keys", lowered.key_layout, paths)
        if keys.first is not None:
            label, span = _declared(mask, mask.keys or mask.queries, lowered.key_layout, keys.first)
            message = f"no query sees {_count(keys.count, 'key', 'keys')}; the first is k = {keys.first}, in {label}"
            hint = (
                "they cost memory and change nothing; add a rule if they should be seen, or else say so: "
                "`allow unseen keys`, or `unused` behind the size of padding"
            )
            found.append(_warning("CM512", message, span, hint))
    return found


def _allowed(mask: CheckedMask, what: str) -> list[tuple[str, ...]] | None:
    """The regions in which places may be idle; None when all of them may."""
    allowances = [allowance for allowance in mask.allowances if allowance.what == what]
    if any(not allowance.paths for allowance in allowances):
        return None
    return [path for allowance in allowances for path in allowance.paths]


def _mixed_orders(mask: CheckedMask, lowered: Lowered) -> list[Diagnostic]:
    """The first operand whose tokens are stored in another order than those of the first one."""
    for operand in lowered.operands[1:]:
        pairs = [
            (getattr(lowered.operands[0].lowered, axis).storage, getattr(operand.lowered, axis).storage)
            for axis in ("query_layout", "key_layout")
        ]
        if not all(same_order(one, other) for one, other in pairs):
            text = shown_at(operand.call.span, mask.source)
            return [
                _warning(
                    "CM515",
                    f"`{text}` stores its tokens in another order than the first mask of this expression",
                    operand.call.span,
                    "masks are joined where their tokens are stored: give both the same order, or write one mask with rules",
                )
            ]
    return []


def _without_partner(rule: Rule, lowered: Lowered) -> list[Diagnostic]:
    """The first pair of regions of a rule in which a shared variable numbers instances that one side lacks."""
    for q in rule.queries:
        for k in rule.keys:
            shared = [name for name in q.indices if name in k.indices]
            queries, keys = lowered.query_layout.regions[q.path], lowered.key_layout.regions[k.path]
            same_region = q.path == k.path and lowered.query_layout is lowered.key_layout
            if not shared or (same_region and all(q.indices.index(name) == k.indices.index(name) for name in shared)):
                continue
            q_numbers = {*zip(*(queries.indices[q.indices.index(name)].tolist() for name in shared), strict=True)}
            k_numbers = {*zip(*(keys.indices[k.indices.index(name)].tolist() for name in shared), strict=True)}
            if q_numbers != k_numbers:
                names = [
                    _shown(reference, regions) if same_region else ".".join(reference.path)
                    for reference, regions in ((q, queries), (k, keys))
                ]
                return [_alone(rule, (names[0], names[1]), shared, q_numbers, k_numbers)]
    return []


def _shown(reference: RegionReference, instances: Instances) -> str:
    """A reference with the variables that the text names: `G[i].R[j]`."""
    variables = iter(reference.indices)
    parts = []
    for name, repeated in zip(reference.path, instances.repeated, strict=True):
        variable = next(variables) if repeated else "#"
        parts.append(name if variable.startswith("#") else f"{name}[{variable}]")
    return ".".join(parts)


def _alone(
    rule: Rule, names: tuple[str, str], shared: list[str], q: set[tuple[int, ...]], k: set[tuple[int, ...]]
) -> Diagnostic:
    first = min(q ^ k)
    where = ", ".join(f"{name} = {number}" for name, number in zip(shared, first, strict=True))
    there, missing = names if first in q else names[::-1]
    counts = f"`{names[0]}` has {_count(len(q), 'instance', 'instances')} and `{names[1]}` has {len(k):,}"
    return _warning(
        "CM520",
        f"{counts}: {_count(len(q ^ k), 'of them has', 'of them have')} no partner; "
        f"the first is {where}, which `{there}` has and `{missing}` has not",
        rule.span,
        "an instance without a partner takes no part in this rule; bind lists of one length if that is not meant",
    )


def _has_tokens(rule: Rule, lowered: Lowered) -> bool:
    """Whether some token of the rule's queries and some of its keys exist; a region of size 0 is no mistake."""

    def any_token(references: tuple[RegionReference, ...], layout: Layout) -> bool:
        regions = [layout.regions[reference.path] for reference in references]
        return any(bool(np.any(region.start < region.stop)) for region in regions)

    return any_token(rule.queries, lowered.query_layout) and any_token(rule.keys, lowered.key_layout)


def _declared(mask: CheckedMask, axis: Axis, layout: Layout, token: int) -> tuple[str, Span]:
    """The label of the region instance that holds a token, and where that region, or the whole mask, is declared."""
    label = innermost(layout, token)
    if mask.composition is not None:
        return label, header_span(mask)
    regions, span = axis.regions, axis.span
    for part in label.split("."):
        region: Region = next(region for region in regions if region.name == part.split("[")[0])
        regions, span = region.children, region.span
    return label, span


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _warning(code: str, message: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic(code=code, severity="warning", message=message, span=span, hint=hint)
