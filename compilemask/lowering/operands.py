"""Why a cell of a mask made of masks is visible or hidden: the operands that decide it, with the rules inside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from compilemask.diagnostics import Span
from compilemask.semantics.mask_program import AllMasks, AnyMask, MaskCall, MaskExpression, NotMask

if TYPE_CHECKING:
    from compilemask.lowering.provenance import Explanation


@dataclass(frozen=True, slots=True)
class OperandAnswer:
    """What one called mask says about a cell. number: from 0, in the order of the text; line: 1-based, of the call.

    other_text: the name of the called mask when it stands in another text, a preset's: lines inside are lines of that.
    visible: whether the called mask has the cell. decides: whether the whole expression is what it is because of that;
    of operands that each would be enough, all decide. inside: the called mask's own explanation.
    """

    number: int
    line: int
    text: str
    span: Span
    visible: bool
    decides: bool
    inside: Explanation
    other_text: str = ""

    @property
    def words(self) -> str:
        """What the called mask says, in one line."""
        inside = self.inside
        state = "visible" if self.visible else "hidden"
        if inside.operands:
            first = next(operand for operand in inside.operands if operand.decides)
            return f"{state} in it, by {first.text}: {first.words}"
        answers = inside.matches or inside.misses
        if not answers:
            return f"{state} in it"
        of = f" of `{self.other_text}`" if self.other_text else ""
        rule = f"{state} in it, line {answers[0].line}{of}: {answers[0].text}"
        return rule if answers[0].reason is None else f"{rule}: {answers[0].reason}"


def deciding(node: MaskExpression, visible: list[bool]) -> tuple[bool, frozenset[int]]:
    """Whether an expression holds, and the calls that make it so; visible: of each call, in the order of the text."""
    return _deciding(node, iter(enumerate(visible)))


def _deciding(node: MaskExpression, calls: Iterator[tuple[int, bool]]) -> tuple[bool, frozenset[int]]:
    match node:
        case MaskCall():
            number, truth = next(calls)
            return truth, frozenset([number])
        case NotMask(item):
            truth, causes = _deciding(item, calls)
            return not truth, causes
        case AllMasks(items) | AnyMask(items):
            answers = [_deciding(item, calls) for item in items]
            truths = [truth for truth, _ in answers]
            truth = all(truths) if isinstance(node, AllMasks) else any(truths)
            return truth, frozenset().union(*(causes for own, causes in answers if own == truth))
        case _:
            assert_never(node)
