"""The cells of `j is ancestor of i in parent`, listed by climbing from every node to its root."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import IntArray, spread
from compilemask.geometry.runs import Trapezoids
from compilemask.lowering.ancestry import Forest, check_nodes, forest_of
from compilemask.lowering.binding import Binding
from compilemask.lowering.forms import BOTH_SIDES, K_SIDE, Form, Operation, Variable
from compilemask.lowering.level_sets import Runs, runs_of
from compilemask.lowering.limits import MAX_RUNS, MAX_TABLE
from compilemask.lowering.number_arrays import Numbers, numbers_of
from compilemask.lowering.numbers import evaluate
from compilemask.lowering.pieces import Pieces


def ancestor_cells(
    skeleton: Form, parts: Sequence[Form], binding: Binding, q: Pieces, k: Pieces, span: Span
) -> Trapezoids | None:
    """The cells of `a is ancestor of b` with a on one side and b on the other; the work is the sum of the depths.

    None when the condition is not of this kind, or has too many cells to be listed one by one.
    """
    operation = _alone(skeleton)
    if operation is None:
        return None
    sides = [_side_of(operand, parts) for operand in operation.operands]
    rows, keys = runs_of(q, MAX_TABLE), runs_of(k, MAX_TABLE)
    if rows is None or keys is None or sorted(sides) != [1, 2]:
        return None
    forest = forest_of(binding, operation.list_name, operation.span)
    high, low = (keys, rows) if sides[0] == K_SIDE else (rows, keys)
    a = _nodes(operation, 0, high, binding, len(forest.parent))
    b = _nodes(operation, 1, low, binding, len(forest.parent))
    found = _climb(forest, b)
    if found is None:
        return None
    run, ancestor = found
    binding.spend(len(run), span)
    pairs = _join(high.group, a, low.group[run], ancestor)
    if pairs is None:
        return None
    number, match = pairs
    row, key = (run[number], match) if sides[0] == K_SIDE else (match, run[number])
    return Trapezoids.rectangle(rows.start[row], rows.stop[row], keys.start[key], keys.stop[key])


def _alone(skeleton: Form) -> Operation | None:
    """The condition, when a skeleton is nothing else."""
    if skeleton.constant or len(skeleton.terms) != 1:
        return None
    term, factor = skeleton.terms[0]
    return term if isinstance(term, Operation) and term.operator == "ancestor" and factor == 1 else None


def _side_of(operand: Form, parts: Sequence[Form]) -> int:
    sides = 0
    for variable in operand.variables():
        sides |= parts[variable.axis].sides or 1
    return sides if sides != BOTH_SIDES else 0


def _nodes(operation: Operation, number: int, runs: Runs, binding: Binding, count: int) -> IntArray:
    """The node that an operand names in each run."""
    operand = operation.operands[number]

    def lookup(variable: Variable) -> Numbers:
        return numbers_of(runs.values[variable.axis])

    nodes = np.broadcast_to(evaluate(operand, lookup, binding, operation.span).array, (len(runs),))
    check_nodes(nodes, operand, operation, count, lookup)
    return nodes


def _climb(forest: Forest, nodes: IntArray) -> tuple[IntArray, IntArray] | None:
    """(place in `nodes`, ancestor) of every ancestor of every node; None when there are too many."""
    none = np.zeros(0, np.int64)
    if len(nodes) == 0:
        return none, none
    owners, ancestors, total = [none], [none], 0
    owner, current = np.arange(len(nodes)), forest.parent[nodes]
    while True:
        alive = current >= 0
        owner, current = owner[alive], current[alive]
        total += len(owner)
        if len(owner) == 0:
            return np.concatenate(owners), np.concatenate(ancestors)
        if total > MAX_RUNS:
            return None
        owners.append(owner)
        ancestors.append(current)
        current = forest.parent[current]


def _join(
    group: IntArray, node: IntArray, wanted_group: IntArray, wanted: IntArray
) -> tuple[IntArray, IntArray] | None:
    """(place in `wanted`, place in `node`) of all pairs with equal nodes and groups; None when there are too many."""
    base = int(max(node.max(initial=0), wanted.max(initial=0))) + 1
    have, want = group * base + node, wanted_group * base + wanted
    order = np.argsort(have, kind="stable")
    first = np.searchsorted(have[order], want)
    count = np.searchsorted(have[order], want, side="right") - first
    if int(count.sum()) > MAX_RUNS:
        return None
    number, place = spread(first, count)
    return number, order[place]
