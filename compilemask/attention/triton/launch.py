"""From tensors and a plan on the device to a kernel launch."""

from __future__ import annotations

import contextlib
import math

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton.assembler import sound_stages
from compilemask.attention.triton.config_table import block_dim
from compilemask.attention.triton.configs import FORWARD_CONFIGS, ForwardConfig
from compilemask.attention.triton.forward import attention_forward_kernel

LOG2_E = 1.4426950408889634
_ALIGNMENT = 16


def forward(
    q: Tensor, k: Tensor, v: Tensor, mask: Tiles, options: ScoreOptions, config: ForwardConfig,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse) of q [batch, q heads, q_len, dim], k and v [batch, kv heads, kv_len, dim or v dim] under `mask`.

    o has v's dtype; lse float32 [batch, q heads, q_len], natural logarithm, of the sinks [q heads] too where there are
    any; NaN where the options have no lse. mask: planned for config's block sizes.
    Online softmax over kv tiles as in FlashAttention (Dao et al., 2022), over the tiles the plan lists.
    """
    batch, num_q_heads, q_len, head_dim = q.shape
    num_kv_heads, kv_len, v_head_dim = k.shape[1], k.shape[2], v.shape[3]
    if (mask.plan.block_m, mask.plan.block_n) != (config.block_m, config.block_n):
        raise ValueError(
            f"the plan has tiles of {mask.plan.block_m} x {mask.plan.block_n}, "
            f"the kernel's configuration {config.block_m} x {config.block_n}"
        )
    o, lse = outputs(q, v, options)
    if o.numel() == 0 or kv_len == 0:
        return degenerate(o, lse, options, sinks)
    q, scales = kernel_scales(q, options)
    block_d, block_dv = block_dim(head_dim), block_dim(v_head_dim)
    tma = config.tma and all(fits_tma(t) for t in (q, k, v))
    grid = (mask.plan.num_q_tiles * batch * num_q_heads,)
    with torch.cuda.device(q.device) if q.is_cuda else contextlib.nullcontext():
        attention_forward_kernel[grid](
            q, k, v, o, lse,
            boxes(q, config.block_m, block_d) if tma else None,
            boxes(k, config.block_n, block_d) if tma else None,
            boxes(v, config.block_n, block_dv) if tma else None,
            q.stride(), k.stride(), v.stride(), o.stride(),
            mask.tile_order, mask.full_indptr, mask.full_start, mask.full_count,
            mask.interval_indptr, mask.interval_start, mask.interval_ends,
            mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr, mask.gap_ends, mask.ends, mask.seen, mask_of_head(mask, batch, num_q_heads),
            q_len, kv_len, mask.num_heavy, mask.plan.num_q_tiles, num_q_heads, batch * num_q_heads,
            **scales, sinks_ptr=None if sinks is None else sinks.contiguous(),
            GROUP=num_q_heads // num_kv_heads, DIM=head_dim, BLOCK_D=block_d, V_DIM=v_head_dim, BLOCK_DV=block_dv,
            BLOCK_M=config.block_m, BLOCK_N=config.block_n, TMA=tma, HAS_GAPS=mask.max_gaps > 0,
            UNROLL_GAPS=mask.max_gaps if mask.max_gaps == MIN_GAPS else 0, UNSEEN_KEYS=mask.seen is not None,
            PRECISION=precision(q),
            enable_fp_fusion=True, num_warps=config.num_warps,
            num_stages=sound_stages(config.num_stages, mask, q.device), **register_limit(config),
        )  # fmt: skip
    return o, lse


def choose_config(q: Tensor, k: Tensor, v: Tensor) -> ForwardConfig:
    """The committed configuration for these tensors on their device."""
    capability = torch.cuda.get_device_capability(q.device) if q.is_cuda else None
    tma = all(fits_tma(t) for t in (q, k, v))
    return FORWARD_CONFIGS.choose(q.shape[3], v.shape[3], q.element_size(), capability, tma=tma)


def fits_tma(tensor: Tensor) -> bool:
    """Whether a tensor descriptor can address this tensor: unit last stride, other strides positive and 16-byte multiples."""
    if tensor.data_ptr() % _ALIGNMENT or tensor.stride(-1) != 1:
        return False
    strides = [s * tensor.element_size() for s, n in zip(tensor.stride()[:-1], tensor.shape[:-1], strict=True) if n > 1]
    return all(s > 0 and s % _ALIGNMENT == 0 for s in strides)


def interpreted() -> bool:
    """Whether Triton runs kernels in its interpreter, on the CPU (TRITON_INTERPRET=1 before its import)."""
    return not isinstance(attention_forward_kernel, triton.JITFunction)


def precision(q: Tensor) -> str:
    """How products are taken; see primitives.dot."""
    return "widened" if interpreted() and q.dtype == torch.bfloat16 else "ieee"


def register_limit(config: ForwardConfig) -> dict[str, int]:
    """The launch option for config.max_registers, where there is one."""
    return {"maxnreg": config.max_registers} if config.max_registers else {}


def boxes(tensor: Tensor, rows: int, block_dim: int) -> TensorDescriptor:
    """A tensor descriptor of a tensor that fits_tma, loaded `rows` x `block_dim` of one head at a time."""
    strides = list(tensor.stride())
    for axis, size in enumerate(tensor.shape[:-1]):
        if size == 1:
            # Never stepped along; any legal number will do.
            strides[axis] = _ALIGNMENT
    return TensorDescriptor(tensor, list(tensor.shape), strides, [1, 1, rows, block_dim])


def outputs(q: Tensor, v: Tensor, options: ScoreOptions) -> tuple[Tensor, Tensor]:
    """Memory for o and lse; lse is NaN already where no kernel writes it."""
    o = torch.empty(*q.shape[:3], v.shape[3], dtype=v.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    return o, lse if options.has_lse else lse.fill_(math.nan)


def mask_of_head(mask: Tiles, batch: int, num_q_heads: int) -> Tensor | None:
    """int32 [batch * q heads]: which mask of a batch of masks each head has; None where there is one mask."""
    return mask.index.expand(batch, num_q_heads).reshape(-1) if isinstance(mask, BatchTiles) else None


def kernel_scales(q: Tensor, options: ScoreOptions) -> tuple[Tensor, dict[str, float | bool | None]]:
    """q and the scales that a forward kernel takes with it: qk_scale, cap_scale, inv_norm, SILU."""
    if options.softcap is None:
        q, scale = positive_scale(q, options.sm_scale)
        cap_scale = None
    else:
        scale, cap_scale = options.softcap, options.sm_scale / options.softcap
    silu = options.activation == "silu"
    return q, {
        "qk_scale": scale if silu else scale * LOG2_E,
        "cap_scale": cap_scale,
        "inv_norm": inverse(options.norm),
        "SILU": silu,
    }


def inverse(norm: float | None) -> float | None:
    """1 / norm, where there is one."""
    return None if norm is None else 1 / norm


def positive_scale(q: Tensor, sm_scale: float) -> tuple[Tensor, float]:
    """The kernel takes row maxima before scaling, which needs a positive scale: the sign moves into q."""
    if sm_scale > 0:
        return q, sm_scale
    if sm_scale == 0:
        return torch.zeros_like(q), 1.0
    return -q, -sm_scale


def degenerate(o: Tensor, lse: Tensor, options: ScoreOptions, sinks: Tensor | None) -> tuple[Tensor, Tensor]:
    """No key, or nothing to write: every row is empty."""
    if sinks is not None:
        lse.copy_(sinks[:, None].expand_as(lse))
    elif options.has_lse:
        lse.fill_(-math.inf)
    return o.zero_(), lse
