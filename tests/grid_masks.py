"""Masks of tokens on grids, drawn by hand as trapezoids, and the same masks as predicates for small grids."""

from __future__ import annotations

from itertools import pairwise, product
from math import isqrt, prod

import numpy as np
import numpy.typing as npt

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids

BoolArray = npt.NDArray[np.bool_]


def disc(text: int, height: int, width: int, radius: int) -> MaskDescriptor:
    """Text sees and is seen by everything; an image token sees the image tokens nearer than the radius."""
    n = text + height * width
    parts = [Trapezoids.rectangle(0, text, 0, n), Trapezoids.rectangle(text, n, 0, text)] if text else []
    for dy in range(1 - radius, radius):
        reach = isqrt(radius * radius - 1 - dy * dy)
        y = np.arange(max(0, -dy), min(height, height - dy))
        if len(y) == 0:
            continue
        q, k = text + y * width, text + (y + dy) * width
        parts += _line(q, k, width, np.arange(width) - reach, np.arange(width) + reach + 1)
    return MaskDescriptor.from_trapezoids(n, n, Trapezoids.concat(parts))


def natten(grid: tuple[int, ...], window: tuple[int, ...], text: int = 0) -> MaskDescriptor:
    """A token sees a window of fixed size around it, pushed inside at the borders; text sees nothing."""
    n = text + prod(grid)
    width, wide = grid[-1], window[-1]
    line = np.arange(prod(grid[:-1])).reshape(grid[:-1])
    starts = [np.clip(np.arange(size) - w // 2, 0, size - w) for size, w in zip(grid[:-1], window[:-1], strict=True)]
    x = np.clip(np.arange(width) - wide // 2, 0, width - wide)
    parts = []
    for offset in product(*(range(w) for w in window[:-1])):
        seen = line[np.ix_(*(start + step for start, step in zip(starts, offset, strict=True)))]
        parts += _line(text + line.ravel() * width, text + seen.ravel() * width, width, x, x + wide)
    return MaskDescriptor.from_trapezoids(n, n, Trapezoids.concat(parts))


def _line(
    q: npt.NDArray[np.int64],
    k: npt.NDArray[np.int64],
    width: int,
    lo: npt.NDArray[np.int64],
    hi: npt.NDArray[np.int64],
) -> list[Trapezoids]:
    """Token x of the line at q sees [lo[x], hi[x]) of the line at k, cut to the line; as few shapes as there are steps."""
    lo, hi = np.maximum(lo, 0), np.minimum(hi, width)
    step = np.stack([np.diff(lo), np.diff(hi)])
    cuts = [0, *(np.flatnonzero((step[:, 1:] != step[:, :-1]).any(axis=0)) + 2).tolist(), width]
    parts = []
    for start, stop in pairwise(cuts):
        if start >= stop:
            continue
        lo_slope = int(lo[start + 1] - lo[start]) if stop - start > 1 else 0
        hi_slope = int(hi[start + 1] - hi[start]) if stop - start > 1 else 0
        at = q + start
        lo_offset, hi_offset = k + int(lo[start]) - lo_slope * at, k + int(hi[start]) - hi_slope * at
        parts.append(Trapezoids.of(at, q + stop, lo_slope, lo_offset, hi_slope, hi_offset))
    return parts


def disc_cells(text: int, height: int, width: int, radius: int) -> BoolArray:
    i = np.arange(text + height * width) - text
    y, x = i // width, i % width
    near = (y[:, None] - y) ** 2 + (x[:, None] - x) ** 2 < radius * radius
    cells: BoolArray = near | (i < 0)[:, None] | (i < 0)[None]
    return cells


def natten_cells(grid: tuple[int, ...], window: tuple[int, ...]) -> BoolArray:
    seen = np.ones((prod(grid), prod(grid)), np.bool_)
    for at, size, wide in zip(np.unravel_index(np.arange(prod(grid)), grid), grid, window, strict=True):
        lo = np.clip(at - wide // 2, 0, size - wide)[:, None]
        seen &= (at[None] >= lo) & (at[None] < lo + wide)
    return seen


def descriptor_of(cells: BoolArray) -> MaskDescriptor:
    """The mask of dense cells, row by row."""
    edge = np.zeros((len(cells), 1), np.int8)
    q, k = np.nonzero(np.diff(np.concatenate([edge, cells.astype(np.int8), edge], axis=1)))
    shapes = Trapezoids.rectangle(q[::2], q[::2] + 1, k[::2], k[1::2])
    return MaskDescriptor.from_trapezoids(*cells.shape, shapes)
