"""The Hopper backward over reordered queries and keys."""

from __future__ import annotations

import torch
from torch import Tensor

from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.hopper.backward_configs import BLOCK_M, FUSED, KEY_ROWS, QUERY_ROWS
from compilemask.attention.hopper.backward_launch import all_gradients, key_gradients, query_gradient
from compilemask.attention.hopper.configs import padded_dim
from compilemask.attention.reordered_gradients import ReorderedBackward, Slots, route_of
from compilemask.attention.reordered_tensors import BackwardRoute, Reordering
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import copy_rows
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import H200_HOPPER_BACKWARD


def route(q: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch | DeviceMask) -> BackwardRoute:
    """Whether `gradients` reorders the queries and keys of such tensors, and why."""
    return route_of(mask, q, v, H200_HOPPER_BACKWARD, [(BLOCK_M, 64), (BLOCK_M, 128)])


def over_order(
    q: Tensor, order: Reordering, options: ScoreOptions, wanted: tuple[bool, bool, bool], *, fused: bool
) -> ReorderedBackward:
    """The gradients of such tensors over reordered queries and keys, kept with the order; fused: dq in one pass with dk and dv."""
    dim = padded_dim(q.shape[3])
    key_config, query_config = (FUSED if fused else KEY_ROWS)[dim], QUERY_ROWS[dim]

    def kernels(slots: Slots) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        keys = order.tiles(BLOCK_M, key_config.block_n, transposed=True)
        inputs = (slots.q, slots.k, slots.v, slots.do, slots.terms)
        if fused:
            return all_gradients(*inputs, keys, options, key_config, finish=restore)
        dq = dk = dv = None
        if wanted[0]:
            queries = order.tiles(BLOCK_M, query_config.block_n)
            dq = copy_rows(query_gradient(*inputs, queries, options, query_config), order.q_slots)
        if wanted[1] or wanted[2]:
            dk, dv = key_gradients(*inputs, keys, options, key_config)
        return dq, dk, dv

    def restore(sums: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        return copy_rows(sums, order.q_slots, scale=scale, dtype=dtype)

    found: ReorderedBackward = order.launches.get(
        ("hopper", fused, wanted, options, dim),
        lambda: ReorderedBackward(order, options, key_config.block_n, True, kernels),
    )
    return found
