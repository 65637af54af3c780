"""Which implementation attention() uses, and why."""

from __future__ import annotations

import importlib.util
from typing import Literal

import torch
from torch import Tensor

from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.held_masks import Mask
from compilemask.descriptor import MaskBatch

Impl = Literal["auto", "reference", "torch", "triton", "hopper"]
ImplName = Literal["reference", "torch", "triton", "hopper"]
IMPLS = ("auto", "reference", "torch", "triton", "hopper")
TRITON_MAX_HEAD_DIM = 256
_TRITON_MIN_CAPABILITY = (8, 0)
_HOPPER_CAPABILITY = (9, 0)


def choose_impl(
    q: Tensor, k: Tensor, v: Tensor, *, impl: Impl = "auto", mask: Mask | None = None
) -> tuple[ImplName, str]:
    """(name, reason): the implementation `attention` uses for these tensors.

    "auto" is hopper where it can and has one launch for the mask, else triton where it can, else torch.
    mask: what they are used with; it matters to "hopper".
    Raises ValueError when `impl` is no name of one, or is "triton" or "hopper" and cannot take these tensors.
    """
    return _choose(q, k, v, impl, mask)


def resolve(q: Tensor, k: Tensor, v: Tensor, mask: Mask, impl: str) -> ImplName:
    """The name that choose_impl gives."""
    return _choose(q, k, v, impl, mask)[0]


def check_impl(impl: object) -> None:
    """Raises ValueError when `impl` is no name of an implementation."""
    if impl not in IMPLS:
        raise ValueError(f"impl must be one of {', '.join(map(repr, IMPLS))}, got {impl!r}")


def _choose(q: Tensor, k: Tensor, v: Tensor, impl: str, mask: Mask | None) -> tuple[ImplName, str]:
    check_impl(impl)
    if impl == "reference" or impl == "torch":
        return ("reference" if impl == "reference" else "torch"), "asked for"
    obstacle = _triton_obstacle(q, k, v)
    if impl == "hopper":
        if obstacle := obstacle or _hopper_obstacle(q, k, v, mask):
            raise ValueError(f"impl 'hopper' cannot be used: {obstacle}; use impl='auto'")
        return "hopper", "asked for"
    if impl == "triton":
        if q.device.type == "cpu" and _interpreted():
            obstacle = _common_obstacle(q, k, v)
        if obstacle:
            raise ValueError(f"impl 'triton' cannot be used: {obstacle}; use impl='torch'")
        return "triton", "asked for"
    if obstacle:
        return "torch", obstacle
    where = f"{q.device} with head_dim {q.shape[-1]} and {v.shape[-1]}"
    if obstacle := _hopper_obstacle(q, k, v, mask) or _several_masks(mask):
        return "triton", f"{where}; {obstacle}"
    return "hopper", where


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


def _hopper_obstacle(q: Tensor, k: Tensor, v: Tensor, mask: Mask | None) -> str | None:
    """Why the Hopper kernel cannot take tensors that the Triton kernel takes, or None."""
    capability = torch.cuda.get_device_capability(q.device)
    if capability != _HOPPER_CAPABILITY:
        return f"the hopper kernel needs compute capability 9.0, {q.device} has {capability[0]}.{capability[1]}"
    if isinstance(mask, DeviceMask) and not mask.from_numbers:
        return "the hopper kernel takes a DeviceMask made from lengths, not one from a descriptor, which may need bit masks"
    from compilemask.attention import hopper

    return hopper.obstacle(q, k, v)


def _several_masks(mask: Mask | None) -> str | None:
    """Why "auto" leaves a batch of masks to the Triton kernel, or None."""
    if isinstance(mask, MaskBatch) and len(mask.masks) > 1:
        from compilemask.attention import hopper

        if not hopper.in_one_launch(mask):
            return "the hopper kernel has no launch for heads with masks of their own that leave keys unseen"
    return None


def _interpreted() -> bool:
    """Whether Triton is here and runs kernels on the CPU, in its interpreter; slow, for tests, never chosen by "auto"."""
    if importlib.util.find_spec("triton") is None:
        return False
    from compilemask.attention.triton import interpreted

    return interpreted()
