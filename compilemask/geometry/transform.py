"""Sets of cells moved and mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from compilemask.geometry.algebra import normalize
from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.geometry.runs import RunSet, Trapezoids
from compilemask.geometry.sweep import MAX_ENDS


def shift(cells: RunSet, dq: int, dk: int) -> RunSet:
    """Every cell (q, k) moved to (q + dq, k + dk)."""
    return RunSet(
        cells.piece_start + dq,
        cells.piece_stop + dq,
        cells.indptr,
        cells.lo_slope,
        cells.lo_offset + dk - cells.lo_slope * dq,
        cells.hi_slope,
        cells.hi_offset + dk - cells.hi_slope * dq,
    )


def stack(parts: Sequence[RunSet]) -> RunSet:
    """Sets of cells of which each lies below all rows of the one before it, together; `recut` makes it canonical."""
    if not parts:
        return RunSet.empty()
    counts = [np.diff(part.indptr) for part in parts]
    return RunSet(
        np.concatenate([part.piece_start for part in parts]),
        np.concatenate([part.piece_stop for part in parts]),
        offsets(np.concatenate(counts)),
        np.concatenate([part.lo_slope for part in parts]),
        np.concatenate([part.lo_offset for part in parts]),
        np.concatenate([part.hi_slope for part in parts]),
        np.concatenate([part.hi_offset for part in parts]),
    )


def transpose(cells: RunSet) -> RunSet:
    """Every cell (q, k) moved to (k, q).

    Runs whose ends have slopes -1, 0 or 1 turn in closed form; the others are split into their rows first (an affine
    end of another slope is no affine function of k), which costs O(rows) for those.
    """
    shapes = cells.trapezoids()
    steep = (np.abs(shapes.lo_slope) > 1) | (np.abs(shapes.hi_slope) > 1)
    if not steep.any():
        return normalize(_turn(shapes))
    return normalize(_turn(Trapezoids.concat([shapes.take(~steep), split_rows(shapes.take(steep))])))


def split_rows(shapes: Trapezoids) -> Trapezoids:
    """The same cells as one rectangle per row of each shape."""
    rows = np.maximum(shapes.q_stop - shapes.q_start, 0)
    if int(rows.sum()) > MAX_ENDS // 2:
        raise ValueError(
            f"{int(rows.sum())} rows have ends with slopes other than -1, 0 and 1, "
            f"more than the {MAX_ENDS // 2} that can be split row by row"
        )
    shape, q = spread(shapes.q_start, rows)
    each = shapes.take(shape)
    return Trapezoids.rectangle(q, q + 1, each.lo(q), each.hi(q))


def _turn(shapes: Trapezoids) -> Trapezoids:
    """Transposed shapes, up to three for each; slopes must be -1, 0 or 1 and no row empty.

    The values of both ends at both end rows cut the columns into three bands. In a band the rows that see column k are
    [lower(k), upper(k)), each one affine: the first or last row, or the inverse of one of the two ends.
    """
    top, bottom = shapes.q_start, shapes.q_stop - 1
    corners = np.sort(np.stack([shapes.lo(top), shapes.lo(bottom), shapes.hi(top), shapes.hi(bottom)]), axis=0)
    zero, never = np.zeros(len(shapes), np.int64), np.zeros(len(shapes), np.bool_)
    below = [  # q >= slope*k + offset
        (zero, shapes.q_start, ~never),
        (zero - 1, shapes.lo_offset, shapes.lo_slope == -1),
        (zero + 1, 1 - shapes.hi_offset, shapes.hi_slope == 1),
    ]
    above = [  # q < slope*k + offset
        (zero, shapes.q_stop, ~never),
        (zero + 1, 1 - shapes.lo_offset, shapes.lo_slope == 1),
        (zero - 1, shapes.hi_offset, shapes.hi_slope == -1),
    ]
    bands = []
    for k_start, k_stop in pairwise(corners):
        middle = k_start + k_stop - 1  # twice the middle column: comparing there avoids the ties at the corners
        lower_slope, lower_offset = _binding(below, middle, 1)
        upper_slope, upper_offset = _binding(above, middle, -1)
        bands.append(Trapezoids(k_start, k_stop, lower_slope, lower_offset, upper_slope, upper_offset))
    return Trapezoids.concat(bands)


def _binding(
    bounds: list[tuple[IntArray, IntArray, BoolArray]], middle: IntArray, sign: int
) -> tuple[IntArray, IntArray]:
    """The bound that matters at column middle/2: the greatest of those that apply (sign 1), or the least (sign -1)."""
    slope, offset, _ = bounds[0]
    for other_slope, other_offset, applies in bounds[1:]:
        wins = applies & (sign * ((other_slope - slope) * middle + 2 * (other_offset - offset)) > 0)
        slope, offset = np.where(wins, other_slope, slope), np.where(wins, other_offset, offset)
    return slope, offset
