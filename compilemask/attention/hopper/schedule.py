"""Which program computes which q tiles of which heads, in which order: a list schedule made on the host."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.geometry.ragged import offsets

Int32Array = npt.NDArray[np.int32]

# Of K and V together: what a round of heads may keep in the level-2 cache (50 MB on Hopper, shared with all else).
ROUND_BYTES = 12 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Program p computes items[program_indptr[p]:program_indptr[p+1]], in order; int32, an item is (q tile, query head).

    Query heads are counted through all batch items.
    """

    program_indptr: Int32Array
    items: Int32Array

    @property
    def num_programs(self) -> int:
        return len(self.program_indptr) - 1


def heads_per_round(head_bytes: int) -> int:
    """How many key heads to compute at a time, of which K and V take head_bytes each."""
    return max(1, ROUND_BYTES // max(1, head_bytes))


def schedule_items(
    costs: npt.NDArray[np.float64], num_kv_heads: int, group: int, round_heads: int, num_programs: int
) -> Schedule:
    """Every q tile of every query head in one list; lists of nearly equal cost.

    Greedy (Graham, 1966): each item goes to the program with the least work so far. First come the q tiles of more than
    twice the median cost, of all heads, so that none of them ends the launch alone; then round after round of key heads, the
    heaviest q tiles of all of its query heads first. costs: of each q tile; num_kv_heads: of all batch items; group:
    query heads to each. There are no more programs than items.
    """
    order = np.argsort(-costs, kind="stable")
    num_heavy = int(np.count_nonzero(costs > 2 * np.median(costs)))
    heavy, rest = order[:num_heavy], order[num_heavy:]
    rounds = [_items(heavy, 0, num_kv_heads * group)] + [
        _items(rest, first * group, min(first + round_heads, num_kv_heads) * group)
        for first in range(0, num_kv_heads, round_heads)
    ]
    items = np.concatenate(rounds)
    num_programs = min(num_programs, len(items))
    loads = [(0.0, program) for program in range(num_programs)]
    chosen: list[int] = []
    for cost in costs[items[:, 0]].tolist():
        load, program = loads[0]
        heapq.heapreplace(loads, (load + cost, program))
        chosen.append(program)
    programs = np.array(chosen, np.int64)
    by_program = np.argsort(programs, kind="stable")
    counts = np.bincount(programs, minlength=num_programs)
    return Schedule(offsets(counts).astype(np.int32), np.ascontiguousarray(items[by_program], np.int32))


def _items(tiles: npt.NDArray[np.int64], first_head: int, last_head: int) -> npt.NDArray[np.int64]:
    """[items, 2]: the q tiles in this order, each with the query heads [first_head, last_head)."""
    heads = np.arange(first_head, last_head)
    return np.stack([np.repeat(tiles, len(heads)), np.tile(heads, len(tiles))], axis=1)
