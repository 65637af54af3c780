"""device_plan.plan_intervals of length_masks.FAMILIES in two launches, for all tilings of a mask together, into tiles that exist.

The first finds, for each tile of rows, its full tiles and the two sides of partial ones beside them, straight from the
lengths. The second counts the partial tiles before its own, which gives their place, and the tiles of more work, which gives
the order, and fills the partial tiles in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from compilemask.attention.device_plan import DeviceTiles, captured
from compilemask.attention.tile_masks import LENGTH_SHIFT
from compilemask.attention.triton.length_spans import (
    FAMILY_CODES,
    SHARED_PROMPT,
    keep_lengths,
    locate_rows,
    row_interval,
)
from compilemask.attention.triton.relaunch import Relaunch, on_device_of

_SHIFT = tl.constexpr(LENGTH_SHIFT)
# Programs that share the partial tiles of one tile of rows; spans and counts read at a time.
_SPLITS, _CHUNK, _COUNTS = 4, 32, 512
_NUM_WARPS = 4

# The numbers of a row of the table of tilings, int64; from FULL_START on they are addresses of int32.
TRANSPOSED = tl.constexpr(0)
BLOCK_N = tl.constexpr(1)
LAYERS = tl.constexpr(2)
CAPACITY = tl.constexpr(3)
FULL_START = tl.constexpr(4)
FULL_COUNT = tl.constexpr(5)
FULL_TOTAL = tl.constexpr(6)
LO = tl.constexpr(7)
HI = tl.constexpr(8)
START = tl.constexpr(9)
STOP = tl.constexpr(10)
COUNT = tl.constexpr(11)
WORK = tl.constexpr(12)
TILE_ORDER = tl.constexpr(13)
INTERVAL_INDPTR = tl.constexpr(14)
INTERVAL_START = tl.constexpr(15)
ENDS = tl.constexpr(16)
FIELDS = tl.constexpr(17)


@triton.jit
def number(fields_ptr, FIELD: tl.constexpr):
    """A number of a tiling, int32."""
    return tl.load(fields_ptr + FIELD).to(tl.int32)


@triton.jit
def address(fields_ptr, FIELD: tl.constexpr):
    """Where an array of a tiling begins."""
    return tl.load(fields_ptr + FIELD).to(tl.pointer_type(tl.int32))


@triton.jit
def store_side(fields_ptr, side, start, stop, block_n):
    """Columns [start, stop) of a side are partial tiles. Returns how many."""
    count = tl.maximum(stop - start + block_n - 1, 0) // block_n
    tl.store(address(fields_ptr, START) + side, start)
    tl.store(address(fields_ptr, STOP) + side, stop)
    tl.store(address(fields_ptr, COUNT) + side, count)
    return count


@triton.jit
def store_layer(fields_ptr, at, lo, hi, exists, num_cols, block_n):
    """(full tiles, first column of them, partial tiles) of one layer of a tile of rows, whose number is `at`."""
    visible = lo < hi
    far = num_cols + 1
    seen_lo = tl.min(tl.where(visible, lo, far), 0)
    seen_hi = tl.max(tl.where(visible, hi, 0), 0)
    # A row that exists and sees nothing leaves no column that all rows see.
    all_lo = tl.max(tl.where(visible, lo, tl.where(exists, far, 0)), 0)
    all_hi = tl.min(tl.where(visible, hi, tl.where(exists, 0, far)), 0)
    some = seen_lo < seen_hi
    full = tl.where(some, tl.maximum(all_hi - all_lo, 0) // block_n, 0)
    first = tl.where(full > 0, all_lo, 0)
    seen_lo = tl.where(some, seen_lo, 0)
    seen_hi = tl.where(some, seen_hi, 0)
    left = store_side(fields_ptr, 2 * at, seen_lo, tl.where(full > 0, all_lo, seen_hi), block_n)
    right = store_side(
        fields_ptr, 2 * at + 1, tl.where(full > 0, all_lo + full * block_n, seen_hi), seen_hi, block_n
    )  # fmt: skip
    tl.store(address(fields_ptr, FULL_START) + at, first)
    tl.store(address(fields_ptr, FULL_COUNT) + at, full)
    return full, first, left + right


@triton.jit(
    debug=True,
    do_not_specialize=["num_tilings", "num_tiles", "num_spans", "total"],
    do_not_specialize_on_alignment=["first_ptr", "second_ptr", "third_ptr"],
)
def sides_kernel(
    first_ptr, second_ptr, third_ptr, own_first_ptr, own_second_ptr, own_third_ptr, seen_ptr, table_ptr,
    num_tilings, num_tiles, num_spans, total, FAMILY: tl.constexpr, BLOCK_M: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Full tiles, and the two sides of partial ones, of each layer of one tile of rows. Grid: num_tiles * num_tilings.

    *_ptr: the family's lengths in their order, int32 or int64, and int64 memory into which they are copied. seen uint8 [total]: which
    tokens there are; None where all `total` must be. table [num_tilings, FIELDS].
    """
    pid = tl.program_id(0)
    fields_ptr = table_ptr + pid % num_tilings * FIELDS
    tile = pid // num_tilings
    row0 = tile * BLOCK_M
    rows = row0 + tl.arange(0, BLOCK_M)
    start, second, third, stop, used, least = locate_rows(
        first_ptr, second_ptr, third_ptr, rows, row0, num_spans, total, FAMILY, BLOCK_M, CHUNK
    )
    tl.device_assert((least >= 0) & (used <= total), "lengths must be 0 or more and fit the mask's total")
    if seen_ptr is None:
        tl.device_assert(used == total, "lengths leave padding, and the DeviceMask was made with padded=False")
    elif pid % num_tilings == 0:
        tl.store(seen_ptr + rows, (rows < stop).to(tl.uint8), mask=rows < total)
    used = tl.minimum(used, total).to(tl.int32)
    prompt = used
    if FAMILY == SHARED_PROMPT:
        prompt = tl.minimum(tl.maximum(tl.load(first_ptr).to(tl.int64), 0), total).to(tl.int32)

    transposed = number(fields_ptr, TRANSPOSED) != 0
    block_n = number(fields_ptr, BLOCK_N)
    layers = number(fields_ptr, LAYERS)
    exists = rows < total
    num_full = 0
    num_partial = 0
    lender = 0
    lent = 0
    for layer in range(layers):
        lo, hi = row_interval(rows, start, second, third, stop, prompt, used, layer, transposed, FAMILY)
        kept = layer * (num_tiles * BLOCK_M) + rows
        tl.store(address(fields_ptr, LO) + kept, lo)
        tl.store(address(fields_ptr, HI) + kept, hi)
        at = tile * layers + layer
        full, first, partial = store_layer(fields_ptr, at, lo, hi, exists, total, block_n)
        lender = tl.where((num_full == 0) & (full > 0), at, lender)
        lent = tl.where((num_full == 0) & (full > 0), first, lent)
        num_full += full
        num_partial += partial
    if (num_partial == 0) & (transposed == 0):
        # plan_intervals' `tested`.
        if num_full > 0:
            num_partial = store_side(fields_ptr, 2 * lender, lent, lent + block_n, block_n)
            count_ptr = address(fields_ptr, FULL_COUNT) + lender
            tl.store(count_ptr, tl.load(count_ptr) - 1)
            tl.store(address(fields_ptr, FULL_START) + lender, lent + block_n)
            num_full -= 1
        else:
            num_partial = store_side(fields_ptr, 2 * tile * layers, total, total + 1, block_n)
    tl.store(address(fields_ptr, FULL_TOTAL) + tile, num_full)
    tl.store(address(fields_ptr, WORK) + tile, num_full + num_partial)
    if pid == 0:
        keep_lengths(
            first_ptr, second_ptr, third_ptr, own_first_ptr, own_second_ptr, own_third_ptr, num_spans, FAMILY, CHUNK
        )


