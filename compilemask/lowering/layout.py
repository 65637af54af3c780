"""Where the tokens of every region lie: all instances of all regions of an axis, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import offsets
from compilemask.geometry.runs import IntArray
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Variable
from compilemask.lowering.limits import MAX_AXIS, MAX_INSTANCES
from compilemask.lowering.numbers import Numbers, evaluate, numbers_of
from compilemask.lowering.orders import instance_orders, tokens_stored
from compilemask.lowering.storage import Storage, check_length, storage_of
from compilemask.lowering.translate import Scope, form_of
from compilemask.semantics.program import Axis, Expression, InstanceIndex, ListFold, Number, ParameterValue, Region


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """All instances of one region, in token order: instance a is the tokens [start[a], stop[a]).

    indices: one array per repeated region on the path, from the outermost. extents: one array per grid axis, from the
    outermost; empty for a region with children. room: where its slots end, when it has more of them than tokens.
    unused: its places hold no token.
    """

    path: tuple[str, ...]
    repeated: tuple[bool, ...]
    start: IntArray
    stop: IntArray
    indices: tuple[IntArray, ...]
    extents: tuple[IntArray, ...]
    has_children: bool
    room: IntArray | None = None
    unused: bool = False

    def __len__(self) -> int:
        return len(self.start)

    def label(self, instance: int) -> str:
        """ "R[3]" or "doc[2].P"."""
        parts, level = [], 0
        for name, repeated in zip(self.path, self.repeated, strict=True):
            if repeated:
                parts.append(f"{name}[{int(self.indices[level][instance])}]")
                level += 1
            else:
                parts.append(name)
        return ".".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One axis: its length in tokens, and its regions by path, in the order in which they are written.

    storage: where tokens are stored, when that is not where they are counted; regions say where they are counted.
    """

    length: int
    regions: Mapping[tuple[str, ...], Instances]
    storage: Storage | None = None

    def place(self, token: int) -> int:
        """The logical place of a token of the axis."""
        return token if self.storage is None else self.storage.logical_of(token)

    @property
    def tokens(self) -> tuple[int, int]:
        """The first logical place that holds a token, and the place behind the last one; (0, 0) without tokens."""
        ends = [
            (int(region.start[filled].min()), int(region.stop[filled].max()))
            for region in self.leaves()
            if not region.unused and (filled := region.start < region.stop).any()
        ]
        return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else (0, 0)

    def leaves(self) -> list[Instances]:
        return [region for region in self.regions.values() if not region.has_children]


@dataclass(slots=True, eq=False)
class _Sized:
    """A region whose instances are counted and measured, but not yet placed."""

    region: Region
    parent: IntArray
    columns: dict[str, IntArray]
    indices: tuple[IntArray, ...]
    sizes: IntArray
    extents: tuple[IntArray, ...]
    children: list[_Sized]
    order_sizes: tuple[IntArray, ...] = ()


def lay_out(axis: Axis, binding: Binding) -> Layout:
    """Places every instance of every region; raises `BindError` for negative sizes and too many tokens or instances."""
    sized = [_measure(region, {}, (), 1, binding) for region in axis.regions]
    length = sum(int(part.sizes.sum()) for part in sized)
    if length > MAX_AXIS:
        raise BindError(
            "CM405",
            f"this axis has {length:,} tokens; the limit is {MAX_AXIS:,}",
            axis.span,
            "bind smaller sizes",
        )
    regions: dict[tuple[str, ...], Instances] = {}
    placed = _Placed(binding, regions)
    _place(sized, np.zeros(1, np.int64), (), (), placed)
    if placed.orders:
        check_length(length, binding, axis.span)
    return Layout(length, regions, storage_of(placed.orders, length))


def _measure(
    region: Region,
    columns: Mapping[str, IntArray],
    indices: tuple[IntArray, ...],
    parents: int,
    binding: Binding,
) -> _Sized:
    counts = np.ones(parents, np.int64)
    if region.count is not None:
        counts = _sizes(region.count, columns, parents, binding, f"the number of instances of `{region.name}`")
        _check_counts(region, counts, columns, binding)
    total = sum(counts.tolist()) if counts.size and int(counts.max()) > MAX_INSTANCES else int(counts.sum())
    if total > MAX_INSTANCES:
        raise BindError(
            "CM406",
            f"`{region.name}` has {total:,} instances; the limit is {MAX_INSTANCES:,}",
            region.span,
            "repeat it less often",
        )
    parent = np.repeat(np.arange(parents), counts)
    own = {name: column[parent] for name, column in columns.items()}
    indices = tuple(column[parent] for column in indices)
    if region.count is not None:
        number = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        indices = (*indices, number)
        if region.index is not None:
            own[region.index] = number
    if not region.extent:
        children = [_measure(child, own, indices, total, binding) for child in region.children]
        sizes = sum((_per_parent(child, total) for child in children), np.zeros(total, np.int64))
        _check_tokens(sizes, region)
        return _Sized(region, parent, own, indices, sizes, (), children)
    words = "the length" if len(region.extent) == 1 else "an extent"
    extents = tuple(_sizes(extent, own, total, binding, f"{words} of `{region.name}`") for extent in region.extent)
    orders: tuple[IntArray, ...] = ()
    if region.stored is not None:
        what = f"a number of the order of `{region.name}`"
        orders = tuple(_sizes(number, own, total, binding, what) for number in region.stored.sizes)
    return _Sized(region, parent, own, indices, _area(extents, region), extents, [], orders)


