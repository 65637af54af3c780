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
from compilemask.attention.score_options import Activation, ScoreOptions
from compilemask.descriptor import MaskBatch

Numbers = tuple[float, float | None, Activation, float | None]
"""Of ScoreOptions, in order: what an operator can take of it."""
# The compiler may capture operators as CUDA graphs, whose replays would compute under the mask of the capture.
_TAGS = (torch.Tag.cudagraph_unsafe,)
_OPTIONS = "str impl, bool deterministic, float sm_scale, float? softcap, str activation, float? norm"


@torch.library.custom_op(
    "compilemask::attention_forward",
    mutates_args=(),
    schema=f"(Tensor q, Tensor k, Tensor v, Tensor? sinks, Tensor token, {_OPTIONS}) -> (Tensor o, Tensor lse)",
    tags=_TAGS,
)
def attention_forward(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, token: Tensor, impl: str,
    deterministic: bool, *options: Any,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse), contiguous. token: of the mask; deterministic: for the backward; options: of ScoreOptions, in order."""
    mask = mask_of(token)
    scores = ScoreOptions(*options)
    check_inputs(q, k, v, sinks, mask, scores)
    with torch.autocast(q.device.type, enabled=False):
        o, lse = impls.forward(resolve(q, k, v, mask, impl), q, k, v, sinks, mask, scores)
    return o.contiguous(), lse.contiguous()


@torch.library.custom_op(
    "compilemask::attention_backward",
    mutates_args=(),
    schema=(
        "(Tensor q, Tensor k, Tensor v, Tensor? sinks, Tensor o, Tensor lse, Tensor? do, Tensor? dlse, Tensor token, "
        f"bool[] wanted, {_OPTIONS}) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dsinks)"
    ),
    tags=_TAGS,
)
def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, o: Tensor, lse: Tensor, do: Tensor | None,
    dlse: Tensor | None, token: Tensor, wanted: list[bool], impl: str, deterministic: bool, *options: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Contiguous gradients of attention_forward's q, k, v and sinks; where not `wanted` an empty tensor."""
    mask = mask_of(token)
    asked = (wanted[0], wanted[1], wanted[2], wanted[3])
    with torch.autocast(q.device.type, enabled=False):
        name = resolve(q, k, v, mask, impl)
        scores = ScoreOptions(*options)
        found = impls.backward(name, q, k, v, sinks, o, lse, do, dlse, mask, scores, asked, deterministic)
    return tuple(
        grad.contiguous() if keep and grad is not None else q.new_empty(0)
        for keep, grad in zip(asked, found, strict=True)
    )


@attention_forward.register_fake
def _(q: Tensor, _k: Tensor, v: Tensor, *_rest: object) -> tuple[Tensor, Tensor]:
    shape = (*q.shape[:3], v.shape[3])
    return v.new_empty(shape), q.new_empty(shape[:3], dtype=torch.float32)


@attention_backward.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, _o: Tensor, _lse: Tensor, _do: Tensor | None,
    _dlse: Tensor | None, _token: Tensor, wanted: list[bool], *_options: object,
) -> tuple[Tensor, ...]:  # fmt: skip
    return tuple(
        x.new_empty(x.shape) if keep and x is not None else q.new_empty(0)
        for keep, x in zip(wanted, (q, k, v, sinks), strict=True)
    )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, sinks, token, *options = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, sinks, *output, token)
    ctx.options = options


