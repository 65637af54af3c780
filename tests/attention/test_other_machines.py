"""Machines without CUDA, without Triton, with older GPUs or those of other makers: everything works, and the choice says why."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
import torch
from torch._subclasses import FakeTensorMode

from compilemask.attention import choose_impl
from compilemask.attention.choice import Impl

WITHOUT_TRITON = """
import sys
sys.modules["triton"] = None
import torch, compilemask
from compilemask.attention import choose_impl
mask = compilemask.compile("mask m(n: int)\\ntokens { S: n }\\nS sees S causal").bind(n=64)
q, k, v = (torch.randn(1, 2, 64, 32, generator=torch.Generator().manual_seed(i)) for i in range(3))
found = []
for impl in ("auto", "reference"):
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    o, lse = compilemask.attention(*leaves, mask, impl=impl, return_lse=True)
    found.append((o, lse, *torch.autograd.grad((o + lse[..., None]).sum(), leaves)))
assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*found, strict=True))
for impl in ("triton", "hopper"):
    try:
        compilemask.attention(q, k, v, mask, impl=impl)
    except ValueError as problem:
        print(problem)
print(choose_impl(q, k, v))
"""


def test_without_triton_and_without_a_gpu_everything_works_but_the_kernels() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRITON], capture_output=True, text=True, check=False,
        env=environment | {"CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert (done.stderr, done.stdout.splitlines()) == (
        "",
        [
            "impl 'triton' cannot be used: the tensors are on the CPU; use impl='torch'",
            "impl 'hopper' cannot be used: the tensors are on the CPU; use impl='auto'",
            "('torch', 'the tensors are on the CPU')",
        ],
    )


def choose(monkeypatch: pytest.MonkeyPatch, impl: Impl = "auto", *, hip: str | None = None) -> tuple[str, str]:
    """Of tensors that pretend to be on a GPU."""
    monkeypatch.setattr(torch.version, "hip", hip)
    with FakeTensorMode():
        q, k, v = (torch.empty(1, 2, 64, 64, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        return choose_impl(q, k, v, impl=impl)


def test_a_gpu_of_another_maker_takes_torch_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=None: (9, 0))
    said = f"the triton kernel is built for CUDA devices, got cuda:0 of torch {torch.__version__}"
    assert choose(monkeypatch, hip="6.4") == ("torch", said)
    for impl, instead in (("triton", "torch"), ("hopper", "auto")):
        with pytest.raises(ValueError, match=f"impl '{impl}' cannot be used: .*; use impl='{instead}'"):
            choose(monkeypatch, impl, hip="6.4")  # type: ignore[arg-type]
    monkeypatch.setattr(torch.version, "hip", None)
    other = torch.empty(1, 2, 64, 64, device="meta")
    assert choose_impl(other, other, other) == ("torch", said.replace("cuda:0", "meta"))


@pytest.mark.parametrize("capability", [(7, 0), (7, 5)])
def test_an_older_gpu_takes_torch_operations(capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=None: capability)
    said = f"the triton kernel needs compute capability 8.0, cuda:0 has {capability[0]}.{capability[1]}"
    assert choose(monkeypatch) == ("torch", said)
    with pytest.raises(ValueError, match=f"{said}; use impl='torch'"):
        choose(monkeypatch, "triton")


def test_a_gpu_without_triton_takes_torch_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "triton" else find(name, *rest)
    )
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=None: (9, 0))
    assert choose(monkeypatch) == ("torch", "triton is not installed")
    with pytest.raises(ValueError, match="impl 'triton' cannot be used: triton is not installed; use impl='torch'"):
        choose(monkeypatch, "triton")
