"""The checked form of conditions with words of their own. `compilemask.semantics.program` has everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilemask.diagnostics import Span

if TYPE_CHECKING:
    from compilemask.semantics.program import Coordinate, Expression, Position


@dataclass(frozen=True, slots=True)
class Ancestor:
    """Node `above` is an ancestor of node `below` in the forest of the int[] parameter `parents`; none is its own.

    parents[n] is the node above n, less than n, or -1 for a root; checked at bind.
    """

    above: Expression
    below: Expression
    parents: str
    span: Span


@dataclass(frozen=True, slots=True)
class Member:
    """`number` is one of the numbers of the int[] parameter `name`, or of row `row` of an int[][] parameter."""

    number: Expression
    name: str
    row: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Near:
    """The key lies in the query's window of `kernel` places along one axis, pushed inside at the border.

    query, key: the coordinate, or the position inside the region, along the axis. Places with equal remainders by
    `dilation` form a line; in it, the window of a query lies around the leader of its group of `stride` queries.
    causal: the window ends at the query, begins `kernel` places before the end of the group, and is cut at the border.
    Numbers are made of parameters only. Source: neighborhood attention, NATTEN (Hassani et al., 2023, 2025).
    """

    query: Coordinate | Position
    key: Coordinate | Position
    kernel: Expression
    dilation: Expression
    stride: Expression
    causal: bool
    span: Span
