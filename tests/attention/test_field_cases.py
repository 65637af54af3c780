"""Faults seen in attention kernels elsewhere, as small inputs with the right value."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import allowed_error, causal, dense_attention, descriptor_of, random_qkv

from compilemask.attention import attention


def run(
    visible: np.ndarray, impl: str, *qkv: torch.Tensor, sm_scale: float | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    return attention(*qkv, descriptor_of(visible), sm_scale=sm_scale, impl=impl, return_lse=True)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_what_a_key_hidden_from_all_rows_holds_never_leaks(poison: float, impl: str, device: str) -> None:
    visible = np.array([[True, False], [True, False]])
    q, k, v = random_qkv(visible, head_dim=4, device=device)
    k[:, :, 1] = v[:, :, 1] = poison
    o, _ = run(visible, impl, q, k, v)
    assert torch.equal(o, v[:, :, :1].expand_as(o))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_hidden_keys_inside_a_partial_tile_are_as_good_as_cut_off(dtype: torch.dtype, impl: str, device: str) -> None:
    visible = np.ones((70, 70), bool)
    visible[:, 50:] = False
    visible[3:5, 7] = False
    q, k, v = random_qkv(visible, head_dim=64, dtype=dtype, device=device)
    k[:, :, 50:] = v[:, :, 50:] = math.nan
    o, lse = run(visible, impl, q, k, v)
    cut_o, cut_lse = run(visible[:, :50], impl, q, k[:, :, :50], v[:, :, :50])
    assert torch.allclose(o, cut_o, rtol=0, atol=1e-6)
    assert torch.allclose(lse, cut_lse, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kv_len", [1, 64, 65, 200])
def test_keys_past_the_end_of_the_last_tile_are_not_counted(kv_len: int, impl: str, device: str) -> None:
    visible = np.ones((64, kv_len), bool)
    q, k, v = random_qkv(visible, head_dim=64, device=device)
    o, lse = run(visible, impl, q, torch.zeros_like(k), torch.ones_like(v))
    assert torch.allclose(lse, torch.full_like(lse, math.log(kv_len)), rtol=1e-6, atol=1e-6)
    assert torch.allclose(o, torch.ones_like(o), rtol=1e-6)


def test_lse_is_a_natural_logarithm_and_merges_parts(impl: str, device: str) -> None:
    q, k, v = random_qkv(np.ones((3, 256), bool), device=device)
    _, lse = run(np.ones((3, 256), bool), impl, q, torch.zeros_like(k), v)
    assert torch.allclose(lse, torch.full_like(lse, 5.545177), rtol=1e-6)
    whole, whole_lse = run(np.ones((3, 256), bool), impl, q, k, v)
    parts = [
        run(np.ones((3, n), bool), impl, q, k[:, :, a : a + n], v[:, :, a : a + n]) for a, n in ((0, 200), (200, 56))
    ]
    weights = torch.softmax(torch.stack([lse for _, lse in parts]), 0)[..., None]
    assert torch.allclose((weights * torch.stack([o for o, _ in parts])).sum(0), whole, rtol=0, atol=1e-6)
    assert torch.allclose(torch.logsumexp(torch.stack([lse for _, lse in parts]), 0), whole_lse, rtol=0, atol=1e-5)


def test_more_queries_than_keys_leaves_the_first_rows_empty(impl: str, device: str) -> None:
    visible = causal(5, 2)
    assert visible.sum(1).tolist() == [0, 0, 0, 1, 2]
    o, lse = run(visible, impl, *random_qkv(visible, head_dim=64, device=device))
    assert (o[:, :, :3] == 0).all()
    assert (lse[:, :, :3] == -math.inf).all()
    assert lse[:, :, 3:].isfinite().all()


def test_a_two_sided_window_with_fewer_keys_than_queries(impl: str, device: str) -> None:
    distance = np.arange(129)[:, None] + 32 - 129 - np.arange(32)
    visible = (distance <= 32) & (distance >= -64)
    assert (visible.sum(), (~visible.any(1)).sum(), visible[33].sum()) == (2576, 33, 1)
    q, k, v = random_qkv(visible, num_q_heads=1, head_dim=64, device=device)
    o, lse = run(visible, impl, q, k, v)
    exact, _ = dense_attention(q, k, v, visible, 0.125)
    assert torch.allclose(o.double().cpu(), exact, rtol=0, atol=2e-6)
    assert (lse == -math.inf).sum() == 33


def test_one_query_gives_the_last_row_of_many(impl: str, device: str) -> None:
    visible = causal(300, 300) & ((np.arange(300)[:, None] - np.arange(300) < 60) | (np.arange(300) < 4))
    q, k, v = random_qkv(visible, num_q_heads=2, head_dim=64, device=device)
    o, lse = run(visible, impl, q, k, v)
    last_o, last_lse = run(visible[-1:], impl, q[:, :, -1:], k, v)
    assert torch.allclose(last_o, o[:, :, -1:], rtol=0, atol=1e-6)
    assert torch.allclose(last_lse, lse[:, :, -1:], rtol=0, atol=1e-6)


def test_one_query_of_one_key_returns_its_value(impl: str, device: str) -> None:
    visible = np.ones((1, 1), bool)
    q, k, v = random_qkv(visible, device=device)
    o, _ = run(visible, impl, q, k, v)
    assert torch.equal(o, v.expand_as(o))


def test_documents_of_uneven_length_need_no_whole_tiles(impl: str, device: str) -> None:
    document = np.repeat(np.arange(8), [1, 4, 9, 16, 25, 36, 49, 100])
    visible = (document[:, None] == document) & causal(240, 240)
    q, k, v = random_qkv(visible, num_q_heads=1, device=device)
    o, _ = run(visible, impl, q, k, v, sm_scale=0.25)
    exact, _ = dense_attention(q, k, v, visible, 0.25)
    assert torch.allclose(o.double().cpu(), exact, rtol=0, atol=2e-6)


def test_large_scores_neither_overflow_nor_flatten(impl: str, device: str) -> None:
    visible = causal(70, 70)
    q, k, v = random_qkv(visible, head_dim=64, device=device)
    o, lse = run(visible, impl, q * 10, k * 10, v)
    exact, exact_lse = dense_attention(q * 10, k * 10, v, visible, 0.125)
    assert torch.allclose(o.double().cpu(), exact, rtol=0, atol=2e-4)
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=1e-4)


def test_a_shifted_mask_fails_the_error_rule(impl: str, device: str) -> None:
    visible = causal(60, 60)
    q, k, v = random_qkv(visible, dtype=torch.bfloat16, device=device)
    exact, _ = dense_attention(q, k, v, visible, 0.25)
    o, _ = run(np.roll(visible, 1, axis=1) & visible, impl, q, k, v, sm_scale=0.25)
    assert (o.double().cpu() - exact).abs().max() > allowed_error(q, k, v, visible, 0.25, exact)


@pytest.mark.parametrize("kv_len", [131_072 + 257])
@pytest.mark.parametrize("top_left", [False, True])
def test_few_queries_over_very_many_keys(top_left: bool, kv_len: int, impl: str, device: str) -> None:
    """Causal from either corner; fewer keys in the interpreter, which would take minutes."""
    if impl == "triton" and device == "cpu":
        kv_len //= 256
    visible = np.arange(kv_len)[None] <= np.arange(16)[:, None] + (0 if top_left else kv_len - 16)
    q, k, v = random_qkv(visible, num_q_heads=1, device=device)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    o, lse = attention(*leaves, descriptor_of(visible), impl=impl, return_lse=True)  # type: ignore[call-overload]
    exact = [x.detach().double().cpu().requires_grad_() for x in leaves]
    scores = (exact[0] @ exact[1].mT / 4).masked_fill(~torch.from_numpy(visible), -math.inf)
    exact_o = torch.softmax(scores, -1) @ exact[2]
    assert torch.allclose(o.double().cpu(), exact_o, rtol=1e-5, atol=2e-6)
    assert torch.allclose(lse.double().cpu(), torch.logsumexp(scores, -1), rtol=1e-6)
    found, wanted = torch.autograd.grad(o.sum(), leaves), torch.autograd.grad(exact_o.sum(), exact)
    for got, right in zip(found, wanted, strict=True):
        assert torch.allclose(got.double().cpu(), right, rtol=1e-4, atol=2e-5)
