"""What attention() asks of its inputs: one error for the first thing that does not fit."""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor

from compilemask.arguments import show
from compilemask.attention import batched
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.held_masks import Mask
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch, MaskDescriptor

DTYPES = (torch.bfloat16, torch.float16, torch.float32)
LAYOUTS = "[batch, heads, len, head_dim], or packed [total, heads, head_dim]"


def check_types(q: object, k: object, v: object, sinks: object, mask: object, deterministic: object) -> None:
    """Raises TypeError for what is no dense tensor and no mask, with the nearest right form."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor {LAYOUTS}, got {type(tensor).__name__}")
        if tensor.layout is not torch.strided or tensor.is_nested:
            kind = "a nested tensor" if tensor.is_nested else f"layout {tensor.layout}"
            raise TypeError(
                f"{name} must be a dense torch.Tensor, got {kind}; sequences of several lengths are packed, [total, heads, "
                "head_dim], under a mask of documents"
            )
    if sinks is not None and not isinstance(sinks, Tensor):
        raise TypeError(f"sinks must be a torch.Tensor [num_q_heads] or None, got {type(sinks).__name__}")
    if not isinstance(deterministic, bool):
        raise TypeError(f"deterministic must be True or False, got {deterministic!r}")
    _check_mask(mask)


def check_layout(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises ValueError unless all three have 4 dimensions, or all three have 3."""
    if q.ndim == k.ndim == v.ndim == 3:
        return
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.ndim not in (3, 4):
            raise ValueError(f"{name} must be {LAYOUTS}, got shape {tuple(tensor.shape)}")
        if tensor.ndim != 4:
            raise ValueError(
                f"q, k and v must all be packed [total, heads, head_dim] or all [batch, heads, len, head_dim], "
                f"got shapes {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
            )


def check_inputs(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, options: ScoreOptions) -> None:
    """Raises ValueError unless q, k, v [batch, heads, len, head_dim] fit together and fit the mask and the sinks."""
    _check_tensors(q, k, v, mask)
    if sinks is not None:
        _check_sinks(q, sinks, options)
    if isinstance(mask, DeviceMask) and mask.device != q.device:
        raise ValueError(f"the DeviceMask is on {mask.device}, the tensors are on {q.device}")
    if isinstance(mask, MaskBatch):
        batched.check_sizes(mask, q.shape[0], q.shape[1])


def _check_mask(mask: object) -> None:
    if isinstance(mask, (MaskDescriptor, MaskBatch, DeviceMask)):
        return
    wanted = "mask must be a MaskDescriptor, what compilemask.compile(text).bind(...) returns"
    shape = "x".join(map(str, getattr(mask, "shape", ())))
    match mask:
        case Tensor() if mask.dtype == torch.bool:
            got = f"a bool tensor of shape {shape}: write the rule as mask text and compile it"
        case Tensor():
            got = f"a {mask.dtype} tensor of shape {shape}: added biases are not supported, only masks are"
        case str():
            got = "a string: compile and bind it first, compilemask.compile(text).bind(...)"
        case None:
            got = "None: for attention without a mask compile one that shows every key, or call torch's own attention"
        case _ if callable(mask) and not hasattr(mask, "bind"):
            got = "a function: write its rule as mask text, for example 'S sees S causal', and compile it"
        case list() | tuple() if mask and all(isinstance(item, MaskDescriptor) for item in mask):
            got = f"{len(mask)} of them: make one MaskBatch, with MaskBatch.of([[mask] for mask in masks]) for batch items"
        case _ if hasattr(mask, "bind"):
            got = f"{type(mask).__name__} without numbers: bind its parameters first, program.bind(...)"
        case _:
            got = f"{type(mask).__name__}: write the mask as text and compile it"
    raise TypeError(f"{wanted}; got {got}")


def _check_tensors(q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> None:
    if not (q.dtype == k.dtype == v.dtype) or q.dtype not in DTYPES:
        raise ValueError(
            f"q, k and v must share one dtype of bfloat16, float16, float32, got {q.dtype}, {k.dtype}, {v.dtype}"
        )
    if not (q.device == k.device == v.device):
        raise ValueError(f"q, k and v must be on one device, got {q.device}, {k.device}, {v.device}")
    if not (q.shape[0] == k.shape[0] == v.shape[0]):
        raise ValueError(f"q, k and v must have one batch size, got {q.shape[0]}, {k.shape[0]}, {v.shape[0]}")
    if k.shape[1] != v.shape[1]:
        raise ValueError(f"k and v must have the same heads, got {k.shape[1]} and {v.shape[1]}")
    if q.shape[1] == 0 or k.shape[1] == 0:
        raise ValueError(f"num_q_heads and num_kv_heads must be at least 1, got {q.shape[1]} and {k.shape[1]}")
    if q.shape[1] % k.shape[1] != 0:
        raise ValueError(f"num_q_heads must be a multiple of num_kv_heads, got {q.shape[1]} and {k.shape[1]}")
    if q.shape[3] != k.shape[3]:
        raise ValueError(f"q and k must share head_dim, got {q.shape[3]} and {k.shape[3]}")
    if q.shape[3] == 0 or v.shape[3] == 0:
        raise ValueError(f"head_dim must be at least 1, got {q.shape[3]} for q and k, {v.shape[3]} for v")
    if k.shape[2] != v.shape[2]:
        raise ValueError(f"k and v must have the same length, got {k.shape[2]} and {v.shape[2]}")
    if (q.shape[2], k.shape[2]) != (mask.q_len, mask.kv_len):
        raise ValueError(
            f"the mask is for q_len {mask.q_len} and kv_len {mask.kv_len}, got tensors of {q.shape[2]} and {k.shape[2]}; "
            f"compile the mask for these lengths"
        )


def _check_sinks(q: Tensor, sinks: Tensor, options: ScoreOptions) -> None:
    if options.activation != "softmax":
        raise ValueError(f"sinks join the sum of a softmax, activation {options.activation!r} has none")
    if tuple(sinks.shape) != (q.shape[1],):
        raise ValueError(f"sinks must be one logit for each query head, [{q.shape[1]}], got shape {tuple(sinks.shape)}")
    if not sinks.is_floating_point():
        raise ValueError(f"sinks must have a floating-point dtype, got {sinks.dtype}")
    if sinks.device != q.device:
        raise ValueError(f"sinks must be on the device of q, got {sinks.device} and {q.device}")


def check_scale(sm_scale: float | None, head_dim: int) -> float:
    """sm_scale as a float, its default where it is None. Raises ValueError for what is no finite number."""
    if sm_scale is None:
        # A head_dim of 0 is refused by check_inputs, in words.
        return 1 / math.sqrt(max(1, head_dim))
    try:
        scale = float(sm_scale) if isinstance(sm_scale, Real) and not isinstance(sm_scale, bool) else math.nan
    except OverflowError:
        scale = math.inf
    if not math.isfinite(scale):
        raise ValueError(f"sm_scale must be a finite number or None, got {show(sm_scale)}")
    return scale
