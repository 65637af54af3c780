"""Cells at logical places, moved to where their tokens are stored."""

from __future__ import annotations

from typing import Literal

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import IntArray, spread
from compilemask.geometry.runs import Trapezoids
from compilemask.lowering.bands import intersect_aligned, without_empty_rows
from compilemask.lowering.domain import check_runs
from compilemask.lowering.layout import Layout
from compilemask.lowering.storage import Storage


def stored_cells(shapes: Trapezoids, queries: Storage | None, keys: Storage | None, span: Span) -> Trapezoids:
    """Cells at logical places, moved to where their tokens are stored: shapes cut at the ends of the stretches."""
    if queries is not None:
        shapes = _rows_moved(shapes, queries, span)
    if keys is not None:
        shapes = _keys_moved(shapes, keys, span)
    return shapes


def earlier_cells(align: Literal["start", "end"] | None, queries: Layout, keys: Layout, span: Span) -> Trapezoids:
    """The cells whose key is not later than their query, in the order in which tokens are counted, where they are stored.

    Aligned: counted from the first or the last place that holds a token, as the rule between single regions counts.
    """
    shift = 0
    if align is not None:
        end = int(align == "end")
        shift = keys.tokens[end] - queries.tokens[end]
    counted = Trapezoids.of(0, queries.length, 0, 0, 1, 1 + shift)
    return stored_cells(counted, queries.storage, keys.storage, span)


def _rows_moved(shapes: Trapezoids, storage: Storage, span: Span) -> Trapezoids:
    end = storage.logical + storage.length
    first = np.searchsorted(end, shapes.q_start, side="right")
    count = np.maximum(np.searchsorted(storage.logical, shapes.q_stop) - first, 0)
    check_runs(int(count.sum()), span)
    shape, stretch = spread(first, count)
    cut = shapes.take(shape)
    shift = storage.stored[stretch] - storage.logical[stretch]
    return Trapezoids(
        np.maximum(cut.q_start, storage.logical[stretch]) + shift,
        np.minimum(cut.q_stop, end[stretch]) + shift,
        cut.lo_slope,
        cut.lo_offset - cut.lo_slope * shift,
        cut.hi_slope,
        cut.hi_offset - cut.hi_slope * shift,
    )


def _keys_moved(shapes: Trapezoids, storage: Storage, span: Span) -> Trapezoids:
    end = storage.logical + storage.length
    shapes = without_empty_rows(shapes)
    lo = np.minimum(shapes.lo(shapes.q_start), shapes.lo(shapes.q_stop - 1))
    hi = np.maximum(shapes.hi(shapes.q_start), shapes.hi(shapes.q_stop - 1))
    first = np.searchsorted(end, lo, side="right")
    count = np.maximum(np.searchsorted(storage.logical, hi) - first, 0)
    check_runs(int(count.sum()), span)
    shape, stretch = spread(first, count)
    cut = shapes.take(shape)
    none = np.zeros(len(cut), np.int64)
    first_slot = storage.stored[stretch]
    slots = Trapezoids(cut.q_start, cut.q_stop, none, first_slot, none, first_slot + storage.length[stretch])
    return intersect_aligned(_shifted(cut, first_slot - storage.logical[stretch]), slots)


def _shifted(shapes: Trapezoids, shift: IntArray) -> Trapezoids:
    return Trapezoids(
        shapes.q_start,
        shapes.q_stop,
        shapes.lo_slope,
        shapes.lo_offset + shift,
        shapes.hi_slope,
        shapes.hi_offset + shift,
    )
