"""What is wrong or seldom meant in any mask of a batch, each thing once, with the first item and head that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compilemask.diagnostics import Diagnostic, MaskError, Span
from compilemask.lowering.batches import BatchValues
from compilemask.lowering.binding import Binding
from compilemask.lowering.failed_claims import assertion_failures
from compilemask.lowering.limits import MAX_ANALYSED_MASKS
from compilemask.lowering.lower import lower
from compilemask.lowering.warnings import bind_warnings
from compilemask.semantics.program import CheckedMask


@dataclass(frozen=True, slots=True)
class BatchMessages:
    """messages: about masks other than the one that is shown. num_masks: different masks of the batch; num_looked_at: how
    many of them were looked at, the shown one included."""

    messages: tuple[Diagnostic, ...]
    num_masks: int
    num_looked_at: int


def batch_messages(
    mask: CheckedMask, batch: BatchValues, item: int, head: int, about_shown: tuple[Diagnostic, ...]
) -> BatchMessages:
    """Looks at the masks of a batch, those of `item` and `head` left out, whose messages are `about_shown`.

    A message that another mask has at the same place is not repeated, but counted. The masks share one limit of work.
    """
    places = list(_different(batch))
    shown = (batch.item_key(item), batch.head_key(head))
    others = [place for place in places if (batch.item_key(place[0]), batch.head_key(place[1])) != shown]
    looked_at = others[: MAX_ANALYSED_MASKS - 1]
    work = Binding(batch.values)
    known = {(message.code, message.span) for message in about_shown}
    found: dict[tuple[str, Span], tuple[Diagnostic, str, int]] = {}
    for place in looked_at:
        for message in _messages(mask, batch, place, work):
            key = (message.code, message.span)
            if key in found:
                first, words, count = found[key]
                found[key] = (first, words, count + 1)
            elif key not in known:
                found[key] = (message, batch.words(*place), 0)
    messages = tuple(_with_place(*entry) for entry in found.values())
    return BatchMessages(messages, len(places), len(looked_at) + 1)


def _different(batch: BatchValues) -> Iterator[tuple[int, int]]:
    """The first item and head of each different mask, in order."""
    items = {batch.item_key(item): item for item in reversed(range(batch.num_items))}
    heads = {batch.head_key(head): head for head in reversed(range(batch.num_heads))}
    for item in sorted(items.values()):
        for head in sorted(heads.values()):
            yield item, head


def _messages(mask: CheckedMask, batch: BatchValues, place: tuple[int, int], work: Binding) -> tuple[Diagnostic, ...]:
    try:
        lowered = lower(mask, batch.at(*place), caller=work)
        return (*assertion_failures(mask, lowered), *bind_warnings(mask, lowered))
    except MaskError as error:
        return error.diagnostics


def _with_place(message: Diagnostic, place: str, count: int) -> Diagnostic:
    more = f", and {count} other{'' if count == 1 else 's'}" if count else ""
    return replace(message, message=f"{message.message} ({place}{more})")
