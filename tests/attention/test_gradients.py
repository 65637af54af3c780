"""Gradients of o and lse against float64 autograd through dense attention."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import (
    causal,
    dense_attention,
    descriptor_of,
    history_and_targets,
    neighbourhood,
    plain_attention,
    random_qkv,
    scattered,
    ulp,
)
from torch import Tensor

from compilemask.attention import attention

DIFFERENTIABLE = ["reference", "torch", "triton"]


def gradients(visible: np.ndarray, impl: str, inputs: tuple[Tensor, ...], do: Tensor, dlse: Tensor) -> list[Tensor]:
    """dq, dk, dv of (o * do + lse * dlse).sum(), empty rows of lse left out."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    some = torch.from_numpy(visible.any(1)).to(do.device)
    match impl:
        case "exact":
            leaves = [x.detach().cpu().double().requires_grad_() for x in inputs]
            do, dlse, some = do.cpu().double(), dlse.cpu().double(), some.cpu()
            o, lse = dense_attention(*leaves, visible, 0.3)
        case "plain":
            o = plain_attention(*leaves, visible, 0.3)
            lse = torch.zeros_like(dlse)
        case _:
            o, lse = attention(*leaves, descriptor_of(visible), sm_scale=0.3, impl=impl, return_lse=True)
    ((o * do).sum() + (lse * dlse)[..., some].sum()).backward()
    return [x.grad for x in leaves]


@pytest.mark.parametrize("impl", DIFFERENTIABLE)
@pytest.mark.parametrize(
    "visible",
    [causal(140, 140), causal(5, 2), history_and_targets(150, 40), neighbourhood(9, 9, 3), scattered(70, 90, seed=1)],
    ids=["causal", "empty rows", "history and targets", "neighbourhood", "scattered"],
)
def test_gradients_of_o_and_lse_equal_dense_autograd(visible: np.ndarray, impl: str, device: str) -> None:
    inputs = random_qkv(visible, num_q_heads=6, num_kv_heads=2, v_head_dim=24, device=device)
    do, dlse = torch.randn(1, 6, len(visible), 24, device=device), torch.randn(1, 6, len(visible), device=device)
    exact = gradients(visible, "exact", inputs, do, dlse)
    for got, wanted in zip(gradients(visible, impl, inputs, do, dlse), exact, strict=True):
        assert torch.allclose(got.cpu().double(), wanted, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("impl", DIFFERENTIABLE)
def test_half_precision_gradients_round_no_worse_than_twice_plain_attention(impl: str, device: str) -> None:
    visible = scattered(60, 60, seed=2)
    inputs = random_qkv(visible, dtype=torch.bfloat16, device=device)
    do, dlse = torch.randn(1, 2, 60, 16, device=device).bfloat16(), torch.zeros(1, 2, 60, device=device)
    exact = gradients(visible, "exact", inputs, do, dlse)
    plain = gradients(visible, "plain", inputs, do, dlse)
    for got, rounded, wanted in zip(gradients(visible, impl, inputs, do, dlse), plain, exact, strict=True):
        assert got.dtype == torch.bfloat16
        allowed = 2 * (rounded.cpu() - wanted).abs().max() + ulp(torch.bfloat16, wanted.abs().max().item())
        assert (got.cpu() - wanted).abs().max() <= allowed


@pytest.mark.parametrize("impl", DIFFERENTIABLE)
def test_the_incoming_gradient_may_have_any_strides(impl: str, device: str) -> None:
    visible = causal(40, 40)
    inputs = random_qkv(visible, batch=2, num_q_heads=4, num_kv_heads=1, device=device)
    dlse = torch.zeros(2, 4, 40, device=device)
    turned = torch.randn(2, 40, 16, 4, device=device).permute(0, 3, 1, 2)
    for do in (
        turned,
        torch.ones((), device=device).expand(2, 4, 40, 16),
        torch.randn(4, 8, 40, 16, device=device)[::2, ::2],
    ):
        strided = gradients(visible, impl, inputs, do, dlse)
        plain = gradients(visible, impl, inputs, do.contiguous(), dlse)
        assert all(torch.equal(a, b) for a, b in zip(strided, plain, strict=True))


@pytest.mark.parametrize("impl", DIFFERENTIABLE)
@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_keys_that_no_row_sees_get_gradient_zero_whatever_they_hold(impl: str, poison: float, device: str) -> None:
    visible = scattered(70, 90, seed=3)
    unseen = torch.from_numpy(~visible.any(0))
    assert unseen.any()
    q, k, v = random_qkv(visible, device=device)
    do, dlse = torch.randn(1, 2, 70, 16, device=device), torch.randn(1, 2, 70, device=device)
    clean = gradients(visible, impl, (q, k, v), do, dlse)
    k[:, :, unseen] = poison
    v[:, :, unseen] = poison
    dq, dk, dv = gradients(visible, impl, (q, k, v), do, dlse)
    assert all(torch.equal(a, b) for a, b in zip((dq, dk, dv), clean, strict=True))
    assert (dk[:, :, unseen] == 0).all()
    assert (dv[:, :, unseen] == 0).all()


@pytest.mark.parametrize("impl", DIFFERENTIABLE)
def test_sums_over_keys_follow_from_the_softmax(impl: str, device: str) -> None:
    """With loss = o.sum(): dv sums to the rows that see something, times the group; dk sums to 0 when q is constant."""
    visible = causal(50, 45)
    q, k, v = random_qkv(visible, num_q_heads=6, num_kv_heads=2, device=device)
    ones, none = torch.ones(1, 6, 50, 16, device=device), torch.zeros(1, 6, 50, device=device)
    dq, dk, dv = gradients(visible, impl, (q, k, v), ones, none)
    assert torch.allclose(dv.sum(2), torch.full_like(dv.sum(2), 3.0 * visible.any(1).sum()), rtol=1e-5)
    assert torch.allclose(dk.sum(2), torch.zeros_like(dk.sum(2)), atol=1e-4)
    assert (dq[:, :, torch.from_numpy(~visible.any(1))] == 0).all()
