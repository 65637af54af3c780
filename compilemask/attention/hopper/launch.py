"""From tensors and a mask to a launch of the forward kernel."""

from __future__ import annotations

import contextlib
import functools

import torch
from torch import Tensor

from compilemask.attention.hopper.backward_configs import HEAD_DIMS
from compilemask.attention.hopper.configs import FORWARD_CONFIGS, HopperForwardConfig
from compilemask.attention.hopper.forward import hopper_forward_kernel
from compilemask.attention.hopper.gluon_api import TensorDescriptor, gl
from compilemask.attention.hopper.work_tensors import WORK_ARRAYS, ScheduleKey, WorkTensors, work_cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton.launch import degenerate, fits_tma, kernel_scales, outputs
from compilemask.descriptor import MaskDescriptor

_ALIGNMENT = 16
_DTYPES = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16}


def obstacle(q: Tensor, k: Tensor, v: Tensor) -> str | None:
    """Why the kernel cannot take tensors of this type and these sizes, or None."""
    if q.dtype not in _DTYPES:
        return f"the hopper kernel takes bfloat16 and float16, got {q.dtype}"
    head_dim, v_head_dim = q.shape[-1], v.shape[-1]
    if padded_dim(head_dim) not in FORWARD_CONFIGS or padded_dim(v_head_dim) != padded_dim(head_dim):
        known = ", ".join(map(str, FORWARD_CONFIGS))
        return (
            f"the hopper kernel takes dimensions that fill more than half of {known}, the same one for q, k and v, "
            f"got head_dim {head_dim} and {v_head_dim}"
        )
    return None


def has_backward(head_dim: int, v_head_dim: int) -> bool:
    """Whether the backward kernels of this room take these sizes; the forward takes more."""
    return head_dim == v_head_dim and head_dim in HEAD_DIMS


def padded_dim(head_dim: int) -> int:
    """The power of two that holds head_dim; a tensor map fills it up with zeros."""
    return 1 << (head_dim - 1).bit_length()


def forward(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor, options: ScoreOptions, sinks: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(o, lse) of q [batch, q heads, q_len, dim], k and v [batch, kv heads, kv_len, dim] under `mask`.

    o has v's dtype; lse float32 [batch, q heads, q_len], natural logarithm, of the sinks [q heads] too where there are
    any; NaN where the options have no lse. Inputs that a tensor map cannot address are copied. The sizes are such that
    `obstacle` finds none.
    """
    config = FORWARD_CONFIGS[padded_dim(q.shape[3])]
    work = work_cache.get(mask, config.block_m, config.block_n, _packed_dim(q, v), q.device)
    return run(q, k, v, work, options, config, sinks)


def plan(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor) -> str:
    """Make what `forward` keeps for the next call: work list and schedule. Returns tiles and launch options, in words."""
    config = FORWARD_CONFIGS[padded_dim(q.shape[3])]
    work = work_cache.get(mask, config.block_m, config.block_n, _packed_dim(q, v), q.device)
    if q.numel() and work.key_stop:
        work.schedule(_schedule_key(q, k, work))
    loads = f"chunks of {work.chunk}" if work.chunk else "tensor maps"
    return (
        f"{config.block_m}x{config.block_n} {'packed ' if work.chunk else ''}tiles, {config.num_consumers} consumer "
        f"warpgroups, {config.num_stages} stages, {config.consumer_registers} registers, {loads}"
    )


def run(
    q: Tensor, k: Tensor, v: Tensor, work: WorkTensors, options: ScoreOptions, config: HopperForwardConfig,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`forward` with the work list and configuration given. Raises ValueError for a list of other block sizes."""
    if (work.work.block_m, work.work.block_n) != (config.block_m, config.block_n):
        raise ValueError(
            f"the work list has tiles of {work.work.block_m} x {work.work.block_n}, "
            f"the kernel's configuration {config.block_m} x {config.block_n}"
        )
    num_q_heads, q_len, head_dim = q.shape[1:]
    dim = padded_dim(head_dim)
    o, lse = outputs(q, v, options)
    if o.numel() == 0 or work.key_stop == 0:
        return degenerate(o, lse, options, sinks)
    q, scales = kernel_scales(q, options)
    k, v = k[:, :, : work.key_stop], v[:, :, : work.key_stop]
    if work.seen is not None:
        # A key that no row sees may hold NaN, and 0 * NaN = NaN; its scores are hidden, its values must be finite.
        v = v.masked_fill(~work.seen[:, None], 0.0)
    # Packed queries are gathered through pointers.
    q = q.contiguous() if work.chunk or not fits_tma(q) else q
    k, v = (x if fits_tma(x) else x.contiguous() for x in (k, v))
    key_box = (work.chunk, 64) if work.chunk else (config.block_n, dim)
    program_indptr, items = work.schedule(_schedule_key(q, k, work))
    with torch.cuda.device(q.device) if q.is_cuda else contextlib.nullcontext():
        hopper_forward_kernel[(len(program_indptr) - 1,)](
            q if work.chunk else None, o if work.chunk else None,
            None if work.chunk else boxes(q, 64, dim), boxes(k, *key_box), boxes(v, *key_box), boxes(o, 64, dim),
            lse, program_indptr, items, **{f"{name}_ptr": work.arrays.get(name) for name in WORK_ARRAYS},
            q_len=q_len, num_q_heads=num_q_heads, **scales, sinks_ptr=None if sinks is None else sinks.contiguous(),
            GROUP=num_q_heads // k.shape[1], CHUNK=work.chunk, DIM=dim,
            BLOCK_M=config.block_m, BLOCK_N=config.block_n, NUM_STAGES=config.num_stages,
            CONSUMER_REGISTERS=config.consumer_registers, PRODUCER_REGISTERS=config.producer_registers,
            SHARE_OUTPUT=config.share_output, KEYS_LAYOUT=box_layout(config.block_n, dim, q.dtype), enable_fp_fusion=True, num_warps=4,
        )  # fmt: skip
    return o, lse


def _packed_dim(q: Tensor, v: Tensor) -> int | None:
    """The head dimension that packed tiles are priced for; None where they cannot be used: rows are gathered unpadded."""
    head_dim = q.shape[3]
    config = FORWARD_CONFIGS[padded_dim(head_dim)]
    return head_dim if v.shape[3] == head_dim == padded_dim(head_dim) and not config.share_output else None


def _schedule_key(q: Tensor, k: Tensor, work: WorkTensors) -> ScheduleKey:
    num_kv_heads = k.shape[1]
    head_bytes = 2 * k.element_size() * work.key_stop * k.shape[3]
    return q.shape[0] * num_kv_heads, q.shape[1] // num_kv_heads, head_bytes, _multiprocessors(q.device)


def boxes(tensor: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """A tensor map of a tensor [batch, heads, len, dim] that fits_tma, moved rows x columns of one head at a time."""
    strides = list(tensor.stride())
    for axis, size in enumerate(tensor.shape[:-1]):
        if size == 1:
            # Never stepped along; any legal number will do.
            strides[axis] = _ALIGNMENT
    layout = box_layout(rows, columns, tensor.dtype)
    return TensorDescriptor(tensor, list(tensor.shape), strides, [1, 1, rows, columns], layout)


@functools.cache
def box_layout(rows: int, columns: int, dtype: torch.dtype) -> gl.NVMMASharedLayout:
    """Shared memory of a box [1, 1, rows, columns], swizzled as wgmma reads it."""
    return gl.NVMMASharedLayout.get_default_for([1, 1, rows, columns], _DTYPES[dtype])


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count
