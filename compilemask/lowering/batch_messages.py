"""What is wrong or seldom meant in any mask of a batch, each thing once, with the first item and head that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from compilemask.diagnostics import Diagnostic, MaskError, Span
from compilemask.lowering.batches import BatchValues
from compilemask.lowering.binding import Binding
from compilemask.lowering.failed_claims import assertion_failures
from compilemask.lowering.limits import MAX_ANALYSED_MASKS
from compilemask.lowering.lower import Lowered, lower
from compilemask.lowering.warnings import bind_warnings
from compilemask.semantics.program import CheckedMask

IDLE_RULE_CODES: Final = ("CM513", "CM514")
"""A rule matches no cell, or adds none to the others."""


@dataclass(frozen=True, slots=True)
class BatchMessages:
    """shown: about the mask that is shown; messages: about others. A rule without a use is in them only if it has none in
    any mask that was looked at, since other masks need it else. num_masks: different masks of the batch; num_looked_at:
    how many of them were looked at, the shown one included."""

    shown: tuple[Diagnostic, ...]
    messages: tuple[Diagnostic, ...]
    num_masks: int
    num_looked_at: int


def batch_messages(
    mask: CheckedMask, batch: BatchValues, item: int, head: int, lowered: Lowered, about_shown: tuple[Diagnostic, ...]
) -> BatchMessages:
    """Looks at the masks of a batch but that of `item` and `head`, which is `lowered`, and whose messages are `about_shown`.

    A message that another mask has at the same place is not repeated, but counted. The masks share one limit of work.
    """
    places = list(_different(batch))
    shown = (batch.item_key(item), batch.head_key(head))
    others = [place for place in places if (batch.item_key(place[0]), batch.head_key(place[1])) != shown]
    looked_at = others[: MAX_ANALYSED_MASKS - 1]
    work = Binding(batch.values)
    known = {(message.code, message.span) for message in about_shown}
    idle = _idle_rules(mask, lowered, about_shown)
    found: dict[tuple[str, Span], tuple[Diagnostic, str, int]] = {}
    for place in looked_at:
        about, idle_here = _messages(mask, batch, place, work)
        idle &= idle_here
        for message in about:
            key = (message.code, message.span)
            if key in found:
                first, words, count = found[key]
                found[key] = (first, words, count + 1)
            elif key not in known:
                found[key] = (message, batch.words(*place), 0)
    told: set[Span] = set()
    shown_messages = tuple(message for message in about_shown if _is_kept(message, idle, told))
    messages = tuple(
        first if first.code in IDLE_RULE_CODES else _with_place(first, words, count)
        for first, words, count in found.values()
        if _is_kept(first, idle, told)
    )
    return BatchMessages(shown_messages, messages, len(places), len(looked_at) + 1)


def _is_kept(message: Diagnostic, idle: set[Span], told: set[Span]) -> bool:
    """Whether a message is true of the batch: a rule without a use is named once, if it has none in any mask."""
    if message.code not in IDLE_RULE_CODES:
        return True
    kept = message.span in idle and message.span not in told
    told.add(message.span)
    return kept


def _idle_rules(mask: CheckedMask, lowered: Lowered, messages: tuple[Diagnostic, ...]) -> set[Span]:
    """Where the rules stand that add no cell to this mask: those without cells, and those whose cells others have."""
    empty = {rule.span for rule, cells in zip(mask.rules, lowered.rule_shapes, strict=True) if len(cells) == 0}
    return empty | {message.span for message in messages if message.code in IDLE_RULE_CODES}


def _different(batch: BatchValues) -> Iterator[tuple[int, int]]:
    """The first item and head of each different mask, in order."""
    items = {batch.item_key(item): item for item in reversed(range(batch.num_items))}
    heads = {batch.head_key(head): head for head in reversed(range(batch.num_heads))}
    for item in sorted(items.values()):
        for head in sorted(heads.values()):
            yield item, head


def _messages(
    mask: CheckedMask, batch: BatchValues, place: tuple[int, int], work: Binding
) -> tuple[tuple[Diagnostic, ...], set[Span]]:
    """The messages about one mask, and the rules that have no use in it; of a mask with an error nobody knows."""
    try:
        lowered = lower(mask, batch.at(*place), caller=work)
        found = (*assertion_failures(mask, lowered), *bind_warnings(mask, lowered))
        return found, _idle_rules(mask, lowered, found)
    except MaskError as error:
        return error.diagnostics, set()


def _with_place(message: Diagnostic, place: str, count: int) -> Diagnostic:
    more = f", and {count} other{'' if count == 1 else 's'}" if count else ""
    return replace(message, message=f"{message.message} ({place}{more})")
