"""Q tiles of any queries, and kv tiles packed from short chunks of keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.plan.tile_plan import Int32Array

UInt32Array = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class PackedPlan:
    """The work list of one descriptor whose queries are re-tiled and whose keys are packed; read by kernels as it is.

    All arrays are C-contiguous. A kv tile is block_n columns wide: column j is column j % chunk of its chunk number
    j // chunk, the key chunk_start[i, j // chunk] + j % chunk.

    row_index int32[num_q_tiles * block_m]: slot s of q tile t holds the query row_index[t*block_m + s]; -1: no query,
    and no slot behind it has one. Every query is in exactly one slot.
    tile_order int32[num_q_tiles]: the order to start the q tiles in. The first num_heavy have more than twice the
    median number of kv tiles, heaviest first; the others follow in the order of their queries, which keeps neighbours
    together. Start the heavy ones of all heads first, then the others head by head.
    kv_indptr int32[num_q_tiles + 1]: q tile t visits the kv tiles kv_indptr[t]:kv_indptr[t+1], full ones first; it may
    have none.
    chunk_start int32[num_kv_tiles, block_n // chunk]: the first key of each chunk. -1: a chunk for padding, to be
    filled with zeros. A chunk may hang over the end of the keys: keys from kv_len on must be filled with zeros too.
    mask_id int32[num_kv_tiles]: -1: full, every cell of the tile exists and is visible from every query of the q tile.
    Otherwise the tile's cells are masks[mask_id].
    masks uint32[num_masks, block_m, block_n // 32]: bit b of masks[m, s, w] tells whether slot s sees column 32*w + b;
    0 for slots without query, padding chunks and keys from kv_len on. No two masks are equal, no mask is all zeros.

    Within one q tile no key is in two chunks; keys in none of its chunks are hidden from all of its queries. In a
    partial tile there are keys that no query of the q tile sees: their values must be read as finite (0 * NaN is NaN).
    """

    q_len: int
    kv_len: int
    block_m: int
    block_n: int
    chunk: int
    visible_pairs: int
    num_heavy: int
    row_index: Int32Array
    tile_order: Int32Array
    kv_indptr: Int32Array
    chunk_start: Int32Array
    mask_id: Int32Array
    masks: UInt32Array

    @property
    def num_q_tiles(self) -> int:
        return len(self.tile_order)

    @property
    def num_kv_tiles(self) -> int:
        """kv tiles visited, over all q tiles."""
        return len(self.mask_id)

    @property
    def num_full(self) -> int:
        """Those that need no mask."""
        return int(np.count_nonzero(self.mask_id < 0))

    @property
    def num_masks(self) -> int:
        """Different bit patterns."""
        return len(self.masks)

    @property
    def processed_pairs(self) -> int:
        """Cells of all visited tiles, counted whole: what the kernel computes, for one head."""
        return self.num_kv_tiles * self.block_m * self.block_n

    @property
    def fill(self) -> float:
        """Visible share of the processed pairs; 1.0 when there are none."""
        return self.visible_pairs / self.processed_pairs if self.num_kv_tiles else 1.0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(getattr(self, name).nbytes for name in PLAN_ARRAYS)


PLAN_ARRAYS = ("row_index", "tile_order", "kv_indptr", "chunk_start", "mask_id", "masks")
