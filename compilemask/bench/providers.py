"""What can be measured: our implementations and their peers, under one interface."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from compilemask.attention import Impl, attention, choose_impl
from compilemask.attention.mask_tensors import cache
from compilemask.attention.packed_tensors import choices
from compilemask.bench import peers

if TYPE_CHECKING:
    from compilemask.bench.case import Problem

Run = Callable[[], tuple[Tensor, Tensor | None]]


@dataclass(frozen=True, slots=True)
class Built:
    """run() -> (o, lse or None), ready to be timed; detail: what runs, in words; plan_ms: time to prepare the mask."""

    run: Run
    detail: str
    plan_ms: float | None


@dataclass(frozen=True, slots=True)
class Provider:
    """usable() -> (True, None) or (False, why not); build raises ValueError for a problem it cannot take."""

    name: str
    title: str
    kind: Literal["impl", "peer"]
    usable: Callable[[], tuple[bool, str | None]]
    build: Callable[[Problem], Built]


def providers() -> tuple[Provider, ...]:
    """All of them, ours first."""
    return (
        Provider("triton", "CompileMask Triton", "impl", _triton_usable, lambda p: _build_impl(p, "triton")),
        Provider("torch", "CompileMask torch", "impl", _always, lambda p: _build_impl(p, "torch")),
        Provider("reference", "CompileMask reference", "impl", _always, lambda p: _build_impl(p, "reference")),
        Provider("flex_attention", "FlexAttention, compiled", "peer", _cuda_only, lambda p: _build_peer(p, peers.flex)),
        Provider("sdpa", "torch SDPA", "peer", _always, lambda p: _build_peer(p, peers.sdpa)),
        Provider("sdpa_cudnn", "torch SDPA, cuDNN", "peer", _cuda_only, lambda p: _build_peer(p, peers.sdpa_cudnn)),
        Provider("sdpa_math", "torch SDPA, dense math", "peer", _always, lambda p: _build_peer(p, peers.sdpa_math)),
    )


def provider_named(name: str) -> Provider:
    """Raises ValueError with the known names."""
    for provider in providers():
        if provider.name == name:
            return provider
    raise ValueError(f"no provider is named {name!r}; there are {', '.join(p.name for p in providers())}")


def _always() -> tuple[bool, str | None]:
    return True, None


def _cuda_only() -> tuple[bool, str | None]:
    return (True, None) if torch.cuda.is_available() else (False, "needs a CUDA device")


def _triton_usable() -> tuple[bool, str | None]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    probe = torch.zeros(1, 1, 1, 16, dtype=torch.bfloat16, device=device)
    name, reason = choose_impl(probe, probe, probe)
    if name == "triton":
        return True, None
    return False, "needs a CUDA device" if device == "cpu" else reason


def _build_impl(problem: Problem, impl: Impl) -> Built:
    """Our own attention(), as a user calls it; the plan is made afresh to be timed."""
    q, k, v, mask = problem.q, problem.k, problem.v, problem.mask
    choose_impl(q, k, v, impl=impl)
    plan_ms: float | None = None
    match impl:
        case "triton":
            from compilemask.attention import triton

            cache.clear()
            choices.clear()
            route = triton.choose_route(q, k, v, mask)
            plan_ms, detail = route.plan_ms, route.detail
        case "torch":
            from compilemask.attention import tiled

            cache.clear()
            plan_ms = cache.get(mask, tiled.BLOCK_M, tiled.BLOCK_N, q.device).build_ms
            detail = f"{tiled.BLOCK_M}x{tiled.BLOCK_N} tiles, batched products"
        case _:
            detail = "dense, float64"

    def run() -> tuple[Tensor, Tensor | None]:
        return attention(q, k, v, mask, sm_scale=problem.sm_scale, impl=impl, return_lse=True)

    return Built(run, detail, plan_ms)


def _build_peer(problem: Problem, prepare: Callable[[Problem], tuple[Callable[[], Tensor], str]]) -> Built:
    if problem.q.is_cuda:
        torch.cuda.synchronize(problem.q.device)
    began = time.perf_counter()
    call, detail = prepare(problem)
    if problem.q.is_cuda:
        torch.cuda.synchronize(problem.q.device)
    plan_ms = (time.perf_counter() - began) * 1e3
    return Built(lambda: (call(), None), detail, plan_ms)
