"""What a checked mask means, cell by cell in plain Python: slow, and independent of the lowering."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from compilemask.semantics import program as p


@dataclass
class Place:
    """One region instance around a token: its path, the numbers of the repeated regions on it, where it is, its grid."""

    path: tuple[str, ...]
    indices: tuple[int, ...]
    start: int
    length: int
    grid: tuple[int, ...]


def visible_cells(mask: p.CheckedMask, values: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    bound = {parameter.name: values.get(parameter.name, parameter.default) for parameter in mask.parameters}
    queries = _tokens(mask.queries, bound)
    keys = queries if mask.keys is None else _tokens(mask.keys, bound)
    cells = np.zeros((len(queries), len(keys)), bool)
    for rule in mask.rules:
        for q, q_places in enumerate(queries):
            for k, k_places in enumerate(keys):
                cells[q, k] |= _rule_matches(rule, bound, q, q_places, k, k_places)
    return cells


def _rule_matches(rule, bound, q, q_places, k, k_places) -> bool:
    for q_reference in rule.queries:
        for k_reference in rule.keys:
            q_place, k_place = q_places.get(q_reference.path), k_places.get(k_reference.path)
            if q_place is None or k_place is None:
                continue
            numbers: dict[str, int] = {}
            pairs = [*zip(q_reference.indices, q_place.indices, strict=True)]
            pairs += [*zip(k_reference.indices, k_place.indices, strict=True)]
            if any(numbers.setdefault(name, number) != number for name, number in pairs):
                continue
            cell = (bound, numbers, q, q_place, k, k_place)
            if rule.condition is None or _holds(rule.condition, cell):
                return True
    return False


def _tokens(axis: p.Axis, bound) -> list[dict[tuple[str, ...], Place]]:
    """For each token, the instances that it lies in, by path."""
    tokens: list[dict[tuple[str, ...], Place]] = []

    def visit(region: p.Region, path, indices, names, around) -> None:
        path = (*path, region.name)
        count = None if region.count is None else _number(region.count, (bound, names, 0, None, 0, None))
        for number in range(1 if count is None else count):
            own_names = dict(names)
            own_indices = indices
            if count is not None:
                own_names[region.index] = number
                own_indices = (*indices, number)
            place = Place(path, own_indices, len(tokens), 0, ())
            inside = {**around, path: place}
            if region.extent:
                place.grid = tuple(_number(e, (bound, own_names, 0, None, 0, None)) for e in region.extent)
                tokens.extend(dict(inside) for _ in range(reduce(operator.mul, place.grid)))
            for child in region.children:
                visit(child, path, own_indices, own_names, inside)
            place.length = len(tokens) - place.start

    for region in axis.regions:
        visit(region, (), (), {}, {})
    return tokens


def _coordinate(position: int, grid: tuple[int, ...], axis: int) -> int:
    numbers = []
    for extent in reversed(grid):
        numbers.append(position % extent)
        position //= extent
    return numbers[::-1][axis]


def _row(e, cell):
    """The list that an item or a fold names: a parameter, or one row of a table."""
    numbers = cell[0][e.name]
    if e.row is None:
        return numbers
    row = _number(e.row, cell)
    assert 0 <= row < len(numbers)
    return numbers[row]


def _number(e, cell) -> int:
    bound, names, q, q_place, k, k_place = cell
    match e:
        case p.Number():
            return e.value
        case p.ParameterValue():
            return bound[e.name]
        case p.Element():
            index, numbers = _number(e.index, cell), _row(e, cell)
            assert 0 <= index < len(numbers)
            return int(numbers[index])
        case p.ListFold():
            return {"len": len, "sum": sum, "min": min, "max": max}[e.fold](_row(e, cell))
        case p.InstanceIndex():
            return names[e.name]
        case p.Position():
            token, place = (q, q_place) if e.side == "q" else (k, k_place)
            return token if e.frame == "axis" else token - place.start
        case p.Coordinate():
            token, place = (q, q_place) if e.side == "q" else (k, k_place)
            return _coordinate(token - place.start, place.grid, e.axis)
        case p.Binary():
            a, b = _number(e.left, cell), _number(e.right, cell)
            return {
                "+": operator.add,
                "-": operator.sub,
                "*": operator.mul,
                "//": operator.floordiv,
                "%": operator.mod,
            }[e.operator](a, b)
        case p.Negate():
            return -_number(e.operand, cell)
        case p.Call():
            return {"min": min, "max": max, "abs": lambda x: abs(x[0])}[e.function](
                [_number(a, cell) for a in e.arguments]
            )
    raise TypeError(e)


def _near(c, cell, place) -> bool:
    """The places of the query's line, and the stretch of them that its window takes."""
    length = place.grid[c.query.axis] if isinstance(c.query, p.Coordinate) else place.length
    query, key = _number(c.query, cell), _number(c.key, cell)
    kernel, step, stride = _number(c.kernel, cell), _number(c.dilation, cell), _number(c.stride, cell)
    line = list(range(query % step, length, step))
    place_in_line = line.index(query)
    group = line[place_in_line // stride * stride :][:stride]
    if c.causal:
        leader = line.index(group[-1])
        return key <= query and key in line[max(0, leader - kernel + 1) : leader + 1]
    leader = line.index(group[min(stride // 2, len(group) - 1)])
    windows = [line[first : first + kernel] for first in range(len(line) - kernel + 1)]
    return key in min(windows, key=lambda window: abs(line.index(window[0]) + kernel // 2 - leader))


def _holds(c, cell) -> bool:
    _, _, q, q_place, k, k_place = cell
    match c:
        case p.All():
            return all(_holds(item, cell) for item in c.items)
        case p.AnyOf():
            return any(_holds(item, cell) for item in c.items)
        case p.Not():
            return not _holds(c.item, cell)
        case p.Flag():
            return cell[0][c.value] if isinstance(c.value, str) else c.value
        case p.Compare():
            signs = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">=": "ge", ">": "gt"}
            return getattr(operator, signs[c.operator])(_number(c.left, cell), _number(c.right, cell))
        case p.Ancestor():
            node, parents = _number(c.below, cell), cell[0][c.parents]
            above = []
            while parents[node] >= 0:
                node = parents[node]
                above.append(node)
            return _number(c.above, cell) in above
        case p.Near():
            return _near(c, cell, q_place)
        case p.Chosen():
            return bool(_number(c.element, cell))
        case p.Causal(align=None):
            return k <= q
        case p.Causal() | p.SamePosition():
            a, b = q - q_place.start, k - k_place.start
            if c.align == "end":
                a, b = a - q_place.length, b - k_place.length
            return b <= a if isinstance(c, p.Causal) else a == b
    raise TypeError(c)