def _check_counts(region: Region, counts: IntArray, columns: Mapping[str, IntArray], binding: Binding) -> None:
    """Raises `BindError` when two lists whose items are the instances of a region differ in length."""
    for other in region.counts[1:]:
        lengths = _sizes(other, columns, len(counts), binding, f"the length of `{other.name}`")
        if np.array_equal(lengths, counts):
            continue
        first, place = region.counts[0], int(np.argmax(lengths != counts))
        names = [_shown_list(fold, columns, place) for fold in (first, other)]
        raise BindError(
            "CM420",
            f"the instances of `{region.name}` are the items of {names[0]} and of {names[1]}, "
            f"but {names[0]} has {_items(counts[place])} and {names[1]} has {_items(lengths[place])}",
            other.span,
            f"give both equally many, or write the number of instances: `{region.name}[{region.index} < count]`",
        )


def _shown_list(fold: ListFold, columns: Mapping[str, IntArray], place: int) -> str:
    match fold.row:
        case None:
            return f"`{fold.name}`"
        case InstanceIndex(name):
            return f"`{fold.name}[{int(columns[name][place])}]`"
        case Number(value):
            return f"`{fold.name}[{value}]`"
        case ParameterValue(name):
            return f"`{fold.name}[{name}]`"
        case _:
            raise AssertionError("rows that count instances are variables, parameters and numbers")


def _items(count: int) -> str:
    return f"{int(count):,} item{'' if count == 1 else 's'}"


def _sizes(
    expression: Expression, columns: Mapping[str, IntArray], length: int, binding: Binding, what: str
) -> IntArray:
    """A size for each of `length` instances; not negative, not above MAX_AXIS."""
    scope = Scope(binding, index_sides=dict.fromkeys(columns, 0))
    form = form_of(expression, scope)

    def lookup(variable: Variable) -> Numbers:
        return numbers_of(columns[variable.name])

    sizes = np.broadcast_to(evaluate(form, lookup, binding, expression.span).array, (length,))
    if length and int(sizes.min()) < 0:
        place = int(np.argmax(sizes < 0))
        where = ", ".join(f"{name} = {int(column[place])}" for name, column in columns.items())
        raise BindError(
            "CM404",
            f"{what} is {int(sizes[place]):,}{' for ' + where if where and form.terms else ''}, but no size is negative",
            expression.span,
            "bind numbers that make it 0 or more",
        )
    if length and int(sizes.max()) > MAX_AXIS:
        raise BindError(
            "CM405",
            f"{what} is {int(sizes.max()):,}; the limit is {MAX_AXIS:,}",
            expression.span,
            "bind a smaller number",
        )
    return sizes


def _area(extents: Sequence[IntArray], region: Region) -> IntArray:
    area = extents[0]
    for extent in extents[1:]:
        # both factors are below 2^31, so the product is below 2^62
        area = area * extent
        _check_tokens(area, region)
    return area


def _check_tokens(sizes: IntArray, region: Region) -> None:
    if sizes.size and int(sizes.max()) > MAX_AXIS:
        raise _too_long(int(sizes.max()), region.name, region.span)


def _too_long(length: int, name: str, span: Span) -> BindError:
    return BindError("CM405", f"`{name}` has {length:,} tokens; the limit is {MAX_AXIS:,}", span, "bind smaller sizes")


def _per_parent(child: _Sized, parents: int) -> IntArray:
    """Tokens that all instances of a child take in each instance of its parent."""
    counts = np.bincount(child.parent, minlength=parents)
    ends = offsets(child.sizes)
    boundaries = offsets(counts)
    sums: IntArray = ends[boundaries[1:]] - ends[boundaries[:-1]]
    return sums


@dataclass(slots=True, eq=False)
class _Placed:
    """What placing finds: the regions by path, and (first token, order) of every instance that has an order."""

    binding: Binding
    regions: dict[tuple[str, ...], Instances]
    orders: list[tuple[int, IntArray]] = field(default_factory=list)

    def leaf(self, part: _Sized, start: IntArray) -> tuple[IntArray, IntArray | None]:
        """(where tokens end, where slots end if not there), from the place where each instance starts."""
        room = start + part.sizes
        stored = part.region.stored
        if stored is None:
            return room, None
        check_length(int(part.sizes.sum()), self.binding, part.region.span)
        tokens = tokens_stored(part.region, stored, part.sizes, part.order_sizes, self.binding)
        orders = instance_orders(part.region, stored, part.extents, part.order_sizes, self.binding)
        self.orders += zip(start.tolist(), orders, strict=True)
        return start + tokens, room if stored.table is not None else None


def _place(
    siblings: Sequence[_Sized],
    parent_start: IntArray,
    path: tuple[str, ...],
    repeated: tuple[bool, ...],
    placed: _Placed,
) -> None:
    base = parent_start
    for part in siblings:
        boundaries = offsets(np.bincount(part.parent, minlength=len(parent_start)))
        before = offsets(part.sizes)
        start = base[part.parent] + before[:-1] - before[boundaries[part.parent]]
        own_path, own_repeated = (*path, part.region.name), (*repeated, part.region.count is not None)
        stop, room = placed.leaf(part, start)
        placed.regions[own_path] = Instances(
            own_path,
            own_repeated,
            start,
            stop,
            part.indices,
            part.extents,
            bool(part.children),
            room,
            part.region.unused,
        )
        _place(part.children, start, own_path, own_repeated, placed)
        base = base + _per_parent(part, len(parent_start))
