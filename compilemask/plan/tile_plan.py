"""Which kv tiles each q tile visits, and how a partial tile tests its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class TilePlan:
    """The work list of one descriptor under one tiling; int32 arrays, C-contiguous.

    q tile t is the rows [t*block_m, min((t+1)*block_m, q_len)).

    tile_order[num_q_tiles]: the q tiles, heaviest first.
    full_indptr[num_q_tiles+1]: q tile t's full ranges are full_indptr[t]:full_indptr[t+1] of
    full_start, full_count: full_count kv tiles of exactly block_n columns each, the first at column full_start, every
    cell of which is visible from every row of the q tile that exists.
    partial_indptr[num_q_tiles+1]: its partial tiles, of partial_start, partial_stop (columns, at most block_n of them).
    partial_run_indptr[num_partial+1]: partial tile p's runs are
    partial_run[partial_run_indptr[p]:partial_run_indptr[p+1]], at least one, ascending: indices into the six run_*
    arrays, which hold the descriptor's trapezoids: rows [run_q_start, run_q_stop) see keys [lo(q), hi(q)), affine.
    A cell of a partial tile is visible when one of the tile's runs contains it (the runs are disjoint).

    Columns that appear in no tile of q tile t are hidden from all of its rows. No column appears twice in one q tile.
    """

    q_len: int
    kv_len: int
    block_m: int
    block_n: int
    tile_order: Int32Array
    full_indptr: Int32Array
    full_start: Int32Array
    full_count: Int32Array
    partial_indptr: Int32Array
    partial_start: Int32Array
    partial_stop: Int32Array
    partial_run_indptr: Int32Array
    partial_run: Int32Array
    run_q_start: Int32Array
    run_q_stop: Int32Array
    run_lo_slope: Int32Array
    run_lo_offset: Int32Array
    run_hi_slope: Int32Array
    run_hi_offset: Int32Array

    @property
    def num_q_tiles(self) -> int:
        return len(self.tile_order)

    @property
    def num_partial(self) -> int:
        return len(self.partial_start)

    @property
    def num_full(self) -> int:
        """Full kv tiles visited, over all q tiles."""
        return int(self.full_count.sum(dtype=np.int64))

    @property
    def processed_pairs(self) -> int:
        """Cells of all visited tiles, counted whole: what the kernel computes, for one head."""
        return (self.num_full + self.num_partial) * self.block_m * self.block_n
