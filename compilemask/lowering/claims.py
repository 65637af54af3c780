"""Assertions, checked exactly: set algebra on the cells of the bound mask."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import Span
from compilemask.geometry import RunSet, Trapezoids, difference, intersection, union
from compilemask.lowering.binding import Binding
from compilemask.lowering.compositions import Composed
from compilemask.lowering.failure import sizes_reported
from compilemask.lowering.idle_places import idle_places
from compilemask.lowering.layout import Layout
from compilemask.lowering.proofs import never_seen_by_text
from compilemask.lowering.rules import rule_cells
from compilemask.lowering.stored_cells import earlier_cells
from compilemask.lowering.translate import Scope, form_of
from compilemask.semantics.mask_program import (
    Assertion,
    EveryKeySeen,
    EveryQuerySees,
    MaskExpression,
    Measure,
    NeverSees,
    NoLaterKey,
    SameCells,
    SeesAll,
)
from compilemask.semantics.program import Rule

_SIGNS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """Whether an assertion holds for the numbers of a binding.

    text: the claim. counter_example: the first query and key that show that it does not hold; one of the two is None
    where the claim is about a whole query or a whole key; None altogether when it holds, or is about no cell.
    failing_cells: how many cells break the claim; queries or keys where it is about those. code: of the message when it
    does not hold; found: what was found instead, in words, or "".
    """

    text: str
    span: Span
    holds: bool
    counter_example: tuple[int | None, int | None] | None
    failing_cells: int
    code: str
    found: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What claims are checked on: the mask, its regions, its numbers, and how expressions of masks are lowered.

    rules: None for a mask made of masks.
    """

    descriptor: MaskDescriptor
    query_layout: Layout
    key_layout: Layout
    binding: Binding
    rules: tuple[Rule, ...] | None
    compose: Callable[[MaskExpression], Composed]


def check_claims(assertions: tuple[Assertion, ...], bound: Bound) -> tuple[AssertionResult, ...]:
    """The results in the order of the text. Raises `BindError` where a claim cannot be worked out."""
    results = []
    for assertion in assertions:
        with sizes_reported("this makes", assertion.span):
            results.append(_check(assertion, bound))
    return tuple(results)


def _check(assertion: Assertion, bound: Bound) -> AssertionResult:
    mask = bound.descriptor
    match assertion.claim:
        case NoLaterKey(align):
            return _cells(
                assertion,
                difference(mask.runs, earlier_cells(align, bound.query_layout, bound.key_layout, assertion.span)),
                "CM601",
            )
        case EveryQuerySees():
            rows = idle_places(mask, "queries", bound.query_layout)
            row = None if rows.first is None else (rows.first, None)
            return AssertionResult(assertion.text, assertion.span, row is None, row, rows.count, "CM602")
        case EveryKeySeen():
            keys = idle_places(mask, "keys", bound.key_layout)
            key = None if keys.first is None else (None, keys.first)
            return AssertionResult(assertion.text, assertion.span, key is None, key, keys.count, "CM603")
        case NeverSees(rule) if bound.rules is not None and never_seen_by_text(rule, bound.rules):
            return AssertionResult(assertion.text, assertion.span, True, None, 0, "CM604")
        case NeverSees(rule):
            return _cells(assertion, intersection(_region_cells(rule, bound), mask.runs), "CM604")
        case SeesAll(rule):
            return _cells(assertion, difference(_region_cells(rule, bound), mask.runs), "CM605")
        case Measure():
            return _measure(assertion, assertion.claim, bound)
        case SameCells(masks):
            return _same(assertion, bound.compose(masks), mask)
        case _:
            assert_never(assertion.claim)


def _cells(assertion: Assertion, failing: RunSet, code: str) -> AssertionResult:
    """The result of a claim that the cells in `failing` break."""
    count = failing.num_cells
    return AssertionResult(assertion.text, assertion.span, count == 0, first_cell(failing), count, code)


def _region_cells(rule: Rule, bound: Bound) -> Trapezoids:
    return rule_cells(rule, bound.binding, bound.query_layout, bound.key_layout)


def _measure(assertion: Assertion, claim: Measure, bound: Bound) -> AssertionResult:
    mask = bound.descriptor
    cells = mask.q_len * mask.kv_len
    value = Fraction(mask.visible_pairs)
    are = "cell is" if mask.visible_pairs == 1 else "cells are"
    found = f"{mask.visible_pairs:,} {are} visible"
    if claim.what == "density":
        value = Fraction(mask.visible_pairs, cells) if cells else Fraction(0)
        found = f"the density is {float(value):.6g}: {mask.visible_pairs:,} of {cells:,} cell{' is' if cells == 1 else 's are'} visible"
    limit = claim.bound
    if not isinstance(limit, Fraction):
        number = form_of(limit, Scope(bound.binding, {}, {})).constant
        limit = Fraction(number)
        found += f", and the number is {number:,}"
    holds = _SIGNS[claim.operator](value, limit)
    return AssertionResult(assertion.text, assertion.span, holds, None, 0, "CM606", "" if holds else found)


def _same(assertion: Assertion, other: Composed, mask: MaskDescriptor) -> AssertionResult:
    if other.size != (mask.q_len, mask.kv_len):
        sizes = [f"{q_len:,} queries and {kv_len:,} keys" for q_len, kv_len in ((mask.q_len, mask.kv_len), other.size)]
        found = f"this mask has {sizes[0]}, the other one {sizes[1]}"
        return AssertionResult(assertion.text, assertion.span, False, None, 0, "CM607", found)
    more, less = difference(mask.runs, other.runs), difference(other.runs, mask.runs)
    result = _cells(assertion, union(more, less), "CM607")
    if result.holds:
        return result
    extra = first_cell(more) == result.counter_example
    found = (
        "is visible here, and hidden in the other mask" if extra else "is hidden here, and visible in the other mask"
    )
    return AssertionResult(
        *(assertion.text, assertion.span, False, result.counter_example, result.failing_cells, "CM607", found)
    )


def first_cell(cells: RunSet) -> tuple[int, int] | None:
    """The first cell in reading order, or None."""
    if cells.num_pieces == 0:
        return None
    q = int(cells.piece_start[0])
    return q, int(cells.lo_slope[0]) * q + int(cells.lo_offset[0])
