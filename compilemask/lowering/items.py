"""The lines that one side of a rule is split into: stretches of tokens in which all outer numbers are constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import BoolArray, IntArray, spread
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Variable
from compilemask.lowering.layout import Instances
from compilemask.lowering.limits import MAX_TABLE


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The region that one side of a rule names: its instances, and its instance numbers by variable name."""

    instances: Instances
    columns: Mapping[str, IntArray]

    @property
    def rank(self) -> int:
        """How many coordinates its tokens have: 1 without a grid, 0 for a region with children."""
        return len(self.instances.extents)


def side_of(instances: Instances, names: tuple[str, ...]) -> Side:
    """Names the instance numbers; a name given twice keeps only the instances in which both numbers agree."""
    columns: dict[str, IntArray] = {}
    keep: BoolArray = np.ones(len(instances), np.bool_)
    for name, column in zip(names, instances.indices, strict=True):
        if name in columns:
            keep &= columns[name] == column
        else:
            columns[name] = column
    side = Side(instances, columns)
    return side if keep.all() else kept(side, keep)


def kept(side: Side, keep: BoolArray) -> Side:
    """The side with some of its instances."""
    instances = side.instances
    chosen = replace(
        instances,
        start=instances.start[keep],
        stop=instances.stop[keep],
        indices=tuple(column[keep] for column in instances.indices),
        extents=tuple(extent[keep] for extent in instances.extents),
    )
    return Side(chosen, {name: column[keep] for name, column in side.columns.items()})


def with_tokens(side: Side) -> Side:
    """The side without its empty instances."""
    filled = side.instances.start < side.instances.stop
    return side if filled.all() else kept(side, filled)


def variable_ends(variable: Variable, side: Side) -> tuple[int, int]:
    """The least and the greatest number that a variable has; every instance of the side has tokens, and there is one."""
    instances = side.instances
    match variable.kind:
        case "axis":
            return int(instances.start.min()), int(instances.stop.max()) - 1
        case "region":
            return 0, int((instances.stop - instances.start).max()) - 1
        case "coordinate":
            return 0, int(instances.extents[variable.axis].max()) - 1
        case "length" | "extent" | "index":
            numbers = instances_as_items(side).constant(variable)
            return int(numbers.min()), int(numbers.max())
        case "quantity":
            raise AssertionError("quantities stand for the numbers of a whole form")


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A side cut into instances (level 0) or into the lines of their grids: the first `level` coordinates are constant.

    Item n is the tokens [start[n], stop[n]) of instance `instance[n]`; coordinates: its first `level` coordinates.
    """

    side: Side
    level: int
    start: IntArray
    stop: IntArray
    instance: IntArray
    coordinates: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.start)

    def constant(self, variable: Variable) -> IntArray:
        """The number that a variable has in each item, for a variable that is constant in items."""
        match variable.kind:
            case "index":
                return self.side.columns[variable.name][self.instance]
            case "length":
                instances = self.side.instances
                return (instances.stop - instances.start)[self.instance]
            case "coordinate":
                return self.coordinates[variable.axis]
            case "extent":
                return self.side.instances.extents[variable.axis][self.instance]
            case _:
                raise AssertionError(f"{variable.shown} changes inside an item")

    def origin(self, variable: Variable) -> IntArray:
        """The token at which a variable that counts tokens is 0, for each item."""
        match variable.kind:
            case "axis":
                return np.zeros(len(self), np.int64)
            case "region":
                return self.side.instances.start[self.instance]
            case "coordinate":
                assert variable.axis == self.level == self.side.rank - 1, "an innermost coordinate needs whole lines"
                return self.start
            case _:
                raise AssertionError(f"{variable.shown} does not count tokens")


def instances_as_items(side: Side) -> Items:
    """The whole instances of a side, as items of level 0."""
    instances = side.instances
    return Items(side, 0, instances.start, instances.stop, np.arange(len(instances)), ())


def finer(items: Items, level: int, span: Span) -> tuple[Items, IntArray]:
    """The items cut into lines of a deeper level, and how many lines each item has."""
    instances = items.side.instances
    extents = [extent[items.instance] for extent in instances.extents]
    lines = reduce(np.multiply, extents[items.level : level])
    if float(np.sum(lines, dtype=np.float64)) > MAX_TABLE:
        raise BindError(
            "CM406",
            f"a condition on coordinates cuts this grid into more than {MAX_TABLE:,} lines",
            span,
            "bind smaller extents, or put the greatest extent last",
        )
    width = reduce(np.multiply, extents[level:])
    owner, number = spread(np.zeros(len(items), np.int64), lines)
    coordinates = [coordinate[owner] for coordinate in items.coordinates]
    below = lines[owner]
    rest = number
    for extent in extents[items.level : level]:
        below = below // np.maximum(extent[owner], 1)
        coordinates.append(rest // below)
        rest = rest % below
    start = items.start[owner] + number * width[owner]
    return Items(items.side, level, start, start + width[owner], items.instance[owner], tuple(coordinates)), lines


def counts_tokens(variable: Variable, rank: int) -> bool:
    """Whether a variable changes from token to token of a line."""
    match variable.kind:
        case "axis" | "region":
            return True
        case "coordinate":
            return variable.axis == rank - 1
        case "length" | "extent" | "index" | "quantity":
            return False


def level_needed(form: Form, rank: int) -> int:
    """The level of items at which a form's variables are constant or count tokens."""
    level = 0
    for variable in form.variables():
        if variable.kind == "coordinate":
            level = max(level, min(variable.axis + 1, rank - 1))
    return level


def is_constant_in_items(form: Form, rank: int) -> bool:
    """Whether no variable of a form changes from token to token of a line."""
    return not any(counts_tokens(variable, rank) for variable in form.variables())


def names_only_the_axis(form: Form) -> bool:
    """Whether a form changes with the absolute position alone, or not at all."""
    return all(variable.kind == "axis" for variable in form.variables())
