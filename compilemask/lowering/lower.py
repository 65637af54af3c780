"""A checked mask and its numbers to the exact set of visible cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import Diagnostic, MaskError, Span
from compilemask.geometry import RunSet, Trapezoids, normalize
from compilemask.lowering.binding import Binding
from compilemask.lowering.claims import AssertionResult, Bound, check_claims
from compilemask.lowering.compositions import Operand, compose
from compilemask.lowering.domain import check_runs
from compilemask.lowering.failure import BindError, header_span, sizes_reported
from compilemask.lowering.layout import Layout, lay_out
from compilemask.lowering.limits import MAX_RUNS
from compilemask.lowering.rules import check_pairs_of_regions, rule_cells
from compilemask.lowering.values import bind_values
from compilemask.semantics.program import CheckedMask, Value


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
    overlap; `rule_sets` has them in canonical form. operands: of a mask made of masks, which has no rules, the called
    masks in the order of the text. assertions: what the text asserts, and whether it holds.
    """

    descriptor: MaskDescriptor
    values: Mapping[str, Value]
    rule_shapes: tuple[Trapezoids, ...]
    query_layout: Layout
    key_layout: Layout
    operands: tuple[Operand, ...] = ()
    assertions: tuple[AssertionResult, ...] = ()

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


def lower(
    mask: CheckedMask, values: Mapping[str, object], filename: str = "<mask>", caller: Binding | None = None
) -> Lowered:
    """Binds numbers to a mask. Raises `MaskError` with everything that is wrong with them.

    values: int for int parameters, bool for bool, a sequence or one-dimensional array of integers for int[].
    The time does not grow with q_len * kv_len, except for conditions without a closed form (up to a stated limit).
    caller: the binding of a mask that calls this one, or of a batch, if their work is limited together.
    """
    bound, problems = bind_values(mask, values)
    if problems:
        raise MaskError(problems, mask.source, filename)
    binding = Binding(bound) if caller is None else Binding(bound, caller.work_left)
    try:
        cells = _of_rules(mask, binding, filename) if mask.composition is None else _of_masks(mask, binding)
        claims = Bound(
            cells.descriptor,
            cells.query_layout,
            cells.key_layout,
            binding,
            mask.rules if mask.composition is None else None,
            lambda masks: compose(masks, mask, binding, _lower_call),
        )
        results = check_claims(mask.assertions, claims)
    except BindError as failure:
        raise MaskError([failure.diagnostic], mask.source, filename) from None
    except MaskError as error:
        raise MaskError(error.diagnostics, mask.source, filename) from None
    finally:
        if caller is not None:
            caller.work_left = binding.work_left
    return replace(cells, assertions=results)


def _lower_call(mask: CheckedMask, values: Mapping[str, Value], caller: Binding) -> Lowered:
    return lower(mask, values, caller=caller)


def _of_masks(mask: CheckedMask, binding: Binding) -> Lowered:
    """A mask made of masks: its regions are those of its first operand."""
    assert mask.composition is not None, "only masks made of masks come here"
    composed = compose(mask.composition, mask, binding, _lower_call)
    q_len, kv_len = composed.size
    first = composed.operands[0].lowered
    descriptor = MaskDescriptor(q_len, kv_len, composed.runs)
    return Lowered(descriptor, binding.values, (), first.query_layout, first.key_layout, composed.operands)


def _of_rules(mask: CheckedMask, binding: Binding, filename: str) -> Lowered:
    check_pairs_of_regions(mask)
    queries = lay_out(mask.queries, binding)
    keys = queries if mask.keys is None else lay_out(mask.keys, binding)
    shapes, failures = _all_rules(mask, binding, queries, keys)
    if failures:
        raise MaskError(failures, mask.source, filename)
    with sizes_reported("this and the other rules make", _largest(mask, shapes)):
        runs = normalize(Trapezoids.concat(shapes))
    return Lowered(MaskDescriptor(queries.length, keys.length, runs), binding.values, tuple(shapes), queries, keys)


def _largest(mask: CheckedMask, shapes: list[Trapezoids]) -> Span:
    """The rule with most shapes: the one that makes a mask too large."""
    if not shapes:
        return header_span(mask)
    return max(zip(mask.rules, shapes, strict=True), key=lambda pair: len(pair[1]))[0].span


def _all_rules(
    mask: CheckedMask, binding: Binding, queries: Layout, keys: Layout
) -> tuple[list[Trapezoids], list[Diagnostic]]:
    """The cells of each rule, and what is wrong with the rules that have none."""
    shapes: list[Trapezoids] = []
    failures: list[Diagnostic] = []
    total = 0
    for rule in mask.rules:
        try:
            shapes.append(rule_cells(rule, binding, queries, keys))
            total += len(shapes[-1])
            check_runs(total, rule.span)
        except BindError as failure:
            failures.append(failure.diagnostic)
            if binding.work_left < 0 or total > MAX_RUNS:
                break
    return shapes, failures


def _region_spans(layout: Layout) -> tuple[RegionSpan, ...]:
    spans = [
        RegionSpan(".".join(region.path), region.label(n), int(region.start[n]), int(stops[n]))
        for region in layout.leaves()
        for stops in (region.stop if region.room is None else region.room,)
        for n in range(len(region))
    ]
    return tuple(sorted(spans, key=lambda span: (span.start, span.stop)))
