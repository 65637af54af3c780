"""What is particular to the Triton kernel: its order of work, its loaders, its tile sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import (
    allowed_error,
    causal,
    dense_attention,
    descriptor_of,
    history_and_targets,
    neighbourhood,
    plan_from_dense,
    random_qkv,
    scattered,
)
from torch import Tensor

from compilemask.attention.mask_tensors import MaskTensors, upload
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, forward, row_route
from compilemask.attention.triton.launch import fits_tma
from compilemask.plan import plan_tiles

OPTIONS = ScoreOptions(0.3)


def run(
    visible: np.ndarray, qkv: tuple[Tensor, ...], config: ForwardConfig, plan_by_hand: bool = False
) -> tuple[Tensor, Tensor]:
    make = plan_from_dense if plan_by_hand else lambda visible, m, n: plan_tiles(descriptor_of(visible), m, n)
    plan = make(visible, config.block_m, config.block_n)
    return forward(*qkv, upload(plan, visible.any(0), qkv[0].device), OPTIONS, config)


@pytest.mark.parametrize(
    "config", [ForwardConfig(16, 16, 4, 1), ForwardConfig(32, 64, 4, 2), ForwardConfig(128, 32, 4, 2), ForwardConfig(64, 128, 8, 2)], ids=str
)  # fmt: skip
@pytest.mark.parametrize("plan_by_hand", [False, True])
def test_any_tiling_and_either_planner_give_dense_attention(
    config: ForwardConfig, plan_by_hand: bool, device: str
) -> None:
    for visible in (neighbourhood(7, 9, 3), scattered(60, 70, seed=1)):
        qkv = random_qkv(visible, num_q_heads=2, device=device)
        o, _ = run(visible, qkv, config, plan_by_hand)
        exact, _ = dense_attention(*qkv, visible, 0.3)
        assert (o.double().cpu() - exact).abs().max() <= allowed_error(*qkv, visible, 0.3, exact)


@pytest.mark.parametrize("head_dim", [64, 72])
@pytest.mark.parametrize("visible", [causal(70, 100), history_and_targets(70, 20), scattered(70, 90, seed=2)])
def test_tensor_descriptors_and_pointers_load_the_same(visible: np.ndarray, head_dim: int, device: str) -> None:
    qkv = random_qkv(
        visible, batch=2, num_q_heads=4, num_kv_heads=2, head_dim=head_dim, dtype=torch.float16, device=device
    )
    assert all(fits_tma(x) for x in qkv)
    by_pointer = run(visible, qkv, ForwardConfig(32, 32, 4, 2))
    by_descriptor = run(visible, qkv, ForwardConfig(32, 32, 4, 2, tma=True))
    assert torch.equal(by_pointer[0], by_descriptor[0])
    assert torch.equal(by_pointer[1], by_descriptor[1])


def test_layouts_that_tensor_descriptors_cannot_address_are_told_apart() -> None:
    fused = torch.zeros(2, 64, 3, 4, 64, dtype=torch.float16)
    assert fits_tma(fused[:, :, 0].transpose(1, 2))
    assert not fits_tma(fused[..., ::2].transpose(1, 3)[0])
    assert not fits_tma(torch.zeros(1, 2, 8, 20, dtype=torch.float16))
    assert not fits_tma(torch.zeros(1, 2, 8, 64, dtype=torch.float16)[..., 1:])
    assert not fits_tma(torch.zeros(1, 1, 8, 64, dtype=torch.float16).expand(1, 4, 8, 64))
    assert fits_tma(torch.zeros(3, 1, 8, 64, dtype=torch.float16)[:1])


def test_heavy_tiles_first_and_heads_in_groups_write_every_row_of_every_head(device: str) -> None:
    visible = np.eye(100, dtype=bool)
    visible[:30] = True
    qkv = random_qkv(visible, batch=2, num_q_heads=6, num_kv_heads=2, device=device)
    plan = plan_tiles(descriptor_of(visible), 16, 16)
    tensors = upload(plan, visible.any(0), qkv[0].device)
    assert 0 < tensors.num_heavy < plan.num_q_tiles
    o, _ = forward(*qkv, tensors, OPTIONS, ForwardConfig(16, 16, 4, 1))
    exact, _ = dense_attention(*qkv, visible, 0.3)
    assert (o.double().cpu() - exact).abs().max() <= allowed_error(*qkv, visible, 0.3, exact)


def test_what_stands_for_no_lse_is_never_what_memory_held(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    visible = causal(20, 20)
    monkeypatch.setattr(torch, "empty", torch.zeros)
    q, k, v = random_qkv(visible, device=device)
    lse = row_route(q, k, v, descriptor_of(visible)).run(q, k, v, ScoreOptions(0.3, activation="silu"))[1]
    assert lse.isnan().all()


def test_a_plan_of_other_tiles_is_refused(device: str) -> None:
    visible = causal(20, 20)
    qkv = random_qkv(visible, device=device)
    tensors: MaskTensors = upload(plan_tiles(descriptor_of(visible), 16, 16), visible.any(0), qkv[0].device)
    with pytest.raises(ValueError, match="the plan has tiles of 16 x 16, the kernel's configuration 32 x 16"):
        forward(*qkv, tensors, OPTIONS, ForwardConfig(32, 16, 4, 1))


@pytest.mark.gpu
def test_more_heads_than_a_second_grid_axis_would_take() -> None:
    visible = causal(10, 10)
    q, k, v = random_qkv(visible, num_q_heads=65_536, num_kv_heads=65_536, dtype=torch.float16, device="cuda")
    o, _ = run(visible, (q, k, v), ForwardConfig(64, 64, 4, 1))
    last = [x[:, -3:] for x in (q, k, v)]
    exact, _ = dense_attention(*last, visible, 0.3)
    assert (o[:, -3:].double().cpu() - exact).abs().max() <= allowed_error(*last, visible, 0.3, exact)
    assert o.isfinite().all()


@pytest.mark.gpu
@pytest.mark.parametrize("length", [99_865, 99_866])
def test_offsets_beyond_32_bits_are_addressed(length: int) -> None:
    """q, k, v are views of one fused tensor whose row stride times the length passes 2^31."""
    fused = torch.randn(1, length, 3, 56, 128, dtype=torch.float16, device="cuda")
    q, k, v = (fused[:, :, i].transpose(1, 2) for i in range(3))
    from compilemask import compile
    from compilemask.attention import attention

    mask = compile("mask w(n: int)\ntokens { S: n }\nS sees S causal and q - k < 128").bind(n=length)
    last = slice(length - 200, None)
    tail = mask.slice_queries(length - 200, length).slice_keys(length - 400, length).dense()
    wanted, _ = dense_attention(q[:, -2:, last], k[:, -2:, -400:], v[:, -2:, -400:], tail, 1 / math.sqrt(128))
    o = attention(q, k, v, mask, impl="triton")
    plain = [x[:, -2:, s].contiguous() for x, s in ((q, last), (k, slice(-400, None)), (v, slice(-400, None)))]
    assert (o[:, -2:, last].double().cpu() - wanted).abs().max() <= allowed_error(
        *plain, tail, 1 / math.sqrt(128), wanted
    )
