"""Masks made of masks: every called mask lowered with its own numbers, then one sweep over all of their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import numpy as np

from compilemask.diagnostics import Diagnostic, Label, MaskError, Span, line_column
from compilemask.geometry import RunSet, combine
from compilemask.geometry.algebra import rectangle
from compilemask.geometry.ragged import BoolArray
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError, sizes_reported
from compilemask.lowering.translate import Scope, form_of
from compilemask.semantics.mask_program import (
    AllMasks,
    AnyMask,
    MaskCall,
    MaskExpression,
    NotMask,
    WholeValue,
    WrittenValue,
    calls,
)
from compilemask.semantics.program import CheckedMask, Value

if TYPE_CHECKING:
    from compilemask.lowering.lower import Lowered

LowerCall = Callable[[CheckedMask, Mapping[str, Value], Binding], "Lowered"]
"""Lowers a called mask with its numbers; its work is counted in the binding of the caller."""


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A call and the called mask, bound to the numbers of the call."""

    call: MaskCall
    lowered: Lowered


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """The cells of an expression of masks. operands: its calls, in the order of the text; all have one size."""

    runs: RunSet
    operands: tuple[Operand, ...]

    @property
    def size(self) -> tuple[int, int]:
        return size_of(self.operands[0])


def size_of(operand: Operand) -> tuple[int, int]:
    """Queries and keys."""
    descriptor = operand.lowered.descriptor
    return descriptor.q_len, descriptor.kv_len


def compose(node: MaskExpression, mask: CheckedMask, binding: Binding, lower_call: LowerCall) -> Composed:
    """Lowers an expression of `mask`.

    Raises `BindError` for operands of different sizes, and `MaskError` with what is wrong with the numbers of a call.
    """
    operands = tuple(_operand(call, mask, binding, lower_call) for call in calls(node))
    first = operands[0]
    for operand in operands[1:]:
        if size_of(operand) != size_of(first):
            sizes = [_size_words(*size_of(part)) for part in (first, operand)]
            names = [_shown(part.call, mask.source) for part in (first, operand)]
            message = f"masks of one size are joined, but {names[0]} has {sizes[0]}, and {names[1]} has {sizes[1]}"
            hint = "bind numbers that give both the same lengths, or give the values in another order"
            failure = BindError("CM430", message, operand.call.span, hint)
            failure.add_label(Label(operand.call.span, f"{sizes[1]}{_given(operand)}"))
            failure.add_label(Label(first.call.span, f"{sizes[0]}{_given(first)}"))
            raise failure
    if isinstance(node, MaskCall):
        return Composed(first.lowered.descriptor.runs, operands)
    q_len, kv_len = size_of(first)
    sets = [operand.lowered.descriptor.runs for operand in operands]
    binding.spend(sum(part.num_runs for part in sets), node.span)

    def keep(inside: BoolArray) -> BoolArray:
        return np.asarray(_members(node, iter(inside)) & inside[-1])

    with sizes_reported("this expression makes", node.span):
        return Composed(combine([*sets, rectangle(0, q_len, 0, kv_len)], keep), operands)


def _members(node: MaskExpression, rows: Iterator[BoolArray]) -> BoolArray:
    """Where the expression holds; rows: one array for each call, in the order of the text."""
    match node:
        case MaskCall():
            return next(rows)
        case NotMask(item):
            return np.asarray(~_members(item, rows))
        case AllMasks(items) | AnyMask(items):
            members = np.stack([_members(item, rows) for item in items])
            return np.asarray(members.all(axis=0) if isinstance(node, AllMasks) else members.any(axis=0))
        case _:
            assert_never(node)


def _operand(call: MaskCall, mask: CheckedMask, binding: Binding, lower_call: LowerCall) -> Operand:
    try:
        return Operand(call, lower_call(call.mask, _arguments(call, binding), binding))
    except MaskError as error:
        found = [at_call(message, call, mask.source) for message in error.diagnostics]
        raise MaskError(found, mask.source) from None


def _arguments(call: MaskCall, binding: Binding) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, argument in call.arguments:
        match argument:
            case WholeValue(parameter):
                values[name] = binding.values[parameter]
            case WrittenValue(value):
                values[name] = value
            case _:
                values[name] = form_of(argument, Scope(binding, {}, {})).constant
    return values


def at_call(message: Diagnostic, call: MaskCall, source: str) -> Diagnostic:
    """A message about a called mask, as one about the text `source` that calls it.

    Where the called mask stands in the same text, the message stays in its place; otherwise it points at the call.
    """
    callee = call.mask
    if callee.source == source:
        label = Label(call.span, f"`{callee.name}` is called here")
        return Diagnostic(
            *(message.code, message.severity, message.message, message.span, (*message.labels, label), message.hint)
        )
    line, _ = line_column(callee.source, message.span.start)
    text = callee.source.split("\n")[line - 1].strip()
    label = Label(call.span, f"`{callee.name}`, line {line}: {text if len(text) <= 80 else text[:77] + '...'}")
    shown = message.message if message.message.startswith("in `") else f"in `{callee.name}`: {message.message}"
    return Diagnostic(message.code, message.severity, shown, call.span, (label,), message.hint)


def _shown(call: MaskCall, source: str) -> str:
    return f"`{shown_at(call.span, source)}`"


def shown_at(span: Span, source: str) -> str:
    """The text at a span, on one line, not too long for a message."""
    text = " ".join(source[span.start : span.stop].split())
    return text if len(text) <= 60 else text[:57] + "..."


def _given(operand: Operand) -> str:
    """The values that a call gives to the parameters of its mask: ", with `n` = 7 and `window` = 8"."""
    shown = []
    for name, _ in operand.call.arguments:
        value = operand.lowered.values[name]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, tuple):
            text = f"[{', '.join('[..]' if isinstance(item, tuple) else str(item).lower() for item in value[:4])}{', ..' if len(value) > 4 else ''}]"
        shown.append(f"`{name}` = {text}")
    return f", with {' and '.join([', '.join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)}" if shown else ""


def _size_words(q_len: int, kv_len: int) -> str:
    return f"{q_len:,} queries and {kv_len:,} keys"
