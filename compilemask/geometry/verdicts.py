"""Answers about two sets of shapes that comparing them pair by pair can give, at a tenth of the price of a sweep."""

from __future__ import annotations

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray
from compilemask.geometry.runs import Trapezoids, check_magnitudes

MAX_PAIRS = 2**12
"""Pairs of shapes that are compared; above it a sweep is as cheap."""


def surely_apart(a: Trapezoids, b: Trapezoids) -> bool:
    """Whether no shape of a shares a cell with one of b, as far as their pairs tell; False may mean either.

    In the rows that two shapes share, their ends are affine: what lies beside the other one in the first and in the
    last of these rows does so in all.
    """
    if len(a) * len(b) > MAX_PAIRS:
        return False
    first, last, apart = _common_rows(a, b)
    left, right = np.ones_like(apart), np.ones_like(apart)
    for row in (first, last):
        lo_a, hi_a, lo_b, hi_b = _ends(a, b, row)
        left &= hi_a <= lo_b
        right &= hi_b <= lo_a
    return bool(np.all(apart | left | right))


def surely_within(a: Trapezoids, b: Trapezoids) -> bool:
    """Whether each shape of a lies in one of b, by the same reasoning; False may mean either."""
    if len(a) * len(b) > MAX_PAIRS:
        return False
    first, last, _ = _common_rows(a, b)
    within = (first == a.q_start[:, None]) & (last == a.q_stop[:, None] - 1)
    for row in (first, last):
        lo_a, hi_a, lo_b, hi_b = _ends(a, b, row)
        within &= (lo_b <= lo_a) & (hi_a <= hi_b)
    return bool(np.all(within.any(axis=1) | (a.q_start >= a.q_stop)))


def _common_rows(a: Trapezoids, b: Trapezoids) -> tuple[IntArray, IntArray, BoolArray]:
    check_magnitudes(a)
    check_magnitudes(b)
    first = np.maximum(a.q_start[:, None], b.q_start[None, :])
    last = np.minimum(a.q_stop[:, None], b.q_stop[None, :]) - 1
    return first, last, first > last


def _ends(a: Trapezoids, b: Trapezoids, row: IntArray) -> tuple[IntArray, ...]:
    return (
        a.lo_slope[:, None] * row + a.lo_offset[:, None],
        a.hi_slope[:, None] * row + a.hi_offset[:, None],
        b.lo_slope[None, :] * row + b.lo_offset[None, :],
        b.hi_slope[None, :] * row + b.hi_offset[None, :],
    )