@triton.jit
def sum_before(values_ptr, stop, COUNTS: tl.constexpr):
    """The sum of values[:stop]."""
    found = tl.zeros([COUNTS], tl.int32)
    for begin in range(0, stop, COUNTS):
        at = begin + tl.arange(0, COUNTS)
        found += tl.load(values_ptr + at, mask=at < stop, other=0)
    return tl.sum(found, 0)


@triton.jit
def rank_of(work_ptr, tile, num_tiles, COUNTS: tl.constexpr):
    """How many tiles come before this one in the order of work, the most first, equal ones as they follow each other."""
    own = tl.load(work_ptr + tile)
    found = tl.zeros([COUNTS], tl.int32)
    for begin in range(0, num_tiles, COUNTS):
        at = begin + tl.arange(0, COUNTS)
        work = tl.load(work_ptr + at, mask=at < num_tiles, other=-1)
        found += ((work > own) | ((work == own) & (at < tile))).to(tl.int32)
    return tl.sum(found, 0)


@triton.jit(debug=True, do_not_specialize=["num_tilings", "num_tiles"])
def fill_kernel(
    table_ptr, num_tilings, num_tiles, BLOCK_M: tl.constexpr, SPLITS: tl.constexpr, COUNTS: tl.constexpr
):  # fmt: skip
    """Place and order of one tile of rows, and its partial tiles. Grid: num_tiles * num_tilings * SPLITS, which share the latter.

    table: as sides_kernel's, which has run.
    """
    split = tl.program_id(0) % SPLITS
    pid = tl.program_id(0) // SPLITS
    fields_ptr = table_ptr + pid % num_tilings * FIELDS
    tile = pid // num_tilings
    block_n = number(fields_ptr, BLOCK_N)
    layers = number(fields_ptr, LAYERS)
    capacity = number(fields_ptr, CAPACITY)
    count_ptr = address(fields_ptr, COUNT)
    first = sum_before(count_ptr, tile * 2 * layers, COUNTS)
    inner = tl.arange(0, BLOCK_M)
    for side in range(2 * layers):
        at = tile * 2 * layers + side
        count = tl.load(count_ptr + at)
        start = tl.load(address(fields_ptr, START) + at)
        last = tl.load(address(fields_ptr, STOP) + at)
        kept = side // 2 * (num_tiles * BLOCK_M) + tile * BLOCK_M + inner
        lo = tl.load(address(fields_ptr, LO) + kept)
        hi = tl.load(address(fields_ptr, HI) + kept)
        for i in range(split, count, SPLITS):
            begin = start + i * block_n
            stop = tl.minimum(begin + block_n, last)
            own_lo = tl.minimum(tl.maximum(lo, begin), stop) - begin
            own_hi = tl.minimum(tl.maximum(hi, begin), stop) - begin
            place = first + i + tl.zeros_like(inner)
            fits = place < capacity
            packed = tl.where(own_lo < own_hi, own_lo + ((own_hi - own_lo) << _SHIFT), 0)
            tl.store(address(fields_ptr, ENDS) + place.to(tl.int64) * BLOCK_M + inner, packed, mask=fits)
            tl.store(address(fields_ptr, INTERVAL_START) + place, begin, mask=fits & (inner == 0))
        first += count
    tl.device_assert(first <= capacity, "the rows need more partial tiles than a mask of this kind can have")
    if split == 0:
        tl.store(address(fields_ptr, INTERVAL_INDPTR) + tile + 1, first)
        rank = rank_of(address(fields_ptr, WORK), tile, num_tiles, COUNTS)
        tl.store(address(fields_ptr, TILE_ORDER) + rank, tile)


