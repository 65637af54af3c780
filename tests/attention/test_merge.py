"""Merging partial results: exact on empty parts, associative up to rounding, differentiable, never NaN."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from oracles_attention import causal, dense_attention, descriptor_of, random_qkv, scattered
from torch import Tensor

from compilemask.attention import attention, merge


def parts(visible: np.ndarray, qkv: tuple[Tensor, ...], cuts: list[int], impl: str) -> list[tuple[Tensor, Tensor]]:
    """Results over the keys between the cuts, as ranks of a context-parallel group would have them."""
    q, k, v = qkv
    mask = descriptor_of(visible)
    return [
        attention(q, k[:, :, a:b], v[:, :, a:b], mask.slice_keys(a, b), impl=impl, return_lse=True)
        for a, b in pairwise(cuts)
    ]


@pytest.mark.parametrize("visible", [causal(40, 40), scattered(40, 60, seed=3)], ids=["causal", "scattered"])
def test_merged_parts_are_the_whole(visible: np.ndarray, impl: str, device: str) -> None:
    qkv = random_qkv(visible, num_q_heads=4, num_kv_heads=2, device=device)
    o, lse = dense_attention(*qkv, visible, 16**-0.5)
    first, *others = parts(visible, qkv, [0, 7, 30, visible.shape[1]], impl)
    for part in others:
        first = merge(*first, *part)
    assert torch.allclose(first[0].double().cpu(), o, rtol=0, atol=2e-6)
    assert torch.allclose(first[1].double().cpu(), lse, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 1e-2)], ids=str)
def test_a_long_row_split_in_two_is_the_single_pass(dtype: torch.dtype, tolerance: float, device: str) -> None:
    visible = np.ones((1, 4096), bool)
    qkv = random_qkv(visible, dtype=dtype, device=device)
    whole_o, whole_lse = attention(*qkv, descriptor_of(visible), impl="torch", return_lse=True)
    first, second = parts(visible, qkv, [0, 3000, 4096], "torch")
    o, lse = merge(*first, *second)
    assert o.dtype == dtype and lse.dtype == torch.float32
    scale = whole_o.float().abs().max().item()
    assert (o.float() - whole_o.float()).abs().max().item() <= tolerance * max(scale, 1)
    assert torch.allclose(lse, whole_lse, rtol=0, atol=2e-6)


def test_lse_is_the_natural_logarithm() -> None:
    o = torch.ones(3, 4)
    _, lse = merge(o, torch.full((3,), math.log(100)), o, torch.full((3,), math.log(156)))
    assert torch.allclose(lse, torch.full((3,), 5.545177))


def test_two_empty_parts_are_empty() -> None:
    o, lse = merge(torch.zeros(2, 3), torch.full((2,), -math.inf), torch.zeros(2, 3), torch.full((2,), -math.inf))
    assert torch.equal(o, torch.zeros(2, 3))
    assert torch.equal(lse, torch.full((2,), -math.inf))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("garbage", [0.0, math.nan, math.inf])
def test_an_empty_part_changes_no_bit_on_either_side(dtype: torch.dtype, garbage: float) -> None:
    o = torch.randn(5, 7, dtype=dtype)
    o[0, 0] = -0.0
    lse = torch.randn(5) * 80
    nothing = (torch.full((5, 7), garbage, dtype=dtype), torch.full((5,), -math.inf))
    for merged in (merge(o, lse, *nothing), merge(*nothing, o, lse)):
        assert torch.equal(merged[0], o)
        assert torch.equal(torch.signbit(merged[0]), torch.signbit(o))
        assert torch.equal(merged[1], lse)
    both_o, both_lse = merge(*nothing, *nothing)
    assert torch.equal(both_o, torch.zeros_like(o)) and torch.isneginf(both_lse).all()


def test_order_and_grouping_do_not_matter_beyond_rounding() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b, c = ((torch.randn(50, 8, generator=generator), torch.randn(50, generator=generator) * 20) for _ in range(3))
    a[1][::5] = -math.inf
    b[1][::3] = -math.inf
    left, right = merge(*merge(*a, *b), *c), merge(*a, *merge(*b, *c))
    swapped = merge(*c, *merge(*b, *a))
    for other in (right, swapped):
        assert torch.allclose(left[0], other[0], atol=1e-5)
        assert torch.allclose(left[1], other[1], atol=1e-5)


def test_far_apart_parts_do_not_overflow() -> None:
    o, lse = merge(torch.ones(1, 2), torch.tensor([1e30]), torch.zeros(1, 2), torch.tensor([-1e30]))
    assert torch.equal(o, torch.ones(1, 2)) and lse.item() == pytest.approx(1e30)


def test_gradients_are_those_of_the_formula() -> None:
    inputs = [torch.randn(3, 4), torch.randn(3), torch.randn(3, 4), torch.randn(3)]
    assert torch.autograd.gradcheck(merge, [x.double().requires_grad_() for x in inputs])


@pytest.mark.parametrize("first_empty", [False, True])
@pytest.mark.parametrize("second_empty", [False, True])
def test_gradients_of_empty_parts_are_finite_and_belong_to_the_other(first_empty: bool, second_empty: bool) -> None:
    o1, o2 = torch.randn(2, 3), torch.randn(2, 3)
    lse1, lse2 = torch.zeros(2), torch.ones(2)
    if first_empty:
        o1, lse1 = torch.zeros(2, 3), torch.full((2,), -math.inf)
    if second_empty:
        o2, lse2 = torch.zeros(2, 3), torch.full((2,), -math.inf)
    leaves = [x.requires_grad_() for x in (o1, lse1, o2, lse2)]
    o, lse = merge(*leaves)
    do = torch.randn(2, 3)
    grads = torch.autograd.grad([o, lse], leaves, [do, torch.ones(2)])
    assert all(torch.isfinite(grad).all() for grad in grads)
    if second_empty and not first_empty:
        assert torch.equal(grads[0], do) and (grads[2] == 0).all() and (grads[3] == 0).all()
    if first_empty and not second_empty:
        assert torch.equal(grads[2], do) and (grads[0] == 0).all() and (grads[1] == 0).all()


def test_gradients_through_a_split_are_those_of_the_whole(device: str) -> None:
    visible = scattered(30, 50, seed=5)
    inputs = random_qkv(visible, num_q_heads=4, num_kv_heads=2, device=device)
    do = torch.randn_like(inputs[0])

    def gradients(split: bool) -> tuple[Tensor, ...]:
        leaves = tuple(x.clone().requires_grad_() for x in inputs)
        if split:
            first, second = parts(visible, leaves, [0, 20, 50], "torch")
            o, lse = merge(*first, *second)
        else:
            o, lse = attention(*leaves, descriptor_of(visible), impl="torch", return_lse=True)
        some = torch.from_numpy(visible.any(1)).to(device)
        return torch.autograd.grad((o * do).sum() + lse[:, :, some].sum(), leaves)

    for split, whole in zip(gradients(True), gradients(False), strict=True):
        assert torch.allclose(split, whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("rows", [[[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 1, 6, 7], [2, 3, 4, 5]]], ids=["halves", "zigzag"])
def test_ranks_of_a_context_parallel_group_together_have_the_one_answer(
    rows: list[list[int]], impl: str, device: str
) -> None:
    """Two documents of 4, causal, over two ranks; keys gathered, then keys in a ring."""
    visible = causal(8, 8) & (np.arange(8)[:, None] // 4 == np.arange(8) // 4)
    mask = descriptor_of(visible)
    q, k, v = random_qkv(visible, device=device)
    whole, whole_lse = attention(q, k, v, mask, impl=impl, return_lse=True)
    for own in rows:
        pieces = [(start, start + 2) for start in own[::2]]
        for start, stop in pieces:
            rank_mask = mask.slice_queries(start, stop)
            assert rank_mask.dense().sum(1).tolist() == [row % 4 + 1 for row in range(start, stop)]
            gathered = attention(q[:, :, start:stop], k, v, rank_mask, impl=impl)
            assert torch.allclose(gathered, whole[:, :, start:stop], rtol=0, atol=1e-6)
            o, lse = torch.zeros_like(gathered), torch.full(gathered.shape[:3], -math.inf, device=device)
            for a in range(0, 8, 4):
                part = attention(
                    q[:, :, start:stop], k[:, :, a : a + 4], v[:, :, a : a + 4], rank_mask.slice_keys(a, a + 4),
                    impl=impl, return_lse=True,
                )  # fmt: skip
                o, lse = merge(o, lse, *part)
            assert torch.allclose(o, whole[:, :, start:stop], rtol=0, atol=1e-6)
            assert torch.allclose(lse, whole_lse[:, :, start:stop], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "problem", "said"),
    [
        (lambda o, s: (o, s, o[:1], s), ValueError, "o1 and o2 must have one shape [..., v_head_dim], got [2, 3] and [1, 3]"),
        (lambda o, s: (o, s[:1], o, s), ValueError, "lse1 must have the shape of o without its last size, [2], got [1]"),
        (lambda o, s: (o, s, o, s[:, None]), ValueError, "lse2 must have the shape of o without its last size, [2], got [2, 1]"),
        (lambda o, s: (o, s, o, None), TypeError, "lse2 must be a torch.Tensor, got NoneType; call attention with return_lse"),
        (lambda o, s: (o.int(), s, o, s), TypeError, "o1 must have a floating-point dtype, got torch.int32"),
        (lambda o, s: (o, s, o.to("meta"), s), ValueError, "all parts must be on one device, got o1 on cpu and o2 on meta"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(change, problem: type[Exception], said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(problem, match=re.escape(said)):
        merge(*change(torch.ones(2, 3), torch.ones(2)))
