"""Calls of attention() outside of graphs: what follows from the layout of its inputs is found once, later calls only compute.

An operator of torch.library costs more host time than the launch of a kernel. Where nobody watches operators, neither
torch.func nor a mode nor the profiler, a call goes past it: straight to the implementation without gradients, through one
autograd.Function with them (docs/decisions/0020-a-call-is-checked-once.md).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any

import torch
from torch import Tensor
from torch._ops import _len_torch_dispatch_stack_pre_dispatch
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

from compilemask.attention import impls, ops
from compilemask.attention.batched import Wanted
from compilemask.attention.choice import ImplName
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.held_masks import Mask, mask_of
from compilemask.attention.score_options import Activation, ScoreOptions

_MOST_CALLS = 1024
_ALIGNMENT = 16
_VMAP_MODE: Any = torch._C._parse_dispatch_key("VmapMode")
_ORDINARY = frozenset((Tensor, torch.nn.Parameter))


Given = tuple[float | None, float | None, Activation, float | None]
"""sm_scale, softcap, activation, norm, as attention() is given them."""


class Call:
    """attention() under one mask for q, k, v, sinks of one layout: checked, its implementation chosen.

    It keeps no tensor of the mask alive but the token. The launch, if the implementation has one that repeats, belongs to the tiles that
    it reads; when those are forgotten they are planned again.
    """

    def __init__(
        self, name: ImplName, mask: Mask, impl: str, deterministic: bool, numbers: ops.Numbers
    ) -> None:  # fmt: skip
        self.name = name
        self._token = _token_of(mask)
        self.options = (impl, deterministic, *numbers)
        self._scores, self._deterministic = ScoreOptions(*numbers), deterministic
        self._launch: weakref.ref[Any] | None = None
        self._last_backward: tuple[object, weakref.ref[Any]] | None = None

    def token(self, mask: Mask) -> Tensor:
        """The mask's: a DeviceMask has another one after each change."""
        return _token_of(mask) if isinstance(mask, DeviceMask) else self._token

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """(o, lse), contiguous, without autograd."""
        launch = None if self._launch is None else self._launch()
        if launch is None:
            launch = impls.repeatable(self.name, q, k, v, sinks, mask, self._scores)
            if launch is None:
                with _without_autocast(q):
                    o, lse = impls.forward(self.name, q, k, v, sinks, mask, self._scores)
                return o.contiguous(), lse.contiguous()
            self._launch = weakref.ref(launch)
        found: tuple[Tensor, Tensor] = launch(q, k, v, sinks)
        return found

    def backward(self, tensors: tuple[Any, ...], mask: Mask, wanted: Wanted) -> tuple[Tensor | None, ...]:
        """Contiguous gradients, None where not wanted. tensors: q, k, v, sinks, o, lse, do, dlse."""
        q, k, v, sinks, o, lse, do, dlse = tensors
        if sinks is None and do is not None:
            do, dlse = do.contiguous(), None if dlse is None else dlse.float().contiguous()
            launch = self._backward_launch((q, k, v, o, lse), do, dlse, mask, wanted)
            if launch is not None:
                return *launch(q, k, v, o, lse, do, dlse), None
        with _without_autocast(q):
            found = impls.backward(
                self.name, q, k, v, sinks, o, lse, do, dlse, mask, self._scores, wanted, self._deterministic
            )
        return tuple(
            grad.contiguous() if keep and grad is not None else None for keep, grad in zip(wanted, found, strict=True)
        )

    def _backward_launch(
        self, saved: tuple[Tensor, ...], do: Tensor, dlse: Tensor | None, mask: Mask, wanted: Wanted
    ) -> impls.BackwardLaunch | None:
        """That of the last backward where the layouts are the same, else another; None where there is none.

        Saved tensors can come back in other memory: hooks of autograd may have moved them.
        """
        deterministic = self._deterministic or torch.are_deterministic_algorithms_enabled()
        layout = (wanted, deterministic, dlse is None, *[x.stride() for x in saved])
        unaligned = (do.data_ptr() | (0 if dlse is None else dlse.data_ptr())) % _ALIGNMENT
        for x in saved:
            unaligned |= x.data_ptr() % _ALIGNMENT
        # Read once: another thread may put its own there.
        kept_layout, kept_launch = self._last_backward or (None, None)
        if kept_launch is not None and kept_layout == layout and not unaligned:
            last: impls.BackwardLaunch | None = kept_launch()
            if last is not None:
                return last
        q, k, v, o, lse = saved
        if not (q.numel() and k.numel() and o.is_contiguous() and lse.is_contiguous()):
            return None
        found = impls.repeatable_backward(
            self.name, q, k, v, o, lse, do, dlse, mask, self._scores, wanted[:3], deterministic
        )
        if found is not None and not unaligned:
            self._last_backward = (layout, weakref.ref(found))
        return found


