"""Values that differ between the items and heads of a batch, and the masks that they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compilemask.arguments import as_index
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import Diagnostic, Label, MaskError
from compilemask.lowering.binding import Binding
from compilemask.lowering.failed_claims import assertion_failures
from compilemask.lowering.failure import header_span
from compilemask.lowering.limits import MAX_BATCH_CELLS, MAX_BATCH_MASKS
from compilemask.lowering.lower import lower
from compilemask.lowering.values import bind_values
from compilemask.semantics.program import CheckedMask, Parameter, Value

_Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class BatchValues:
    """The values of one binding of a mask whose parameters may differ between items and query heads.

    values: every parameter's value; of those in per_item and per_head, one for each item or head.
    num_items, num_heads: how many; 1 when nothing differs between them.
    """

    values: Mapping[str, Value]
    per_item: tuple[str, ...]
    per_head: tuple[str, ...]
    num_items: int
    num_heads: int

    def at(self, item: int, head: int) -> dict[str, Value]:
        """The values of the mask of one item and head. With one item, or one head, any number means that one."""
        own = dict(self.values)
        own.update(zip(self.per_item, self.item_key(_place("item", item, self.num_items)), strict=True))
        own.update(zip(self.per_head, self.head_key(_place("head", head, self.num_heads)), strict=True))
        return own

    def item_key(self, item: int) -> _Key:
        """The values that belong to one item."""
        return self._values_of(self.per_item, item)

    def head_key(self, head: int) -> _Key:
        """The values that belong to one head."""
        return self._values_of(self.per_head, head)

    def place(self, item: int, head: int) -> str:
        """What a message about one of the masks ends with: " (item 3, head 1)", or nothing where nothing differs."""
        words = self.words(item, head)
        return f" ({words})" if words else ""

    def words(self, item: int, head: int) -> str:
        """ "item 3, head 1", or what of the two differs."""
        words = [f"item {item}"] if self.per_item else []
        return ", ".join([*words, f"head {head}"] if self.per_head else words)

    def _values_of(self, names: tuple[str, ...], place: int) -> _Key:
        found = []
        for name in names:
            values = self.values[name]
            assert isinstance(values, tuple), "only lists differ between items and heads"
            found.append(values[place])
        return tuple(found)


def batch_values(mask: CheckedMask, values: Mapping[str, object], filename: str = "<mask>") -> BatchValues:
    """Checks values of which some may be lists with one value per item or head.

    Raises `MaskError` with everything that is wrong with any of them.
    """
    bound, problems = bind_values(mask, values, spread=True)
    lists = [p for p in mask.parameters if p.per is not None and p.name in bound and is_list(p, bound[p.name])]
    per_item, num_items = _axis("item", lists, bound, problems)
    per_head, num_heads = _axis("head", lists, bound, problems)
    if num_items * num_heads > MAX_BATCH_CELLS:
        message = f"{num_items:,} items with {num_heads:,} heads are more than {MAX_BATCH_CELLS:,} masks"
        problems.append(Diagnostic("CM405", "error", message, header_span(mask), (), "bind a smaller batch"))
    if problems:
        raise MaskError(problems, mask.source, filename)
    return BatchValues(bound, per_item, per_head, num_items, num_heads)


def lower_batch(mask: CheckedMask, values: Mapping[str, object], filename: str = "<mask>") -> MaskBatch:
    """The masks of all items and heads. Raises `MaskError` as `lower` does, and for assertions that do not hold.

    Values that are equal are lowered once. The work of all masks together has the limit of one.
    """
    batch = batch_values(mask, values, filename)
    work = Binding(batch.values)
    known: dict[tuple[_Key, _Key], MaskDescriptor] = {}
    heads = [batch.head_key(head) for head in range(batch.num_heads)]
    table = []
    for item in range(batch.num_items):
        own = batch.item_key(item)
        for head, other in enumerate(heads):
            if (own, other) in known:
                continue
            if len(known) == MAX_BATCH_MASKS:
                message = f"a batch has up to {MAX_BATCH_MASKS:,} different masks, and this has more"
                limit = Diagnostic("CM405", "error", message, header_span(mask), (), "bind fewer items at a time")
                raise MaskError([limit], mask.source, filename)
            known[own, other] = _lower_one(mask, batch, item, head, work, filename)
        table.append([known[own, other] for other in heads])
    return MaskBatch.of(table)


def _lower_one(
    mask: CheckedMask, batch: BatchValues, item: int, head: int, work: Binding, filename: str
) -> MaskDescriptor:
    try:
        lowered = lower(mask, batch.at(item, head), filename, work)
        failures = assertion_failures(mask, lowered)
        if failures:
            raise MaskError(failures, mask.source, filename)
    except MaskError as error:
        place = batch.place(item, head)
        found = [replace(message, message=f"{message.message}{place}") for message in error.diagnostics]
        raise MaskError(found, mask.source, filename) from None
    return lowered.descriptor


def shown_warnings(
    mask: CheckedMask, batch: BatchValues, item: int = 0, head: int = 0, looked_at: int | None = None
) -> tuple[Diagnostic, ...]:
    """That tools show one mask of several, and which; nothing when there is only one.

    looked_at: how many masks the messages are about, when not all.
    """
    if batch.num_items * batch.num_heads == 1:
        return ()
    name = (*batch.per_item, *batch.per_head)[0]
    span = next(parameter.span for parameter in mask.parameters if parameter.name == name)
    axes = [f"{batch.num_items:,} items"] if batch.per_item else []
    axes += [f"{batch.num_heads:,} heads"] if batch.per_head else []
    message = f"these values give a batch of {' and '.join(axes)}; this is the mask of {batch.words(item, head)}"
    if looked_at is not None:
        message += f"; messages are about the first {looked_at} different masks"
    return (Diagnostic("CM540", "warning", message, span, (), "give one value for all to look at another mask"),)


def is_list(parameter: Parameter, value: Value) -> bool:
    """Whether a bound value is a list with one value for each item or head, not a value for all."""
    if parameter.type.depth == 0:
        return isinstance(value, tuple)
    return isinstance(value, tuple) and len(value) > 0 and isinstance(value[0], tuple)


def _axis(
    word: str, lists: list[Parameter], bound: Mapping[str, Value], problems: list[Diagnostic]
) -> tuple[tuple[str, ...], int]:
    """The parameters that differ between items, or heads, and how many there are."""
    own = [parameter for parameter in lists if parameter.per == word]
    sizes = [len(value) for parameter in own if isinstance(value := bound[parameter.name], tuple)]
    for parameter, size in zip(own, sizes, strict=True):
        if size == 0:
            message = f"`{parameter.name}` is an empty list, but a batch has one {word} or more"
            problems.append(
                Diagnostic("CM441", "error", message, parameter.span, (), f"give one value for each {word}")
            )
        elif size != sizes[0] and sizes[0]:
            message = f"`{own[0].name}` has {_count(sizes[0], word)}, but `{parameter.name}` has {_count(size, word)}"
            labels = (Label(own[0].span, _count(sizes[0], word)),)
            hint = f"give both one value for each {word}, or one of them a single value for all"
            problems.append(Diagnostic("CM441", "error", message, parameter.span, labels, hint))
    return tuple(parameter.name for parameter in own), sizes[0] if sizes else 1


def _count(size: int, word: str) -> str:
    return f"values for {size:,} {word}s" if size != 1 else f"a value for 1 {word}"


def _place(word: str, number: int, size: int) -> int:
    place = as_index(number, f"the {word}")
    if size > 1 and not 0 <= place < size:
        raise ValueError(f"the {word} must lie in [0, {size}), got {place}")
    return place if size > 1 else 0
