"""Whether a backward runs over row tiles, or over reordered queries and keys: the cheaper one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.plan.candidates import patches, sample
from compilemask.plan.planner import check_descriptor, plan_tiles
from compilemask.plan.reordered_plan import BLOCK, ReorderedPlan
from compilemask.plan.reordered_tiles import cut_tiles
from compilemask.plan.reordering import reorder, segments_of, token_order, visited_blocks
from compilemask.plan.row_coverage import cover_rows
from compilemask.plan.row_tiling import PatchedGrid
from compilemask.plan.structure import GridStructure, infer_structure

MIN_GAIN = 1.1  # the model is not exact, and copies take memory: the gain must be worth it
EQUAL = 1.03  # times the least prediction: not worth a longer plan
MIN_RUNS = 3.0  # intervals of a query, on average: on a grid it sees several lines
MAX_TOKENS = 2**24  # reordered plans hold an entry for each
COLUMNS = 64  # of the tiles that are counted
BACKWARD_HEADS = 16  # that the prediction is for, whatever there are: a head's result does not depend on the others
FITTED_HEAD_DIM = 128

Patch = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BackwardCosts:
    """Times of the parts of a backward, in microseconds of one multiprocessor, for tiles of 128 x 64 and head_dim 128.

    tile_us: a tile that needs no test; masked: factor for those that test their cells; row_tile_us: what every 128 rows take
    besides. bytes_per_us: of all multiprocessors, read and written by a copy. launches_us: what the copies take to start.
    Other head dimensions are scaled by their number of multiplications.
    """

    tile_us: float
    masked: float
    row_tile_us: float = 5.0
    multiprocessors: int = 132
    bytes_per_us: float = 3.85e6
    launches_us: float = 20.0

    def kernels_ms(self, full: float, partial: float, row_tiles: int, head_dim: int) -> float:
        """Milliseconds of BACKWARD_HEADS heads that visit so many tiles each."""
        each = self.tile_us * head_dim / FITTED_HEAD_DIM
        total = each * (full + self.masked * partial) + self.row_tile_us * row_tiles
        return total * BACKWARD_HEADS / self.multiprocessors / 1000

    def copies_ms(self, q_len: int, kv_len: int, head_dim: int) -> float:
        """Milliseconds that copies of q, do, k, v in another order take, and those of dq, dk, dv back; 16-bit numbers."""
        moved = (3 * q_len + 4 * kv_len) * head_dim * BACKWARD_HEADS * 2 * 2
        return (moved / self.bytes_per_us + self.launches_us) / 1000


# Fitted on 2026-11-30 to masks on images of 32K tokens, bfloat16, reordered and in row tiles (docs/hopper-notes.md): within 5 %.
H200_HOPPER_BACKWARD = BackwardCosts(2.45, 1.07)
"""Of impl hopper on an H200, the fused form."""
H200_TRITON_BACKWARD = BackwardCosts(3.2, 1.05)
"""Of impl triton on an H200, both kernels."""


@dataclass(frozen=True, slots=True, eq=False)
class BackwardChoice:
    """plan: of the reordered queries and keys, None for row tiles; grids: stored patch after patch; reason: why, in words.

    rows_ms, reordered_ms: predicted, for 16 heads; None where that was not looked at. Copies are in reordered_ms.
    """

    plan: ReorderedPlan | None
    grids: tuple[PatchedGrid, ...]
    rows_ms: float | None
    reordered_ms: float | None
    reason: str


def choose_backward(descriptor: MaskDescriptor, costs: BackwardCosts, head_dim: int = 128) -> BackwardChoice:
    """Reordered blocks where the cost model finds them MIN_GAIN times faster than row tiles; exact in either case.

    Looked at are masks whose queries see MIN_RUNS intervals and more, on average, as on an image. Keys are put into the order of
    the queries, so there must be as many. Raises TypeError for what is no descriptor.
    """
    check_descriptor("choose_backward", descriptor)
    runs = descriptor.runs_per_row_mean
    if runs < MIN_RUNS:
        return _rows(f"row tiles: a query sees {runs:.1f} intervals of keys, on an image it would see {MIN_RUNS:.0f}")
    if descriptor.q_len != descriptor.kv_len:
        return _rows(
            f"row tiles: keys are reordered as queries are, but there are {descriptor.kv_len} and {descriptor.q_len}"
        )
    if descriptor.q_len > MAX_TOKENS:
        return _rows(f"row tiles: {descriptor.q_len} tokens are more than the {MAX_TOKENS} that are reordered")
    grids = infer_structure(descriptor)
    if not grids:
        return _rows("row tiles: the runs show no grid")
    # rows and columns change places in the backward, which changes the number of tiles little
    rows = plan_tiles(descriptor, BLOCK, COLUMNS)
    rows_ms = costs.kernels_ms(rows.num_full, rows.num_partial, rows.num_q_tiles, head_dim)
    copies_ms = costs.copies_ms(descriptor.q_len, descriptor.kv_len, head_dim)
    priced = [(_estimate(descriptor, patched, costs, head_dim), patched) for patched in _patchings(grids)]
    if not priced:
        return BackwardChoice(None, (), rows_ms, None, "row tiles: the grids are smaller than the patches")
    # of nearly equal ones the widest, whose lines are cut into the fewest pieces: it is planned several times as fast
    least = min(time for time, _ in priced)
    estimate, best = next(one for one in priced if one[0] <= EQUAL * least)
    if (estimate + copies_ms) * MIN_GAIN >= rows_ms:
        figures = _figures(rows_ms, estimate, copies_ms, best)
        return BackwardChoice(None, (), rows_ms, estimate + copies_ms, f"row tiles: {figures}")
    plan = reorder(descriptor, best, best)
    tiles = cut_tiles(plan, BLOCK, COLUMNS, transposed=True)
    kernels_ms = costs.kernels_ms(tiles.num_full, tiles.num_partial, tiles.num_tiles, head_dim)
    figures = _figures(rows_ms, kernels_ms, copies_ms, best)
    return BackwardChoice(plan, best, rows_ms, kernels_ms + copies_ms, f"reordered: {figures}")


def _rows(reason: str) -> BackwardChoice:
    return BackwardChoice(None, (), None, None, reason)


def _patchings(grids: tuple[GridStructure, ...]) -> Iterator[tuple[PatchedGrid, ...]]:
    """All grids with patches of COLUMNS tokens, the same in all grids of as many sides; those that a patch fits not are left out."""
    shapes = {patch: None for grid in grids for patch in patches(grid, COLUMNS)}
    # wide patches first
    ordered: list[Patch] = sorted(shapes, key=lambda patch: -patch[-1])
    flat: list[Patch | None] = [patch for patch in ordered if len(patch) == 2] or [None]
    deep: list[Patch | None] = [patch for patch in ordered if len(patch) == 3] or [None]
    for two in flat:
        for three in deep:
            chosen = [(grid, two if len(grid.shape) == 2 else three) for grid in grids]
            fitting = tuple(
                PatchedGrid(grid, patch)
                for grid, patch in chosen
                if patch is not None and all(p <= side for p, side in zip(patch, grid.shape, strict=True))
            )
            if fitting:
                yield fitting


def _estimate(descriptor: MaskDescriptor, grids: tuple[PatchedGrid, ...], costs: BackwardCosts, head_dim: int) -> float:
    """Milliseconds of the kernels, from a sample of the row tiles of the grids and one of the others."""
    order = token_order(descriptor.q_len, grids)
    rows = order.reshape(-1, BLOCK)
    segments = segments_of(order)
    inside = np.zeros(descriptor.q_len, np.bool_)
    for patched in grids:
        inside[patched.grid.start : patched.grid.stop] = True
    found = 0.0
    for tiles in (rows[inside[rows[:, 0]]], rows[~inside[rows[:, 0]]]):
        if len(tiles) == 0:
            continue
        some = tiles[sample(len(tiles))]
        blocks, full, _ = visited_blocks(cover_rows(descriptor, some), segments, COLUMNS)
        num_full, share = int(np.count_nonzero(full)), len(some) / len(tiles)
        found += costs.kernels_ms(num_full / share, (len(blocks) - num_full) / share, len(tiles), head_dim)
    return found


def _figures(rows_ms: float, kernels_ms: float, copies_ms: float, grids: tuple[PatchedGrid, ...]) -> str:
    shapes = dict.fromkeys(" x ".join(map(str, patched.patch)) for patched in grids)
    return (
        f"{rows_ms:.3f} ms predicted for row tiles, {kernels_ms + copies_ms:.3f} ms, {copies_ms:.3f} of them copies, for "
        f"queries and keys in patches of {' and '.join(shapes)}"
    )
