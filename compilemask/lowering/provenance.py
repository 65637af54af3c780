"""Why a cell is visible or hidden: the rules that match it, and what each other rule lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compilemask.arguments import as_index, show
from compilemask.diagnostics import Span, line_column
from compilemask.geometry import Trapezoids
from compilemask.lowering.cell import Cell, failing_part
from compilemask.lowering.failure import BindError
from compilemask.lowering.layout import Instances, Layout
from compilemask.lowering.lower import Lowered
from compilemask.lowering.operands import OperandAnswer, deciding
from compilemask.semantics.mask_program import MaskExpression
from compilemask.semantics.program import CheckedMask, RegionReference, Rule


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """What one rule says about a cell. number: from 0, in the order of the text; line: 1-based; text: the rule as written.

    reason: why it does not match, or None when it does. distance: 0 it matches, 1 only its condition fails, 2 only its
    instance numbers differ, 3 one of its sides fits, 4 neither does.
    """

    number: int
    line: int
    text: str
    span: Span
    reason: str | None
    distance: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why query q sees key k, or not. q_region, k_region: labels of the innermost regions that they are in.

    matches: the rules that make the cell visible. misses: the others, the nearest first. operands: of a mask made of
    masks, what each of them says; matches and misses then name the calls in place of rules, the deciding ones first.
    q_token, k_token: the places that conditions count, which are others than q and k where an order stores them there.
    """

    q: int
    k: int
    visible: bool
    q_region: str
    k_region: str
    matches: tuple[RuleAnswer, ...]
    misses: tuple[RuleAnswer, ...]
    operands: tuple[OperandAnswer, ...] = ()
    q_token: int | None = None
    k_token: int | None = None

    def __str__(self) -> str:
        query, key = (
            _token_words(self.q, self.q_region, self.q_token),
            _token_words(self.k, self.k_region, self.k_token),
        )
        lines = [f"query {query} and key {key}: {'visible' if self.visible else 'hidden'}"]
        if (self.q_token, self.k_token) not in ((None, None), (self.q, self.k)):
            lines.append("  these are positions as stored; conditions count tokens")
        return "\n".join([*lines, *self._reasons("")])

    def _reasons(self, text: str) -> Iterator[str]:
        """The lines below the first. text: the mask that line numbers belong to, when it stands in another text."""
        of = f" of `{text}`" if text else ""
        if self.operands:
            for operand in self.operands:
                if operand.decides:
                    state = "visible" if operand.visible else "hidden"
                    yield f"  line {operand.line}{of}: {operand.text}: {state} in it"
                    yield from (f"  {line}" for line in operand.inside._reasons(operand.other_text or text))
            return
        for answer in self.matches if self.visible else self.misses:
            yield f"  line {answer.line}{of}: {answer.text}"
            if answer.reason is not None:
                yield f"    {answer.reason}"


def _token_words(stored: int, region: str, token: int | None) -> str:
    return f"{stored} ({region})" if token in (None, stored) else f"{stored} ({region}, token {token})"


def explain(mask: CheckedMask, lowered: Lowered, q: int, k: int) -> Explanation:
    """Raises ValueError for a cell outside of the mask."""
    descriptor = lowered.descriptor
    for name, place, length in (("query", q, descriptor.q_len), ("key", k, descriptor.kv_len)):
        number = as_index(place, f"the {name}")
        if not 0 <= number < length:
            raise ValueError(f"the {name} must lie in [0, {length}), got {show(number)}")
    q, k = int(q), int(k)
    if mask.composition is not None:
        return _explain_operands(mask, mask.composition, lowered, q, k)
    answers = [_answer(mask, lowered, number, q, k) for number in range(len(mask.rules))]
    matches = tuple(answer for answer in answers if answer.reason is None)
    misses = sorted((answer for answer in answers if answer.reason is not None), key=lambda answer: answer.distance)
    q_region, k_region = innermost(lowered.query_layout, q), innermost(lowered.key_layout, k)
    tokens = lowered.query_layout.place(q), lowered.key_layout.place(k)
    return Explanation(q, k, bool(matches), q_region, k_region, matches, tuple(misses), (), *tokens)


