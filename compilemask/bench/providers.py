"""What can be measured: our implementations and their peers, under one interface."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from compilemask.attention import choose_impl
from compilemask.bench import dense_peers, flash_peers, flex_peers
from compilemask.bench.catalog import PROVIDER_NAMES, entry_named
from compilemask.bench.impls import build_impl
from compilemask.bench.problem import Built, CannotExpressError, Problem

Usable = Callable[[], tuple[bool, str | None]]
Build = Callable[[Problem], Built]

_FA4_MIN_CAPABILITY = (9, 0)


@dataclass(frozen=True, slots=True)
class Provider:
    """usable() -> (True, None) or (False, why not); build raises CannotExpressError or ValueError for a problem it cannot take."""

    name: str
    title: str
    kind: Literal["impl", "peer"]
    usable: Usable
    build: Build


def providers() -> tuple[Provider, ...]:
    """All of the catalog, in its order."""
    return tuple(provider_named(name) for name in PROVIDER_NAMES)


def provider_named(name: str) -> Provider:
    """Raises ValueError with the known names."""
    entry = entry_named(name)
    usable, build = _HOW[name]
    knows_silu = entry.kind == "impl" or name == "dense"
    return Provider(
        entry.name, entry.title, entry.kind, usable, build if knows_silu else _softmax_only(entry.title, build)
    )


def _softmax_only(title: str, build: Build) -> Build:
    def checked(problem: Problem) -> Built:
        if problem.activation != "softmax":
            raise CannotExpressError(f"{title} computes softmax attention alone, not {problem.activation}")
        return build(problem)

    return checked


def _always() -> tuple[bool, str | None]:
    return True, None


def _cuda_only() -> tuple[bool, str | None]:
    return (True, None) if torch.cuda.is_available() else (False, "needs a CUDA device")


def _triton_usable() -> tuple[bool, str | None]:
    return _kernels_usable("triton")


def _hopper_usable() -> tuple[bool, str | None]:
    return _kernels_usable("hopper")


def _kernels_usable(impl: Literal["triton", "hopper"]) -> tuple[bool, str | None]:
    """Asked for by name: "auto" may prefer another one."""
    if not torch.cuda.is_available():
        return _cuda_only()
    probe = torch.zeros(1, 1, 1, 128, dtype=torch.bfloat16, device="cuda")
    try:
        choose_impl(probe, probe, probe, impl=impl)
    except ValueError as error:
        return False, str(error)
    return True, None


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


_HOW: dict[str, tuple[Usable, Build]] = {
    "triton": (_triton_usable, lambda problem: build_impl(problem, "triton")),
    "hopper": (_hopper_usable, lambda problem: build_impl(problem, "hopper")),
    "hopper_deterministic": (_hopper_usable, lambda problem: build_impl(problem, "hopper", deterministic=True)),
    "torch": (_always, lambda problem: build_impl(problem, "torch")),
    "reference": (_always, lambda problem: build_impl(problem, "reference")),
    "flex_attention": (_cuda_only, flex_peers.flex),
    "flex_attention_tuned": (_cuda_only, flex_peers.flex_tuned),
    "flex_attention_flash": (_fa4_usable, flex_peers.flex_flash),
    "fa4": (_fa4_usable, flash_peers.fa4),
    "varlen": (_varlen_usable, flash_peers.varlen),
    "sdpa": (_always, dense_peers.sdpa),
    "sdpa_cudnn": (_cuda_only, dense_peers.sdpa_cudnn),
    "sdpa_flash": (_cuda_only, dense_peers.sdpa_flash),
    "sdpa_math": (_always, dense_peers.sdpa_math),
    "dense": (_always, dense_peers.dense_eager),
}
