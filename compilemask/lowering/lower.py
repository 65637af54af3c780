"""A checked mask and its numbers to the exact set of visible cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import Diagnostic, MaskError, Span
from compilemask.geometry import RunSet, Trapezoids, normalize
from compilemask.lowering.conditions import ConditionReader, Constant
from compilemask.lowering.domain import check_runs, domain_of
from compilemask.lowering.failure import BindError, header_span
from compilemask.lowering.forms import K_SIDE, Q_SIDE, Form, side_part
from compilemask.lowering.items import Side, finer, instances_as_items, level_needed, side_of
from compilemask.lowering.layout import Layout, lay_out
from compilemask.lowering.pieces import affine_pieces, token_pieces
from compilemask.lowering.solve import Solver
from compilemask.lowering.translate import Scope
from compilemask.lowering.values import Value, bind_values
from compilemask.semantics.program import CheckedMask, RegionReference, Rule


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """One instance of a region on its axis: the tokens [start, stop). name: "R" or "doc.P"; label: "R[3]" or "doc[2].P"."""

    name: str
    label: str
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Lowered:
    """A mask bound to numbers.

    values: every parameter's value. rule_shapes: the cells of each rule, in the order of the text, as shapes that may
    overlap; `rule_sets` has them in canonical form.
    """

    descriptor: MaskDescriptor
    values: Mapping[str, Value]
    rule_shapes: tuple[Trapezoids, ...]
    query_layout: Layout
    key_layout: Layout

    @cached_property
    def queries(self) -> tuple[RegionSpan, ...]:
        """All instances of all innermost regions of the query axis, in token order."""
        return _region_spans(self.query_layout)

    @cached_property
    def keys(self) -> tuple[RegionSpan, ...]:
        """The same of the key axis; the same tuple when the axes are one."""
        return self.queries if self.key_layout is self.query_layout else _region_spans(self.key_layout)

    @cached_property
    def rule_sets(self) -> tuple[RunSet, ...]:
        """The cells of each rule: which rule made a cell visible."""
        return tuple(normalize(shapes) for shapes in self.rule_shapes)


def lower(mask: CheckedMask, values: Mapping[str, object], filename: str = "<mask>") -> Lowered:
    """Binds numbers to a mask. Raises `MaskError` with everything that is wrong with them.

    values: int for int parameters, bool for bool, a sequence or one-dimensional array of integers for int[].
    The time does not grow with q_len * kv_len, except for conditions without a closed form (up to a stated limit).
    """
    bound, problems = bind_values(mask, values)
    if problems:
        raise MaskError(problems, mask.source, filename)
    try:
        queries = lay_out(mask.queries, bound)
        keys = queries if mask.keys is None else lay_out(mask.keys, bound)
    except BindError as failure:
        raise MaskError([failure.diagnostic], mask.source, filename) from None
    shapes: list[Trapezoids] = []
    failures: list[Diagnostic] = []
    for rule in mask.rules:
        try:
            shapes.append(_rule_cells(rule, bound, queries, keys))
        except BindError as failure:
            failures.append(failure.diagnostic)
    if failures:
        raise MaskError(failures, mask.source, filename)
    runs = _union(shapes, mask, filename)
    descriptor = MaskDescriptor(queries.length, keys.length, runs)
    return Lowered(descriptor, bound, tuple(shapes), queries, keys)


def _union(shapes: list[Trapezoids], mask: CheckedMask, filename: str) -> RunSet:
    try:
        check_runs(sum(len(part) for part in shapes), header_span(mask))
        return normalize(Trapezoids.concat(shapes))
    except BindError as failure:
        raise MaskError([failure.diagnostic], mask.source, filename) from None
    except ValueError as problem:
        too_large = BindError(
            "CM410",
            f"the rules together make too many runs: {problem}",
            header_span(mask),
            "scattered keys make a mask large: repeat the pattern less often, or bind smaller numbers",
        )
        raise MaskError([too_large.diagnostic], mask.source, filename) from None


def _rule_cells(rule: Rule, values: Mapping[str, Value], queries: Layout, keys: Layout) -> Trapezoids:
    parts = [
        _pair_of_references(rule, q_reference, k_reference, values, queries, keys)
        for q_reference in rule.queries
        for k_reference in rule.keys
    ]
    shapes = Trapezoids.concat(parts)
    check_runs(len(shapes), rule.span)
    return shapes


def _pair_of_references(
    rule: Rule,
    q_reference: RegionReference,
    k_reference: RegionReference,
    values: Mapping[str, Value],
    queries: Layout,
    keys: Layout,
) -> Trapezoids:
    q = side_of(queries.regions[q_reference.path], q_reference.indices)
    k = side_of(keys.regions[k_reference.path], k_reference.indices)
    if not _has_tokens(q) or not _has_tokens(k):
        return Trapezoids.empty()
    sides = dict.fromkeys(q.columns, Q_SIDE) | {name: 0 if name in q.columns else K_SIDE for name in k.columns}
    scope = Scope(values, sides, {"q": q.rank, "k": k.rank})
    lists = scope.lists

    def reach(form: Form, span: Span) -> tuple[int, int]:
        least = greatest = form.constant
        for side, bit in ((q, Q_SIDE), (k, K_SIDE)):
            low, high = _extremes(side_part(form, bit), side, lists, span)
            least, greatest = least + low, greatest + high
        return least, greatest

    condition = Constant(True)
    node = condition if rule.condition is None else ConditionReader(scope, reach).read(rule.condition)
    return Solver(lists, rule.span).solve(node, domain_of(q, k)).shapes


def _has_tokens(side: Side) -> bool:
    return bool(np.any(side.instances.start < side.instances.stop))


def _extremes(form: Form, side: Side, lists: Mapping[str, tuple[int, ...]], span: Span) -> tuple[int, int]:
    """The least and the greatest number of a form over all tokens of a side."""
    items = instances_as_items(side)
    level = level_needed(form, side.rank)
    if level > 0:
        items, _ = finer(items, level)
    group = np.zeros(len(items), np.int64)
    pieces = affine_pieces([form], items, group, lists, span)
    if pieces is None:
        pieces = token_pieces([form], items, group, lists, span)
    return int(pieces.least().min()), int(pieces.greatest().max())


def _region_spans(layout: Layout) -> tuple[RegionSpan, ...]:
    spans = [
        RegionSpan(".".join(region.path), region.label(n), int(region.start[n]), int(region.stop[n]))
        for region in layout.leaves()
        for n in range(len(region))
    ]
    return tuple(sorted(spans, key=lambda span: (span.start, span.stop)))
