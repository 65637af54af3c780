"""What to do about a rule that shows later keys where the text asserts `causal`: advice that keeps what the rule is for."""

from __future__ import annotations

from typing import Literal

import numpy as np

from compilemask.geometry import RunSet, Trapezoids, intersection
from compilemask.geometry.projection import merge_intervals
from compilemask.lowering.failure import BindError
from compilemask.lowering.layout import Layout
from compilemask.lowering.lower import Lowered
from compilemask.lowering.stored_cells import earlier_cells, stored_cells
from compilemask.semantics.program import All, AnyOf, Causal, Condition, Not, RegionReference, Rule

_OTHERWISE = "or take the assertion back"


def causal_advice(rule: Rule, cells: RunSet, lowered: Lowered, align: Literal["start", "end"] | None) -> str:
    """The hint of a failed `assert causal`. cells: those of the rule, some of which have a later key.

    To add `causal` is good advice only where each region of the rule keeps cells by it.
    """
    word = "causal" if align is None else f"causal aligned {align}"
    if rule.condition is not None and _names_causal(rule.condition):
        return f"`causal` stands in the rule that shows it, but not for all of its cells: narrow its condition, {_OTHERWISE}"
    try:
        kept = intersection(cells, earlier_cells(align, lowered.query_layout, lowered.key_layout, rule.span))
        if kept.num_cells == 0:
            swapped = "see whether its two sides, or those of its condition, are swapped"
            return (
                f"the rule that shows it has later keys only, and `{word}` would hide them all: {swapped}, {_OTHERWISE}"
            )
        lost = _region_without_cells(rule, cells, kept, lowered)
    except BindError:
        return f"change the rule that shows it, {_OTHERWISE}"
    if lost is not None:
        return f"`{word}` would hide all that the rule shows of `{lost}`: change the rule in another way, {_OTHERWISE}"
    return f"add `{word}` to the rule that shows it, {_OTHERWISE}"


def _names_causal(condition: Condition) -> bool:
    match condition:
        case Causal():
            return True
        case All(items) | AnyOf(items):
            return any(_names_causal(item) for item in items)
        case Not(item):
            return _names_causal(item)
        case _:
            return False


def _region_without_cells(rule: Rule, cells: RunSet, kept: RunSet, lowered: Lowered) -> str | None:
    """The first region of the rule that takes part in `cells`, but not in `kept`."""
    sides = [(rule.queries, True), (rule.keys, False)]
    for reference, is_query in ((reference, is_query) for side, is_query in sides for reference in side):
        region = _cells_of(reference, is_query, lowered, rule)
        if intersection(kept, region).num_cells == 0 and intersection(cells, region).num_cells > 0:
            return ".".join(reference.path)
    return None


def _cells_of(reference: RegionReference, is_query: bool, lowered: Lowered, rule: Rule) -> Trapezoids:
    """All cells of the rows, or of the columns, of a region's tokens."""
    queries, keys = lowered.query_layout, lowered.key_layout
    layout: Layout = queries if is_query else keys
    region = layout.regions[reference.path]
    lo, hi = merge_intervals(region.start, region.stop)
    other = np.full(len(lo), keys.length if is_query else queries.length)
    ends = (lo, hi, np.zeros(len(lo), np.int64), other)
    shapes = Trapezoids.rectangle(*ends) if is_query else Trapezoids.rectangle(*ends[2:], *ends[:2])
    return stored_cells(shapes, queries.storage, keys.storage, rule.span)
