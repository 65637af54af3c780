"""Token orders: where a region's tokens are stored, when that is not the order in which they are counted.

Conditions speak of logical places; the axis, and everything behind the lowering, is the order of storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import IntArray
from compilemask.lowering.binding import Binding
from compilemask.lowering.failure import BindError
from compilemask.lowering.limits import MAX_TABLE


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """An order of the tokens of an axis: [stored[n], stored[n] + length[n]) holds the logical places from logical[n] on.

    The stretches are in logical order and cover the axis.
    """

    stored: IntArray
    logical: IntArray
    length: IntArray

    def logical_of(self, token: int) -> int:
        """The logical place that is stored at a token of the axis."""
        inside = (self.stored <= token) & (token < self.stored + self.length)
        number = int(np.argmax(inside))
        return token - int(self.stored[number]) + int(self.logical[number])


def same_order(one: Storage | None, other: Storage | None) -> bool:
    """Whether two axes of one length store the token of every place at the same slot."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one.stored, other.stored) and np.array_equal(one.logical, other.logical)


def storage_of(orders: Sequence[tuple[int, IntArray]], length: int) -> Storage | None:
    """The order of an axis of `length` tokens from (first token, order) of each region that has one; None for none.

    order[s] is the logical place, from the first token on, of the token that is stored at s.
    """
    if not orders:
        return None
    place = np.arange(length)
    for start, order in orders:
        place[start : start + len(order)] = start + order
    first = np.flatnonzero(np.diff(place, prepend=-2) != 1)
    stretch = np.diff(np.append(first, length))
    by_place = np.argsort(place[first], kind="stable")
    return Storage(first[by_place], place[first][by_place], stretch[by_place])


def check_length(length: int, binding: Binding, span: Span) -> None:
    """Raises `BindError` for an axis with an order that is too long to be written out token by token."""
    if length > MAX_TABLE:
        message = f"this axis has {length:,} tokens; an axis with an order of its own has up to {MAX_TABLE:,}"
        raise BindError("CM405", message, span, "bind smaller sizes")
    binding.spend(length, span)


# ---------------------------------------------------------------- orders


def tiles_order(extents: Sequence[int], tile: Sequence[int]) -> IntArray:
    """Tile after tile, both in row-major order; tiles at the far edges may be cut."""
    place = np.arange(int(np.prod(extents)))
    coordinates = np.unravel_index(place, tuple(max(extent, 1) for extent in extents))
    keys = [coordinate // size for coordinate, size in zip(coordinates, tile, strict=True)]
    return np.lexsort((place, *reversed(keys)))


def zigzag_order(length: int, ranks: int) -> IntArray:
    """2 * ranks chunks; rank r holds chunk r and, behind it, chunk 2 * ranks - 1 - r."""
    chunk = length // (2 * ranks)
    number = np.stack([np.arange(ranks), 2 * ranks - 1 - np.arange(ranks)], axis=1).ravel()
    order: IntArray = (number[:, None] * chunk + np.arange(chunk)).ravel()
    return order


def pages_order(slots: int, pages: IntArray, size: int) -> IntArray:
    """Page pages[t // size] holds token t; places behind the last token stand for the slots that hold none."""
    tokens = len(pages) * size
    order = np.full(slots, -1, np.int64)
    order[(pages[:, None] * size + np.arange(size)).ravel()] = np.arange(tokens)
    order[order < 0] = np.arange(tokens, slots)
    return order
