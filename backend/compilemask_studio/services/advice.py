"""What a person should know about the cost of a mask, in words, with what to try."""

from __future__ import annotations

from collections.abc import Sequence

from compilemask.descriptor import MaskDescriptor
from compilemask.plan import TilingChoice
from compilemask_studio.schemas import Advice, BlockChoice
from compilemask_studio.services.quantities import duration, percent

WORTH = 1.1
"""Times faster than now, by the model, from which on something is worth trying."""
LOW_FILL = 0.35
THIN = 0.5
"""Share of a kernel tile's keys: shorter intervals leave most of a tile empty."""


def advise(
    descriptor: MaskDescriptor, choice: TilingChoice, now: BlockChoice, blocks: Sequence[BlockChoice]
) -> list[Advice]:
    """The most useful first; empty when there is nothing to say."""
    advice = [*_other_blocks(now, blocks), *_retiling(choice), *_hostile(descriptor, now), *_seen(descriptor)]
    return advice or [_fine(now)]


def _other_blocks(now: BlockChoice, blocks: Sequence[BlockChoice]) -> list[Advice]:
    best = min(blocks, key=lambda one: one.predicted_ms, default=now)
    if now.predicted_ms < WORTH * best.predicted_ms:
        return []
    text = (
        f"Tiles of {best.block_m} × {best.block_n} process {best.processed_pairs:,} pairs in place of "
        f"{now.processed_pairs:,}: {duration(best.predicted_ms)} predicted in place of {duration(now.predicted_ms)}."
    )
    return [Advice(title="Other tiles", text=text, block_m=best.block_m, block_n=best.block_n)]


def _retiling(choice: TilingChoice) -> list[Advice]:
    if choice.kind != "packed":
        return []
    rows = choice.candidates[0]
    text = (
        f"{_sentence(str(choice.chosen))}. A query then reads {choice.chosen.columns:,.0f} keys in place of "
        f"{rows.columns:,.0f}: {duration(choice.chosen.milliseconds)} predicted in place of {duration(rows.milliseconds)}. "
        f"`attention` does this by itself."
    )
    return [Advice(title="The queries are re-tiled", text=text, show_tiles=True)]


def _hostile(descriptor: MaskDescriptor, now: BlockChoice) -> list[Advice]:
    """Why so many processed pairs are hidden, where no tiling helps."""
    if now.fill >= LOW_FILL or not descriptor.visible_pairs:
        return []
    intervals = descriptor.runs_per_row_mean * descriptor.q_len
    length = descriptor.visible_pairs / intervals if intervals else 0.0
    if length < THIN * now.block_n:
        why = (
            f"An interval of visible keys is {length:,.1f} keys long on average, and a row has "
            f"{descriptor.runs_per_row_mean:,.1f} of them, but a tile reads {now.block_n} keys. "
            f"Sorting the keys so that those seen together are neighbours would fill the tiles."
        )
    else:
        why = (
            f"The {now.block_m} rows of a tile see different keys, so that a tile holds the keys of all of them. "
            f"Sorting the queries so that neighbours see the same keys, or fewer rows a tile, would fill the tiles."
        )
    return [Advice(title="Hard for tiles", text=f"{percent(now.fill)} of the processed pairs are visible. {why}")]


def _seen(descriptor: MaskDescriptor) -> list[Advice]:
    advice = []
    if descriptor.unseen_keys:
        text = f"{descriptor.unseen_keys:,} of {descriptor.kv_len:,} keys are seen by no query. The kernels skip them, but they take memory."
        advice.append(Advice(title="Keys that nobody sees", text=text))
    if descriptor.empty_rows:
        text = f"{descriptor.empty_rows:,} of {descriptor.q_len:,} queries see no key. Their output is zero, and lse is minus infinity."
        advice.append(Advice(title="Queries that see nothing", text=text))
    return advice


def _fine(now: BlockChoice) -> Advice:
    text = f"{percent(now.fill)} of the processed pairs are visible, and no other tiles are predicted to be faster by a tenth."
    return Advice(title="Nothing to gain", text=text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