class Replan:
    """New lengths for tiles that plan_intervals made for masks of one family and size, on one device: two launches for each block_m.

    It keeps what a captured graph of its launches reads.
    """

    def __init__(
        self, family: str, total: int, own: Mapping[str, Tensor], seen: Tensor | None,
        tiles: Mapping[bool, Sequence[DeviceTiles]],
    ) -> None:  # fmt: skip
        """own: int64 memory for the family's lengths, in their order. seen: uint8 [total] for the tokens there are, None for masks without padding.

        tiles: by whether they are of the transposed mask; the others were made `tested`. Block sizes are powers of two.
        """
        self._code, self._total, self._seen, self._own = FAMILY_CODES[family], total, seen, tuple(own.values())
        self._num_spans = sum(x.numel() for x in self._own) if family == "shared_prompt" else self._own[0].numel()
        by_rows: dict[int, list[tuple[bool, DeviceTiles]]] = {}
        for transposed, some in tiles.items():
            for one in some:
                by_rows.setdefault(one.plan.block_m, []).append((transposed, one))
        self._groups = [_Group(block_m, some) for block_m, some in by_rows.items()]
        self._nothing = (None,) * (3 - len(self._own))
        self._launches: dict[tuple[torch.dtype, ...], list[tuple[Relaunch, Relaunch]]] = {}

    def __call__(self, lengths: Sequence[Tensor]) -> None:
        """Plan for these lengths, int32 or int64, contiguous, in the family's order.

        Raises RuntimeError where a CUDA graph is captured and lengths of these types were never planned: kernels would be compiled.
        """
        kinds = tuple([x.dtype for x in lengths])
        launches = self._launches.get(kinds)
        if launches is None:
            if captured(self._own[0].device):
                raise RuntimeError(
                    f"a CUDA graph is captured with a replan of lengths of {', '.join(map(str, kinds))}, which this DeviceMask has not "
                    "met since its last new form: call replan with lengths like these, after attention, before the capture"
                )
            launches = self._launches[kinds] = [self._launches_of(group) for group in self._groups]
        with on_device_of(self._own[0]):
            for sides, fill in launches:
                sides(*lengths, *self._nothing)
                fill()

    def _launches_of(self, group: _Group) -> tuple[Relaunch, Relaunch]:
        options: dict[str, Any] = {"num_warps": _NUM_WARPS, "sanitize_overflow": False}
        programs = group.num_tiles * group.num_tilings
        tilings = (group.table, group.num_tilings, group.num_tiles)
        fixed = (*self._own, *self._nothing, self._seen, *tilings, self._num_spans, self._total)
        return (
            Relaunch(sides_kernel, programs, (self._code, group.block_m, _CHUNK), options, fixed),
            Relaunch(fill_kernel, programs * _SPLITS, (group.block_m, _SPLITS, _COUNTS), options, tilings),
        )


