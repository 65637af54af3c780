"""`compilemask show` and `compilemask explain`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from compilemask.cli.family_table import family_lines
from compilemask.cli.masks import EXIT_MASK_ERRORS, bound_mask
from compilemask.descriptor import MaskDescriptor
from compilemask.mask_arguments import UsageError
from compilemask.plan import grid_counts, plan_tiles, tile_crossings
from compilemask.preview import text_preview

BLOCK = 128
MAX_CROSSINGS = 2**22
"""Runs times the q tiles that each of them crosses, up to which tiles are counted: a few seconds."""


def show(options: argparse.Namespace) -> int:
    """Draws a mask and prints its statistics."""
    if options.width < 2:
        raise UsageError(f"--width must be at least 2, got {options.width}")
    program, analysis, lowered = bound_mask(options, options.item, options.head)
    mask = lowered.descriptor
    drawing = text_preview(mask, options.width)
    if drawing:
        print(drawing)
    values = ", ".join(f"{name} = {_shown(value)}" for name, value in analysis.values.items()) or "none"
    print_lines({"mask": program.name, "values": values, **size_lines(mask), **_tile_lines(mask), "hash": mask.hash})
    for result in lowered.assertions:
        print_lines({"assert": f"{result.text}: {'holds' if result.holds else 'does not hold'}"})
    if options.families:
        print("\n".join(["", *family_lines(mask.families())]))
    return EXIT_MASK_ERRORS if analysis.failed else 0


def explain(options: argparse.Namespace) -> int:
    """Prints which rules make a cell visible, or why none does."""
    program, analysis, lowered = bound_mask(options, options.item, options.head)
    try:
        print(program.explain_lowered(lowered, options.q, options.k))
    except ValueError as problem:
        more = ""
        if analysis.num_items * analysis.num_heads > 1:
            mask = lowered.descriptor
            more = (
                f"; the mask of item {analysis.item}, head {analysis.head} has {mask.q_len:,} queries and {mask.kv_len:,} keys "
                "of its own, and what a longer one of the batch has besides sees nothing and is not seen"
            )
        raise UsageError(f"{problem}{more}") from None
    return 0


def size_lines(mask: MaskDescriptor) -> dict[str, str]:
    """Lengths, visible cells and the size of the form."""
    families = mask.families()
    of_one_kind = f"in {len(families):,} famil{'y' if len(families) == 1 else 'ies'}"
    return {
        "size": f"{mask.q_len:,} queries x {mask.kv_len:,} keys",
        "visible": f"{mask.visible_pairs:,} pairs, {mask.density:.3%}",
        "runs": f"{mask.num_runs:,} {of_one_kind}, up to {mask.runs_per_row_max:,} a row, {families.nbytes:,} bytes",
        "empty": f"{mask.empty_rows:,} queries see no key, {mask.unseen_keys:,} keys are seen by none",
    }


def print_lines(lines: Mapping[str, str]) -> None:
    """One line for each entry, names right-aligned."""
    for name, words in lines.items():
        print(f"{name:>8}  {words}")


def _tile_lines(mask: MaskDescriptor) -> dict[str, str]:
    steps = tile_crossings(mask, BLOCK)
    if steps > MAX_CROSSINGS:
        return {"tiles": f"not counted: they take {steps:,} steps, more than {MAX_CROSSINGS:,}"}
    tiles = grid_counts(mask, BLOCK, BLOCK)
    counted = f"{BLOCK} x {BLOCK}: {tiles.full:,} full, {tiles.partial:,} partial, {tiles.empty:,} empty"
    try:
        plan = plan_tiles(mask, BLOCK, BLOCK)
    except ValueError as problem:
        return {"tiles": counted, "kernel": f"has no plan: {problem}"}
    work = f", {mask.visible_pairs / plan.processed_pairs:.1%} of their pairs visible" if plan.processed_pairs else ""
    return {
        "tiles": counted,
        "kernel": f"visits {plan.num_full:,} full and {plan.num_partial:,} partial tiles{work}",
    }


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(map(_shown, value[:12]))
        return (
            f"[{inside}, ... {len(value):,} {'rows' if isinstance(value[0], tuple) else 'numbers'}]"
            if len(value) > 12
            else f"[{inside}]"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
