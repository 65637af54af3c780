"""What the forward kernel walks through for one mask: kv tiles that are tested, full ones, and what the tests read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.attention.packed_tensors import bits_by_lane
from compilemask.attention.tile_masks import LENGTH_SHIFT, TileMasks, tile_masks
from compilemask.geometry.ragged import offsets
from compilemask.plan import CostModel, PackedPlan, TilePlan

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

MAX_INT32 = 2**31 - 1
_VECTORS_PER_CHUNK = 1 << 12
# Rows of the intervals of a packed work list.
_EVERYTHING, _NOTHING = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class ForwardWork:
    """The work list of one mask under one tiling; int32 arrays, C-contiguous.

    q tile t tests the cells of the kv tiles tested_indptr[t]:tested_indptr[t+1], at least one: the kernel starts with it. A
    tile begins at column tested_start and is block_n wide; tested_mask says which of its cells are visible:
    m >= 0: row i sees the columns [lo, lo + length) of the tile, intervals[m, i] = lo + (length << 16);
    m < 0: words[~m] are its bits, in the order of packed_tensors.bits_by_lane.
    Of a q tile without partial tiles the first full tile is tested; of one without any, a tile past the end, where
    nothing is visible. All other full tiles are in full ranges: full_indptr[t]:full_indptr[t+1] of full_start, full_count, of
    which q tile t has full_total[t] tiles.
    """

    q_len: int
    kv_len: int
    block_m: int
    block_n: int
    tested_indptr: Int32Array
    tested_start: Int32Array
    tested_mask: Int32Array
    full_indptr: Int32Array
    full_start: Int32Array
    full_count: Int32Array
    full_total: Int32Array
    intervals: Int32Array
    words: Int32Array

    @property
    def num_q_tiles(self) -> int:
        return len(self.full_total)

    def costs(self, model: CostModel) -> npt.NDArray[np.float64]:
        """What each q tile takes; model: of tiles of this size."""
        return _costs(self, model, gathered=False)


@dataclass(frozen=True, slots=True, eq=False)
class PackedWork:
    """The work list of one mask whose queries are re-tiled and whose keys are packed; int32 arrays, C-contiguous.

    row_index: as in PackedPlan. q tile t visits the kv tiles chunk_indptr[t]:chunk_indptr[t+1], at least one, of
    chunk_start [*, block_n // chunk], the first key of each chunk; chunks for padding start at kv_len, where everything is 0.
    Its first tested_indptr[t+1] - tested_indptr[t] tiles are tested by tested_mask, as in ForwardWork; the other
    full_total[t] are full.
    """

    q_len: int
    kv_len: int
    block_m: int
    block_n: int
    chunk: int
    row_index: Int32Array
    chunk_indptr: Int32Array
    chunk_start: Int32Array
    tested_indptr: Int32Array
    tested_mask: Int32Array
    full_total: Int32Array
    intervals: Int32Array
    words: Int32Array

    @property
    def num_q_tiles(self) -> int:
        return len(self.full_total)

    def costs(self, model: CostModel) -> npt.NDArray[np.float64]:
        """What each q tile takes; model: of tiles of this size."""
        return _costs(self, model, gathered=True)


def packed_work(plan: PackedPlan) -> PackedWork:
    """The work list of a packed plan. Raises ValueError where the kernel's 32-bit offsets cannot reach all masks."""
    words = bits_by_lane(plan.masks)
    _check_reach("bit masks", words)
    num_tiles = np.diff(plan.kv_indptr)
    owner = np.repeat(np.arange(plan.num_q_tiles), num_tiles)
    is_full = plan.mask_id < 0
    full_total = np.bincount(owner[is_full], minlength=plan.num_q_tiles)
    # Of each q tile the full tiles come first in the plan and last here.
    order = np.lexsort((is_full, owner))
    mask = np.where(is_full, _EVERYTHING, ~plan.mask_id)[order]
    place = np.arange(len(owner)) - plan.kv_indptr[:-1][owner]
    tested_count = np.maximum(num_tiles - full_total, np.minimum(num_tiles, 1))
    tested = mask[place < tested_count[owner]]
    empty = np.flatnonzero(num_tiles == 0)
    starts = np.where(plan.chunk_start < 0, plan.kv_len, plan.chunk_start)[order]
    tested_before = offsets(tested_count)
    intervals = np.zeros((2, plan.block_m), np.int32)
    intervals[_EVERYTHING] = plan.block_n << LENGTH_SHIFT
    return PackedWork(
        plan.q_len,
        plan.kv_len,
        plan.block_m,
        plan.block_n,
        plan.chunk,
        row_index=plan.row_index,
        chunk_indptr=_int32(offsets(np.maximum(num_tiles, 1))),
        chunk_start=_int32(np.insert(starts, plan.kv_indptr[empty], plan.kv_len, axis=0)),
        tested_indptr=_int32(offsets(np.maximum(tested_count, 1))),
        tested_mask=_int32(np.insert(tested, tested_before[empty], _NOTHING)),
        full_total=_int32(num_tiles - tested_count),
        intervals=intervals,
        words=words,
    )


def forward_work(plan: TilePlan) -> ForwardWork:
    """The work list of a plan. Raises ValueError where the kernel's 32-bit offsets cannot reach all masks."""
    masks = tile_masks(plan)
    words, word_of = gap_words(masks, plan.block_m, plan.block_n)
    everything, nothing = len(masks.ends), len(masks.ends) + 1
    intervals = np.zeros((len(masks.ends) + 2, plan.block_m), np.int32)
    intervals[:everything] = masks.ends
    intervals[everything] = plan.block_n << LENGTH_SHIFT
    _check_reach("row intervals", intervals)
    _check_reach("bit masks", words)

    interval_count, gap_count = np.diff(masks.interval_indptr), np.diff(masks.gap_indptr)
    full_total = np.diff(offsets(plan.full_count)[plan.full_indptr])
    lonely = (interval_count + gap_count) == 0
    lends = lonely & (full_total > 0)
    first_range = plan.full_indptr[:-1][lends]
    full_start, full_count = plan.full_start.copy(), plan.full_count.copy()
    tiles = np.arange(plan.num_q_tiles)
    owner = np.concatenate([np.repeat(tiles, interval_count), np.repeat(tiles, gap_count), tiles[lonely]])
    extra_start = np.full(plan.num_q_tiles, plan.kv_len)
    extra_start[lends] = full_start[first_range]
    extra_mask = np.where(lends, everything, nothing)
    start = np.concatenate([masks.interval_start, masks.gap_start, extra_start[lonely]])
    mask = np.concatenate([masks.interval_ends, ~word_of, extra_mask[lonely]])
    order = np.argsort(owner, kind="stable")
    full_start[first_range] += plan.block_n
    full_count[first_range] -= 1
    return ForwardWork(
        plan.q_len,
        plan.kv_len,
        plan.block_m,
        plan.block_n,
        tested_indptr=_int32(offsets(np.bincount(owner, minlength=plan.num_q_tiles))),
        tested_start=_int32(start[order]),
        tested_mask=_int32(mask[order]),
        full_indptr=plan.full_indptr,
        full_start=full_start,
        full_count=full_count,
        full_total=_int32(full_total - lends),
        intervals=intervals,
        words=words,
    )


def join_work(works: Sequence[ForwardWork]) -> ForwardWork:
    """The work lists of several masks of one size, one after the other: the q tiles of mask 1 behind those of mask 0."""
    first = works[0]
    if len(works) == 1:
        return first
    vectors = offsets(np.array([len(work.intervals) for work in works]))
    words = offsets(np.array([len(work.words) for work in works]))
    masks = [
        np.where(work.tested_mask < 0, work.tested_mask - word, work.tested_mask + vector)
        for work, vector, word in zip(works, vectors, words, strict=False)
    ]

    def joined(name: str) -> Int32Array:
        return np.concatenate([getattr(work, name) for work in works])

    intervals, bits = joined("intervals"), joined("words")
    _check_reach("row intervals", intervals)
    _check_reach("bit masks", bits)
    return ForwardWork(
        first.q_len,
        first.kv_len,
        first.block_m,
        first.block_n,
        tested_indptr=_through([work.tested_indptr for work in works]),
        tested_start=joined("tested_start"),
        tested_mask=_int32(np.concatenate(masks)),
        full_indptr=_through([work.full_indptr for work in works]),
        full_start=joined("full_start"),
        full_count=joined("full_count"),
        full_total=joined("full_total"),
        intervals=intervals,
        words=bits,
    )


def _through(indptrs: Sequence[Int32Array]) -> Int32Array:
    """One indptr through several lists that follow each other."""
    return _int32(offsets(np.concatenate([np.diff(indptr) for indptr in indptrs])))


def gap_words(masks: TileMasks, block_m: int, block_n: int) -> tuple[Int32Array, Int64Array]:
    """(bit masks int32 [*, block_m, block_n // 32] in lane order, equal ones once; the number of each gap tile's)."""
    ends, vectors = masks.gap_ends_indptr.tolist(), masks.gap_ends
    numbers: dict[bytes, int] = {}
    distinct: list[int] = []
    number = np.zeros(len(masks.gap_start), np.int64)
    for tile in range(len(masks.gap_start)):
        key = vectors[ends[tile] : ends[tile + 1]].tobytes()
        number[tile] = numbers.setdefault(key, len(numbers))
        if number[tile] == len(distinct):
            distinct.append(tile)
    if not distinct:
        return np.zeros((0, block_m, block_n // 32), np.int32), number
    parts = []
    for begin in range(0, len(distinct), _VECTORS_PER_CHUNK // 4):
        some = distinct[begin : begin + _VECTORS_PER_CHUNK // 4]
        chosen = np.concatenate([vectors[ends[tile] : ends[tile + 1]] for tile in some])
        firsts = np.cumsum([0] + [ends[tile + 1] - ends[tile] for tile in some[:-1]])
        hidden = _interval_bits(masks.ends[chosen], block_n)
        parts.append(~np.bitwise_or.reduceat(hidden, firsts, axis=0))
    return bits_by_lane(np.concatenate(parts)), number


def _costs(work: ForwardWork | PackedWork, model: CostModel, *, gathered: bool) -> npt.NDArray[np.float64]:
    full = work.full_total.astype(np.int64)
    return model.q_tile_costs(
        full + np.diff(work.tested_indptr), full,
        gathered=gathered, block_m=work.block_m, block_n=work.block_n, head_dim=model.fitted_head_dim,
    )  # fmt: skip


def _check_reach(name: str, array: Int32Array) -> None:
    if array.size > MAX_INT32:
        raise ValueError(
            f"the {name} of the mask's partial tiles have {array.size} entries, the hopper kernel reads at most "
            f"{MAX_INT32}; use impl='triton'"
        )


def _interval_bits(ends: Int32Array, block_n: int) -> npt.NDArray[np.uint32]:
    """uint32 [*, block_m, block_n // 32]: bit b of word w is set when column 32 w + b lies in the packed interval."""
    first = (ends & ((1 << LENGTH_SHIFT) - 1)).astype(np.int64)
    last = first + (ends >> LENGTH_SHIFT)
    begin = 32 * np.arange(block_n // 32)
    low = np.clip(first[..., None] - begin, 0, 32)
    high = np.clip(last[..., None] - begin, 0, 32)
    bits: npt.NDArray[np.uint32] = (((1 << high) - 1) & ~((1 << low) - 1)).astype(np.uint32)
    return bits


def _int32(values: npt.NDArray[np.integer]) -> Int32Array:
    return np.ascontiguousarray(values, np.int32)