class _Group:
    """Tilings of one block_m, and what the first kernel tells the second of them."""

    def __init__(self, block_m: int, tiles: Sequence[tuple[bool, DeviceTiles]]) -> None:
        self.block_m, self.num_tilings = block_m, len(tiles)
        self.num_tiles = len(tiles[0][1].full_total)
        self._between = [_between(one) for _, one in tiles]
        rows = [
            [int(transposed), one.plan.block_n, len(one.full_start) // len(one.full_total), len(one.interval_start)]
            + [x.data_ptr() for x in (one.full_start, one.full_count, one.full_total)]
            + [x.data_ptr() for x in between]
            + [x.data_ptr() for x in (one.tile_order, one.interval_indptr, one.interval_start, one.ends)]
            for (transposed, one), between in zip(tiles, self._between, strict=True)
        ]
        self.table = torch.tensor(rows, dtype=torch.int64, device=tiles[0][1].device)


def _between(tiles: DeviceTiles) -> tuple[Tensor, ...]:
    """Memory for lo and hi [layers, rows], start, stop and count [tiles, layers, 2] and work [tiles] of a tiling, int32."""
    num_tiles, sides = len(tiles.full_total), 2 * len(tiles.full_start)
    rows = len(tiles.full_start) * tiles.plan.block_m
    sizes = (rows, rows, sides, sides, sides, num_tiles)
    return tuple(torch.empty(size, dtype=torch.int32, device=tiles.device) for size in sizes)
