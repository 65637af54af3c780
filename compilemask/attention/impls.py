"""One forward and one backward for all implementations, without autograd: what the operators run."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

import torch
from torch import Tensor

from compilemask.attention import batched
from compilemask.attention.batched import Gradients, Wanted
from compilemask.attention.choice import ImplName
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.held_masks import Mask
from compilemask.attention.mask_tensors import cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch, MaskDescriptor

Launch = Callable[[Tensor, Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]
"""(q, k, v, sinks or None) -> (o, lse)."""
BackwardLaunch = Callable[
    [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None], tuple[Tensor | None, Tensor | None, Tensor | None]
]
"""(q, k, v, o, lse, do, dlse or None) -> (dq, dk, dv), None where not wanted."""


def forward(
    name: ImplName, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, options: ScoreOptions
) -> tuple[Tensor, Tensor]:
    """(o, lse) as `attention` returns them. name: "reference" is differentiable by autograd, any number of times."""

    def run(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, part: MaskDescriptor) -> tuple[Tensor, Tensor]:
        match name:
            case "reference":
                from compilemask.attention import reference

                return reference.forward(q, k, v, part, options, sinks)
            case "torch":
                from compilemask.attention import tiled

                tensors = cache.get(part, tiled.BLOCK_M, tiled.BLOCK_N, q.device)
                return tiled.forward(q, k, v, tensors, options, sinks)
            case "triton":
                from compilemask.attention import triton

                return triton.choose_route(q, k, v, part).run(q, k, v, options, sinks)
            case "hopper":
                from compilemask.attention import hopper

                return hopper.forward(q, k, v, part, options, sinks)

    launch = repeatable(name, q, k, v, sinks, mask, options)
    if launch is not None:
        return launch(q, k, v, sinks)
    mask = _one_mask(mask)
    if isinstance(mask, DeviceMask):
        mask = mask.descriptor()
    o, lse = batched.forward(run, q, k, v, sinks, mask) if isinstance(mask, MaskBatch) else run(q, k, v, sinks, mask)
    return o.to(v.dtype), lse.float()


def repeatable(
    name: ImplName, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, options: ScoreOptions
) -> Launch | None:
    """`forward` under this mask for tensors of the layout of these, where it is one launch that can be repeated.

    It can be referred to weakly, and lives as long as the tiles that it reads.
    """
    mask = _one_mask(mask)
    if name == "hopper":
        from compilemask.attention import hopper

        return hopper.forward_launch(q, k, v, sinks, mask, options)
    if name != "triton":
        return None
    from compilemask.attention import triton

    match mask:
        case MaskDescriptor():
            route = triton.choose_route(q, k, v, mask)
        case MaskBatch():
            batch_route = triton.batch_route(q, k, v, mask)
            if batch_route is None:
                return None
            route = batch_route
        case DeviceMask():
            route = triton.row_route(q, k, v, mask)
    return route.launch(q, k, v, options, sinks)


def _one_mask(mask: Mask) -> Mask:
    """A batch in which all items and heads have one mask is that mask."""
    return mask.masks[0] if isinstance(mask, MaskBatch) and len(mask.masks) == 1 else mask


def backward(
    name: ImplName, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, o: Tensor, lse: Tensor, do: Tensor | None,
    dlse: Tensor | None, mask: Mask, options: ScoreOptions, wanted: Wanted, deterministic: bool = False,
) -> Gradients:  # fmt: skip
    """(dq, dk, dv, dsinks) of sum(o * do) + sum(lse * dlse), in the inputs' dtype; do, dlse: None for zeros.

    o and lse are the forward's. Where `wanted` is False the gradient may be None. deterministic: equal inputs give equal
    bits; only "hopper" has another way, which is faster.
    """

    def run(
        q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, o: Tensor, lse: Tensor, do: Tensor | None,
        dlse: Tensor | None, part: MaskDescriptor,
    ) -> Gradients:  # fmt: skip
        match name:
            case "reference":
                return _reference_backward(q, k, v, sinks, do, dlse, part, options)
            case "torch":
                from compilemask.attention import tiled

                tensors = cache.get(part, tiled.BLOCK_M, tiled.BLOCK_N, q.device)
                return tiled.gradients(q, k, v, o, lse, do, dlse, tensors, options, sinks)
            case "triton" | "hopper":
                kernels = _kernel_gradients(name, q, v, part, deterministic)
                return kernels(q, k, v, o, lse, do, dlse, part, options, sinks, wanted)

    mask = _one_mask(mask)
    # Hooks of autograd may give back what was saved in other strides.
    o, lse = o.contiguous(), lse.contiguous()
    if name in ("triton", "hopper") and not isinstance(mask, MaskDescriptor):
        kernels = _kernel_gradients(name, q, v, mask, deterministic)
        return kernels(q, k, v, o, lse, do, dlse, mask, options, sinks, wanted)
    if isinstance(mask, DeviceMask):
        mask = mask.descriptor()
    if isinstance(mask, MaskBatch):
        return batched.backward(run, q, k, v, sinks, o, lse, do, dlse, mask, wanted)
    return run(q, k, v, sinks, o, lse, do, dlse, mask)


def repeatable_backward(
    name: ImplName, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None,
    mask: Mask, options: ScoreOptions, wanted: tuple[bool, bool, bool], deterministic: bool,
) -> BackwardLaunch | None:  # fmt: skip
    """`backward` without sinks for tensors of the layout of these, where it is launches that can be repeated.

    o, lse, do and dlse are contiguous, dlse is float32; none is empty. deterministic: whether equal inputs must give equal
    bits. It can be referred to weakly, and lives as long as the tiles that it reads.
    """
    if name not in ("triton", "hopper") or q.dtype == torch.float32:
        return None
    mask = _one_mask(mask)
    if name == "hopper":
        from compilemask.attention import hopper

        if _hopper_gradients(q, v, mask):
            return hopper.repeatable_gradients(
                q, k, v, o, lse, do, dlse, mask, options, wanted, deterministic=deterministic
            )
    from compilemask.attention.gradients import repeatable_gradients

    return repeatable_gradients(q, k, v, o, lse, do, dlse, mask, options, wanted)


def _hopper_gradients(q: Tensor, v: Tensor, mask: Mask) -> bool:
    """Whether "hopper" computes gradients by its own kernels, not by triton's.

    It does for one mask and the sizes that it has kernels for. For several masks in one launch its kernels are there, but have not
    been verified on a GPU.
    """
    from compilemask.attention import hopper

    return hopper.takes_dims(q.shape[3], v.shape[3]) and not isinstance(mask, MaskBatch)


def _kernel_gradients(
    name: ImplName, q: Tensor, v: Tensor, mask: Mask, deterministic: bool
) -> Callable[..., Gradients]:
    """The backward of "hopper" or of "triton", which take any mask as a whole."""
    if name == "hopper" and _hopper_gradients(q, v, mask):
        from compilemask.attention.hopper.gradients import gradients as hopper_gradients

        return functools.partial(hopper_gradients, deterministic=deterministic)
    from compilemask.attention.gradients import gradients

    return gradients


def _above_autograd() -> contextlib.AbstractContextManager[None]:
    """An operator runs below autograd; what is computed in here is recorded all the same."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    guard: contextlib.AbstractContextManager[None] = torch._C._ForceDispatchKeyGuard(
        include, exclude & torch._C._after_autograd_keyset
    )
    return guard


def _reference_backward(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, do: Tensor | None, dlse: Tensor | None,
    mask: MaskDescriptor, options: ScoreOptions,
) -> Gradients:  # fmt: skip
    from compilemask.attention import reference

    given = (q, k, v) if sinks is None else (q, k, v, sinks)
    with _above_autograd(), torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in given]
        results = reference.forward(leaves[0], leaves[1], leaves[2], mask, options, *leaves[3:])
        pairs = zip(results, (do, dlse if options.has_lse else None), strict=True)
        used = [(x, grad.to(x.dtype)) for x, grad in pairs if grad is not None and x.requires_grad]
        if not used:
            found = [torch.zeros_like(x) for x in leaves]
        else:
            outputs, grads = zip(*used, strict=True)
            found = list(torch.autograd.grad(outputs, leaves, grads, materialize_grads=True))
    dq, dk, dv, *rest = found
    return dq, dk, dv, rest[0] if rest else None
