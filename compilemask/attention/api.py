"""attention(): checks its inputs, hands them to the operator, nothing else."""

from __future__ import annotations

from typing import Literal, overload

import torch
from torch import Tensor
from torch.autograd import forward_ad

from compilemask.attention import calls, impls, ops
from compilemask.attention.checks import check_inputs, check_layout, check_scale, check_types
from compilemask.attention.choice import Impl, check_impl, resolve
from compilemask.attention.held_masks import Mask
from compilemask.attention.score_options import Activation, ScoreOptions


@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask, *, sm_scale: float | None = ..., softcap: float | None = ...,
    sinks: Tensor | None = ..., activation: Activation = ..., norm: float | None = ..., impl: Impl = ...,
    deterministic: bool = ...,
    return_lse: Literal[False] = ...,
) -> Tensor: ...  # fmt: skip
@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask, *, sm_scale: float | None = ..., softcap: float | None = ...,
    sinks: Tensor | None = ..., activation: Activation = ..., norm: float | None = ..., impl: Impl = ...,
    deterministic: bool = ...,
    return_lse: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Mask,
    *,
    sm_scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    activation: Activation = "softmax",
    norm: float | None = None,
    impl: Impl = "auto",
    deterministic: bool = False,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Of each row, the sum of the visible keys' values by their weights: by default softmax(sm_scale * q k^T) v.

    q [batch, num_q_heads, q_len, head_dim], k [batch, num_kv_heads, kv_len, head_dim], v [batch, num_kv_heads, kv_len,
    v_head_dim]; or all three packed, [total, heads, head_dim], for one item whose mask covers the totals. Any strides; one
    dtype of bfloat16, float16, float32; one device. num_q_heads is a multiple of num_kv_heads: query head h reads key
    head h // (num_q_heads // num_kv_heads). Under torch.autocast the three are cast to its dtype first.
    mask: from `compile`, with the same q_len and kv_len; a MaskDescriptor or DeviceMask for all batch items and heads, or
    a MaskBatch with 1 or as many items and query heads as the tensors.

    sm_scale: 1/sqrt(head_dim) unless given. softcap, activation, norm: as ScoreOptions says. sinks [num_q_heads]: one more
    key of value 0 for each head, whose score is the sink's; differentiable. deterministic: equal inputs give equal bits,
    forward and backward, which all implementations but "hopper" give whether it is asked for or not: its gradients are
    faster without, unless torch.use_deterministic_algorithms asks for it.
    impl: "triton" (CUDA, head_dim and v_head_dim up to 256), "hopper" (compute capability 9.0, half precision, head_dim and
    v_head_dim multiples of 8, both in 33..64, in 65..128 or in 129..256), "torch" (any device), "reference" (dense, in float64,
    small sizes) or "auto"; `choose_impl` tells which one "auto" takes and why.

    Returns o [batch, num_q_heads, q_len, v_head_dim] in v's dtype; with return_lse also lse [batch, num_q_heads, q_len],
    float32, the natural logarithm of the sum of exp(score), sinks included; activation "silu" has none. Packed: o [total,
    num_q_heads, v_head_dim] and lse [total, num_q_heads]. A row that sees no key has o = 0 and lse = -inf, or its sink. What
    a key that no row sees holds, NaN and infinity included, never reaches o, lse or a gradient, nor does what q and the
    gradient of o hold in a row that sees no key: dq is 0 there. A NaN in a key that some rows see may reach other rows too.

    Raises TypeError or ValueError, before any computation, for inputs that do not fit.
    """
    # In a compiled graph the operator checks everything when it runs.
    if not torch.compiler.is_compiling():
        check_types(q, k, v, sinks, mask, deterministic)
    check_layout(q, k, v)
    if return_lse and activation == "silu":
        raise ValueError("activation 'silu' has no logarithm of a sum: call attention without return_lse")
    q, k, v = _under_autocast(q, k, v)
    given = (sm_scale, softcap, activation, norm)
    if q.ndim == 4:
        o, lse = _dense(q, k, v, sinks, mask, given, impl, deterministic)
    else:
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))
        o, lse = _dense(q, k, v, sinks, mask, given, impl, deterministic)
        o, lse = (x.squeeze(0).transpose(0, 1).contiguous() for x in (o, lse))
    return (o, lse) if return_lse else o


def _dense(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, given: calls.Given, impl: Impl,
    deterministic: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse) of q, k, v [batch, heads, len, head_dim]."""
    if torch.compiler.is_compiling() or impl == "reference" or q.is_meta or not calls.ordinary(q, k, v, sinks):
        return _operated(q, k, v, sinks, mask, given, impl, deterministic)
    key = calls.key_of(q, k, v, sinks, mask, (*given, impl, deterministic))
    call = calls.kept.find(key)
    if call is None:
        numbers = _checked(q, k, v, sinks, mask, given, impl)
        call = calls.Call(resolve(q, k, v, mask, impl), mask, impl, deterministic, numbers)
        calls.kept.keep(key, call)
    return calls.run(call, q, k, v, sinks, mask)


def _operated(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, given: calls.Given, impl: Impl,
    deterministic: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse) by the operator, or for "reference" by operations of torch."""
    if torch.compiler.is_compiling():
        numbers = (check_scale(given[0], q.shape[-1]), *given[1:])
    else:
        numbers = _checked(q, k, v, sinks, mask, given, impl)
        if impl == "reference":
            # Plain torch operations: all that autograd and torch.func can do works.
            return impls.forward("reference", q, k, v, sinks, mask, ScoreOptions(*numbers))
        _refuse_mapped_tangents(q, k, v, sinks)
    return ops.differentiable(q, k, v, sinks, torch.from_numpy(mask.token), impl, deterministic, numbers)


def _checked(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, given: calls.Given, impl: Impl
) -> ops.Numbers:
    """The numbers of ScoreOptions, when they and everything else fit."""
    numbers = (check_scale(given[0], q.shape[-1]), *given[1:])
    check_inputs(q, k, v, sinks, mask, ScoreOptions(*numbers))
    check_impl(impl)
    return numbers


def _under_autocast(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    # Tensors without data have no autocast, and only shapes.
    if not q.is_meta and torch.is_autocast_enabled(q.device.type):
        dtype = torch.get_autocast_dtype(q.device.type)
        return q.to(dtype), k.to(dtype), v.to(dtype)
    return q, k, v


def _refuse_mapped_tangents(*tensors: Tensor | None) -> None:
    """Raises NotImplementedError for forward-mode derivatives of what is mapped; the operator itself refuses the other ones."""
    for tensor in tensors:
        inner = tensor
        while inner is not None and torch._C._functorch.is_batchedtensor(inner):
            inner = torch._C._functorch.get_unwrapped(inner)
        # Without a map torch asks for the tangents when it calls the operator, and this would not find those of nested transforms.
        if inner is not None and inner is not tensor:
            dual = forward_ad.unpack_dual(inner)  # type: ignore[no-untyped-call]
            if dual.tangent is not None:
                ops.refuse_forward_mode()
