"""Gradients of the Triton implementation: what the forward keeps, and the backward as one more function of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from compilemask.attention import triton
from compilemask.attention.mask_tensors import cache
from compilemask.descriptor import MaskDescriptor

Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def differentiable(
    forward: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: MaskDescriptor,
    sm_scale: float,
) -> tuple[Tensor, Tensor]:
    """forward(q, k, v), an (o, lse) of the Triton kernels, differentiable once in both results.

    q [batch, q heads, q_len, dim], k and v [batch, kv heads, kv_len, dim or v dim]; o [batch, q heads, q_len, v dim] and lse
    [batch, q heads, q_len] contiguous. Keeps q, k, v, o, lse; the backward recomputes the weights (Dao et al., 2022).
    """
    result: tuple[Tensor, Tensor] = _Attention.apply(q, k, v, forward, mask, sm_scale)  # type: ignore[no-untyped-call]
    return result


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, forward: Any, mask: MaskDescriptor, sm_scale: float
    ) -> tuple[Tensor, Tensor]:
        o, lse = forward(q, k, v)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.mask, ctx.sm_scale = mask, sm_scale
        ctx.set_materialize_grads(False)
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
        if do is None and dlse is None:
            return (None,) * 6
        wanted = ctx.needs_input_grad[:3]
        tensors = (*ctx.saved_tensors, do, dlse)
        grads: Gradients = _AttentionBackward.apply(*tensors, ctx.mask, ctx.sm_scale, wanted)  # type: ignore[no-untyped-call]
        return *grads, None, None, None


class _AttentionBackward(torch.autograd.Function):
    """A function of its own so that differentiating it can be told from differentiating attention."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None,
        mask: MaskDescriptor, sm_scale: float, wanted: tuple[bool, bool, bool],
    ) -> Gradients:  # fmt: skip
        ctx.set_materialize_grads(False)
        return gradients(q, k, v, o, lse, do, dlse, mask, sm_scale, wanted)

    @staticmethod
    def backward(ctx: Any, *_grads: Tensor | None) -> NoReturn:
        raise NotImplementedError(
            "attention with impl 'triton' has first derivatives only, got a derivative of its gradient "
            "(create_graph=True and a second backward); use impl='reference' for small sizes"
        )


def gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None,
    mask: MaskDescriptor, sm_scale: float, wanted: tuple[bool, bool, bool] = (True, True, True),
) -> Gradients:  # fmt: skip
    """(dq, dk, dv) of sum(o * do) + sum(lse * dlse), contiguous, in the inputs' dtype; do, dlse: None for zeros.

    o and lse are the forward's. Where `wanted` is False the gradient may be None. Equal inputs give equal bits, whatever
    the strides of do and dlse.
    """
    if q.numel() == 0 or k.numel() == 0:
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    do = torch.zeros_like(o) if do is None else do.contiguous()
    dq_config, dkv_config = triton.choose_backward_configs(q, k, v)
    terms = triton.row_terms(o, lse, do, dlse, dkv_config)
    queries = cache.get(mask, dq_config.block_m, dq_config.block_n, q.device)
    keys = cache.get(mask, dkv_config.block_m, dkv_config.block_n, q.device, transposed=True)
    inputs = (q, k, v, do, terms, queries, keys, sm_scale)
    dq = triton.query_gradient(*inputs, dq_config) if wanted[0] else None
    dk, dv = triton.key_gradients(*inputs, dkv_config) if wanted[1] or wanted[2] else (None, None)
    return dq, dk, dv
