"""attention(): checks its inputs, picks an implementation, nothing else."""

from __future__ import annotations

import importlib.util
import math
from numbers import Real
from typing import Literal, overload

import torch
from torch import Tensor

from compilemask.arguments import show
from compilemask.attention import batched
from compilemask.attention.mask_tensors import cache
from compilemask.descriptor import MaskBatch, MaskDescriptor

Impl = Literal["auto", "reference", "torch", "triton"]
IMPLS = ("auto", "reference", "torch", "triton")
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
TRITON_MAX_HEAD_DIM = 256
_TRITON_MIN_CAPABILITY = (8, 0)


@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch, *, sm_scale: float | None = ..., impl: Impl = ...,
    return_lse: Literal[False] = ...,
) -> Tensor: ...  # fmt: skip
@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch, *, sm_scale: float | None = ..., impl: Impl = ...,
    return_lse: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: MaskDescriptor | MaskBatch,
    *,
    sm_scale: float | None = None,
    impl: Impl = "auto",
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(sm_scale * q k^T over the visible keys) v, row by row.

    q [batch, num_q_heads, q_len, head_dim], k [batch, num_kv_heads, kv_len, head_dim], v [batch, num_kv_heads, kv_len,
    v_head_dim]; any strides; one dtype of bfloat16, float16, float32; one device. num_q_heads is a multiple of
    num_kv_heads: query head h reads key head h // (num_q_heads // num_kv_heads). Under torch.autocast the three are cast
    to its dtype first. mask: from `compile`, with the same q_len and kv_len; a MaskDescriptor for all batch items and
    heads, or a MaskBatch with 1 or as many items and query heads as the tensors.
    sm_scale: 1/sqrt(head_dim) unless given.

    impl: "triton" (CUDA, head_dim and v_head_dim up to 256; gradients for masks whose keys are all seen), "torch" (any
    device), "reference" (dense, in float64, small sizes) or "auto"; `choose_impl` tells which one "auto" takes and why.

    Returns o [batch, num_q_heads, q_len, v_head_dim] in v's dtype; with return_lse also lse [batch, num_q_heads, q_len],
    float32, the natural logarithm of the sum of exp(score). A row that sees no key has o = 0 and lse = -inf. What a key
    that no row sees holds, NaN and infinity included, never reaches o, lse or a gradient; a NaN in a key that some rows
    see may reach other rows too.

    Raises TypeError or ValueError, before any computation, for inputs that do not fit.
    """
    q, k, v = _under_autocast(q, k, v)
    _check_mask(mask)
    _check_tensors(q, k, v, mask)
    scale = _check_scale(sm_scale, q.shape[3])
    name, _ = choose_impl(q, k, v, impl=impl, mask=mask)
    if isinstance(mask, MaskBatch):
        batched.check_sizes(mask, q.shape[0], q.shape[1])

        def run(q: Tensor, k: Tensor, v: Tensor, part: MaskDescriptor) -> tuple[Tensor, Tensor]:
            return _run(name, q, k, v, part, scale)

        o, lse = batched.forward(run, q, k, v, mask)
    else:
        o, lse = _run(name, q, k, v, mask, scale)
    return (o.to(v.dtype), lse.float()) if return_lse else o.to(v.dtype)


def choose_impl(
    q: Tensor, k: Tensor, v: Tensor, *, impl: Impl = "auto", mask: MaskDescriptor | MaskBatch | None = None
) -> tuple[Literal["reference", "torch", "triton"], str]:
    """(name, reason): the implementation `attention` uses for these tensors; "auto" is triton where it can, else torch.

    mask: what they are used with; it matters where gradients are wanted.
    Raises ValueError when `impl` is no name of one, or is "triton" and cannot take these tensors.
    """
    if impl not in IMPLS:
        raise ValueError(f"impl must be one of {', '.join(map(repr, IMPLS))}, got {impl!r}")
    if impl == "reference" or impl == "torch":
        return impl, "asked for"
    obstacle = _triton_obstacle(q, k, v) or _backward_obstacle(q, k, v, mask)
    if impl == "triton":
        if q.device.type == "cpu" and _interpreted():
            obstacle = _common_obstacle(q, k, v)
        if obstacle:
            raise ValueError(f"impl 'triton' cannot be used: {obstacle}; use impl='torch'")
        return "triton", "asked for"
    if obstacle:
        return "torch", obstacle
    return "triton", f"{q.device} with head_dim {q.shape[-1]} and {v.shape[-1]}"


def _common_obstacle(q: Tensor, k: Tensor, v: Tensor) -> str | None:
    """Why the Triton kernel cannot take these tensors on any device, or None."""
    largest = max(tensor.shape[-1] for tensor in (q, k, v))
    if largest > TRITON_MAX_HEAD_DIM:
        return f"the triton kernel takes a head_dim up to {TRITON_MAX_HEAD_DIM}, got {largest}"
    return None


def _triton_obstacle(q: Tensor, k: Tensor, v: Tensor) -> str | None:
    """Why the Triton kernel cannot take these tensors where they are, or None."""
    if obstacle := _common_obstacle(q, k, v):
        return obstacle
    if q.device.type == "cpu":
        return "the tensors are on the CPU"
    if q.device.type != "cuda" or torch.version.hip is not None:
        return f"the triton kernel is built for CUDA devices, got {q.device} of torch {torch.__version__}"
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed"
    capability = torch.cuda.get_device_capability(q.device)
    if capability < _TRITON_MIN_CAPABILITY:
        return f"the triton kernel needs compute capability 8.0, {q.device} has {capability[0]}.{capability[1]}"
    return None


def _backward_obstacle(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch | None) -> str | None:
    """Why the Triton backward is not to be trusted with these tensors and this mask on a GPU, or None.

    On an H200 (triton 3.6) dq and dk came out wrong for a mask with keys that no row sees, v_head_dim 24 and head_dim 16, though
    the interpreter is right there and the GPU right for other masks and sizes. Until that is understood such masks train elsewhere.
    """
    if mask is None or not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (q, k, v))):
        return None
    masks = mask.masks if isinstance(mask, MaskBatch) else (mask,)
    unseen = max((part.unseen_keys for part in masks), default=0)
    if unseen == 0:
        return None
    return f"the triton backward does not take masks with keys that no row sees, this one has {unseen}"


def _interpreted() -> bool:
    """Whether Triton is here and runs kernels on the CPU, in its interpreter; slow, for tests, never chosen by "auto"."""
    if importlib.util.find_spec("triton") is None:
        return False
    from compilemask.attention.triton import interpreted

    return interpreted()


def _run(name: str, q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor, sm_scale: float) -> tuple[Tensor, Tensor]:
    match name:
        case "reference":
            from compilemask.attention import reference

            return reference.forward(q, k, v, mask, sm_scale)
        case "torch":
            from compilemask.attention import tiled

            return tiled.forward(q, k, v, cache.get(mask, tiled.BLOCK_M, tiled.BLOCK_N, q.device), sm_scale)
        case _:
            from compilemask.attention import autograd, triton

            route = triton.choose_route(q, k, v, mask)

            def forward(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
                return route.run(q, k, v, sm_scale)

            return autograd.differentiable(forward, q, k, v, mask, sm_scale)


def _under_autocast(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor [batch, heads, len, head_dim], got {type(tensor).__name__}")
    if torch.is_autocast_enabled(q.device.type):
        dtype = torch.get_autocast_dtype(q.device.type)
        return q.to(dtype), k.to(dtype), v.to(dtype)
    return q, k, v


def _check_mask(mask: object) -> None:
    if isinstance(mask, MaskDescriptor | MaskBatch):
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


def _check_tensors(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.ndim != 4:
            raise ValueError(f"{name} must be [batch, heads, len, head_dim], got shape {tuple(tensor.shape)}")
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


def _check_scale(sm_scale: float | None, head_dim: int) -> float:
    if sm_scale is None:
        return 1 / math.sqrt(head_dim)
    try:
        scale = float(sm_scale) if isinstance(sm_scale, Real) and not isinstance(sm_scale, bool) else math.nan
    except OverflowError:
        scale = math.inf
    if not math.isfinite(scale):
        raise ValueError(f"sm_scale must be a finite number or None, got {show(sm_scale)}")
    return scale
