"""The tree of masks made of masks, and of assertions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compilemask.diagnostics import Span
from compilemask.syntax.tree import Align, Expression, Missing, Name, ReferenceNode, Written

# ---------------------------------------------------------------- masks made of masks


@dataclass(frozen=True, slots=True)
class ArgumentNode:
    """`lengths`, or `n = sum(lengths)`; name is None when the argument is given by its place."""

    name: Name | None
    value: Expression | Written
    span: Span


@dataclass(frozen=True, slots=True)
class MaskCall:
    """`documents(lengths)`."""

    name: Name
    arguments: tuple[ArgumentNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MaskNot:
    operand: MaskExpression
    span: Span


@dataclass(frozen=True, slots=True)
class MaskLogic:
    """`a and b and c`, or the same with `or`: two or more items."""

    operator: Literal["and", "or"]
    items: tuple[MaskExpression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MaskExcept:
    left: MaskExpression
    right: MaskExpression
    span: Span


@dataclass(frozen=True, slots=True)
class MaskGroup:
    """Brackets around an expression."""

    inner: MaskExpression
    span: Span


MaskExpression = Missing | MaskCall | MaskNot | MaskLogic | MaskExcept | MaskGroup

# ---------------------------------------------------------------- assertions


@dataclass(frozen=True, slots=True)
class DecimalLiteral:
    """`0.3`, the bound of a density."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class CausalClaim:
    """`causal`, with or without `aligned start` / `aligned end`."""

    align: Align | None
    span: Span


@dataclass(frozen=True, slots=True)
class EveryClaim:
    """`every query sees a key`, `every key is seen`."""

    what: Literal["query", "key"]
    span: Span


@dataclass(frozen=True, slots=True)
class RegionClaim:
    """`QUERIES never sees KEYS [condition]`, `QUERIES sees all KEYS [condition]`."""

    verb: Literal["never sees", "sees all"]
    queries: tuple[ReferenceNode, ...]
    keys: tuple[ReferenceNode, ...]
    condition: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class MeasureClaim:
    """`density < 0.3`, `visible == n * n`."""

    measure: Literal["density", "visible"]
    sign: str
    bound: Expression | DecimalLiteral
    span: Span


@dataclass(frozen=True, slots=True)
class EqualsClaim:
    """`equals documents(lengths)`."""

    masks: MaskExpression
    span: Span


Claim = CausalClaim | EveryClaim | RegionClaim | MeasureClaim | EqualsClaim


@dataclass(frozen=True, slots=True)
class AssertNode:
    """`assert CLAIM`."""

    claim: Claim
    doc: str
    span: Span


Idle = Literal["empty queries", "unseen keys"]
"""Queries that see no key, and keys that no query sees."""


@dataclass(frozen=True, slots=True)
class AllowNode:
    """`allow empty queries`, `allow unseen keys in A, B`; without regions for the whole axis."""

    what: Idle
    regions: tuple[ReferenceNode, ...]
    span: Span
