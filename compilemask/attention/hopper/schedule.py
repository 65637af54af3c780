"""Which program computes which q tiles of which heads, in which order: a list schedule made on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.geometry.ragged import offsets

Int32Array = npt.NDArray[np.int32]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# Of K and V together: what a round of heads may keep in the level-2 cache (50 MB on Hopper, shared with all else).
ROUND_BYTES = 12 << 20
# Work of the busiest program over the mean: what smaller rounds may cost. At 8K tokens of 16 heads 1.15 cost 14 %, more than the cache gave.
BALANCED = 1.04


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Program p computes items[program_indptr[p]:program_indptr[p+1]], in order; int32.

    An item is (q tile among those of all masks, query head among those of all batch items, q tile of its mask).
    imbalance: the costs of the busiest program over the mean of all.
    """

    program_indptr: Int32Array
    items: Int32Array
    imbalance: float

    @property
    def num_programs(self) -> int:
        """Those that have a list, which may be empty."""
        return len(self.program_indptr) - 1


def heads_per_round(head_bytes: int) -> int:
    """How many key heads to compute at a time, of which K and V take head_bytes each."""
    return max(1, ROUND_BYTES // max(1, head_bytes))


def schedule_in_rounds(
    costs: FloatArray, mask_of_head: IntArray, group: int, head_bytes: int, num_programs: int
) -> Schedule:
    """The schedule of the smallest rounds of heads that fit the cache and are balanced, else the most balanced one.

    costs, mask_of_head, group, num_programs: as in schedule_items. head_bytes: K and V of one key head. Each attempt doubles the rounds.
    """
    round_heads, num_kv_heads = heads_per_round(head_bytes), len(mask_of_head) // group
    tried = [schedule_items(costs, mask_of_head, group, round_heads, num_programs)]
    while tried[-1].imbalance > BALANCED and round_heads < num_kv_heads:
        round_heads *= 2
        tried.append(schedule_items(costs, mask_of_head, group, round_heads, num_programs))
    return min(tried, key=lambda one: max(one.imbalance, BALANCED))


def deal(costs: FloatArray, num_programs: int) -> tuple[IntArray, FloatArray]:
    """(program of each item, load of each program): in their order, each to the program with the least load so far.

    Many at a time: programs whose loads differ by less than the items that they get are served in the order of their loads, since
    none of them is the least again before all have been.
    """
    loads = np.zeros(num_programs)
    programs = np.empty(len(costs), np.int64)
    at = 0
    while at < len(costs):
        order = np.argsort(loads, kind="stable")
        given = costs[at : at + num_programs]
        # The next one in line is the least loaded unless one that was served before is now below it.
        served = loads[order[0]] + np.minimum.accumulate(given[:-1])
        overtaken = np.flatnonzero(loads[order[1 : len(given)]] > served)
        count = int(overtaken[0]) + 1 if len(overtaken) else len(given)
        programs[at : at + count] = order[:count]
        loads[order[:count]] += given[:count]
        at += count
    return programs, loads


def schedule_items(
    costs: FloatArray, mask_of_head: IntArray, group: int, round_heads: int, num_programs: int
) -> Schedule:
    """Every q tile of every query head in one list; lists of nearly equal cost.

    Greedy (Graham, 1966): each item goes to the program with the least work so far. First come the q tiles of more than
    twice the median cost, of all heads, so that none of them ends the launch alone; then round after round of key heads, the
    heaviest q tiles of all of its query heads first. costs [masks, q tiles]; mask_of_head: of each query head of all
    batch items; group: query heads to each key head. There are no more programs than items.
    """
    num_tiles, num_heads = costs.shape[1], len(mask_of_head)
    tile = np.repeat(np.arange(num_tiles), num_heads)
    head = np.tile(np.arange(num_heads), num_tiles)
    mask = mask_of_head[head]
    cost = costs[mask, tile]
    turn = np.where(cost > 2 * np.median(cost), 0, 1 + head // (group * round_heads))
    order = np.lexsort((-cost, turn))
    num_programs = min(num_programs, len(order))
    programs, loads = deal(cost[order], num_programs)
    busiest, total = float(loads.max(initial=0.0)), float(loads.sum())
    items = np.stack([mask * num_tiles + tile, head, tile], axis=1)[order]
    by_program = np.argsort(programs, kind="stable")
    counts = np.bincount(programs, minlength=num_programs)
    return Schedule(
        offsets(counts).astype(np.int32),
        np.ascontiguousarray(items[by_program], np.int32),
        busiest * num_programs / total if total else 1.0,
    )
