"""o and lse of every implementation against dense float64 attention."""

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
    random_qkv,
    scattered,
)

from compilemask.attention import attention

MASKS = {
    "causal": causal(129, 129),
    "history and targets": history_and_targets(150, 40),
    "neighbourhood": neighbourhood(11, 13, 4),
    "scattered": scattered(130, 150, seed=1),
    "more queries than keys": causal(140, 70),
    "more keys than queries": causal(20, 200),
    "all": np.ones((65, 190), bool),
    "nothing": np.zeros((70, 40), bool),
}
SCALE = 0.3


def check(visible: np.ndarray, impl: str, device: str, sm_scale: float = SCALE, **sizes: object) -> None:
    q, k, v = random_qkv(visible, device=device, **sizes)
    o, lse = attention(q, k, v, descriptor_of(visible), sm_scale=sm_scale, impl=impl, return_lse=True)
    exact_o, exact_lse = dense_attention(q, k, v, visible, sm_scale)
    assert (o.dtype, lse.dtype) == (v.dtype, torch.float32)
    assert (o.shape, lse.shape) == (exact_o.shape, exact_lse.shape)
    assert (o.double().cpu() - exact_o).abs().max() <= allowed_error(q, k, v, visible, sm_scale, exact_o)
    empty = torch.from_numpy(~visible.any(1))
    assert (o[:, :, empty] == 0).all()
    assert (lse[:, :, empty] == -math.inf).all()
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("mask", MASKS)
def test_every_kind_of_mask_gives_dense_attention(mask: str, impl: str, device: str) -> None:
    check(MASKS[mask], impl, device)


@pytest.mark.parametrize("length", [1, 2, 127, 128, 129, 200])
def test_lengths_around_a_tile_give_dense_attention(length: int, impl: str, device: str) -> None:
    check(causal(length, length), impl, device, num_q_heads=1)
    check(causal(length, length) & (np.arange(length) % 64 != 5), impl, device, num_q_heads=1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("mask", ["scattered", "history and targets"])
def test_half_precision_rounds_no_worse_than_twice_plain_attention(
    dtype: torch.dtype, mask: str, impl: str, device: str
) -> None:
    check(MASKS[mask], impl, device, dtype=dtype, head_dim=64, sm_scale=0.125)


@pytest.mark.parametrize(("num_q_heads", "num_kv_heads"), [(6, 1), (7, 1), (12, 2), (3, 3)])
def test_query_heads_share_key_heads_in_any_ratio(num_q_heads: int, num_kv_heads: int, impl: str, device: str) -> None:
    check(scattered(40, 70, seed=2), impl, device, batch=2, num_q_heads=num_q_heads, num_kv_heads=num_kv_heads)


@pytest.mark.parametrize(
    ("head_dim", "v_head_dim"),
    [(8, 8), (72, 72), (80, 80), (96, 40), (160, 160), (192, 128), (16, 130), (1, 1), (256, 16)],
)
def test_head_dims_need_be_no_power_of_two_nor_equal(head_dim: int, v_head_dim: int, impl: str, device: str) -> None:
    """Two items and two key heads: where v is wider than k, so are its steps from one to the next."""
    sizes = {"batch": 2, "num_kv_heads": 2, "head_dim": head_dim, "v_head_dim": v_head_dim}
    check(scattered(50, 90, seed=3), impl, device, 1 / math.sqrt(head_dim), **sizes)


@pytest.mark.parametrize("sm_scale", [0.0, -0.4, 5.0])
def test_any_finite_scale_is_applied(sm_scale: float, impl: str, device: str) -> None:
    check(scattered(40, 70, seed=4), impl, device, sm_scale)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_or_no_keys_is_no_special_case(shape: tuple[int, int], impl: str, device: str) -> None:
    visible = np.zeros(shape, bool)
    q, k, v = (x.requires_grad_() for x in random_qkv(visible, device=device, v_head_dim=24))
    o, lse = attention(q, k, v, descriptor_of(visible), impl=impl, return_lse=True)
    assert o.shape == (1, 2, shape[0], 24)
    assert (o == 0).all()
    assert (lse == -math.inf).all()
    assert all((x == 0).all() for x in torch.autograd.grad(o.sum(), (q, k, v)))


def test_strides_do_not_matter(impl: str, device: str) -> None:
    visible = scattered(40, 70, seed=5)
    mask = descriptor_of(visible)
    plain = random_qkv(visible, batch=2, num_q_heads=4, num_kv_heads=2, device=device)
    expected = attention(*plain, mask, impl=impl)
    by_length = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in plain]
    every_second = [torch.stack([x, torch.full_like(x, math.nan)], -1).flatten(3)[..., ::2] for x in plain]
    turned = [x.transpose(2, 3).contiguous().transpose(2, 3) for x in plain]
    one_item = [x[:1].expand(2, -1, -1, -1) for x in plain]
    for strided in (by_length, every_second, turned):
        assert torch.equal(attention(*strided, mask, impl=impl), expected)
    assert torch.equal(attention(*one_item, mask, impl=impl)[1], expected[0])


def test_equal_masks_give_equal_bits(impl: str, device: str) -> None:
    visible = causal(150, 150)
    q, k, v = random_qkv(visible, device=device)
    left, right = visible.copy(), visible.copy()
    left[:, 70:] = False
    right[:, :70] = False
    in_two_parts = descriptor_of(left) | descriptor_of(right)
    assert torch.equal(
        attention(q, k, v, in_two_parts, impl=impl), attention(q, k, v, descriptor_of(visible), impl=impl)
    )
