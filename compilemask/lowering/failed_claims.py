"""Assertions that do not hold, as messages: the first cell that shows it, and what makes that cell what it is."""

from __future__ import annotations

from typing import Literal

from compilemask.diagnostics import Diagnostic, Label
from compilemask.lowering.causal_advice import causal_advice
from compilemask.lowering.claims import AssertionResult
from compilemask.lowering.compositions import at_call
from compilemask.lowering.layout import Layout
from compilemask.lowering.lower import Lowered
from compilemask.lowering.provenance import Explanation, explain, innermost
from compilemask.semantics.mask_program import NoLaterKey
from compilemask.semantics.program import CheckedMask
from compilemask.syntax.limits import MAX_DIAGNOSTICS

_HINTS = {
    "CM601": "change the mask that shows it, or take the assertion back",
    "CM602": "add a rule for these queries, or take the assertion back",
    "CM603": "add a rule that shows these keys, or take the assertion back",
    "CM604": "narrow the rule that shows it, or the regions of the assertion",
    "CM605": "add a rule that shows it, or narrow the regions of the assertion",
    "CM606": "bind other numbers, or assert less",
    "CM607": "correct one of the two masks",
}


def assertion_failures(mask: CheckedMask, lowered: Lowered) -> tuple[Diagnostic, ...]:
    """One error for each assertion that does not hold: of the mask, and of the masks that it is made of."""
    found = [_failure(mask, lowered, result) for result in lowered.assertions if not result.holds]
    for operand in lowered.operands:
        inside = assertion_failures(operand.call.mask, operand.lowered)
        found += [at_call(message, operand.call, mask.source) for message in inside]
    return tuple(found[:MAX_DIAGNOSTICS])


def _failure(mask: CheckedMask, lowered: Lowered, result: AssertionResult) -> Diagnostic:
    message = f"`{result.text}` does not hold: {_words(lowered, result)}"
    answer = _explained(mask, lowered, result)
    labels = () if answer is None else _causes(answer)
    hint = _HINTS[result.code]
    if result.code == "CM601" and answer is not None and not answer.operands:
        number = answer.matches[0].number
        hint = causal_advice(mask.rules[number], lowered.rule_sets[number], lowered, _alignment(mask, result))
    return Diagnostic(result.code, "error", message, result.span, labels, hint)


def _alignment(mask: CheckedMask, result: AssertionResult) -> Literal["start", "end"] | None:
    """How the failed claim of causality counts."""
    claim = next(assertion.claim for assertion in mask.assertions if assertion.span == result.span)
    return claim.align if isinstance(claim, NoLaterKey) else None


def _words(lowered: Lowered, result: AssertionResult) -> str:
    if result.counter_example is None:
        return result.found
    q, k = result.counter_example
    query = "" if q is None else f"query {q} ({_place(lowered.query_layout, q)})"
    key = "" if k is None else f"key {k} ({_place(lowered.key_layout, k)})"
    count = result.failing_cells
    cells = f"{count:,} cell{' breaks' if count == 1 else 's break'} it"
    match result.code:
        case "CM601":
            return f"{query} sees {key}, which is later; {cells}"
        case "CM602":
            return f"{query} sees none; this is so for {count:,} quer{'y' if count == 1 else 'ies'}"
        case "CM603":
            return f"no query sees {key}; this is so for {count:,} key{'' if count == 1 else 's'}"
        case "CM604":
            return f"{query} sees {key}; {cells}"
        case "CM605":
            return f"{query} does not see {key}; {cells}"
        case _:
            return f"{query} with {key} {result.found}; {count:,} cell{' differs' if count == 1 else 's differ'}"


def _place(layout: Layout, token: int) -> str:
    """The region of a token, and where an order of storage has it from when that is another place."""
    label, place = innermost(layout, token), layout.place(token)
    return label if place == token else f"{label}, stored here from place {place}"


def _explained(mask: CheckedMask, lowered: Lowered, result: AssertionResult) -> Explanation | None:
    """Why the counter-example is what it is; None of a claim that no single cell breaks."""
    q, k = result.counter_example or (None, None)
    return None if q is None or k is None else explain(mask, lowered, q, k)


def _causes(answer: Explanation) -> tuple[Label, ...]:
    """The first rule or operand that makes the counter-example visible, or the one that comes nearest to it."""
    if answer.operands:
        operand = next(operand for operand in answer.operands if operand.decides)
        return (Label(operand.span, operand.words),)
    if answer.matches:
        return (Label(answer.matches[0].span, "this rule makes it visible"),)
    return tuple(Label(miss.span, f"nearest rule: {miss.reason}") for miss in answer.misses[:1])
