"""Sets of integers as disjoint ascending bands [lo, hi), and the cells whose number lies in a band."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray, spread
from compilemask.geometry.runs import Trapezoids
from compilemask.lowering.limits import MAX_RUNS, UNBOUNDED

Comparison = Literal["<", "<=", "==", "!=", ">=", ">"]


@dataclass(frozen=True, slots=True, eq=False)
class Bands:
    """A set of integers: the union of [lo[n], hi[n]), ascending, not touching. An end of -UNBOUNDED or UNBOUNDED is absent."""

    lo: IntArray
    hi: IntArray

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def is_everything(self) -> bool:
        return len(self) == 1 and self.lo[0] == -UNBOUNDED and self.hi[0] == UNBOUNDED

    def contains(self, number: int) -> bool:
        return bool(np.any((self.lo <= number) & (number < self.hi)))

    def complement(self) -> Bands:
        ends = np.concatenate([[-UNBOUNDED], np.stack([self.lo, self.hi], axis=1).ravel(), [UNBOUNDED]])
        lo, hi = ends[0::2], ends[1::2]
        return Bands(lo[lo < hi], hi[lo < hi])

    def union(self, other: Bands) -> Bands:
        lo, hi = np.concatenate([self.lo, other.lo]), np.concatenate([self.hi, other.hi])
        if len(lo) == 0:
            return self
        order = np.argsort(lo, kind="stable")
        lo, hi = lo[order], np.maximum.accumulate(hi[order])
        fresh = np.ones(len(lo), np.bool_)
        fresh[1:] = lo[1:] > hi[:-1]
        return Bands(lo[fresh], hi[np.append(np.flatnonzero(fresh)[1:], len(lo)) - 1])

    def intersection(self, other: Bands) -> Bands:
        return self.complement().union(other.complement()).complement()

    def unscaled(self, factor: int, constant: int) -> Bands:
        """The numbers s for which factor * s + constant lies in this set."""
        if factor < 0:
            lo = np.where(self.hi == UNBOUNDED, -UNBOUNDED, 1 - self.hi)[::-1]
            hi = np.where(self.lo == -UNBOUNDED, UNBOUNDED, 1 - self.lo)[::-1]
            return Bands(lo, hi).unscaled(-factor, -constant)
        lo = np.where(self.lo == -UNBOUNDED, -UNBOUNDED, -((constant - self.lo) // factor))
        hi = np.where(self.hi == UNBOUNDED, UNBOUNDED, -((constant - self.hi) // factor))
        return Bands(lo[lo < hi], hi[lo < hi]).union(NOTHING)


NOTHING = Bands(np.zeros(0, np.int64), np.zeros(0, np.int64))


def bands_of(operator: Comparison) -> Bands:
    """The numbers s with s operator 0."""
    ends = {
        "<": [(-UNBOUNDED, 0)],
        "<=": [(-UNBOUNDED, 1)],
        "==": [(0, 1)],
        "!=": [(-UNBOUNDED, 0), (1, UNBOUNDED)],
        ">=": [(0, UNBOUNDED)],
        ">": [(1, UNBOUNDED)],
    }[operator]
    return Bands(np.array([lo for lo, _ in ends]), np.array([hi for _, hi in ends]))


def bands_where(truth: BoolArray, first: int) -> Bands:
    """The numbers first + n for which truth[n] holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], truth, [False]]).astype(np.int8)))
    return Bands(edges[0::2] + first, edges[1::2] + first)


# ---------------------------------------------------------------- cells


def band_cells(
    rows: tuple[IntArray, IntArray],
    keys: tuple[IntArray, IntArray],
    q_factor: IntArray,
    k_factor: IntArray,
    constant: IntArray,
    band: tuple[IntArray, IntArray],
) -> Trapezoids | None:
    """Cells of the rectangles rows x keys with band[0] <= q_factor*q + k_factor*k + constant < band[1], all arrays aligned.

    None when a rectangle whose key factor does not divide its query factor has too many rows to be taken row by row.
    """
    even = np.ones(len(constant), np.bool_)
    sloped = np.flatnonzero(k_factor)
    even[sloped] = q_factor[sloped] % k_factor[sloped] == 0
    if even.all():
        return _even_cells(rows, keys, q_factor, k_factor, constant, band)
    odd = np.flatnonzero(~even)
    if int((rows[1][odd] - rows[0][odd]).sum()) > MAX_RUNS:
        return None
    rectangle, q = spread(rows[0][odd], rows[1][odd] - rows[0][odd])
    pick = odd[rectangle]
    none = np.zeros(len(pick), np.int64)
    stepped = _even_cells(
        (q, q + 1),
        (keys[0][pick], keys[1][pick]),
        none,
        k_factor[pick],
        constant[pick] + q_factor[pick] * q,
        (band[0][pick], band[1][pick]),
    )
    smooth = _even_cells(
        (rows[0][even], rows[1][even]),
        (keys[0][even], keys[1][even]),
        q_factor[even],
        k_factor[even],
        constant[even],
        (band[0][even], band[1][even]),
    )
    return Trapezoids.concat([smooth, stepped])