def _differentiate(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
    wanted = list(ctx.needs_input_grad[:4])
    if (do is None and dlse is None) or not any(wanted):
        return (None,) * (5 + len(ctx.options))
    q, k, v, sinks, o, lse, token = ctx.saved_tensors
    grads = gradients(q, k, v, sinks, o, lse, do, dlse, token, wanted, *ctx.options)
    found = [grad if keep else None for grad, keep in zip(grads, wanted, strict=True)]
    return *found, None, *(None for _ in ctx.options)


def gradients(*inputs: Any) -> tuple[Tensor, ...]:
    """attention_backward, with no derivative of its own but the refusal of one, in compiled graphs and under torch.func."""
    backward: Any = attention_backward if torch.compiler.is_compiling() else _AttentionBackward.apply
    found: tuple[Tensor, ...] = backward(*inputs)
    return found


def _refuse_second(_ctx: Any, *_grads: Any) -> NoReturn:
    raise NotImplementedError(
        "attention has first derivatives only, except with impl 'reference': got a derivative of its gradient "
        "(create_graph=True and a second backward); use impl='reference' for small sizes"
    )


def refuse_forward_mode(*_tangents: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(
        "attention has no forward-mode derivatives (jvp), except with impl 'reference': "
        "use torch.func.vjp or torch.func.grad, or impl='reference' for small sizes"
    )


attention_forward.register_autograd(_differentiate, setup_context=_keep)
attention_backward.register_autograd(_refuse_second)


class _Attention(torch.autograd.Function):
    """attention_forward outside of graphs: torch.func takes the gradient of a Function, not that of an operator."""

    generate_vmap_rule = True
    setup_context = staticmethod(_keep)
    backward = staticmethod(_differentiate)
    jvp = staticmethod(refuse_forward_mode)  # type: ignore[assignment]

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor]:
        result: tuple[Tensor, Tensor] = attention_forward(*inputs)
        return result


class _AttentionBackward(torch.autograd.Function):
    generate_vmap_rule = True
    backward = staticmethod(_refuse_second)  # type: ignore[assignment]
    jvp = staticmethod(refuse_forward_mode)  # type: ignore[assignment]

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, ...]:
        result: tuple[Tensor, ...] = attention_backward(*inputs)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Nothing is kept: there is no backward."""


def differentiable(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, token: Tensor, impl: str,
    deterministic: bool, numbers: Numbers,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """attention_forward, with gradients both in compiled graphs and under torch.func."""
    call: Any = attention_forward if torch.compiler.is_compiling() else _Attention.apply
    result: tuple[Tensor, Tensor] = call(q, k, v, sinks, token, impl, deterministic, *numbers)
    return result


@attention_forward.register_vmap
def _(
    info: Any, in_dims: tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, token: Tensor,
    *options: Any,
) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:  # fmt: skip
    _check_mapped(in_dims[3], in_dims[4], token)
    folded = [_fold(x, dim, info.batch_size) for x, dim in zip((q, k, v), in_dims, strict=False)]
    o, lse = attention_forward(*folded, sinks, token, *options)
    return (_unfold(o, info.batch_size), _unfold(lse, info.batch_size)), (0, 0)


@attention_backward.register_vmap
def _(
    info: Any, in_dims: tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, o: Tensor, lse: Tensor,
    do: Tensor | None, dlse: Tensor | None, token: Tensor, wanted: list[bool], *options: Any,
) -> tuple[tuple[Tensor, ...], tuple[int | None, ...]]:  # fmt: skip
    _check_mapped(in_dims[3], in_dims[8], token)
    if wanted[3]:
        raise NotImplementedError(
            "vmap over a gradient of the sinks is not supported: put the mapped dimension into the batch"
        )
    mapped = zip((q, k, v, o, lse, do, dlse), in_dims[:3] + in_dims[4:8], strict=True)
    folded = [None if x is None else _fold(x, dim, info.batch_size) for x, dim in mapped]
    grads = attention_backward(*folded[:3], sinks, *folded[3:], token, wanted, *options)
    found = [_unfold(x, info.batch_size) if keep else x for x, keep in zip(grads, wanted, strict=True)]
    return tuple(found), tuple(0 if keep else None for keep in wanted)


def _check_mapped(sinks_dim: int | None, token_dim: int | None, token: Tensor) -> None:
    if sinks_dim is not None:
        raise NotImplementedError("vmap over sinks is not supported: call attention once for each")
    if token_dim is not None:
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
