"""The checked form of masks made of masks, and of assertions. `compilemask.semantics.program` has everything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, assert_never

from compilemask.diagnostics import Span

if TYPE_CHECKING:
    from compilemask.semantics.program import CheckedMask, Expression, Rule
    from compilemask.syntax.tree import Value

# ---------------------------------------------------------------- masks made of masks


@dataclass(frozen=True, slots=True)
class WholeValue:
    """A parameter of the calling mask that is passed on as it is: a list or a bool."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A list or a bool that is written in the call."""

    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class MaskCall:
    """`documents(lengths)`: a mask with values for its parameters; those left out take their defaults."""

    mask: CheckedMask
    arguments: tuple[tuple[str, Expression | WholeValue | WrittenValue], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class NotMask:
    """All cells of q_len x kv_len that the mask has not."""

    item: MaskExpression
    span: Span


@dataclass(frozen=True, slots=True)
class AllMasks:
    """The cells of every item; `a except b` is the two items a and not b."""

    items: tuple[MaskExpression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AnyMask:
    """The cells of at least one item."""

    items: tuple[MaskExpression, ...]
    span: Span


MaskExpression = MaskCall | NotMask | AllMasks | AnyMask


def calls(node: MaskExpression) -> Iterator[MaskCall]:
    """The calls of an expression, in the order of the text."""
    match node:
        case MaskCall():
            yield node
        case NotMask(item):
            yield from calls(item)
        case AllMasks(items) | AnyMask(items):
            for item in items:
                yield from calls(item)
        case _:
            assert_never(node)


def expressions(mask: CheckedMask) -> Iterator[MaskExpression]:
    """What a mask is made of, and what its assertions compare it with."""
    if mask.composition is not None:
        yield mask.composition
    for assertion in mask.assertions:
        if isinstance(assertion.claim, SameCells):
            yield assertion.claim.masks


def count_calls(mask: CheckedMask) -> int:
    """The calls that binding a mask takes, those of the called masks counted."""
    return sum(1 + count_calls(call.mask) for node in expressions(mask) for call in calls(node))


def depth(mask: CheckedMask) -> int:
    """How many masks stand above each other in the longest chain of calls; 0 without calls."""
    return max((1 + depth(call.mask) for node in expressions(mask) for call in calls(node)), default=0)


# ---------------------------------------------------------------- assertions


@dataclass(frozen=True, slots=True)
class NoLaterKey:
    """No visible key is later than its query. align None: k <= q; else counted from the start or the end of both axes."""

    align: Literal["start", "end"] | None


@dataclass(frozen=True, slots=True)
class EveryQuerySees:
    """Each query sees at least one key."""


@dataclass(frozen=True, slots=True)
class EveryKeySeen:
    """At least one query sees each key."""


@dataclass(frozen=True, slots=True)
class NeverSees:
    """No cell that the rule matches is visible."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class SeesAll:
    """Every cell that the rule matches is visible."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class Measure:
    """A statistic compared with a number. density: visible cells by all cells, 0 when there is no cell."""

    what: Literal["density", "visible"]
    operator: Literal["<", "<=", "==", "!=", ">=", ">"]
    bound: Expression | Fraction


@dataclass(frozen=True, slots=True)
class SameCells:
    """The mask has the size and the cells of an expression of masks."""

    masks: MaskExpression


Claim = NoLaterKey | EveryQuerySees | EveryKeySeen | NeverSees | SeesAll | Measure | SameCells


@dataclass(frozen=True, slots=True)
class Assertion:
    """`assert CLAIM`. text: the claim in the canonical spelling; doc: its documentation, or ""."""

    claim: Claim
    text: str
    doc: str
    span: Span


# ---------------------------------------------------------------- allowances


@dataclass(frozen=True, slots=True)
class Allowance:
    """Idle places that are meant: queries that see no key, or keys that no query sees.

    paths: of the regions in which they are; empty for the whole axis.
    """

    what: Literal["empty queries", "unseen keys"]
    paths: tuple[tuple[str, ...], ...]
    span: Span
