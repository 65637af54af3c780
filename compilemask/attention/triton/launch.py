"""From tensors and a plan on the device to a kernel launch."""

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton.assembler import sound_stages
from compilemask.attention.triton.config_table import block_dim, capability_of
from compilemask.attention.triton.configs import FORWARD_CONFIGS, ForwardConfig
from compilemask.attention.triton.forward import attention_forward_kernel
from compilemask.attention.triton.relaunch import Relaunch, boxes, on_device_of

LOG2_E = 1.4426950408889634
_ALIGNMENT = 16
_NO_BOXES = (None, None, None)


class ForwardLaunch:
    """`forward` for tensors of the shapes, strides and dtypes of these, on their device, aligned to 16 bytes as these are."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tiles, options: ScoreOptions, config: ForwardConfig
    ) -> None:
        """Raises ValueError for a mask that is not planned for config's block sizes."""
        batch, num_q_heads, q_len, head_dim = q.shape
        num_kv_heads, kv_len, v_head_dim = k.shape[1], k.shape[2], v.shape[3]
        if (mask.plan.block_m, mask.plan.block_n) != (config.block_m, config.block_n):
            raise ValueError(
                f"the plan has tiles of {mask.plan.block_m} x {mask.plan.block_n}, "
                f"the kernel's configuration {config.block_m} x {config.block_n}"
            )
        self._options = options
        self._empty = min(q.numel(), v_head_dim, kv_len) == 0
        if self._empty:
            return
        q, scales = kernel_scales(q, options)
        block_d, block_dv = block_dim(head_dim), block_dim(v_head_dim)
        tma = config.tma and all(fits_tma(t) for t in (q, k, v))
        sizes = ((q, config.block_m, block_d), (k, config.block_n, block_d), (v, config.block_n, block_dv))
        self._boxes = tuple(boxes(*size) for size in sizes) if tma else ()
        o_stride = (num_q_heads * q_len * v_head_dim, q_len * v_head_dim, v_head_dim, 1)
        fixed = (
            q.stride(), k.stride(), v.stride(), o_stride,
            mask.tile_order, mask.full_indptr, mask.full_start, mask.full_count,
            mask.interval_indptr, mask.interval_start, mask.interval_ends,
            mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr, mask.gap_ends, mask.ends, mask.seen, mask_of_head(mask, batch, num_q_heads),
            q_len, kv_len, mask.num_heavy, mask.plan.num_q_tiles, num_q_heads, batch * num_q_heads,
            scales["qk_scale"], scales["cap_scale"], scales["inv_norm"],
        )  # fmt: skip
        constants = (
            scales["SILU"], num_q_heads // num_kv_heads, head_dim, block_d, v_head_dim, block_dv,
            config.block_m, config.block_n, tma, mask.max_gaps > 0, mask.max_gaps if mask.max_gaps == MIN_GAPS else 0,
            mask.seen is not None, precision(q),
        )  # fmt: skip
        num_stages = sound_stages(config.num_stages, mask, q.device)
        launch_options = {"enable_fp_fusion": True, "num_warps": config.num_warps, "num_stages": num_stages}
        num_programs = mask.plan.num_q_tiles * batch * num_q_heads
        self._launch = Relaunch(
            attention_forward_kernel, num_programs, constants, launch_options | register_limit(config), fixed
        )

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(o, lse)."""
        o, lse = outputs(q, v, self._options)
        if self._empty:
            return degenerate(o, lse, self._options, sinks)
        q = with_sign(q, self._options)
        boxes = [box.of(t) for box, t in zip(self._boxes, (q, k, v), strict=True)] if self._boxes else _NO_BOXES
        sinks = None if sinks is None else sinks.contiguous()
        with on_device_of(q):
            self._launch(q, k, v, o, lse, sinks, *boxes)
        return o, lse


def forward(
    q: Tensor, k: Tensor, v: Tensor, mask: Tiles, options: ScoreOptions, config: ForwardConfig,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse) of q [batch, q heads, q_len, dim], k and v [batch, kv heads, kv_len, dim or v dim] under `mask`.

    o has v's dtype; lse float32 [batch, q heads, q_len], natural logarithm, of the sinks [q heads] too where there are
    any; NaN where the options have no lse. mask: planned for config's block sizes.
    Online softmax over kv tiles as in FlashAttention (Dao et al., 2022), over the tiles the plan lists.
    """
    return ForwardLaunch(q, k, v, mask, options, config)(q, k, v, sinks)


def choose_config(q: Tensor, k: Tensor, v: Tensor) -> ForwardConfig:
    """The committed configuration for these tensors on their device."""
    capability = capability_of(q)
    tma = all(fits_tma(t) for t in (q, k, v))
    return FORWARD_CONFIGS.choose(q.shape[3], v.shape[3], q.element_size(), capability, tma=tma)


def fits_tma(tensor: Tensor) -> bool:
    """Whether a tensor descriptor can address this tensor: unit last stride, other strides positive and 16-byte multiples."""
    *outer, last = tensor.stride()
    if last != 1 or tensor.data_ptr() % _ALIGNMENT:
        return False
    size = tensor.element_size()
    return all(n <= 1 or (s > 0 and s * size % _ALIGNMENT == 0) for s, n in zip(outer, tensor.shape, strict=False))


def interpreted() -> bool:
    """Whether Triton runs kernels in its interpreter, on the CPU (TRITON_INTERPRET=1 before its import)."""
    return not isinstance(attention_forward_kernel, triton.JITFunction)


def precision(q: Tensor) -> str:
    """How products are taken; see primitives.dot."""
    return "widened" if interpreted() and q.dtype == torch.bfloat16 else "ieee"


def register_limit(config: ForwardConfig) -> dict[str, int]:
    """The launch option for config.max_registers, where there is one."""
    return {"maxnreg": config.max_registers} if config.max_registers else {}


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
        scale = abs(options.sm_scale) or 1.0
        cap_scale = None
    else:
        scale, cap_scale = options.softcap, options.sm_scale / options.softcap
    silu = options.activation == "silu"
    return with_sign(q, options), {
        "qk_scale": scale if silu else scale * LOG2_E,
        "cap_scale": cap_scale,
        "inv_norm": inverse(options.norm),
        "SILU": silu,
    }


def with_sign(q: Tensor, options: ScoreOptions) -> Tensor:
    """The kernels take row maxima before scaling, which needs a positive scale: its sign, or its being 0, moves into q."""
    if options.softcap is not None or options.sm_scale > 0:
        return q
    return -q if options.sm_scale < 0 else torch.zeros_like(q)


def inverse(norm: float | None) -> float | None:
    """1 / norm, where there is one."""
    return None if norm is None else 1 / norm


def degenerate(o: Tensor, lse: Tensor, options: ScoreOptions, sinks: Tensor | None) -> tuple[Tensor, Tensor]:
    """No key, or nothing to write: every row is empty."""
    if sinks is not None:
        lse.copy_(sinks[:, None].expand_as(lse))
    elif options.has_lse:
        lse.fill_(-math.inf)
    return o.zero_(), lse
