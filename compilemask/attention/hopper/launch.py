"""From tensors and a mask to a launch of the forward kernel; what follows from layouts is found once for each mask."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.hopper.configs import (
    FORWARD_CONFIGS,
    HopperForwardConfig,
    config_of,
    costs_of,
    padded_dim,
)
from compilemask.attention.hopper.device_work import DeviceWork, device_work
from compilemask.attention.hopper.forward import hopper_forward_kernel
from compilemask.attention.hopper.gluon_api import TensorDescriptor, gl
from compilemask.attention.hopper.work_tensors import WORK_ARRAYS, ScheduleKey, WorkTensors, in_one_launch, work_cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton.launch import degenerate, fits_tma, kernel_scales, outputs, with_sign
from compilemask.attention.triton.relaunch import KeptDescriptor, Relaunch, layouts, legal_strides, on_device_of
from compilemask.descriptor import MaskBatch, MaskDescriptor

_DTYPES = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16}


def obstacle(q: Tensor, k: Tensor, v: Tensor) -> str | None:
    """Why the kernel cannot take tensors of this type and these sizes, or None."""
    if q.dtype not in _DTYPES:
        return f"the hopper kernel takes bfloat16 and float16, got {q.dtype}"
    head_dim, v_head_dim = q.shape[-1], v.shape[-1]
    one_size = padded_dim(v_head_dim) == padded_dim(head_dim) in FORWARD_CONFIGS
    # Rows of a tensor map are whole multiples of 16 bytes.
    if not one_size or head_dim % 8 or v_head_dim % 8:
        known = ", ".join(map(str, FORWARD_CONFIGS))
        return (
            f"the hopper kernel takes dimensions that are multiples of 8 and fill more than half of {known}, the same one "
            f"for q, k and v, got head_dim {head_dim} and {v_head_dim}"
        )
    return None


def forward(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor, options: ScoreOptions, sinks: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(o, lse) of q [batch, q heads, q_len, dim], k and v [batch, kv heads, kv_len, dim] under `mask`.

    o has v's dtype; lse float32 [batch, q heads, q_len], natural logarithm, of the sinks [q heads] too where there are
    any; NaN where the options have no lse. Inputs that a tensor map cannot address are copied. The sizes are such that
    `obstacle` finds none.
    """
    launch = forward_launch(q, k, v, sinks, mask, options)
    assert launch is not None
    return launch(q, k, v, sinks)


def forward_launch(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: MaskDescriptor | MaskBatch | DeviceMask,
    options: ScoreOptions,
) -> ForwardLaunch | None:  # fmt: skip
    """`forward` for tensors of the layout of these, under this mask; kept with its work list for the next such call.

    None for a batch of masks that are better computed one by one: with packed tiles, or heads of which some see all keys.
    """
    dim = padded_dim(q.shape[3])
    work: WorkTensors | DeviceWork | None
    if isinstance(mask, DeviceMask):
        usual = FORWARD_CONFIGS[dim][0]
        work = device_work(mask, usual.block_m, usual.block_n)
    elif isinstance(mask, MaskDescriptor):
        work = work_cache.get(mask, dim, _packable(q, v), q.device)
    else:
        work = work_cache.get_batch(mask, dim, _packable(q, v), q.device) if in_one_launch(mask) else None
    if work is None:
        return None
    config = config_of(dim, work.work.block_m, work.work.block_n)
    found: ForwardLaunch = work.launches.get(
        (options, config, *layouts(q, k, v, sinks)), lambda: ForwardLaunch(q, k, v, work, options, config)
    )
    return found


def plan(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor) -> str:
    """Make what `forward` keeps for the next call: work list and schedule. Returns tiles and launch options, in words."""
    dim = padded_dim(q.shape[3])
    work = work_cache.get(mask, dim, _packable(q, v), q.device)
    config = config_of(dim, work.work.block_m, work.work.block_n)
    if q.numel() and work.key_stop:
        work.schedule(_schedule_key(q, k, work, config))
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
    return ForwardLaunch(q, k, v, work, options, config)(q, k, v, sinks)


