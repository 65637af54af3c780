"""What is allowed but seldom meant: queries and keys that take no part, rules that never match."""

from __future__ import annotations

import numpy as np

from compilemask.diagnostics import Diagnostic, Span
from compilemask.geometry.projection import hull, merge_intervals, solid
from compilemask.lowering.layout import Layout
from compilemask.lowering.lower import Lowered
from compilemask.lowering.provenance import innermost
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
    descriptor = lowered.descriptor
    first = descriptor.first_empty_row
    if first is not None:
        label, span = _declared(mask.queries, lowered.query_layout, first)
        found.append(
            _warning(
                "CM511",
                f"{_count(descriptor.empty_rows, 'query sees', 'queries see')} no key; the first is q = {first}, in {label}",
                span,
                "their attention output is 0; add a rule if they should see something",
            )
        )
    key = _first_unseen(lowered)
    if key is not None:
        label, span = _declared(mask.keys or mask.queries, lowered.key_layout, key)
        found.append(
            _warning(
                "CM512",
                f"no query sees {_count(descriptor.unseen_keys, 'key', 'keys')}; the first is k = {key}, in {label}",
                span,
                "they cost memory and change nothing; add a rule if they should be seen",
            )
        )
    return tuple(sorted(found, key=lambda d: (d.span.start, d.code)))


def _has_tokens(rule: Rule, lowered: Lowered) -> bool:
    """Whether some token of the rule's queries and some of its keys exist; a region of size 0 is no mistake."""

    def any_token(references: tuple[RegionReference, ...], layout: Layout) -> bool:
        regions = [layout.regions[reference.path] for reference in references]
        return any(bool(np.any(region.start < region.stop)) for region in regions)

    return any_token(rule.queries, lowered.query_layout) and any_token(rule.keys, lowered.key_layout)


def _first_unseen(lowered: Lowered) -> int | None:
    """The first key that no query sees, or None. A row of a shape sees a gapless range, and ends are affine."""
    descriptor = lowered.descriptor
    if descriptor.kv_len == 0 or descriptor.unseen_keys == 0:
        return None
    shapes, _ = solid(descriptor.trapezoids())
    lo, hi = merge_intervals(*hull(shapes))
    return int(hi[0]) if len(lo) and lo[0] == 0 else 0


def _declared(axis: Axis, layout: Layout, token: int) -> tuple[str, Span]:
    """The label of the region instance that holds a token, and where that region is declared."""
    label = innermost(layout, token)
    regions, span = axis.regions, axis.span
    for part in label.split("."):
        region: Region = next(region for region in regions if region.name == part.split("[")[0])
        regions, span = region.children, region.span
    return label, span


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _warning(code: str, message: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic(code=code, severity="warning", message=message, span=span, hint=hint)
