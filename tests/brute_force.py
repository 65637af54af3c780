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
    queries, q_order = _tokens(mask.queries, bound)
    keys, k_order = (queries, q_order) if mask.keys is None else _tokens(mask.keys, bound)
    cells = np.zeros((len(queries), len(keys)), bool)
    for rule in mask.rules:
        for q, q_places in enumerate(queries):
            for k, k_places in enumerate(keys):
                cells[q, k] |= _rule_matches(rule, bound, q, q_places, k, k_places)
    return cells[np.ix_(q_order, k_order)]


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


def _order(region: p.Region, grid: tuple[int, ...], bound, names) -> list[int]:
    """For each slot of a region the place of the token that is stored in it; free slots hold places behind the last."""
    sizes = [_number(size, (bound, names, 0, None, 0, None)) for size in region.stored.sizes]
    if region.stored.order == "tiles":

        def key(place: int) -> list[int]:
            where = [_coordinate(place, grid, axis) for axis in range(len(grid))]
            return [*(a // b for a, b in zip(where, sizes, strict=True)), *where]

        return sorted(range(reduce(operator.mul, grid)), key=key)
    if region.stored.order == "zigzag":
        chunk = grid[0] // (2 * sizes[0])
        chunks = [number for rank in range(sizes[0]) for number in (rank, 2 * sizes[0] - 1 - rank)]
        return [number * chunk + inside for number in chunks for inside in range(chunk)]
    pages = bound[region.stored.table]
    held = {page * sizes[0] + n: index * sizes[0] + n for index, page in enumerate(pages) for n in range(sizes[0])}
    free = iter(range(len(held), grid[0]))
    return [held[slot] if slot in held else next(free) for slot in range(grid[0])]


def _tokens(axis: p.Axis, bound) -> tuple[list[dict[tuple[str, ...], Place]], list[int]]:
    """For each place the instances that it lies in, by path; and for each slot of the axis the place stored in it."""
    tokens: list[dict[tuple[str, ...], Place]] = []
    slots: list[int] = []

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
                count_of_slots = reduce(operator.mul, place.grid)
                order = _order(region, place.grid, bound, own_names) if region.stored else range(count_of_slots)
                held = count_of_slots
                if region.stored and region.stored.table:
                    size = _number(region.stored.sizes[0], (bound, own_names, 0, None, 0, None))
                    held = len(bound[region.stored.table]) * size
                slots.extend(place.start + number for number in order)
                tokens.extend(dict(inside) if n < held else {} for n in range(count_of_slots))
                place.length = held
            for child in region.children:
                visit(child, path, own_indices, own_names, inside)
            if not region.extent:
                place.length = len(tokens) - place.start

    for region in axis.regions:
        visit(region, (), (), {}, {})
    return tokens, slots


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
        case p.ListFold(fold="sum", row=None):
            return int(sum(np.sum(item) for item in _row(e, cell)))
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
        case p.Member():
            numbers = cell[0][c.name] if c.row is None else cell[0][c.name][_number(c.row, cell)]
            return _number(c.number, cell) in list(numbers)
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
