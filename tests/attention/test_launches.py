"""How the kernels are launched: one grid axis for whatever number of items and heads, and no variant of its own for a length."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv, scattered

from compilemask.attention import attention
from compilemask.attention.packed_tensors import upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, backward_launch, launch, packed_launch
from compilemask.plan import plan_packed

KERNELS = {
    launch: ("attention_forward_kernel",),
    backward_launch: ("attention_backward_kernel", "row_terms_kernel", "row_sums_kernel"),
    packed_launch: ("packed_forward_kernel",),
}
SCRIPT = Path(__file__).with_name("offline_compile_lengths.py")


class Recorded:
    """Stands for a kernel and keeps the grids it is launched with."""

    def __init__(self, kernel: object, name: str, grids: dict[str, tuple[int, ...]]) -> None:
        self.kernel, self.name, self.grids = kernel, name, grids

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., object]:
        self.grids[self.name] = grid
        return self.kernel[grid]  # type: ignore[index,no-any-return]


def test_programs_lie_on_one_axis_of_the_grid(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """The other two end at 65,535."""
    grids: dict[str, tuple[int, ...]] = {}
    for module, names in KERNELS.items():
        for name in names:
            monkeypatch.setattr(module, name, Recorded(getattr(module, name), name, grids))
    visible = scattered(20, 30, seed=1)
    qkv = random_qkv(visible, batch=2, num_q_heads=3, num_kv_heads=3, device=device)
    packed = upload_packed(plan_packed(descriptor_of(visible), 16, 32, 8), visible.any(0), qkv[0].device)
    packed_launch.packed_forward(*qkv, packed, ScoreOptions(0.1), ForwardConfig(16, 32, 4, 1))
    leaves = [
        x.requires_grad_() for x in random_qkv(causal(20, 20), batch=2, num_q_heads=3, num_kv_heads=3, device=device)
    ]
    attention(*leaves, descriptor_of(causal(20, 20)), impl="triton").sum().backward()
    assert set(grids) == {name for names in KERNELS.values() for name in names}
    assert all(size == 1 for grid in grids.values() for size in grid[1:])
    for name in ("attention_forward_kernel", "attention_backward_kernel", "row_sums_kernel", "packed_forward_kernel"):
        assert grids[name][0] % 6 == 0


def test_more_heads_than_a_second_axis_would_take_are_all_computed() -> None:
    """65,538 heads of four tokens, forward and backward, in plain torch operations too."""
    qkv = random_qkv(causal(4, 4), batch=10_923, num_q_heads=6, num_kv_heads=6, head_dim=4)
    leaves = [x.requires_grad_() for x in qkv]
    o = attention(*leaves, descriptor_of(causal(4, 4)), impl="torch")
    found = torch.autograd.grad(o.square().sum(), leaves)
    scores = (leaves[0] @ leaves[1].mT / 2).masked_fill(~torch.from_numpy(causal(4, 4)), -torch.inf)
    wanted_o = torch.softmax(scores, -1) @ leaves[2]
    wanted = torch.autograd.grad(wanted_o.square().sum(), leaves)
    for got, right in zip((o, *found), (wanted_o, *wanted), strict=True):
        assert torch.allclose(got, right, atol=1e-4)


class Counted:
    """Stands for a kernel and keeps how many programs it is launched with; runs none."""

    def __init__(self, name: str, counts: dict[str, list[int]]) -> None:
        self.counts = counts.setdefault(name, [])

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        assert grid[1:] in ((), (1, 1))
        self.counts.append(grid[0])
        return lambda *_arguments, **_options: None


@pytest.mark.parametrize("batch", [10_923, 21_846])
def test_every_head_has_its_programs_however_many_there_are(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """65,538 and 131,076 query heads over a third as many key heads; what the kernels would do with them is tested on a GPU."""
    counts: dict[str, list[int]] = {}
    for module, names in KERNELS.items():
        for name in names:
            monkeypatch.setattr(module, name, Counted(name, counts))
    visible, heads = causal(4, 4), 6 * batch
    q, k, v = (torch.zeros(batch, n, 4, 4, requires_grad=True) for n in (6, 2, 2))
    attention(q, k, v, descriptor_of(visible), impl="triton").sum().backward()
    packed = upload_packed(plan_packed(descriptor_of(visible), 16, 32, 8), visible.any(0), q.device)
    packed_launch.packed_forward(q, k, v, packed, ScoreOptions(0.1), ForwardConfig(16, 32, 4, 1))
    # One tile of rows a head, and dk and dv of a key head in a program.
    assert counts.pop("row_terms_kernel")[0] % heads == 0
    assert counts == {
        "attention_forward_kernel": [heads], "packed_forward_kernel": [heads], "row_sums_kernel": [heads, heads],
        "attention_backward_kernel": [heads, heads // 3],
    }  # fmt: skip


@pytest.mark.gpu
def test_more_segments_than_a_second_axis_would_take_are_all_computed() -> None:
    """80,000 packed documents of 16 tokens, all alike but for their values."""
    import compilemask

    mask = compilemask.compile(compilemask.preset_source("documents")).bind(lengths=[16] * 80_000)
    leaves = [torch.randn(1_280_000, 1, 16, device="cuda").half().requires_grad_() for _ in range(3)]
    o = attention(*leaves, mask, impl="triton")
    found = torch.autograd.grad(o.float().square().sum(), leaves)
    apart = [x.detach().view(80_000, 16, 1, 16).transpose(1, 2).requires_grad_() for x in leaves]
    scores = (apart[0].float() @ apart[1].float().mT / 4).masked_fill(
        ~torch.from_numpy(causal(16, 16)).cuda(), -torch.inf
    )
    wanted_o = torch.softmax(scores, -1) @ apart[2].float()
    wanted = torch.autograd.grad(wanted_o.square().sum(), apart)
    for got, right in zip((o, *found), (wanted_o, *wanted), strict=True):
        right = right.transpose(1, 2).reshape(got.shape)
        assert (got.float() - right.float()).abs().max() <= 2e-2


def test_lengths_make_no_variants_of_the_kernels() -> None:
    """Lengths of every kind, odd, powers of two, 1: one forward, and dq and dk with dv apart by one alignment at most."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    variants: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    assert variants.pop("attention_backward_kernel") in (2, 4)
    assert variants == {"attention_forward_kernel": 1, "row_terms_kernel": 1}
