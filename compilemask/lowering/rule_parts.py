"""What each rule adds to a mask: its cells, with its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import Span, line_column
from compilemask.geometry import RunSet, combine
from compilemask.geometry.ragged import BoolArray
from compilemask.lowering.lower import Lowered
from compilemask.semantics.mask_program import AllMasks, AnyMask, MaskCall, MaskExpression, NotMask
from compilemask.semantics.program import CheckedMask


@dataclass(frozen=True, eq=False)
class RulePart:
    """One rule and the cells that it shows. number: from 0, in the order of the text; line: 1-based; text: as written.

    Of a mask made of masks, a called mask in place of a rule: the visible cells that it has, or under a `not` those
    that it lacks. Parts may overlap; together they are the mask.
    """

    number: int
    line: int
    text: str
    span: Span
    cells: MaskDescriptor


def rule_parts(mask: CheckedMask, lowered: Lowered) -> tuple[RulePart, ...]:
    """The parts of a mask, in the order of the text."""
    whole = lowered.descriptor
    if mask.composition is None:
        spans = [rule.span for rule in mask.rules]
        sets = list(lowered.rule_sets)
    else:
        spans = [operand.call.span for operand in lowered.operands]
        wanted = list(_wanted(mask.composition, True))
        sets = [
            _shared(whole.runs, operand.lowered.descriptor.runs, inside)
            for operand, inside in zip(lowered.operands, wanted, strict=True)
        ]
    return tuple(
        RulePart(
            number,
            line_column(mask.source, span.start)[0],
            " ".join(mask.source[span.start : span.stop].split()),
            span,
            MaskDescriptor(whole.q_len, whole.kv_len, cells),
        )
        for number, (span, cells) in enumerate(zip(spans, sets, strict=True))
    )


def _wanted(node: MaskExpression, inside: bool) -> Iterator[bool]:
    """For each call, in the order of the text, whether its own cells or the others make the expression hold."""
    match node:
        case MaskCall():
            yield inside
        case NotMask(item):
            yield from _wanted(item, not inside)
        case AllMasks(items) | AnyMask(items):
            for item in items:
                yield from _wanted(item, inside)
        case _:
            assert_never(node)


def _shared(whole: RunSet, operand: RunSet, inside: bool) -> RunSet:
    def keep(member: BoolArray) -> BoolArray:
        cells: BoolArray = member[0] & (member[1] == inside)
        return cells

    return combine([whole, operand], keep)
