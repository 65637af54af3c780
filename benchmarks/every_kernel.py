"""Calls every kernel of this project once at a small size: what a memory or race checker watches.

    python3 benchmarks/every_kernel.py                                   # fills the compiler's cache
    compute-sanitizer --error-exitcode 9 python3 benchmarks/every_kernel.py
    compute-sanitizer --tool racecheck --error-exitcode 9 python3 benchmarks/every_kernel.py

Each result is compared with dense attention in float64; exit code 1 when one is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

import compilemask
from compilemask.attention import DeviceMask, attention, reference
from compilemask.attention.score_options import ScoreOptions
from compilemask.bench.case import default_device

Q_HEADS, KV_HEADS = 4, 2
LARGEST_ERROR = 2e-2


@dataclass(frozen=True, slots=True)
class Call:
    """A call of attention: preset with values, sizes, and what is particular."""

    preset: str
    values: dict[str, object]
    head_dim: int
    dtype: torch.dtype = torch.bfloat16
    strided: bool = False
    padding: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [
            self.preset,
            f"head_dim {self.head_dim}",
            str(self.dtype).removeprefix("torch."),
            *map(str, self.options),
        ]
        return ", ".join([*words, *(["strided"] if self.strided else []), *(["padded"] if self.padding else [])])


DOCUMENTS: dict[str, object] = {"lengths": [100, 1, 129, 60]}
CLEAR: dict[str, object] = {"text": 32, "height": 16, "width": 16, "radius": 4}
CALLS = (
    Call("causal", {"n": 290}, 64),
    Call("documents", DOCUMENTS, 128),
    Call("documents", DOCUMENTS, 64, strided=True),
    Call("documents", DOCUMENTS, 64, padding=7),
    Call("clear", CLEAR, 64),
    Call("clear", CLEAR, 128),
    Call("causal", {"n": 130}, 64, torch.float32),
    Call("causal", {"n": 290}, 128, options={"softcap": 3.0}),
    Call("causal", {"n": 290}, 64, options={"activation": "silu"}),
    Call("documents", DOCUMENTS, 72, torch.float16),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impls", nargs="+", default=["triton", "hopper"], choices=["triton", "hopper"])
    arguments = parser.parse_args()
    device = default_device()
    if device.type != "cuda":
        print("no CUDA device here", file=sys.stderr)
        return 2
    wrong = 0
    for impl, call in itertools.product(arguments.impls, CALLS):
        for form, error in _errors(impl, call, device):
            wrong += not error < LARGEST_ERROR
            print(f"{impl}{form}: {call}: largest error {error:.1e} of the largest value", flush=True)
    for family, lengths in (
        ("causal", {"length": torch.tensor(200)}),
        ("documents", {"lengths": torch.tensor([90, 110])}),
    ):
        error = _replanned(family, {name: value.to(device) for name, value in lengths.items()})
        wrong += not error < LARGEST_ERROR
        print(f"replan: {family}: largest error {error:.1e} of the largest value", flush=True)
    return 1 if wrong else 0


def _errors(impl: str, call: Call, device: torch.device) -> Iterator[tuple[str, float]]:
    """For each form of the backward, the largest error of o and the gradients; none where the implementation refuses the call."""
    mask = compilemask.compile(compilemask.preset_source(call.preset)).bind(**call.values)
    assert isinstance(mask, compilemask.MaskDescriptor)
    if call.padding:
        mask = mask.pad_to(mask.q_len + call.padding, mask.kv_len + call.padding)
    leaves = [x.requires_grad_() for x in _inputs(call, mask.q_len, device)]
    exact = [x.detach().double().requires_grad_() for x in leaves]
    options = ScoreOptions(call.head_dim**-0.5, **call.options)
    wanted, _ = reference.forward(exact[0], exact[1], exact[2], mask, options)
    do = torch.randn(wanted.shape, device=device).to(call.dtype)
    right = (wanted, *torch.autograd.grad(wanted, exact, do.double()))
    for form in ({}, {"deterministic": True}) if impl == "hopper" else ({},):
        try:
            o = attention(*leaves, mask, impl=impl, **call.options, **form)  # type: ignore[call-overload]
        except ValueError as refusal:
            print(f"{impl}: {call}: refused: {refusal}", flush=True)
            return
        found = (o, *torch.autograd.grad(o, leaves, do))
        torch.cuda.synchronize()
        errors = [
            float((a.double() - b).detach().abs().max() / b.detach().abs().max())
            for a, b in zip(found, right, strict=True)
        ]
        yield " deterministic" if form else "", max(errors)


def _inputs(call: Call, length: int, device: torch.device) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    if call.strided:
        fused = torch.randn(1, length, Q_HEADS + 2 * KV_HEADS, call.head_dim + 1, generator=generator)[..., 1:]
        views = fused.to(device, call.dtype).transpose(1, 2)
        return [x.detach() for x in torch.split(views, [Q_HEADS, KV_HEADS, KV_HEADS], 1)]
    return [
        torch.randn(1, heads, length, call.head_dim, generator=generator).to(device, call.dtype)
        for heads in (Q_HEADS, KV_HEADS, KV_HEADS)
    ]


def _replanned(family: str, lengths: dict[str, Tensor]) -> float:
    """The largest error of attention under a mask that was planned on the device."""
    mask = DeviceMask.from_lengths(family, 200, **lengths)  # type: ignore[arg-type]
    q, k, v = (torch.randn(1, 2, 200, 64, device=mask.device, dtype=torch.bfloat16) for _ in range(3))
    attention(q, k, v, mask, impl="triton")
    mask.replan(**lengths)
    o = attention(q, k, v, mask, impl="triton")
    wanted, _ = reference.forward(q.double(), k.double(), v.double(), mask.descriptor(), ScoreOptions(64**-0.5))
    torch.cuda.synchronize()
    return float((o.double() - wanted).abs().max() / wanted.abs().max())


if __name__ == "__main__":
    sys.exit(main())
