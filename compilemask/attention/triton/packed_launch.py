"""From tensors and a packed plan on the device to a kernel launch."""

from __future__ import annotations

from torch import Tensor

from compilemask.attention.packed_tensors import PackedTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton.config_table import block_dim, capability_of
from compilemask.attention.triton.configs import ForwardConfig
from compilemask.attention.triton.launch import (
    degenerate,
    interpreted,
    kernel_scales,
    outputs,
    precision,
    register_limit,
    with_sign,
)
from compilemask.attention.triton.packed import packed_forward_kernel
from compilemask.attention.triton.packed_configs import PACKED_CONFIGS
from compilemask.attention.triton.relaunch import Relaunch, on_device_of


class PackedLaunch:
    """`packed_forward` for tensors of the shapes, strides and dtypes of these, on their device, aligned as these are."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: PackedTensors, options: ScoreOptions, config: ForwardConfig
    ) -> None:
        """Raises ValueError for a plan of other block sizes."""
        batch, num_q_heads, q_len, head_dim = q.shape
        num_kv_heads, kv_len, v_head_dim = k.shape[1], k.shape[2], v.shape[3]
        plan = mask.plan
        if (plan.block_m, plan.block_n) != (config.block_m, config.block_n):
            raise ValueError(
                f"the packed plan has tiles of {plan.block_m} x {plan.block_n}, "
                f"the kernel's configuration {config.block_m} x {config.block_n}"
            )
        self._options = options
        self._empty = min(q.numel(), v_head_dim, kv_len) == 0
        if self._empty:
            return
        q, scales = kernel_scales(q, options)
        o_stride = (num_q_heads * q_len * v_head_dim, q_len * v_head_dim, v_head_dim, 1)
        fixed = (
            q.stride(), k.stride(), v.stride(), o_stride,
            mask.row_index, mask.tile_order, mask.kv_indptr, mask.full_stop, mask.chunk_start, mask.mask_id, mask.masks,
            mask.seen,
            q_len, kv_len, plan.num_heavy, plan.num_q_tiles, num_q_heads, batch * num_q_heads,
            scales["qk_scale"], scales["cap_scale"], scales["inv_norm"],
        )  # fmt: skip
        constants = (
            scales["SILU"], num_q_heads // num_kv_heads, head_dim, block_dim(head_dim), v_head_dim, block_dim(v_head_dim),
            config.block_m, config.block_n, plan.chunk, k.stride(2), v.stride(2), mask.seen is not None,
            not interpreted(), precision(q),
        )  # fmt: skip
        launch_options = {
            "enable_fp_fusion": True, "num_warps": config.num_warps, "num_stages": config.num_stages
        }  # fmt: skip
        num_programs = plan.num_q_tiles * batch * num_q_heads
        self._launch = Relaunch(
            packed_forward_kernel, num_programs, constants, launch_options | register_limit(config), fixed
        )

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(o, lse)."""
        o, lse = outputs(q, v, self._options)
        if self._empty:
            return degenerate(o, lse, self._options, sinks)
        q = with_sign(q, self._options)
        sinks = None if sinks is None else sinks.contiguous()
        with on_device_of(q):
            self._launch(q, k, v, o, lse, sinks)
        return o, lse


def packed_forward(
    q: Tensor, k: Tensor, v: Tensor, mask: PackedTensors, options: ScoreOptions, config: ForwardConfig,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse) as launch.forward gives them, over the packed tiles of `mask`, planned for config's block sizes.

    config.tma is not used: chunks are gathered by pointers.
    """
    return PackedLaunch(q, k, v, mask, options, config)(q, k, v, sinks)


def choose_packed_config(q: Tensor, v: Tensor) -> ForwardConfig:
    """The committed configuration for these tensors on their device."""
    capability = capability_of(q)
    return PACKED_CONFIGS.choose(q.shape[3], v.shape[3], q.element_size(), capability)