def _even_cells(
    rows: tuple[IntArray, IntArray],
    keys: tuple[IntArray, IntArray],
    q_factor: IntArray,
    k_factor: IntArray,
    constant: IntArray,
    band: tuple[IntArray, IntArray],
) -> Trapezoids:
    """The case in which every end is affine in q: one shape, cut by its rectangle."""
    lo, hi = band
    rising = k_factor > 0
    divisor = np.where(k_factor == 0, 1, np.abs(k_factor))
    slope = np.where(rising, -q_factor, q_factor) // divisor
    # rising: k >= (lo - constant - q_factor*q) / divisor; falling: k > (q_factor*q + constant - hi) / divisor
    left = np.where(rising, -((constant - lo) // divisor), (constant - hi) // divisor + 1)
    right = np.where(rising, -((constant - hi) // divisor), (constant - lo) // divisor + 1)
    free_left = (k_factor == 0) | np.where(rising, lo == -UNBOUNDED, hi == UNBOUNDED)
    free_right = (k_factor == 0) | np.where(rising, hi == UNBOUNDED, lo == -UNBOUNDED)
    zero = np.zeros(len(constant), np.int64)
    start, stop = _rows_in_band(rows, q_factor, constant, band, k_factor == 0)
    shapes = Trapezoids(
        start,
        stop,
        np.where(free_left, zero, slope),
        np.where(free_left, keys[0], left),
        np.where(free_right, zero, slope),
        np.where(free_right, keys[1], right),
    )
    if free_left.all() and free_right.all():
        return shapes.take((start < stop) & (keys[0] < keys[1]))
    return intersect_aligned(shapes, Trapezoids(rows[0], rows[1], zero, keys[0], zero, keys[1]))


def _rows_in_band(
    rows: tuple[IntArray, IntArray],
    q_factor: IntArray,
    constant: IntArray,
    band: tuple[IntArray, IntArray],
    concerned: BoolArray,
) -> tuple[IntArray, IntArray]:
    """The rows cut to those with q_factor*q + constant in the band, for rectangles whose number does not change with k."""
    if not concerned.any():
        return rows
    lo, hi = band
    step = np.where(q_factor == 0, 1, np.abs(q_factor))
    below, above = np.where(q_factor < 0, 1 - hi, lo), np.where(q_factor < 0, 1 - lo, hi)
    signed = np.where(q_factor < 0, -constant, constant)
    start = np.maximum(rows[0], -((signed - below) // step))
    stop = np.minimum(rows[1], -((signed - above) // step))
    level = q_factor == 0
    stop = np.where(level, np.where((lo <= constant) & (constant < hi), rows[1], rows[0]), stop)
    start = np.where(level, rows[0], start)
    return np.where(concerned, start, rows[0]), np.where(concerned, stop, rows[1])


def intersect_aligned(a: Trapezoids, b: Trapezoids) -> Trapezoids:
    """Shape by shape, the cells in both a[n] and b[n]; up to three shapes each, without empty rows."""
    top = np.maximum(a.q_start, b.q_start)
    bottom = np.maximum(np.minimum(a.q_stop, b.q_stop), top)
    lo_cut, lo_first = _greater(a.lo_slope - b.lo_slope, a.lo_offset - b.lo_offset, top, bottom)
    hi_cut, hi_first = _greater(b.hi_slope - a.hi_slope, b.hi_offset - a.hi_offset, top, bottom)
    cuts = np.sort(np.stack([top, lo_cut, hi_cut, bottom]), axis=0)
    parts = []
    for start, stop in pairwise(cuts):
        use = np.flatnonzero(start < stop)
        if len(use) == 0:
            continue
        first, last = start[use], stop[use]
        lo_a = lo_first[use] == (first < lo_cut[use])
        hi_a = hi_first[use] == (first < hi_cut[use])
        parts.append(
            Trapezoids(
                first,
                last,
                np.where(lo_a, a.lo_slope[use], b.lo_slope[use]),
                np.where(lo_a, a.lo_offset[use], b.lo_offset[use]),
                np.where(hi_a, a.hi_slope[use], b.hi_slope[use]),
                np.where(hi_a, a.hi_offset[use], b.hi_offset[use]),
            )
        )
    return without_empty_rows(Trapezoids.concat(parts))


def _greater(slope: IntArray, offset: IntArray, top: IntArray, bottom: IntArray) -> tuple[IntArray, BoolArray]:
    """Where slope*q + offset >= 0 changes in [top, bottom): the first row after the change, and whether it holds before it."""
    step = np.where(slope == 0, 1, np.abs(slope))
    change = np.where(slope > 0, -(offset // step), np.where(slope < 0, offset // step + 1, bottom))
    return np.clip(change, top, np.maximum(top, bottom)), np.where(slope == 0, offset >= 0, slope < 0)


def without_empty_rows(shapes: Trapezoids) -> Trapezoids:
    """The same cells; every row of every shape has a cell."""
    slope, offset = shapes.hi_slope - shapes.lo_slope, shapes.hi_offset - shapes.lo_offset - 1
    cut, first = _greater(slope, offset, shapes.q_start, shapes.q_stop)
    start, stop = np.where(first, shapes.q_start, cut), np.where(first, cut, shapes.q_stop)
    use = np.flatnonzero(start < stop)
    rest = shapes.take(use)
    return Trapezoids(start[use], stop[use], rest.lo_slope, rest.lo_offset, rest.hi_slope, rest.hi_offset)
