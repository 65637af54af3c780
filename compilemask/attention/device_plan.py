"""A tile plan made on the device, from row intervals in tensors: torch operations of fixed shapes, none of which asks the host.

Rows see at most one interval of columns in each of a few layers; the layers of a row are disjoint. Every layer is tiled by
itself: per q tile the columns that all rows see are full tiles, what remains of the columns that some row sees is
partial tiles. A kv tile may so be visited once for each layer, with the cells of that layer; never twice with one cell.

This is the definition, and what the CPU runs; triton/device_plan.py is the same in two launches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce, new_launches
from compilemask.attention.tile_masks import LENGTH_SHIFT


@dataclass(frozen=True, slots=True)
class Tiling:
    """Sizes of a plan: q tile t is the rows [t * block_m, min((t + 1) * block_m, q_len))."""

    q_len: int
    kv_len: int
    block_m: int
    block_n: int

    @property
    def num_q_tiles(self) -> int:
        """Tiles of rows, the last of which may be cut short."""
        return -(-self.q_len // self.block_m)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTiles:
    """What the row kernels read, in tensors of a fixed capacity; named as in MaskTensors.

    Lists are longer than what they hold: their indptr say how far they count. max_gaps: as MaskTensors', but only an upper
    bound. full_total: full tiles of each q tile. seen: None where every key is known to be seen.
    """

    plan: Tiling
    device: torch.device
    max_gaps: int
    tile_order: Tensor
    full_indptr: Tensor
    full_start: Tensor
    full_count: Tensor
    full_total: Tensor
    interval_indptr: Tensor
    interval_start: Tensor
    interval_ends: Tensor
    gap_indptr: Tensor
    gap_start: Tensor
    gap_ends_indptr: Tensor
    gap_ends: Tensor
    ends: Tensor
    seen: Tensor | None
    launches: BuildOnce[Any] = field(default_factory=new_launches, repr=False)

    @property
    def num_heavy(self) -> int:
        """0: how many q tiles stand out is on the device, and only an order of work."""
        return 0

    @property
    def build_ms(self) -> float:
        """0.0: tiles are made once, and rewritten outside of calls."""
        return 0.0

    def write(self, other: DeviceTiles) -> None:
        """Take the contents of other tiles of the same capacity, in place."""
        for name in TILE_ARRAYS:
            getattr(self, name).copy_(getattr(other, name))
        if self.seen is not None and other.seen is not None:
            self.seen.copy_(other.seen)


TILE_ARRAYS = (
    "tile_order", "full_indptr", "full_start", "full_count", "full_total", "interval_indptr", "interval_start",
    "interval_ends", "gap_indptr", "gap_start", "gap_ends_indptr", "gap_ends", "ends",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class RowIntervals:
    """Row q sees the columns [lo[i, q], hi[i, q]) for each layer i, none where lo >= hi; int64 [layers, rows].

    long_sides: how often the columns are crossed, at most, by tiles that lie partly beside a long interval, such as those in
    which one document ends and the next begins; it bounds the number of partial tiles.
    """

    lo: Tensor
    hi: Tensor
    long_sides: int


def plan_intervals(
    rows: RowIntervals, kv_len: int, block_m: int, block_n: int, seen: Tensor | None, *, tested: bool = False
) -> DeviceTiles:
    """The tiles of these rows. seen: bool or uint8 [kv_len], whether some row sees the column; None when all are known to be seen.

    tested: every q tile gets a partial tile, as the Hopper forward wants it: where it has none, its first full one, and
    where it has no tile at all, one past the last column, in which no row sees anything.

    Fails on the device, at once on the CPU, when the rows need more partial tiles than long_sides promises.
    """
    layers, q_len = rows.lo.shape
    tiling = Tiling(q_len, kv_len, block_m, block_n)
    sides = _sides(rows, tiling)
    if tested:
        sides = _with_partial_tiles(sides, tiling)
    tiles = len(sides.full_count)
    capacity = max(1, layers * tiles * (2 * -(-block_m // block_n) + 2) + rows.long_sides * (-(-kv_len // block_n) + 1))
    per_side = (sides.stop - sides.start + block_n - 1).clamp(min=0) // block_n
    before = torch.cumsum(per_side.flatten(), 0)
    torch._assert_async(
        before[-1:].sum() <= capacity, "the rows need more partial tiles than a mask of this kind can have"
    )
    number = torch.arange(capacity, device=rows.lo.device)
    side = torch.searchsorted(before, number, right=True).clamp(max=before.numel() - 1)
    exists = number < before[-1:].sum()
    start = sides.start.flatten()[side] + (number - (before - per_side.flatten())[side]) * block_n
    stop = torch.minimum(start + block_n, sides.stop.flatten()[side])
    lo, hi = (x.flatten(0, 1)[side // 2] for x in (sides.row_lo, sides.row_hi))
    lo, hi = (torch.clamp(x, start[:, None], stop[:, None]) - start[:, None] for x in (lo, hi))
    ends = torch.where(exists[:, None] & (lo < hi), lo + ((hi - lo) << LENGTH_SHIFT), 0)
    work = sides.full_count.sum(1) + per_side.sum((1, 2))
    zero = torch.zeros(1, dtype=torch.int64, device=number.device)
    return DeviceTiles(
        plan=tiling,
        device=rows.lo.device,
        max_gaps=0,
        tile_order=_int32(torch.argsort(work, descending=True, stable=True)),
        full_indptr=_int32(torch.arange(tiles + 1, device=number.device) * layers),
        full_start=_int32(sides.full_start.flatten()),
        full_count=_int32(sides.full_count.flatten()),
        full_total=_int32(sides.full_count.sum(1)),
        interval_indptr=_int32(torch.cat([zero, before.view(tiles, layers * 2)[:, -1]])),
        interval_start=_int32(torch.where(exists, start, 0)),
        interval_ends=_int32(number),
        gap_indptr=_int32(zero.new_zeros(tiles + 1)),
        gap_start=_int32(zero),
        gap_ends_indptr=_int32(zero),
        gap_ends=_int32(zero),
        ends=_int32(ends),
        seen=None if seen is None else seen.to(torch.uint8),
    )


def captured(device: torch.device) -> bool:
    """Whether what is launched on the device now becomes part of a CUDA graph."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def _int32(values: Tensor) -> Tensor:
    return values.to(torch.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """Per q tile and layer: full tiles, and two sides of partial ones, [tiles, layers] and [tiles, layers, 2].

    row_lo, row_hi [tiles, layers, block_m]: the rows' intervals, empty for rows that do not exist.
    """

    full_start: Tensor
    full_count: Tensor
    start: Tensor
    stop: Tensor
    row_lo: Tensor
    row_hi: Tensor


def _sides(rows: RowIntervals, tiling: Tiling) -> _Sides:
    layers, q_len = rows.lo.shape
    far = tiling.kv_len + 1
    tiles = max(1, tiling.num_q_tiles)
    padding = (0, tiles * tiling.block_m - q_len)
    visible = torch.nn.functional.pad(rows.lo < rows.hi, padding)
    exists = torch.arange(tiles * tiling.block_m, device=rows.lo.device) < q_len
    row_lo, row_hi = (torch.nn.functional.pad(x, padding) for x in (rows.lo, rows.hi))

    def by_tile(x: Tensor) -> Tensor:
        return x.reshape(layers, tiles, tiling.block_m).transpose(0, 1)

    seen_lo = by_tile(torch.where(visible, row_lo, far)).amin(2)
    seen_hi = by_tile(torch.where(visible, row_hi, 0)).amax(2)
    # a row that exists and sees nothing leaves no column that all rows see
    all_lo = by_tile(torch.where(visible, row_lo, torch.where(exists, far, 0))).amax(2)
    all_hi = by_tile(torch.where(visible, row_hi, torch.where(exists, 0, far))).amin(2)
    some = seen_lo < seen_hi
    count = torch.where(some, (all_hi - all_lo).clamp(min=0) // tiling.block_n, 0)
    # without a full tile everything is on the left side
    left_stop = torch.where(count > 0, all_lo, seen_hi)
    right_start = torch.where(count > 0, all_lo + count * tiling.block_n, seen_hi)
    start = torch.where(some[..., None], torch.stack([seen_lo, right_start], -1), 0)
    stop = torch.where(some[..., None], torch.stack([left_stop, seen_hi], -1), 0)
    return _Sides(torch.where(count > 0, all_lo, 0), count, start, stop, by_tile(row_lo), by_tile(row_hi))


def _with_partial_tiles(sides: _Sides, tiling: Tiling) -> _Sides:
    """The same with at least one partial tile for each q tile; see plan_intervals."""
    lonely = (sides.start >= sides.stop).all(2).all(1)
    has_full = sides.full_count > 0
    lends = (lonely[:, None] & has_full & (torch.cumsum(has_full, 1) == 1)).long()
    on_left = torch.stack([lends, torch.zeros_like(lends)], 2).bool()
    lent = sides.full_start[:, :, None].expand_as(sides.start)
    start = torch.where(on_left, lent, sides.start)
    stop = torch.where(on_left, lent + tiling.block_n, sides.stop)
    past = torch.zeros_like(on_left)
    past[:, 0, 0] = lonely & ~has_full.any(1)
    return replace(
        sides,
        full_start=sides.full_start + lends * tiling.block_n,
        full_count=sides.full_count - lends,
        start=torch.where(past, tiling.kv_len, start),
        stop=torch.where(past, tiling.kv_len + 1, stop),
    )
