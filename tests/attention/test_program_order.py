"""No result depends on the order in which the programs of a launch run, as it would if two of them added to one element."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, neighbourhood, random_qkv, scattered
from torch import Tensor
from triton.runtime.interpreter import InterpreterBuilder

from compilemask.attention import attention
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import backward_launch as launches
from compilemask.attention.triton import interpreted, packed_route
from compilemask.descriptor import MaskBatch

if not interpreted():
    pytest.skip("turns the interpreter's order around; a GPU has no order", allow_module_level=True)

STEPS = (-1, 3)
VISIBLE = scattered(70, 66, seed=2)


def reorder(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Program x of n stands for program x * step modulo n, for a number of programs that step does not divide."""
    own = InterpreterBuilder.set_grid_idx

    def turned(self: InterpreterBuilder, x: int, y: int, z: int) -> None:
        programs = self.grid_dim[0]
        assert np.gcd(step, programs) == 1
        own(self, x * step % programs, y, z)

    monkeypatch.setattr(InterpreterBuilder, "set_grid_idx", turned)


def training(dtype: torch.dtype, mask: object) -> list[Tensor]:
    """o and all gradients of four query heads over two key heads."""
    leaves = [x.requires_grad_() for x in random_qkv(VISIBLE, num_q_heads=4, num_kv_heads=2, dtype=dtype)]
    sinks = torch.randn(4, generator=torch.Generator().manual_seed(2), requires_grad=True)
    o, lse = attention(*leaves, mask, impl="triton", sinks=sinks, return_lse=True)  # type: ignore[call-overload]
    do = torch.randn(o.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    return [o.detach(), lse.detach(), *torch.autograd.grad(o, [*leaves, sinks], do)]


MASKS = {
    "one mask": descriptor_of(VISIBLE),
    "a mask for each head": MaskBatch.of([[descriptor_of(x) for x in (VISIBLE, causal(70, 66), VISIBLE, ~VISIBLE)]]),
}


@pytest.mark.parametrize(
    ("dtype", "mask"), [(torch.float16, "a mask for each head"), (torch.float32, "one mask")], ids=str
)
def test_training_gives_equal_bits(dtype: torch.dtype, mask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    once = training(dtype, MASKS[mask])
    for step in STEPS:
        with monkeypatch.context() as patched:
            reorder(patched, step)
            assert all(torch.equal(a, b) for a, b in zip(once, training(dtype, MASKS[mask]), strict=True))


def test_packed_tiles_and_groups_summed_in_parts_give_equal_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    visible = neighbourhood(9, 9, 3)
    q, k, v = random_qkv(visible, num_q_heads=4, dtype=torch.float16)
    monkeypatch.setattr(launches, "_heads_per_program", lambda *_: 2)

    def run() -> list[Tensor]:
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        o = attention(*leaves, descriptor_of(visible), impl="triton")  # type: ignore[call-overload]
        packed = packed_route(q, v, descriptor_of(visible)).run(q, k, v, ScoreOptions(0.3))
        return [*packed, *torch.autograd.grad(o.float().square().sum(), leaves)]

    once = run()
    for step in STEPS:
        with monkeypatch.context() as patched:
            reorder(patched, step)
            assert all(torch.equal(a, b) for a, b in zip(once, run(), strict=True))
