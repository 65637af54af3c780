"""What the q tiles of any rows see: the columns that some row sees and those that all rows see, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import RunSet, Trapezoids
from compilemask.geometry.projection import hull, merge_intervals, solid
from compilemask.geometry.ragged import IntArray, offsets, spread
from compilemask.plan.coverage import Coverage, hidden_shapes


@dataclass(frozen=True, slots=True, eq=False)
class RowCoverage:
    """Coverage of q tiles whose slots hold any queries.

    coverage.shapes are parts: the descriptor's trapezoids cut to consecutive rows in consecutive slots of one q tile;
    each touches every column of its span, and span i is that of part i. slot[i]: the slot of its first row.
    """

    coverage: Coverage
    slot: IntArray


def cover_rows(descriptor: MaskDescriptor, row_index: IntArray) -> RowCoverage:
    """O((runs + parts) * log). row_index: [num_q_tiles, block_m], queries in slots, -1 where none; none twice."""
    stride = descriptor.kv_len + 1
    segments = _segments(row_index)
    parts, tile, slot = _cut(descriptor.trapezoids(), segments)
    lo, hi = hull(parts)
    span_start, span_stop = tile * stride + lo, tile * stride + hi
    seen_start, seen_stop = merge_intervals(span_start, span_stop)

    # rows outside of the segments count as hidden here, which hides nothing from the q tiles
    crossed = _crossed(descriptor.runs, segments)
    hidden, hidden_tile, _ = _cut(hidden_shapes(crossed, descriptor.q_len, descriptor.kv_len), segments)
    lo, hi = hull(hidden)
    border = np.arange(len(row_index)) * stride + descriptor.kv_len
    # the borders count as hidden, so what lies between two hidden intervals lies in one q tile
    hidden_start, hidden_stop = merge_intervals(
        np.concatenate([hidden_tile * stride + lo, border]), np.concatenate([hidden_tile * stride + hi, border + 1])
    )
    always_start = np.append(0, hidden_stop[:-1])[: len(hidden_start)]
    always = always_start < hidden_start
    coverage = Coverage(
        stride,
        parts,
        seen_start,
        seen_stop,
        always_start[always],
        hidden_start[always],
        span_start,
        span_stop,
        np.arange(len(parts)),
    )
    return RowCoverage(coverage, slot)


@dataclass(frozen=True, slots=True, eq=False)
class _Segments:
    """Consecutive rows [start, stop) in consecutive slots from `slot` on of one q tile; ascending, disjoint."""

    start: IntArray
    stop: IntArray
    tile: IntArray
    slot: IntArray


def _segments(row_index: IntArray) -> _Segments:
    if row_index.size == 0:
        none = np.zeros(0, np.int64)
        return _Segments(none, none, none, none)
    head = np.ones(row_index.shape, np.bool_)
    head[:, 1:] = row_index[:, 1:] != row_index[:, :-1] + 1
    first = np.flatnonzero(head & (row_index >= 0))
    tile, slot = np.divmod(first, row_index.shape[1])
    # a segment ends at the next head, which may be a slot without row, or with its q tile
    heads = np.append(np.flatnonzero(head | (row_index < 0)), row_index.size)
    rows = heads[np.searchsorted(heads, first, side="right")] - first
    start = row_index.ravel()[first]
    order = np.argsort(start)
    return _Segments(start[order], (start + rows)[order], tile[order], slot[order])


def _crossed(runs: RunSet, segments: _Segments) -> RunSet:
    """The pieces of the runs that have a row in a segment."""
    first = np.searchsorted(segments.stop, runs.piece_start, side="right")
    last = np.searchsorted(segments.start, runs.piece_stop, side="left")
    piece = np.flatnonzero(last > first)
    count = np.diff(runs.indptr)[piece]
    _, run = spread(runs.indptr[piece], count)
    return RunSet(
        runs.piece_start[piece],
        runs.piece_stop[piece],
        offsets(count),
        runs.lo_slope[run],
        runs.lo_offset[run],
        runs.hi_slope[run],
        runs.hi_offset[run],
    )


def _cut(shapes: Trapezoids, segments: _Segments) -> tuple[Trapezoids, IntArray, IntArray]:
    """(parts, q tile, slot of the first row): the shapes cut to the segments they cross."""
    shapes, _ = solid(shapes)
    first = np.searchsorted(segments.stop, shapes.q_start, side="right")
    last = np.searchsorted(segments.start, shapes.q_stop, side="left")
    shape, segment = spread(first, np.maximum(last - first, 0))
    start = np.maximum(shapes.q_start[shape], segments.start[segment])
    parts = Trapezoids(
        start,
        np.minimum(shapes.q_stop[shape], segments.stop[segment]),
        shapes.lo_slope[shape],
        shapes.lo_offset[shape],
        shapes.hi_slope[shape],
        shapes.hi_offset[shape],
    )
    return parts, segments.tile[segment], segments.slot[segment] + start - segments.start[segment]
