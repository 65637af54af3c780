"""`compilemask plan`: how a mask is tiled, why so, what it costs and how many bytes it takes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

from compilemask.cli.masks import EXIT_MASK_ERRORS, bound_mask
from compilemask.cli.show import print_lines, size_lines
from compilemask.descriptor import MaskDescriptor
from compilemask.mask_arguments import UsageError
from compilemask.plan import (
    BACKWARD_HEADS,
    H200_HOPPER_BACKWARD,
    H200_TRITON_BACKWARD,
    KERNELS,
    TRITON_H200,
    Candidate,
    FormatBytes,
    GridCounts,
    KernelCosts,
    PackedPlan,
    TilePlan,
    TilingChoice,
    choose_backward,
    choose_kernel_tiling,
    choose_plan,
    format_bytes,
    grid_counts,
    plan_tiles,
    taken_by_auto,
    tile_crossings,
)

MAX_CROSSINGS = 2**22
"""Runs times the q tiles that each of them crosses, up to which a mask is planned here: a few seconds."""

MAX_CANDIDATES = 6
BACKWARDS = {"hopper": H200_HOPPER_BACKWARD, "triton": H200_TRITON_BACKWARD}


@dataclass(frozen=True, slots=True)
class Tiles:
    """kv tiles that a pass visits: full and partial ones, their cells, and the visible share of those."""

    full: int
    partial: int
    processed_pairs: int
    fill: float


@dataclass(frozen=True, slots=True)
class KernelTime:
    """What one of our kernels takes with its own tiles, by its costs; None for what it has no kernel for. auto: see KERNELS."""

    impl: str
    chip: str
    auto: bool
    predicted_ms: float | None
    tiling: str
    reason: str
    fitted: str
    source: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything the command says about one mask.

    backward: the tiles of dK and dV in place, or None and why there are none; gradients: by impl, whether the backward puts
    queries and keys into another order, and why.
    """

    choice: TilingChoice
    forward: Tiles
    backward: Tiles | None
    backward_reason: str | None
    gradients: dict[str, str]
    grid: GridCounts
    formats: tuple[FormatBytes, ...]
    kernels: tuple[KernelTime, ...]


def plan(options: argparse.Namespace) -> int:
    """Prints the tiling of a mask, the ones it was chosen from, and the bytes of all formats."""
    program, analysis, lowered = bound_mask(options, options.item, options.head)
    mask = lowered.descriptor
    try:
        report = _report(mask, options)
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    if options.json:
        print(json.dumps(_json(program.name, mask, report, options), indent=1))
    else:
        _print(program.name, mask, report, options)
    return EXIT_MASK_ERRORS if analysis.failed else 0


def _report(mask: MaskDescriptor, options: argparse.Namespace) -> Report:
    block_m, block_n = options.block_m, options.block_n
    if block_n % 32 or min(block_m, block_n) < 1:
        raise UsageError(
            f"tiles have at least 1 row and a multiple of 32 keys, got --block-m {block_m} --block-n {block_n}"
        )
    steps = tile_crossings(mask, block_m)
    if steps > MAX_CROSSINGS:
        raise UsageError(
            f"planning this mask takes {steps:,} steps (runs times query tiles of {block_m} rows), "
            f"more than {MAX_CROSSINGS:,}; give a larger --block-m, or a shorter mask"
        )
    choice = choose_plan(mask, block_m, block_n, num_heads=options.heads, head_dim=options.head_dim)
    backward, reason = None, None
    try:
        backward = _tiles(mask, plan_tiles(mask.transpose(), block_m, block_n))
    except ValueError as problem:
        reason = str(problem)
    return Report(
        choice,
        _tiles(mask, choice.plan),
        backward,
        reason,
        {impl: choose_backward(mask, costs, options.head_dim).reason for impl, costs in BACKWARDS.items()},
        grid_counts(mask, block_m, block_n),
        format_bytes(mask, block_m, block_n, choice=choice),
        tuple(_kernel_time(mask, kernel, options) for kernel in KERNELS),
    )


def _kernel_time(mask: MaskDescriptor, kernel: KernelCosts, options: argparse.Namespace) -> KernelTime:
    auto = taken_by_auto(kernel, options.head_dim)
    tilings = kernel.tilings_for(options.head_dim)
    why = f"no kernel for head_dim {options.head_dim}"
    if tilings and tile_crossings(mask, min(one.block_m for one in tilings)) > MAX_CROSSINGS:
        tilings, why = (), "not planned: its tiles cross too many runs"
    if not tilings:
        return KernelTime(kernel.impl, kernel.chip, auto, None, why, why, kernel.fitted, kernel.source)
    found = choose_kernel_tiling(mask, kernel, head_dim=options.head_dim)
    time = found.milliseconds(options.heads)
    return KernelTime(kernel.impl, kernel.chip, auto, time, str(found), found.reason, kernel.fitted, kernel.source)


