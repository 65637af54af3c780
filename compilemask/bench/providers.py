"""What can be measured: our implementations and their peers, under one interface."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from compilemask.attention import Impl, choose_impl
from compilemask.bench import dense_peers, flash_peers, flex_peers
from compilemask.bench.impls import build_impl
from compilemask.bench.problem import Built, Problem

Usable = Callable[[], tuple[bool, str | None]]

_FA4_MIN_CAPABILITY = (9, 0)


@dataclass(frozen=True, slots=True)
class Provider:
    """usable() -> (True, None) or (False, why not); build raises CannotExpressError or ValueError for a problem it cannot take."""

    name: str
    title: str
    kind: Literal["impl", "peer"]
    usable: Usable
    build: Callable[[Problem], Built]


def providers() -> tuple[Provider, ...]:
    """All of them, ours first."""
    return (
        _impl("triton", "CompileMask Triton", _triton_usable),
        _impl("torch", "CompileMask torch", _always),
        _impl("reference", "CompileMask reference", _always),
        Provider("flex_attention", "FlexAttention, compiled", "peer", _cuda_only, flex_peers.flex),
        Provider("flex_attention_tuned", "FlexAttention, max-autotune", "peer", _cuda_only, flex_peers.flex_tuned),
        Provider("flex_attention_flash", "FlexAttention, FLASH back end", "peer", _fa4_usable, flex_peers.flex_flash),
        Provider("fa4", "FlashAttention-4", "peer", _fa4_usable, flash_peers.fa4),
        Provider("varlen", "torch varlen attention", "peer", _varlen_usable, flash_peers.varlen),
        Provider("sdpa", "torch SDPA", "peer", _always, dense_peers.sdpa),
        Provider("sdpa_cudnn", "torch SDPA, cuDNN", "peer", _cuda_only, dense_peers.sdpa_cudnn),
        Provider("sdpa_flash", "torch SDPA, flash", "peer", _cuda_only, dense_peers.sdpa_flash),
        Provider("sdpa_math", "torch SDPA, dense math", "peer", _always, dense_peers.sdpa_math),
        Provider("dense", "dense, eager", "peer", _always, dense_peers.dense_eager),
    )


def provider_named(name: str) -> Provider:
    """Raises ValueError with the known names."""
    for provider in providers():
        if provider.name == name:
            return provider
    raise ValueError(f"no provider is named {name!r}; there are {', '.join(p.name for p in providers())}")


def _impl(name: Impl, title: str, usable: Usable) -> Provider:
    return Provider(name, title, "impl", usable, lambda problem: build_impl(problem, name))


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


def _varlen_usable() -> tuple[bool, str | None]:
    if not _installed("torch.nn.attention.varlen"):
        return False, f"torch {torch.__version__} has no torch.nn.attention.varlen"
    return _cuda_only()


def _fa4_usable() -> tuple[bool, str | None]:
    if not torch.cuda.is_available():
        return _cuda_only()
    capability = torch.cuda.get_device_capability()
    if capability < _FA4_MIN_CAPABILITY:
        return False, f"needs compute capability 9.0, this GPU has {capability[0]}.{capability[1]}"
    if not _installed("flash_attn.cute"):
        return False, "flash-attn-4 is not installed; install it with `pip install 'compilemask-studio[flash-attn]'`"
    return True, None


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        # A dotted name imports its parents, which may be missing or broken.
        return False
