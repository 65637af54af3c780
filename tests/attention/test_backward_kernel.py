"""What is particular to the backward kernel: its two plans, its loaders, its tile sizes, its order of sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import (
    causal,
    descriptor_of,
    history_and_targets,
    plan_from_dense,
    random_qkv,
    scattered,
    ulp,
)
from torch import Tensor

from compilemask.attention import attention, reference
from compilemask.attention.mask_tensors import MaskTensorCache, MaskTensors, upload
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import BackwardConfig, key_gradients, query_gradient, row_terms
from compilemask.attention.triton.backward_launch import RowTermsLaunch, _heads_per_program
from compilemask.plan import plan_tiles

OPTIONS = ScoreOptions(0.3)
SMALL = BackwardConfig(16, 32, 4, 1)


def plans(visible: np.ndarray, config: BackwardConfig, device: str, by_hand: bool = False) -> list[MaskTensors]:
    """The mask's plan and its transpose's."""
    make = plan_from_dense if by_hand else lambda cells, m, n: plan_tiles(descriptor_of(cells), m, n)
    return [
        upload(make(cells, config.block_m, config.block_n), cells.any(0), torch.device(device))
        for cells in (visible, np.ascontiguousarray(visible.T))
    ]


def forward(qkv: tuple[Tensor, ...], visible: np.ndarray) -> tuple[Tensor, Tensor]:
    o, lse = reference.forward(*(x.detach() for x in qkv), descriptor_of(visible), OPTIONS)
    return o.to(qkv[0].dtype), lse.float()


def run(
    visible: np.ndarray, qkv: tuple[Tensor, ...], do: Tensor, config: BackwardConfig, **choices: object
) -> list[Tensor]:
    """dq, dk, dv of (o * do).sum()."""
    heads = choices.pop("heads_per_program", None)
    tensors = plans(visible, config, qkv[0].device.type, **choices)
    inputs = (*qkv, do, row_terms(*forward(qkv, visible), do, None, config), *tensors, OPTIONS, config)
    return [query_gradient(*inputs), *key_gradients(*inputs, heads)]


def exact(visible: np.ndarray, qkv: tuple[Tensor, ...], do: Tensor) -> list[Tensor]:
    leaves = [x.double().requires_grad_() for x in qkv]
    o, _ = reference.forward(*leaves, descriptor_of(visible), OPTIONS)
    return list(torch.autograd.grad((o * do).sum(), leaves))


@pytest.mark.parametrize(
    "config", [BackwardConfig(16, 64, 4, 1), BackwardConfig(64, 32, 4, 2), BackwardConfig(32, 16, 4, 2)], ids=str
)
@pytest.mark.parametrize("by_hand", [False, True])
def test_any_tiling_and_either_planner_give_dense_gradients(config: BackwardConfig, by_hand: bool, device: str) -> None:
    visible = scattered(60, 70, seed=1)
    qkv = random_qkv(visible, num_q_heads=1, device=device)
    do = torch.randn_like(qkv[0])
    wanted = exact(visible, qkv, do)
    for got, right in zip(run(visible, qkv, do, config, by_hand=by_hand), wanted, strict=True):
        assert torch.allclose(got.double(), right, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("visible", [causal(70, 50), history_and_targets(70, 20), scattered(40, 50, seed=2)])
def test_tensor_descriptors_and_pointers_load_the_same(visible: np.ndarray, device: str) -> None:
    qkv = random_qkv(visible, batch=2, num_q_heads=2, num_kv_heads=1, head_dim=72, dtype=torch.float16, device=device)
    do = torch.randn_like(qkv[0])
    by_pointer = run(visible, qkv, do, BackwardConfig(32, 32, 4, 2))
    by_descriptor = run(visible, qkv, do, BackwardConfig(32, 32, 4, 2, tma=True))
    assert all(torch.equal(a, b) for a, b in zip(by_pointer, by_descriptor, strict=True))


@pytest.mark.parametrize("heads_per_program", [1, 2, 3, 6])
def test_a_group_may_be_summed_in_parts(heads_per_program: int, device: str) -> None:
    visible = causal(30, 40)
    qkv = random_qkv(visible, batch=2, num_q_heads=12, num_kv_heads=2, device=device)
    do = torch.randn_like(qkv[0])
    got = run(visible, qkv, do, SMALL, heads_per_program=heads_per_program)
    for gradient, right in zip(got, exact(visible, qkv, do), strict=True):
        assert torch.allclose(gradient.double(), right, rtol=1e-5, atol=5e-5)


def test_parts_of_a_group_are_summed_before_they_are_rounded(device: str) -> None:
    """Two equal query heads whose gradients of o nearly cancel: what is left is far below the rounding of either part."""
    visible = causal(40, 40)
    q, k, v = random_qkv(visible, num_q_heads=1, dtype=torch.bfloat16, device=device)
    q = torch.cat([q, q], 1)
    do = torch.randn(1, 1, 40, 16, generator=torch.Generator().manual_seed(3)).bfloat16().to(device)
    do = torch.cat([do, -do * 1.0625], 1)
    wanted = exact(visible, (q, k, v), do)
    for heads in (1, 2):
        dv = run(visible, (q, k, v), do, SMALL, heads_per_program=heads)[2]
        assert (dv.double() - wanted[2]).abs().max() <= 2 * ulp(torch.bfloat16, wanted[2].abs().max().item())


def test_heavy_tiles_first_write_every_row_of_every_head(device: str) -> None:
    visible = np.eye(170, dtype=bool)
    visible[:20] = visible[:, 150:] = True
    qkv = random_qkv(visible, num_q_heads=2, device=device)
    do = torch.randn_like(qkv[0])
    assert all(0 < x.num_heavy < x.plan.num_q_tiles for x in plans(visible, SMALL, device))
    for got, right in zip(run(visible, qkv, do, SMALL), exact(visible, qkv, do), strict=True):
        assert torch.allclose(got.double(), right, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize(("tma", "dtype"), [(False, torch.float32), (True, torch.float16)])
def test_row_terms_are_the_logarithm_and_what_the_weights_gradients_lose(
    tma: bool, dtype: torch.dtype, device: str
) -> None:
    o, do = torch.randn(2, 2, 3, 50, 24, device=device).to(dtype)
    lse, dlse = torch.randn(2, 2, 3, 50, device=device)
    lse[:, :, 7] = -math.inf
    do[:, :, 7] = dlse[:, :, 7] = math.nan
    terms = row_terms(o, lse, do, dlse, BackwardConfig(16, 32, 4, 1, tma=tma))
    delta = ((o.double() * do.double()).sum(-1) - dlse.double()).float()
    delta[:, :, 7] = 0
    logarithm = lse if dtype == torch.float32 else lse / math.log(2)
    logarithm[:, :, 7] = math.inf
    assert len(terms.lse) == len(terms.delta) == (4 if tma else 1)
    for copy in range(len(terms.lse)):
        assert torch.allclose(terms.delta[copy, ..., : 50 - copy], delta[..., copy:], atol=1e-5)
        assert torch.allclose(terms.lse[copy, ..., : 50 - copy], logarithm[..., copy:])
        assert (terms.delta[copy, ..., 50 - copy : 82 - copy] == 0).all()
        assert (terms.lse[copy, ..., 50 - copy : 82 - copy] == math.inf).all()


@pytest.mark.parametrize("sum_dim", [24, 64])
def test_row_terms_set_sums_to_zero_on_the_way_and_nothing_behind_them(sum_dim: int, device: str) -> None:
    o, do = torch.randn(2, 2, 3, 50, 16, device=device).half()
    lse = torch.randn(2, 3, 50, device=device)
    memory = torch.full((2 * 3 * 50 * sum_dim + 64,), math.nan, device=device)
    sums = memory[: 2 * 3 * 50 * sum_dim].view(2, 3, 50, sum_dim)
    launch = RowTermsLaunch(o, None, BackwardConfig(16, 32, 4, 1, tma=True), sum_dim)
    found = launch(o, lse, do, None, sums)
    wanted = row_terms(o, lse, do, None, BackwardConfig(16, 32, 4, 1, tma=True))
    assert (sums == 0).all() and memory[sums.numel() :].isnan().all()
    assert torch.equal(found[0][..., :47], wanted.lse[..., :47]) and torch.equal(
        found[1][..., :47], wanted.delta[..., :47]
    )


def test_a_plan_of_other_tiles_is_refused(device: str) -> None:
    visible = causal(20, 20)
    qkv = random_qkv(visible, device=device)
    do = torch.randn_like(qkv[0])
    terms = row_terms(*forward(qkv, visible), do, None, SMALL)
    with pytest.raises(ValueError, match="the plan has tiles of 16 x 32, the kernel's configuration 16 x 16"):
        query_gradient(*qkv, do, terms, *plans(visible, SMALL, device), OPTIONS, BackwardConfig(16, 16, 4, 1))


def test_the_transposed_plan_is_made_once_and_kept_apart(device: str) -> None:
    cache, mask = MaskTensorCache(), descriptor_of(causal(40, 70))
    straight = cache.get(mask, 16, 32, torch.device(device))
    turned = cache.get(mask, 16, 32, torch.device(device), transposed=True)
    assert (straight.plan.q_len, straight.plan.kv_len) == (turned.plan.kv_len, turned.plan.q_len) == (40, 70)
    assert cache.get(mask, 16, 32, torch.device(device), transposed=True) is turned
    assert len(cache) == 2


def test_a_program_sums_whole_groups_where_no_multiprocessor_would_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    from compilemask.attention.triton import backward_launch

    monkeypatch.setattr(backward_launch, "interpreted", lambda: False)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda _device: type("Properties", (), {"multi_processor_count": 132})
    )
    device = torch.device("cuda")
    chosen = [_heads_per_program(group, programs, device) for group, programs in ((8, 264), (8, 100), (6, 60), (7, 9))]
    assert chosen == [8, 2, 1, 1]
    assert _heads_per_program(8, 1, torch.device("cpu")) == 8


@pytest.mark.gpu
def test_more_heads_than_a_second_grid_axis_would_take() -> None:
    visible = causal(10, 10)
    inputs = random_qkv(visible, num_q_heads=65_536, num_kv_heads=65_536, dtype=torch.float16, device="cuda")
    leaves = [x.requires_grad_() for x in inputs]
    attention(*leaves, descriptor_of(visible), impl="triton").sum().backward()
    last = [x.detach()[:, -3:].clone().requires_grad_() for x in leaves]
    attention(*last, descriptor_of(visible), impl="triton").sum().backward()
    for whole, part in zip(leaves, last, strict=True):
        assert torch.equal(whole.grad[:, -3:], part.grad)
        assert whole.grad.isfinite().all()


@pytest.mark.gpu
def test_offsets_beyond_32_bits_are_addressed() -> None:
    """q, k, v are views of one fused tensor whose row stride times the length passes 2^31."""
    from compilemask import compile

    length = 99_866
    fused = torch.randn(1, length, 3, 56, 128, dtype=torch.float16, device="cuda")
    mask = compile("mask w(n: int)\ntokens { S: n }\nS sees S causal and q - k < 128").bind(n=length)
    strided = [fused[:, :, i].transpose(1, 2).requires_grad_() for i in range(3)]
    plain = [x.detach()[:, -2:].contiguous().requires_grad_() for x in strided]
    for leaves in (strided, plain):
        attention(*leaves, mask, impl="triton").sum().backward()
    for whole, part in zip(strided, plain, strict=True):
        assert torch.equal(whole.grad[:, -2:], part.grad)


@pytest.mark.gpu
def test_repeated_runs_are_bitwise_equal() -> None:
    for visible, heads in ((causal(1024, 1024), (32, 32)), (scattered(1024, 1024, seed=3), (32, 8))):
        inputs = random_qkv(
            visible, num_q_heads=heads[0], num_kv_heads=heads[1], head_dim=128, dtype=torch.bfloat16, device="cuda"
        )
        leaves = [x.requires_grad_() for x in inputs]
        do, mask = torch.randn_like(leaves[0]), descriptor_of(visible)
        first = torch.autograd.grad(attention(*leaves, mask, impl="triton"), leaves, do)
        for _ in range(29):
            again = torch.autograd.grad(attention(*leaves, mask, impl="triton"), leaves, do)
            assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