def _token_of(mask: Mask) -> Tensor:
    with torch.inference_mode(False):
        # A tensor made in inference mode could not be kept for a backward later.
        return torch.from_numpy(mask.token)


class _Calls:
    """The calls made last, by key; threads share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._calls: dict[object, Call] = {}

    def find(self, key: object) -> Call | None:
        """The call kept under this key. What cannot be a key has never passed a check."""
        try:
            return self._calls.get(key)
        except TypeError:
            return None

    def keep(self, key: object, call: Call) -> None:
        with self._lock:
            self._calls[key] = call
            while len(self._calls) > self._most:
                self._calls.pop(next(iter(self._calls)))


kept = _Calls(_MOST_CALLS)


def key_of(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask, options: tuple[object, ...]) -> object:
    """Equal for calls that the same checks let pass, by the same launch. options: as attention() was given them."""
    return (
        mask.number if isinstance(mask, DeviceMask) else int(mask.token[1]), options, tuple(map(type, options)),
        q.shape, k.shape, v.shape, q.stride(), k.stride(), v.stride(), q.dtype, k.dtype, v.dtype,
        q.device, k.device, v.device, q.data_ptr() % _ALIGNMENT, k.data_ptr() % _ALIGNMENT, v.data_ptr() % _ALIGNMENT,
        None if sinks is None else
        (sinks.shape, sinks.stride(), sinks.dtype, sinks.device, sinks.data_ptr() % _ALIGNMENT),
    )  # fmt: skip


def run(
    call: Call, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, mask: Mask
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o, lse), differentiable where an input is."""
    if torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad or (sinks is not None and sinks.requires_grad)
    ):
        found: tuple[Tensor, Tensor] = _Differentiable.apply(call, mask, q, k, v, sinks)  # type: ignore[no-untyped-call]
        return found
    return call.forward(q, k, v, sinks, mask)


def ordinary(*tensors: Any) -> bool:
    """Whether these are plain tensors, or None, and nobody watches or transforms what is done with them."""
    for tensor in tensors:
        # A view with the bit of negation has the other sign in memory.
        if tensor is not None and (type(tensor) not in _ORDINARY or tensor.is_neg()):
            return False
    return not (
        torch._C._are_functorch_transforms_active()
        # of torch.autograd.grad with is_grads_batched
        or torch._C._dispatch_tls_is_dispatch_key_included(_VMAP_MODE)
        or torch._C._len_torch_dispatch_stack()
        or (torch._C._len_torch_function_stack() and _function_modes())
        or forward_ad._current_level >= 0
        or torch._C._autograd._profiler_enabled()
        or torch._C._get_tracing_state() is not None
        or _len_torch_dispatch_stack_pre_dispatch()  # type: ignore[no-untyped-call]
    )


def _function_modes() -> bool:
    """Whether a mode sees calls of torch functions; torch.set_default_device is one that minds creations only."""
    return any(
        not isinstance(torch._C._get_function_stack_at(i), DeviceContext)
        for i in range(torch._C._len_torch_function_stack())
    )


class _Differentiable(torch.autograd.Function):
    """What ops._Attention is to operators; it keeps the same tensors, as a checkpoint may recompute by the other way."""

    @staticmethod
    def forward(ctx: Any, call: Call, mask: Mask, *inputs: Tensor | None) -> tuple[Tensor, Tensor]:
        q, k, v, sinks = inputs
        o, lse = call.forward(q, k, v, sinks, mask)  # type: ignore[arg-type]
        ctx.set_materialize_grads(False)
        token = call.token(mask)
        ctx.save_for_backward(q, k, v, sinks, o, lse, token)
        # A token does not keep its mask alive.
        ctx.call, ctx.mask, ctx.token, ctx.name_then = call, mask, token, mask.token
        return o, lse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        do, dlse = grads
        wanted = ctx.needs_input_grad[2:]
        if do is None and dlse is None:
            return (None,) * 6
        *tensors, token = ctx.saved_tensors
        # Recorded, so that a second derivative is refused, where the gradients' own graph is made.
        if torch.is_grad_enabled() or torch.compiler.is_compiling() or not ordinary(*tensors, do, dlse):
            found = ops.gradients(*tensors, do, dlse, token, list(wanted), *ctx.call.options)
        else:
            # The mask of the forward, unless something else was saved, or the mask has changed.
            same = token is ctx.token and ctx.mask.token is ctx.name_then
            mask = ctx.mask if same else mask_of(token)
            found = ctx.call.backward((*tensors, do, dlse), mask, wanted)
        return None, None, *(grad if keep else None for grad, keep in zip(found, wanted, strict=True))


def _without_autocast(q: Tensor) -> contextlib.AbstractContextManager[object]:
    if torch.is_autocast_enabled(q.device.type):
        return torch.autocast(q.device.type, enabled=False)
    return contextlib.nullcontext()
