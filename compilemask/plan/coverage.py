"""Per q tile, the columns that some row sees and the columns that all rows see, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import RunSet, Trapezoids
from compilemask.geometry.projection import hull, merge_intervals, solid
from compilemask.geometry.ragged import IntArray, offsets, spread


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Columns of all q tiles on one line: column k of q tile t is the place t*stride + k, with stride = kv_len + 1.

    Place t*stride + kv_len is no column and lies in no interval, so intervals of neighbouring q tiles never touch.
    seen_start, seen_stop: maximal intervals of places that some row of their q tile sees, ascending.
    always_start, always_stop: of places that all of its rows see.
    span_start, span_stop, span_shape: what the shape (an index into `shapes`) touches in one q tile, every place of the
    span; one span per q tile and shape, or more where a shape jumps from row to row.
    """

    stride: int
    shapes: Trapezoids
    seen_start: IntArray
    seen_stop: IntArray
    always_start: IntArray
    always_stop: IntArray
    span_start: IntArray
    span_stop: IntArray
    span_shape: IntArray


def tile_crossings(descriptor: MaskDescriptor, block_m: int) -> int:
    """How many (run, q tile) pairs have a row in common: what planning takes, known before it is done."""
    shapes = descriptor.trapezoids()
    return int(np.sum((shapes.q_stop - 1) // block_m - shapes.q_start // block_m + 1))


def cover(descriptor: MaskDescriptor, block_m: int) -> Coverage:
    """O((runs + q tiles crossed) * log). block_m: rows of a q tile."""
    stride = descriptor.kv_len + 1
    num_q_tiles = -(-descriptor.q_len // block_m)
    shapes = descriptor.trapezoids()
    span_start, span_stop, span_shape = _project(shapes, block_m, stride)
    seen_start, seen_stop = merge_intervals(span_start, span_stop)

    hidden_start, hidden_stop, _ = _project(
        hidden_shapes(descriptor.runs, descriptor.q_len, descriptor.kv_len), block_m, stride
    )
    border = np.arange(num_q_tiles) * stride + descriptor.kv_len
    # the borders count as hidden, so what lies between two hidden intervals lies in one q tile
    hidden_start, hidden_stop = merge_intervals(
        np.concatenate([hidden_start, border]), np.concatenate([hidden_stop, border + 1])
    )
    always_start = np.append(0, hidden_stop[:-1])[: len(hidden_start)]
    always = always_start < hidden_start
    return Coverage(
        stride,
        shapes,
        seen_start,
        seen_stop,
        always_start[always],
        hidden_start[always],
        span_start,
        span_stop,
        span_shape,
    )


def _project(shapes: Trapezoids, block_m: int, stride: int) -> tuple[IntArray, IntArray, IntArray]:
    """Places that each shape touches in each q tile it crosses: (start, stop, shape)."""
    parts, source = solid(shapes)
    first = parts.q_start // block_m
    part, q_tile = spread(first, (parts.q_stop - 1) // block_m + 1 - first)
    clipped = parts.take(part)
    lo, hi = hull(
        Trapezoids(
            np.maximum(clipped.q_start, q_tile * block_m),
            np.minimum(clipped.q_stop, (q_tile + 1) * block_m),
            clipped.lo_slope,
            clipped.lo_offset,
            clipped.hi_slope,
            clipped.hi_offset,
        )
    )
    return q_tile * stride + lo, q_tile * stride + hi, source[part]


def hidden_shapes(runs: RunSet, q_len: int, kv_len: int) -> Trapezoids:
    """The hidden cells of q_len x kv_len: what lies before, between and behind the runs of each piece, and the rows of no piece.

    The shapes at both borders may be empty in some rows, but share the border in all, so their hull is still exact.
    """
    pieces = np.arange(runs.num_pieces)
    count = np.diff(runs.indptr)
    gap_indptr = offsets(count + 1)
    owner = np.repeat(pieces, count + 1)
    slot = np.arange(runs.num_runs) + np.repeat(pieces, count)  # the gap before each run
    shapes = Trapezoids.of(runs.piece_start[owner], runs.piece_stop[owner], 0, 0, 0, kv_len)
    lo_slope, lo_offset = np.zeros(gap_indptr[-1], np.int64), np.zeros(gap_indptr[-1], np.int64)
    hi_slope, hi_offset = np.zeros(gap_indptr[-1], np.int64), shapes.hi_offset.copy()
    lo_slope[slot + 1], lo_offset[slot + 1] = runs.hi_slope, runs.hi_offset
    lo_slope[gap_indptr[:-1]], lo_offset[gap_indptr[:-1]] = 0, 0
    hi_slope[slot], hi_offset[slot] = runs.lo_slope, runs.lo_offset
    gaps = Trapezoids(shapes.q_start, shapes.q_stop, lo_slope, lo_offset, hi_slope, hi_offset)
    row_start = np.append(0, runs.piece_stop)
    row_stop = np.append(runs.piece_start, q_len)
    empty = row_start < row_stop
    return Trapezoids.concat([gaps, Trapezoids.rectangle(row_start[empty], row_stop[empty], 0, kv_len)])
