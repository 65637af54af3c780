"""From tensors and a packed plan on the device to a kernel launch."""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor

from compilemask.attention.packed_tensors import PackedTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton.config_table import block_dim
from compilemask.attention.triton.configs import ForwardConfig
from compilemask.attention.triton.launch import (
    degenerate,
    interpreted,
    kernel_scales,
    outputs,
    precision,
    register_limit,
)
from compilemask.attention.triton.packed import packed_forward_kernel
from compilemask.attention.triton.packed_configs import PACKED_CONFIGS


def packed_forward(
    q: Tensor, k: Tensor, v: Tensor, mask: PackedTensors, options: ScoreOptions, config: ForwardConfig,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse) as launch.forward gives them, over the packed tiles of `mask`, planned for config's block sizes.

    config.tma is not used: chunks are gathered by pointers. Raises ValueError for a plan of other block sizes.
    """
    batch, num_q_heads, q_len, head_dim = q.shape
    num_kv_heads, kv_len, v_head_dim = k.shape[1], k.shape[2], v.shape[3]
    plan = mask.plan
    if (plan.block_m, plan.block_n) != (config.block_m, config.block_n):
        raise ValueError(
            f"the packed plan has tiles of {plan.block_m} x {plan.block_n}, "
            f"the kernel's configuration {config.block_m} x {config.block_n}"
        )
    o, lse = outputs(q, v, options)
    if o.numel() == 0 or kv_len == 0:
        return degenerate(o, lse, options, sinks)
    q, scales = kernel_scales(q, options)
    grid = (plan.num_q_tiles * batch * num_q_heads,)
    with torch.cuda.device(q.device) if q.is_cuda else contextlib.nullcontext():
        packed_forward_kernel[grid](
            q, k, v, o, lse, q.stride(), k.stride(), v.stride(), o.stride(),
            mask.row_index, mask.tile_order, mask.kv_indptr, mask.full_stop, mask.chunk_start, mask.mask_id, mask.masks,
            mask.seen,
            q_len, kv_len, plan.num_heavy, plan.num_q_tiles, num_q_heads, batch * num_q_heads,
            **scales, sinks_ptr=None if sinks is None else sinks.contiguous(),
            GROUP=num_q_heads // num_kv_heads, DIM=head_dim, BLOCK_D=block_dim(head_dim),
            V_DIM=v_head_dim, BLOCK_DV=block_dim(v_head_dim),
            BLOCK_M=config.block_m, BLOCK_N=config.block_n, CHUNK=plan.chunk,
            K_ROW_STRIDE=k.stride(2), V_ROW_STRIDE=v.stride(2),
            UNSEEN_KEYS=mask.seen is not None, ASSEMBLY=not interpreted(), PRECISION=precision(q),
            enable_fp_fusion=True, num_warps=config.num_warps, num_stages=config.num_stages, **register_limit(config),
        )  # fmt: skip
    return o, lse


def choose_packed_config(q: Tensor, v: Tensor) -> ForwardConfig:
    """The committed configuration for these tensors on their device."""
    capability = torch.cuda.get_device_capability(q.device) if q.is_cuda else None
    return PACKED_CONFIGS.choose(q.shape[3], v.shape[3], q.element_size(), capability)
