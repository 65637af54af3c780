"""Attention as custom operators: what autograd, torch.compile, torch.func and torch.export see of it.

A mask travels as its token, an int64 array of fixed shape (docs/decisions/0008-masks-travel-as-tokens.md): graphs then
depend neither on its numbers nor on its lengths.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from compilemask.attention import impls
from compilemask.attention.checks import check_inputs
from compilemask.attention.choice import resolve
from compilemask.attention.held_masks import mask_of
from compilemask.descriptor import MaskBatch

_OPTIONS = "str impl, bool training, float sm_scale"


@torch.library.custom_op(
    "compilemask::attention_forward",
    mutates_args=(),
    schema=f"(Tensor q, Tensor k, Tensor v, Tensor token, {_OPTIONS}) -> (Tensor o, Tensor lse)",
)
def attention_forward(
    q: Tensor, k: Tensor, v: Tensor, token: Tensor, impl: str, training: bool, sm_scale: float
) -> tuple[Tensor, Tensor]:
    """(o, lse), contiguous; token: of the mask; training: whether gradients are wanted; the rest as in `attention`."""
    mask = mask_of(token)
    check_inputs(q, k, v, mask)
    with torch.autocast(q.device.type, enabled=False):
        o, lse = impls.forward(resolve(q, k, v, mask, impl, training), q, k, v, mask, sm_scale)
    return o.contiguous(), lse.contiguous()


@torch.library.custom_op(
    "compilemask::attention_backward",
    mutates_args=(),
    schema=(
        "(Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor? do, Tensor? dlse, Tensor token, "
        f"bool[] wanted, {_OPTIONS}) -> (Tensor dq, Tensor dk, Tensor dv)"
    ),
)
def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None, token: Tensor,
    wanted: list[bool], impl: str, training: bool, sm_scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Contiguous gradients of attention_forward's q, k, v; where not `wanted` an empty tensor."""
    mask = mask_of(token)
    with torch.autocast(q.device.type, enabled=False):
        name = resolve(q, k, v, mask, impl, training)
        found = impls.backward(name, q, k, v, o, lse, do, dlse, mask, sm_scale, (wanted[0], wanted[1], wanted[2]))
    dq, dk, dv = (
        grad.contiguous() if asked and grad is not None else x.new_empty(0)
        for asked, grad, x in zip(wanted, found, (q, k, v), strict=True)
    )
    return dq, dk, dv


@attention_forward.register_fake
def _(q: Tensor, _k: Tensor, v: Tensor, *_rest: object) -> tuple[Tensor, Tensor]:
    shape = (*q.shape[:3], v.shape[3])
    return v.new_empty(shape), q.new_empty(shape[:3], dtype=torch.float32)


@attention_backward.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, _o: Tensor, _lse: Tensor, _do: Tensor | None, _dlse: Tensor | None, _token: Tensor,
    wanted: list[bool], *_options: object,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    dq, dk, dv = (x.new_empty(x.shape) if asked else x.new_empty(0) for asked, x in zip(wanted, (q, k, v), strict=True))
    return dq, dk, dv


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, token, *options = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, *output, token)
    ctx.options = options


def _differentiate(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
    wanted = list(ctx.needs_input_grad[:3])
    if (do is None and dlse is None) or not any(wanted):
        return (None,) * (4 + len(ctx.options))
    q, k, v, o, lse, token = ctx.saved_tensors
    backward: Any = attention_backward if torch.compiler.is_compiling() else _AttentionBackward.apply
    grads = backward(q, k, v, o, lse, do, dlse, token, wanted, *ctx.options)
    found = [grad if asked else None for grad, asked in zip(grads, wanted, strict=True)]
    return *found, None, *(None for _ in ctx.options)


def _refuse_second(_ctx: Any, *_grads: Any) -> NoReturn:
    raise NotImplementedError(
        "attention has first derivatives only, except with impl 'reference': got a derivative of its gradient "
        "(create_graph=True and a second backward); use impl='reference' for small sizes"
    )


attention_forward.register_autograd(_differentiate, setup_context=_keep)
attention_backward.register_autograd(_refuse_second)


class _Attention(torch.autograd.Function):
    """attention_forward outside of graphs: torch.func takes the gradient of a Function, not that of an operator."""

    generate_vmap_rule = True
    setup_context = staticmethod(_keep)
    backward = staticmethod(_differentiate)

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor]:
        result: tuple[Tensor, Tensor] = attention_forward(*inputs)
        return result


class _AttentionBackward(torch.autograd.Function):
    generate_vmap_rule = True
    backward = staticmethod(_refuse_second)

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        result: tuple[Tensor, Tensor, Tensor] = attention_backward(*inputs)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Nothing is kept: there is no backward."""


def differentiable(
    q: Tensor, k: Tensor, v: Tensor, token: Tensor, impl: str, training: bool, sm_scale: float
) -> tuple[Tensor, Tensor]:
    """attention_forward, with gradients both in compiled graphs and under torch.func."""
    call: Any = attention_forward if torch.compiler.is_compiling() else _Attention.apply
    result: tuple[Tensor, Tensor] = call(q, k, v, token, impl, training, sm_scale)
    return result


@attention_forward.register_vmap
def _(
    info: Any, in_dims: tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, token: Tensor, *options: Any
) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    _check_mapped(in_dims, token, 3)
    folded = [_fold(x, dim, info.batch_size) for x, dim in zip((q, k, v), in_dims, strict=False)]
    o, lse = attention_forward(*folded, token, *options)
    return (_unfold(o, info.batch_size), _unfold(lse, info.batch_size)), (0, 0)


@attention_backward.register_vmap
def _(
    info: Any, in_dims: tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
    do: Tensor | None, dlse: Tensor | None, token: Tensor, wanted: list[bool], *options: Any,
) -> tuple[tuple[Tensor, ...], tuple[int | None, ...]]:  # fmt: skip
    _check_mapped(in_dims, token, 7)
    folded = [
        None if x is None else _fold(x, dim, info.batch_size)
        for x, dim in zip((q, k, v, o, lse, do, dlse), in_dims, strict=False)
    ]
    grads = attention_backward(*folded, token, wanted, *options)
    found = [_unfold(x, info.batch_size) if asked else x for x, asked in zip(grads, wanted, strict=True)]
    return tuple(found), tuple(0 if asked else None for asked in wanted)


def _check_mapped(in_dims: tuple[Any, ...], token: Tensor, place: int) -> None:
    if in_dims[place] is not None:
        raise NotImplementedError("vmap over masks is not supported: give a MaskBatch, one mask for each batch item")
    mask = mask_of(token)
    if isinstance(mask, MaskBatch) and mask.num_items > 1:
        raise NotImplementedError(
            f"vmap over attention with a MaskBatch of {mask.num_items} items is not supported: "
            "put the mapped dimension into the batch"
        )


def _fold(x: Tensor, dim: int | None, size: int) -> Tensor:
    """The mapped dimension becomes a part of the batch, which comes first; what is not mapped is repeated."""
    mapped = x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    return mapped.reshape(size * mapped.shape[1], *mapped.shape[2:])


def _unfold(x: Tensor, size: int) -> Tensor:
    return x.reshape(size, x.shape[0] // size, *x.shape[1:])