def _explain_operands(mask: CheckedMask, node: MaskExpression, lowered: Lowered, q: int, k: int) -> Explanation:
    inside = [explain(operand.call.mask, operand.lowered, q, k) for operand in lowered.operands]
    truth, causes = deciding(node, [answer.visible for answer in inside])
    operands = []
    for number, (operand, answer) in enumerate(zip(lowered.operands, inside, strict=True)):
        span = operand.call.span
        line, _ = line_column(mask.source, span.start)
        text = " ".join(mask.source[span.start : span.stop].split())
        called = operand.call.mask
        other_text = "" if called.source == mask.source else called.name
        operands.append(OperandAnswer(number, line, text, span, answer.visible, number in causes, answer, other_text))
    matches, misses = [], []
    for operand_answer in sorted(operands, key=lambda operand: not operand.decides):
        o = operand_answer
        if truth and o.decides:
            matches.append(RuleAnswer(o.number, o.line, f"{o.text}, {o.words}", o.span, None, 0))
        else:
            misses.append(RuleAnswer(o.number, o.line, o.text, o.span, o.words, 0 if o.decides else 1))
    q_region, k_region = innermost(lowered.query_layout, q), innermost(lowered.key_layout, k)
    tokens = lowered.query_layout.place(q), lowered.key_layout.place(k)
    return Explanation(q, k, truth, q_region, k_region, tuple(matches), tuple(misses), tuple(operands), *tokens)


def innermost(layout: Layout, token: int) -> str:
    """The label of the innermost region instance that a token of the axis lies in."""
    place = layout.place(token)
    for region in layout.leaves():
        instance = _instance_at(region, place)
        if instance is not None:
            return region.label(instance)
    for region in layout.leaves():
        if region.room is not None and int(region.start[0]) <= token < int(region.room[0]):
            return region.label(0)
    raise ValueError(f"token {token} is outside of the axis, [0, {layout.length})")


def covers(shapes: Trapezoids, q: int, k: int) -> bool:
    """Whether a cell lies in one of the shapes."""
    row = np.full(len(shapes), q)
    inside = (shapes.q_start <= q) & (q < shapes.q_stop) & (shapes.lo(row) <= k) & (k < shapes.hi(row))
    return bool(np.any(inside))


def _answer(mask: CheckedMask, lowered: Lowered, number: int, q: int, k: int) -> RuleAnswer:
    rule = mask.rules[number]
    line, _ = line_column(mask.source, rule.span.start)
    text = " ".join(mask.source[rule.span.start : rule.span.stop].split())
    if covers(lowered.rule_shapes[number], q, k):
        return RuleAnswer(number, line, text, rule.span, None, 0)
    distance, reason = min(
        _miss(mask, lowered, rule, q_reference, k_reference, q, k)
        for q_reference in rule.queries
        for k_reference in rule.keys
    )
    return RuleAnswer(number, line, text, rule.span, reason, distance)


def _miss(
    mask: CheckedMask,
    lowered: Lowered,
    rule: Rule,
    q_reference: RegionReference,
    k_reference: RegionReference,
    q: int,
    k: int,
) -> tuple[int, str]:
    queries, keys = lowered.query_layout.regions[q_reference.path], lowered.key_layout.regions[k_reference.path]
    q_place, k_place = lowered.query_layout.place(q), lowered.key_layout.place(k)
    q_instance, k_instance = _instance_at(queries, q_place), _instance_at(keys, k_place)
    outside = []
    if q_instance is None:
        outside.append(_outside(f"query {q}", lowered.query_layout, queries, q))
    if k_instance is None:
        outside.append(_outside(f"key {k}", lowered.key_layout, keys, k))
    if q_instance is None or k_instance is None:
        return 2 + len(outside), "; ".join(outside)
    q_numbers = _numbers(q_reference, queries, q_instance)
    k_numbers = _numbers(k_reference, keys, k_instance)
    differing = [name for name in q_numbers if name in k_numbers and q_numbers[name] != k_numbers[name]]
    if differing:
        name = differing[0]
        return 2, f"{name} = {q_numbers[name]} for the query, but {name} = {k_numbers[name]} for the key"
    assert rule.condition is not None, "a rule without a condition matches wherever its regions do"
    cell = Cell(lowered.values, q_place, k_place, queries, keys, q_instance, k_instance, k_numbers | q_numbers)
    try:
        return 1, failing_part(rule.condition, cell, mask.source)
    except BindError as failure:
        return 1, failure.diagnostic.message


def _outside(what: str, layout: Layout, region: Instances, token: int) -> str:
    """Why a token is in no instance of a region."""
    label, name = innermost(layout, token), ".".join(region.path)
    free = label == name and region.room is not None
    return f"{what} is a slot of {name} that holds no token" if free else f"{what} is in {label}, not in {name}"


def _numbers(reference: RegionReference, instances: Instances, instance: int) -> dict[str, int]:
    columns = zip(reference.indices, instances.indices, strict=True)
    return {name: int(column[instance]) for name, column in columns}


def _instance_at(region: Instances, token: int) -> int | None:
    """The instance of a region that a token lies in; instances are in token order and do not overlap."""
    last = int(np.searchsorted(region.start, token, side="right")) - 1
    # empty instances may share a start with the one that holds the token, but stand before it
    return last if last >= 0 and token < int(region.stop[last]) else None
