"""The cells of `j is ancestor of i in parent` and of `k in chosen[q]`, listed one by one: those above each node, those of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import IntArray, spread
from compilemask.geometry.runs import Trapezoids
from compilemask.lowering.ancestry import Forest, check_nodes, forest_of
from compilemask.lowering.binding import Binding
from compilemask.lowering.forms import BOTH_SIDES, K_SIDE, Form, Operation, Variable
from compilemask.lowering.level_sets import Runs, runs_of
from compilemask.lowering.limits import MAX_RUNS, MAX_TABLE
from compilemask.lowering.lookups import table_rows
from compilemask.lowering.membership import members_of
from compilemask.lowering.number_arrays import Lookup, Numbers, numbers_of
from compilemask.lowering.numbers import evaluate
from compilemask.lowering.pieces import Pieces


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """number: of each run on the one side that has a number, `run` says which; asked, wanted: a run of the other side, and
    a number that it is paired with."""

    run: IntArray
    number: IntArray
    asked: IntArray
    wanted: IntArray


def listed_cells(
    skeleton: Form, parts: Sequence[Form], binding: Binding, q: Pieces, k: Pieces, span: Span
) -> Trapezoids | None:
    """The cells of `a is ancestor of b`, or of `a in table[b]`, with a on one side and b on the other.

    The work is the sum of the depths, or of the lengths of the rows. None when the condition is not of this kind, or has
    too many cells to be listed one by one.
    """
    operation = _alone(skeleton)
    if operation is None:
        return None
    # the other operand, the node below or the row, is paired with many numbers
    one = 0 if operation.operator == "ancestor" else 1
    sides = [_side_of(operand, parts) for operand in operation.operands]
    rows, keys = runs_of(q, MAX_TABLE), runs_of(k, MAX_TABLE)
    if rows is None or keys is None or sorted(sides) != [1, 2]:
        return None
    high, low = (keys, rows) if sides[one] == K_SIDE else (rows, keys)
    how = _above if operation.operator == "ancestor" else _in_rows
    found = how(operation, high, low, binding)
    if found is None:
        return None
    binding.spend(len(found.asked), span)
    pairs = _join(high.group[found.run], found.number, low.group[found.asked], found.wanted)
    if pairs is None:
        return None
    number, match = pairs
    here, there = found.run[match], found.asked[number]
    row, key = (there, here) if sides[one] == K_SIDE else (here, there)
    return Trapezoids.rectangle(rows.start[row], rows.stop[row], keys.start[key], keys.stop[key])


def _above(operation: Operation, high: Runs, low: Runs, binding: Binding) -> _Listed | None:
    forest = forest_of(binding, operation.list_name, operation.span)
    nodes = [_numbers(operation, number, runs, binding) for number, runs in ((0, high), (1, low))]
    for number, operand in zip(nodes, operation.operands, strict=True):
        check_nodes(number, operand, operation, len(forest.parent), _lookup(high if number is nodes[0] else low))
    found = _climb(forest, nodes[1])
    return None if found is None else _Listed(np.arange(len(high)), nodes[0], *found)


def _in_rows(operation: Operation, high: Runs, low: Runs, binding: Binding) -> _Listed | None:
    members = members_of(binding, operation.list_name, operation.span)
    row = _numbers(operation, 0, low, binding)
    rows = table_rows(operation, numbers_of(row), binding.table(operation.list_name), _lookup(low))
    place, known = members.places(_numbers(operation, 1, high, binding))
    if len(rows) == 0 or len(members.values) == 0:
        none = np.zeros(0, np.int64)
        return _Listed(none, none, none, none)
    count = members.start[rows + 1] - members.start[rows]
    if int(count.sum()) > MAX_RUNS:
        return None
    asked, item = spread(members.start[rows], count)
    return _Listed(np.flatnonzero(known), place[known], asked, members.number[item])


def _alone(skeleton: Form) -> Operation | None:
    """The condition, when a skeleton is nothing else."""
    if skeleton.constant or len(skeleton.terms) != 1:
        return None
    term, factor = skeleton.terms[0]
    return term if isinstance(term, Operation) and term.operator in ("ancestor", "member") and factor == 1 else None


def _side_of(operand: Form, parts: Sequence[Form]) -> int:
    sides = 0
    for variable in operand.variables():
        sides |= parts[variable.axis].sides or 1
    return sides if sides != BOTH_SIDES else 0


def _lookup(runs: Runs) -> Lookup:
    def lookup(variable: Variable) -> Numbers:
        return numbers_of(runs.values[variable.axis])

    return lookup


def _numbers(operation: Operation, number: int, runs: Runs, binding: Binding) -> IntArray:
    """What an operand is in each run."""
    operand = operation.operands[number]
    return np.broadcast_to(evaluate(operand, _lookup(runs), binding, operation.span).array, (len(runs),))


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