class ForwardLaunch:
    """`run` for tensors of the shapes, strides and dtypes of these, on their device, aligned to 16 bytes as these are."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, work: WorkTensors | DeviceWork, options: ScoreOptions,
        config: HopperForwardConfig,
    ) -> None:  # fmt: skip
        """Raises ValueError for a work list of other block sizes than config's."""
        if (work.work.block_m, work.work.block_n) != (config.block_m, config.block_n):
            raise ValueError(
                f"the work list has tiles of {work.work.block_m} x {work.work.block_n}, "
                f"the kernel's configuration {config.block_m} x {config.block_n}"
            )
        self._options, self._packed = options, work.chunk > 0
        self._seen = None if work.seen is None else work.seen[:, None, :, None]
        self._empty = min(q.numel(), v.numel(), work.key_stop) == 0
        if self._empty:
            return
        num_q_heads, q_len, head_dim = q.shape[1:]
        dim = padded_dim(head_dim)
        program_indptr, items = work.schedule(_schedule_key(q, k, work, config))
        _, scales = kernel_scales(q, options)
        signed = with_sign(q, options)
        # Packed queries are gathered by pointers, 16 bytes at a time, from rows that follow each other.
        fits = fits_tma(signed) and (signed.is_contiguous() or not self._packed)
        self._copied = (not fits, *(not fits_tma(x) for x in (k, v)))
        q, k, v = self._prepare(q, k, v)
        key_box = (work.chunk, 64) if self._packed else (config.block_n, dim)
        self._q_boxes = None if self._packed else boxes(q, q_len, 64, dim)
        self._key_boxes = tuple(boxes(x, work.key_stop, *key_box) for x in (k, v))
        self._o_boxes = boxes(outputs(q, v, options)[0], q_len, 64, dim)
        fixed = (
            program_indptr, items, *(work.arrays.get(name) for name in WORK_ARRAYS),
            q_len, num_q_heads, scales["qk_scale"], scales["cap_scale"], scales["inv_norm"],
        )  # fmt: skip
        constants = (
            scales["SILU"], num_q_heads // k.shape[1], work.chunk, dim, config.block_m, config.block_n, config.num_stages,
            config.consumer_registers, config.producer_registers, config.share_output,
            box_layout(config.block_n, dim, k.dtype),
        )  # fmt: skip
        launch_options = {"enable_fp_fusion": True, "num_warps": 4}
        self._launch = Relaunch(hopper_forward_kernel, len(program_indptr) - 1, constants, launch_options, fixed)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(o, lse)."""
        o, lse = outputs(q, v, self._options)
        if self._empty:
            return degenerate(o, lse, self._options, sinks)
        q, k, v = self._prepare(q, k, v)
        by_pointer = (q, o) if self._packed else (None, None)
        q_box = None if self._q_boxes is None else self._q_boxes.of(q)
        key_boxes = [boxes.of(x) for boxes, x in zip(self._key_boxes, (k, v), strict=True)]
        sinks = None if sinks is None else sinks.contiguous()
        with on_device_of(q):
            self._launch(*by_pointer, q_box, *key_boxes, self._o_boxes.of(o), lse, sinks)
        return o, lse

    def _prepare(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the kernel reads in their place."""
        q = with_sign(q, self._options)
        if self._seen is not None:
            # A key that no row sees may hold NaN, and 0 * NaN = NaN; its scores are hidden, its values must be finite.
            v = torch.where(self._seen, v[:, :, : self._seen.shape[2]], 0.0)
        # A contiguous tensor, too, may begin at an address that no tensor map takes.
        q, k, v = (
            x.clone(memory_format=torch.contiguous_format) if copied else x
            for x, copied in zip((q, k, v), self._copied, strict=True)
        )
        return q, k, v


def boxes(tensor: Tensor, length: int, rows: int, columns: int) -> KeptDescriptor:
    """Moves rows x columns of one head of a tensor [batch, heads, len, dim] that fits_tma at a time.

    length: rows from here on count as outside.
    """
    shape = [*tensor.shape[:2], length, tensor.shape[3]]
    layout = box_layout(rows, columns, tensor.dtype)
    return KeptDescriptor(TensorDescriptor(tensor, shape, legal_strides(tensor), [1, 1, rows, columns], layout))


def _packable(q: Tensor, v: Tensor) -> bool:
    """Whether packed tiles can be used: their rows are gathered unpadded, into a buffer that o does not share."""
    dim = padded_dim(q.shape[3])
    return v.shape[3] == q.shape[3] == dim and not any(config.share_output for config in FORWARD_CONFIGS[dim])


def _schedule_key(q: Tensor, k: Tensor, work: WorkTensors | DeviceWork, config: HopperForwardConfig) -> ScheduleKey:
    head_bytes = 2 * k.element_size() * work.key_stop * k.shape[3]
    model = costs_of(padded_dim(q.shape[3]), config.block_m, config.block_n)
    return q.shape[0], q.shape[1], k.shape[1], head_bytes, _multiprocessors(q.device), model


@functools.cache
def box_layout(rows: int, columns: int, dtype: torch.dtype) -> gl.NVMMASharedLayout:
    """Shared memory of a box [1, 1, rows, columns], swizzled as wgmma reads it."""
    return gl.NVMMASharedLayout.get_default_for([1, 1, rows, columns], _DTYPES[dtype])


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count
