"""Ancestors in the trees of a parent list: numbered depth first, so that two comparisons tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import IntArray
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Operation
from compilemask.lowering.number_arrays import Lookup, Numbers, circumstances


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """parent: of each node, or -1. Depth first, node n has number enter[n], and those below it the numbers up to leave[n]."""

    parent: IntArray
    enter: IntArray
    leave: IntArray


def check_parents(parent: IntArray, name: str, span: Span) -> None:
    """Raises `BindError` where a parent does not come before its child, so that there are no cycles."""
    wrong = np.flatnonzero((parent < -1) | (parent >= np.arange(len(parent))))
    if len(wrong):
        node = int(wrong[0])
        raise BindError(
            "CM422",
            f"`{name}[{node}]` is {int(parent[node])}, but the parent of node {node} is a node before it, or -1",
            span,
            "number the nodes so that every node comes after its parent; roots have -1",
        )


def forest_of(binding: Binding, name: str, span: Span) -> Forest:
    """Raises `BindError` where the list is no forest."""
    parent = binding.array(name)
    check_parents(parent, name, span)
    binding.spend(len(parent), span)
    above = parent.tolist()
    size = [1] * len(above)
    for node in range(len(above) - 1, -1, -1):
        if above[node] >= 0:
            size[above[node]] += size[node]
    enter, free, roots = [0] * len(above), [0] * len(above), 0
    for node, over in enumerate(above):
        if over < 0:
            enter[node], roots = roots, roots + size[node]
        else:
            enter[node], free[over] = free[over], free[over] + size[node]
        free[node] = enter[node] + 1
    first = np.array(enter, np.int64)
    return Forest(parent, first, first + np.array(size, np.int64))


def is_ancestor(operation: Operation, above: Numbers, below: Numbers, binding: Binding, lookup: Lookup) -> Numbers:
    """1 where it holds, else 0."""
    forest = forest_of(binding, operation.list_name, operation.span)
    for number, operand in ((above, operation.operands[0]), (below, operation.operands[1])):
        check_nodes(number.array, operand, operation, len(forest.parent), lookup)
    if len(forest.parent) == 0:
        return Numbers(np.zeros(np.broadcast_shapes(above.array.shape, below.array.shape), np.int64), 0, 0)
    place = forest.enter[below.array]
    holds = (forest.enter[above.array] < place) & (place < forest.leave[above.array])
    return Numbers(np.asarray(holds, dtype=np.int64), 0, 1)


def check_nodes(nodes: IntArray, operand: Form, operation: Operation, count: int, lookup: Lookup) -> None:
    """Raises `BindError` for a node that is none of `count`."""
    outside = (nodes < 0) | (nodes >= count)
    if bool(np.any(outside)):
        first = int(nodes[outside].flat[0]) if nodes.ndim else int(nodes)
        raise BindError(
            "CM407",
            f"node {first} does not exist{circumstances(operand, np.asarray(outside), lookup)}: `{operation.list_name}` has "
            f"{count} element{'' if count == 1 else 's'}",
            operation.span,
            "give the list as many parents as there are nodes",
        )
