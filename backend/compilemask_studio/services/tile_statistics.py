"""What tiles of a mask cost, counted while the user types, and where that stops."""

from __future__ import annotations

from compilemask.descriptor import MaskDescriptor
from compilemask.plan import grid_counts, plan_tiles, tile_crossings
from compilemask_studio.schemas import DiagnosticPublic, SpanPublic, TileCounts

MAX_CROSSINGS = 2**19
"""Runs times the q tiles that each of them crosses: half a million take about a second to plan."""


TILES_ALONG = 8
"""How many kernel tiles an axis should have for a picture of them to say something."""


def block_for(length: int) -> int:
    """The side of kernel tiles for an axis about which nothing was said: 128, less where that gives fewer than 8 tiles."""
    block = 128
    while block > 16 and block * TILES_ALONG > length:
        block //= 2
    return block


def tile_counts(descriptor: MaskDescriptor, block_m: int, block_n: int) -> TileCounts:
    """The aligned grid's tiles by kind, and what the kernels visit. ValueError when the mask cannot be planned."""
    steps = tile_crossings(descriptor, block_m)
    if steps > MAX_CROSSINGS:
        raise ValueError(
            f"planning this mask takes {steps:,} steps (runs times query tiles of {block_m} rows), "
            f"and the studio does up to {MAX_CROSSINGS:,} while you type"
        )
    grid = grid_counts(descriptor, block_m, block_n)
    plan = plan_tiles(descriptor, block_m, block_n)
    processed = plan.processed_pairs
    return TileCounts(
        block_m=block_m,
        block_n=block_n,
        full=grid.full,
        partial=grid.partial,
        empty=grid.empty,
        visited_full=plan.num_full,
        visited_partial=plan.num_partial,
        processed_pairs=processed,
        fill=descriptor.visible_pairs / processed if processed else 0.0,
    )


def too_large(reason: ValueError) -> DiagnosticPublic:
    """The message of a mask that the compiler accepts and the studio cannot plan; its code is the studio's own."""
    return DiagnosticPublic(
        code="ST001",
        severity="error",
        message=str(reason),
        span=SpanPublic(start=0, stop=0),
        labels=[],
        hint="take fewer tokens, or larger tiles",
        fixes=[],
        line=1,
        column=1,
        parameters=[],
    )
