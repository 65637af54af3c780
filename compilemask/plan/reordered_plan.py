"""Queries and keys in another order, in which the visible pairs lie in few blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compilemask.plan.packed_plan import UInt32Array
from compilemask.plan.tile_plan import Int32Array

BLOCK = 128
WORD = 32  # columns that one number of a bit mask tells


@dataclass(frozen=True, slots=True, eq=False)
class ReorderedPlan:
    """The blocks of BLOCK x BLOCK slots of one descriptor whose queries and keys are both put into slots; C-contiguous.

    q_order int32[q_slots], k_order int32[k_slots]: the query and the key in each slot, -1 where there is none; both are
    whole multiples of BLOCK long, and every query and key is in exactly one slot.
    block_indptr int32[q_slots // BLOCK + 1]: the slots of queries [i*BLOCK, (i+1)*BLOCK) visit the blocks
    block_indptr[i]:block_indptr[i+1]; block b has the slots of keys [block_column[b]*BLOCK, (block_column[b]+1)*BLOCK),
    ascending for one i. Pairs in no block are hidden.
    mask_id int32[block_indptr[-1]]: -1: full, every key of the block exists and every query that exists sees it. Otherwise the
    block's cells are masks[mask_id].
    masks uint32[num_masks, BLOCK, BLOCK // WORD]: bit b of masks[m, s, w] tells whether slot s sees column WORD*w + b of the block;
    0 where there is no query or no key. No two masks are equal, none is all zeros.
    """

    q_len: int
    kv_len: int
    visible_pairs: int
    q_order: Int32Array
    k_order: Int32Array
    block_indptr: Int32Array
    block_column: Int32Array
    mask_id: Int32Array
    masks: UInt32Array

    @property
    def num_masks(self) -> int:
        """Different bit patterns."""
        return len(self.masks)

    def slots_of_queries(self) -> Int32Array:
        """int32[q_len]: where each query went."""
        return _inverse(self.q_order, self.q_len)

    def slots_of_keys(self) -> Int32Array:
        """int32[kv_len]: where each key went."""
        return _inverse(self.k_order, self.kv_len)


def _inverse(order: Int32Array, length: int) -> Int32Array:
    held = np.flatnonzero(order >= 0)
    slots = np.empty(length, np.int32)
    slots[order[held]] = held
    return slots
