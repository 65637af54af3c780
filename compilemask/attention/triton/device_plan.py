"""device_plan.plan_intervals as two small kernels that write into tiles which exist: what a captured replan launches."""

from __future__ import annotations

import contextlib

import torch
import triton
import triton.language as tl
from torch import Tensor

from compilemask.attention.device_plan import DeviceTiles, RowIntervals
from compilemask.attention.tile_masks import LENGTH_SHIFT

_SHIFT = tl.constexpr(LENGTH_SHIFT)


@triton.jit
def load_interval(lo_ptr, hi_ptr, layer, rows, num_rows):
    """(lo, hi) of the rows in one layer, int32; rows that do not exist see nothing."""
    exists = rows < num_rows
    at = tl.cast(layer, tl.int64) * num_rows + rows
    lo = tl.load(lo_ptr + at, mask=exists, other=0).to(tl.int32)
    return lo, tl.load(hi_ptr + at, mask=exists, other=0).to(tl.int32)


@triton.jit
def sides_kernel(
    lo_ptr, hi_ptr, full_start_ptr, full_count_ptr, start_ptr, stop_ptr, count_ptr, work_ptr, num_rows, num_cols,
    LAYERS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Full tiles, and the two sides of partial ones, of each layer of one q tile. Grid: the q tiles.

    lo, hi int64 [LAYERS, num_rows]. full_* [tiles, LAYERS]; start, stop, count (of kv tiles) [tiles, LAYERS, 2]; work [tiles].
    """
    tile = tl.program_id(0)
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    exists = rows < num_rows
    far = num_cols + 1
    work = 0
    for layer in tl.static_range(LAYERS):
        lo, hi = load_interval(lo_ptr, hi_ptr, layer, rows, num_rows)
        visible = lo < hi
        seen_lo = tl.min(tl.where(visible, lo, far), 0)
        seen_hi = tl.max(tl.where(visible, hi, 0), 0)
        # a row that exists and sees nothing leaves no column that all rows see
        all_lo = tl.max(tl.where(visible, lo, tl.where(exists, far, 0)), 0)
        all_hi = tl.min(tl.where(visible, hi, tl.where(exists, 0, far)), 0)
        some = seen_lo < seen_hi
        full = tl.where(some, tl.maximum(all_hi - all_lo, 0) // BLOCK_N, 0)
        left_start = tl.where(some, seen_lo, 0)
        right_stop = tl.where(some, seen_hi, 0)
        left_stop = tl.where(full > 0, all_lo, right_stop)
        right_start = tl.where(full > 0, all_lo + full * BLOCK_N, right_stop)
        left = tl.maximum(left_stop - left_start + BLOCK_N - 1, 0) // BLOCK_N
        right = tl.maximum(right_stop - right_start + BLOCK_N - 1, 0) // BLOCK_N
        at = tile * LAYERS + layer
        tl.store(full_start_ptr + at, tl.where(full > 0, all_lo, 0))
        tl.store(full_count_ptr + at, full)
        tl.store(start_ptr + at * 2, left_start)
        tl.store(stop_ptr + at * 2, left_stop)
        tl.store(count_ptr + at * 2, left)
        tl.store(start_ptr + at * 2 + 1, right_start)
        tl.store(stop_ptr + at * 2 + 1, right_stop)
        tl.store(count_ptr + at * 2 + 1, right)
        work += full + left + right
    tl.store(work_ptr + tile, work)


@triton.jit
def fill_kernel(
    lo_ptr, hi_ptr, start_ptr, stop_ptr, count_ptr, before_ptr, interval_start_ptr, ends_ptr, num_rows, capacity,
    LAYERS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """First column and row intervals of one q tile's partial tiles. Grid: the q tiles.

    before [tiles, LAYERS, 2]: partial tiles up to and with this side. ends [capacity, BLOCK_M]: as TileMasks packs them.
    """
    tile = tl.program_id(0)
    inner = tl.arange(0, BLOCK_M)
    rows = tile * BLOCK_M + inner
    for side in tl.static_range(2 * LAYERS):
        at = tile * (2 * LAYERS) + side
        lo, hi = load_interval(lo_ptr, hi_ptr, side // 2, rows, num_rows)
        count = tl.load(count_ptr + at)
        first = tl.load(before_ptr + at) - count
        start = tl.load(start_ptr + at)
        last = tl.load(stop_ptr + at)
        for i in range(count):
            stop = tl.minimum(start + BLOCK_N, last)
            begin = tl.minimum(tl.maximum(lo, start), stop) - start
            end = tl.minimum(tl.maximum(hi, start), stop) - start
            number = first + i + tl.zeros_like(inner)
            packed = begin + (tl.maximum(end - begin, 0) << _SHIFT)
            tl.store(ends_ptr + number.to(tl.int64) * BLOCK_M + inner, packed, mask=number < capacity)
            tl.store(interval_start_ptr + number + inner, start, mask=(number < capacity) & (inner == 0))
            start += BLOCK_N


def rewrite(tiles: DeviceTiles, rows: RowIntervals, seen: Tensor | None) -> None:
    """Make `tiles`, which plan_intervals made for rows of the same sizes, the tiles of these rows; seen: as there.

    Block sizes are powers of two. What lies behind the ends of the lists is left as it is.
    """
    layers, num_rows = rows.lo.shape
    plan, num_tiles, capacity = tiles.plan, len(tiles.full_count) // layers, len(tiles.interval_start)
    lo, hi = rows.lo.contiguous(), rows.hi.contiguous()
    start, stop, count = lo.new_empty(3, num_tiles, layers, 2, dtype=torch.int32)
    work = lo.new_empty(num_tiles, dtype=torch.int32)
    sizes = {"LAYERS": layers, "BLOCK_M": plan.block_m, "BLOCK_N": plan.block_n}
    with torch.cuda.device(lo.device) if lo.is_cuda else contextlib.nullcontext():
        sides_kernel[(num_tiles,)](
            lo, hi, tiles.full_start, tiles.full_count, start, stop, count, work, num_rows, plan.kv_len, **sizes
        )
        before = torch.cumsum(count.flatten(), 0, dtype=torch.int32)
        torch._assert_async(
            before[-1] <= capacity, "the rows need more partial tiles than a mask of this kind can have"
        )
        fill_kernel[(num_tiles,)](
            lo, hi, start, stop, count, before, tiles.interval_start, tiles.ends, num_rows, capacity, **sizes
        )
    tiles.interval_indptr[1:].copy_(before[2 * layers - 1 :: 2 * layers])
    tiles.tile_order.copy_(torch.argsort(work, descending=True, stable=True))
    if tiles.seen is not None and seen is not None:
        tiles.seen.copy_(seen)