def _tiles(mask: MaskDescriptor, plan: TilePlan | PackedPlan) -> Tiles:
    partial = plan.num_partial if isinstance(plan, TilePlan) else plan.num_kv_tiles - plan.num_full
    processed = plan.processed_pairs
    return Tiles(plan.num_full, partial, processed, mask.visible_pairs / processed if processed else 1.0)


def _shown_candidates(choice: TilingChoice) -> list[Candidate]:
    """The chosen one and the cheapest of the others, row tiles always among them."""
    others = sorted((one for one in choice.candidates if one != choice.chosen), key=lambda one: one.milliseconds)
    shown = [choice.chosen, *others[: MAX_CANDIDATES - 1]]
    rows = choice.candidates[0]
    return shown if rows in shown else [*shown, rows]


def _print(name: str, mask: MaskDescriptor, report: Report, options: argparse.Namespace) -> None:
    choice, grid = report.choice, report.grid
    tiles = f"{options.block_m} x {options.block_n}"
    lines = {
        "mask": name,
        **size_lines(mask),
        "tiling": str(choice.chosen),
        "because": choice.reason,
        "forward": _words(report.forward, "query"),
        "backward": report.backward_reason if report.backward is None else _words(report.backward, "key"),
        "grid": f"{tiles}, in place: {grid.full:,} full, {grid.partial:,} partial, {grid.empty:,} empty",
        "cost": f"{choice.chosen.milliseconds:.3f} ms predicted: forward, {options.heads} heads of {options.head_dim}, "
        f"bfloat16, impl triton on an {TRITON_H200.chip}",
        "hash": mask.hash,
    }
    print_lines({key: words for key, words in lines.items() if words is not None})
    print(f"\n{'keys a query':>14} {'ms':>9}  tilings considered")
    for one in _shown_candidates(choice):
        mark = " (chosen)" if one == choice.chosen else ""
        print(f"{one.columns:>14,.0f} {one.milliseconds:>9.3f}  {one}{mark}")
    print(f"\n{'ms':>14}  kernels, each with its own tiles; when and to what its costs were fitted")
    for kernel in report.kernels:
        time = "-" if kernel.predicted_ms is None else f"{kernel.predicted_ms:.3f}"
        mark = ", what auto takes" if kernel.auto else ""
        print(f"{time:>14}  {kernel.impl} on an {kernel.chip}{mark}: {kernel.tiling}; {kernel.fitted}, {kernel.source}")
    print(f"\n{'impl':>14}  order in which its backward reads queries and keys; {BACKWARD_HEADS} heads on an H200")
    for impl, reason in report.gradients.items():
        print(f"{impl:>14}  {reason}")
    print(f"\n{'bytes':>14}  format")
    for form in report.formats:
        size = "-" if form.bytes is None else f"{form.bytes:,}"
        print(f"{size:>14}  {form.name}: {form.reason if form.bytes is None else form.note}")


def _words(tiles: Tiles, side: str) -> str:
    visited = f"{side} tiles visit {tiles.full:,} full and {tiles.partial:,} partial tiles"
    return f"{visited}, {tiles.fill:.1%} of their pairs visible" if tiles.full + tiles.partial else visited


def _json(name: str, mask: MaskDescriptor, report: Report, options: argparse.Namespace) -> dict[str, object]:
    choice = report.choice
    return {
        "mask": name,
        "hash": mask.hash,
        "q_len": mask.q_len,
        "kv_len": mask.kv_len,
        "visible_pairs": mask.visible_pairs,
        "num_runs": mask.num_runs,
        "num_families": mask.num_families,
        "block_m": options.block_m,
        "block_n": options.block_n,
        "num_heads": options.heads,
        "head_dim": options.head_dim,
        "kind": choice.kind,
        "tiling": str(choice.chosen),
        "reason": choice.reason,
        "predicted_ms": choice.chosen.milliseconds,
        "forward": asdict(report.forward),
        "backward": None if report.backward is None else asdict(report.backward),
        "backward_reason": report.backward_reason,
        "gradients": report.gradients,
        "grid": asdict(report.grid),
        "kernels": [asdict(kernel) for kernel in report.kernels],
        "candidates": [
            {
                "kind": one.kind,
                "tiling": str(one),
                "chunk": one.chunk,
                "keys_per_query": one.columns,
                "predicted_ms": one.milliseconds,
                "chosen": one == choice.chosen,
            }
            for one in choice.candidates
        ],
        "formats": [asdict(one) for one in report.formats],
    }
