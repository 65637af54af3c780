"""Statistics of the aligned grid of tiles, as libraries with block masks would visit it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.projection import merge_intervals
from compilemask.plan.coverage import cover
from compilemask.plan.planner import check_block, check_descriptor


@dataclass(frozen=True, slots=True)
class GridCounts:
    """Tiles of the grid ceil(q_len / block_m) x ceil(kv_len / block_n) with all, some, and none of their cells visible.

    A tile that hangs over the edge of the mask counts by the cells that exist.
    """

    full: int
    partial: int
    empty: int


def grid_counts(descriptor: MaskDescriptor, block_m: int, block_n: int) -> GridCounts:
    """Exact, without building the grid: O((runs + q tiles crossed) * log). Raises as plan_tiles does for what does not fit."""
    check_descriptor("grid_counts", descriptor)
    block_m, block_n = check_block("block_m", block_m), check_block("block_n", block_n)
    coverage = cover(descriptor, block_m)
    stride, kv_len = coverage.stride, descriptor.kv_len
    columns = -(-kv_len // block_n)
    q_tile, seen_start = np.divmod(coverage.seen_start, stride)
    seen_stop = coverage.seen_stop - q_tile * stride
    first, last = merge_intervals(
        q_tile * (columns + 1) + seen_start // block_n, q_tile * (columns + 1) - (-seen_stop // block_n)
    )
    visited = int(np.sum(last - first))
    q_tile, always_start = np.divmod(coverage.always_start, stride)
    always_stop = coverage.always_stop - q_tile * stride
    stop = np.where(always_stop == kv_len, columns, always_stop // block_n)
    full = int(np.sum(np.maximum(stop + (-always_start // block_n), 0)))
    return GridCounts(full, visited - full, -(-descriptor.q_len // block_m) * columns - visited)
