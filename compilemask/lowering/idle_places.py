"""Queries that see no key, and keys that no query sees, apart from places that are meant to be idle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.projection import hull, merge_intervals, solid
from compilemask.geometry.ragged import IntArray
from compilemask.lowering.layout import Layout

Intervals = tuple[IntArray, IntArray]
"""lo, hi: disjoint half-open intervals, ascending."""


@dataclass(frozen=True, slots=True)
class Idle:
    """How many places of an axis take no part, and the first of them; None when there is none."""

    count: int
    first: int | None


def idle_places(
    mask: MaskDescriptor, side: Literal["queries", "keys"], layout: Layout, allowed: Iterable[tuple[str, ...]] = ()
) -> Idle:
    """The queries without a key, or the keys without a query.

    Not those of unused regions, not slots that hold no token, and not those of the regions at the paths in `allowed`.
    """
    if side == "queries":
        length, busy = mask.q_len, merge_intervals(mask.runs.piece_start, mask.runs.piece_stop)
    else:
        shapes, _ = solid(mask.trapezoids())
        length, busy = mask.kv_len, merge_intervals(*hull(shapes))
    return _outside(length, (busy, _meant(layout, allowed)))


def _outside(length: int, covers: Iterable[Intervals]) -> Idle:
    """The places of [0, length) that lie in none of the intervals."""
    ends = [np.array([0, length], np.int64)]
    for lo, hi in covers:
        ends += [lo, hi]
    cuts = np.unique(np.clip(np.concatenate(ends), 0, length))
    start, stop = cuts[:-1], cuts[1:]
    free = np.ones(len(start), np.bool_)
    for lo, hi in covers:
        free &= np.searchsorted(lo, start, side="right") == np.searchsorted(hi, start, side="right")
    number = np.flatnonzero(free)
    count = int((stop - start)[number].sum())
    return Idle(count, int(start[number[0]]) if len(number) else None)


def _meant(layout: Layout, allowed: Iterable[tuple[str, ...]]) -> Intervals:
    """The places of an axis that are idle on purpose."""
    none = np.zeros(0, np.int64)
    lo, hi = [none], [none]
    chosen = set(allowed)
    for region in layout.regions.values():
        if region.unused or region.path in chosen:
            first, last = _stored(layout, region.start, region.stop if region.room is None else region.room)
        elif region.room is not None:
            first, last = _stored(layout, region.stop, region.room)
        else:
            continue
        lo.append(first)
        hi.append(last)
    return merge_intervals(np.concatenate(lo), np.concatenate(hi))


def _stored(layout: Layout, start: IntArray, stop: IntArray) -> Intervals:
    """Where the places [start, stop) are stored."""
    storage = layout.storage
    if storage is None:
        return start, stop
    lo, hi = [], []
    for first, last in zip(start.tolist(), stop.tolist(), strict=True):
        inside_lo = np.maximum(storage.logical, first)
        inside_hi = np.minimum(storage.logical + storage.length, last)
        shift = storage.stored - storage.logical
        keep = inside_lo < inside_hi
        lo.append((inside_lo + shift)[keep])
        hi.append((inside_hi + shift)[keep])
    return np.concatenate([np.zeros(0, np.int64), *lo]), np.concatenate([np.zeros(0, np.int64), *hi])
