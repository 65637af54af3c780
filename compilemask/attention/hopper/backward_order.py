"""Which program of the backward's grid has which tile of rows of which head: heavy ones first, neighbours in one cache."""

from __future__ import annotations

import numpy as np

from compilemask.attention.device_plan import DeviceTiles
from compilemask.attention.hopper.gluon_api import gl, gluon
from compilemask.attention.tile_source import Tiles
from compilemask.plan import TilePlan

# Of tiles whose work the host does not know, so many programs at the end of the launch are light ones of all heads: six rounds of a GPU.
_LAST_PROGRAMS = 6 * 132


def count_light(tiles: Tiles, num_heads_all: int) -> int:
    """How many tiles of rows, the last ones of their order, visit less than half as many tiles as the heaviest that is not outstanding.

    Where the plan is on the device: so many that a launch ends evenly in any case. 0 where there are several plans.
    """
    plan = tiles.plan
    if isinstance(tiles, DeviceTiles):
        return min(tiles.plan.num_q_tiles, -(-_LAST_PROGRAMS // num_heads_all))
    if not isinstance(plan, TilePlan) or tiles.num_heavy == plan.num_q_tiles:
        return 0
    full = np.concatenate([[0], np.cumsum(plan.full_count, dtype=np.int64)])[plan.full_indptr]
    work = np.sort(np.diff(full) + np.diff(plan.partial_indptr))[::-1]
    return int((2 * work[tiles.num_heavy :] < work[tiles.num_heavy]).sum())


@gluon.jit
def locate(
    pid, tile_order_ptr, num_heavy, num_light, num_tiles, num_heads, num_heads_all, mask_of_head_ptr, heads_each,
    GROUP: gl.constexpr,
):  # fmt: skip
    """(tile of rows, batch, head, number of its mask) of a program.

    mask_of_head_ptr: the number of each head's mask, of all items, or None where all have mask 0; of these heads there are
    heads_each for one that is counted here. Each mask has an order of its own.
    The num_heavy outstanding tiles of all heads come first and the num_light ones last, so that a launch does not end with one
    long program. Those between, and the heavy ones, go head by head, GROUP of them side by side, which read the same columns.
    """
    begin = 0
    count = num_heavy
    group = GROUP
    if pid >= num_heavy * num_heads_all:
        pid -= num_heavy * num_heads_all
        begin = num_heavy
        count = num_tiles - num_heavy - num_light
    if pid >= count * num_heads_all:
        pid -= count * num_heads_all
        begin += count
        count = num_light
        group = num_heads_all
    head = pid // (count * group) * group + pid % group
    rank = begin + pid % (count * group) // group
    number = 0
    if mask_of_head_ptr is not None:
        number = gl.load(mask_of_head_ptr + head * heads_each)
    tile = gl.load(tile_order_ptr + number * num_tiles + rank)
    return tile, head // num_heads, head % num_heads, number
