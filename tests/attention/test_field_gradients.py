"""Faults seen in the training of attention elsewhere, as small inputs with the right gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import causal, dense_attention, descriptor_of, random_qkv, ulp
from oracles_scores import attention_by_definition, gradients_by_definition
from torch import Tensor

from compilemask.attention import attention
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import Trapezoids

OPTIONS = ScoreOptions(0.3)


def gradients(qkv: list[Tensor] | tuple[Tensor, ...], mask: MaskDescriptor | MaskBatch, impl: str) -> list[Tensor]:
    """o, dq, dk, dv of sum(o * weights), the weights the same for every impl."""
    leaves = [x.detach().clone().requires_grad_() for x in qkv]
    o = attention(*leaves, mask, sm_scale=OPTIONS.sm_scale, impl=impl)  # type: ignore[call-overload]
    return [o.detach(), *torch.autograd.grad((o * weights_of(o)).sum(), leaves)]


def weights_of(o: Tensor) -> Tensor:
    return torch.randn(o.shape, generator=torch.Generator().manual_seed(1)).to(o)


def exact(qkv: tuple[Tensor, ...], visible: np.ndarray) -> list[Tensor]:
    """The same in float64."""
    doubles = tuple(x.double().cpu() for x in qkv)
    o, _ = attention_by_definition(*doubles, visible, OPTIONS, None)
    weights = weights_of(torch.empty(o.shape, dtype=qkv[0].dtype)).double()
    return [o, *gradients_by_definition(doubles, visible, OPTIONS, weights, o.new_zeros(o.shape[:3]))]


def assert_dense(qkv: tuple[Tensor, ...], visible: np.ndarray, impl: str) -> list[Tensor]:
    found = gradients(qkv, descriptor_of(visible), impl)
    for got, wanted in zip(found, exact(qkv, visible), strict=True):
        assert torch.allclose(got.double().cpu(), wanted, rtol=1e-5, atol=2e-5)
    return found


def turns(length: int, group: int) -> np.ndarray:
    """A clean half and a noisy half, in groups: noisy rows see earlier clean groups and their own noisy group."""
    half = length // 2
    q, k = np.arange(length)[:, None], np.arange(length)[None]
    own = (q - half - group) // group
    clean = (q < half) & (k < half) & (k < q + group)
    noisy = (q >= half) & (
        ((k < half) & (k <= group * own + group)) | ((k >= half) & ((k - half - group) // group == own))
    )
    return clean | noisy  # type: ignore[no-any-return]


def memory_first(length: int, every: int) -> np.ndarray:
    """Causal by age, but every fourth token, a memory token, is stored in front."""
    age = np.concatenate([np.arange(0, length, every), np.delete(np.arange(length), np.arange(0, length, every))])
    return age[None] <= age[:, None]  # type: ignore[no-any-return]


def blocks(length: int, size: int) -> np.ndarray:
    """Each block sees itself and all before."""
    return np.arange(length)[None] // size <= np.arange(length)[:, None] // size  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "visible", [turns(96, 4), memory_first(70, 4), blocks(6, 2)], ids=["many terms", "memory tokens", "block causal"]
)
def test_masks_of_many_terms_have_dense_gradients_in_a_graph_too(visible: np.ndarray, impl: str, device: str) -> None:
    assert visible.sum() == {96: 2610, 70: 70 * 71 // 2, 6: 24}[len(visible)]
    qkv = random_qkv(visible, device=device)
    found = assert_dense(qkv, visible, impl)
    compiled = torch.compile(lambda *x: attention(*x, sm_scale=0.3, impl=impl), fullgraph=True, backend="aot_eager")
    leaves = [x.clone().requires_grad_() for x in qkv]
    o = compiled(*leaves, descriptor_of(visible))
    again = torch.autograd.grad((o * weights_of(o)).sum(), leaves)
    assert all(torch.equal(a, b) for a, b in zip(again, found[1:], strict=True))


def test_scores_shift_by_a_key_shared_by_all_so_its_gradients_sum_to_nothing(impl: str, device: str) -> None:
    """dk summed over keys is 0 for each item, head and component, when all queries are one."""
    visible = turns(96, 4)
    q, k, v = random_qkv(visible, batch=2, num_q_heads=2, device=device)
    _, _, dk, _ = gradients((q[:, :, :1].expand_as(q).contiguous(), k, v), descriptor_of(visible), impl)
    assert torch.allclose(dk.sum(2), torch.zeros_like(dk.sum(2)), atol=5e-5)


@pytest.mark.parametrize("heads", [(6, 1), (9, 3)])
def test_one_query_has_the_gradients_of_the_last_of_many(heads: tuple[int, int], impl: str, device: str) -> None:
    """A window and a sink of keys, in groups of heads that are no power of two."""
    back = np.arange(70)[:, None] - np.arange(70)
    visible = (back >= 0) & ((back < 20) | (np.arange(70) < 4))
    assert visible[-1].sum() == 24
    q, k, v = random_qkv(visible, num_q_heads=heads[0], num_kv_heads=heads[1], device=device)
    many = [x.clone().requires_grad_() for x in (q, k, v)]
    o = attention(*many, descriptor_of(visible), impl=impl)  # type: ignore[call-overload]
    weights = weights_of(o[:, :, -1:])
    wanted = torch.autograd.grad((o[:, :, -1:] * weights).sum(), many)
    one = [x.clone().requires_grad_() for x in (q[:, :, -1:], k, v)]
    last = attention(*one, descriptor_of(visible[-1:]), impl=impl)  # type: ignore[call-overload]
    found = torch.autograd.grad((last * weights).sum(), one)
    assert torch.allclose(last, o[:, :, -1:], atol=1e-6)
    for got, right in zip(found, (wanted[0][:, :, -1:], *wanted[1:]), strict=True):
        assert torch.allclose(got, right, atol=2e-6)


@pytest.mark.parametrize("head_dim", [16, 64, 256])
def test_one_query_of_one_key_returns_its_value_and_has_no_gradient(head_dim: int, impl: str, device: str) -> None:
    """The weight is 1 whatever the score; float32 rounding leaves at most that of a sum of head_dim products."""
    q, k, v = (x * 3 for x in random_qkv(np.ones((1, 1), bool), head_dim=head_dim, device=device))
    o, dq, dk, dv = gradients((q, k, v), descriptor_of(np.ones((1, 1), bool)), impl)
    assert torch.equal(o, v.expand_as(o))
    assert torch.allclose(dv, weights_of(o).sum(1, keepdim=True), rtol=1e-5)
    assert (
        max(dq.abs().max().item(), dk.abs().max().item())
        <= 4 * 2**-24 * head_dim * v.abs().max().item() * k.abs().max().item()
    )


SEGMENTS = [(0, 0, 12, 20, 20), (0, 25, 43, 51, 82)]


def segments(q_offsets: tuple[int, ...], kv_offsets: tuple[int, ...]) -> MaskDescriptor:
    """Full attention inside of each segment, of which some have no query and some no key."""
    q, k = np.array(q_offsets), np.array(kv_offsets)
    some = (np.diff(q) > 0) & (np.diff(k) > 0)
    cells = Trapezoids.of(q[:-1][some], q[1:][some], 0, k[:-1][some], 0, k[1:][some])
    return MaskDescriptor.from_trapezoids(q_offsets[-1], kv_offsets[-1], cells)


@pytest.mark.parametrize("turned", [False, True])
def test_segments_without_queries_or_without_keys_train_at_the_largest_head_dim(
    turned: bool, impl: str, device: str
) -> None:
    q_offsets, kv_offsets = SEGMENTS[::-1] if turned else SEGMENTS
    mask = segments(q_offsets, kv_offsets)
    visible = mask.dense()
    unseen, empty = torch.from_numpy(~visible.any(0)), torch.from_numpy(~visible.any(1))
    assert (unseen.sum(), empty.sum()) == ((0, 56) if turned else (56, 0))
    qkv = random_qkv(visible, num_q_heads=4, head_dim=256, device=device)
    o, dq, dk, dv = assert_dense(qkv, visible, impl)
    assert not o[:, :, empty].any() and not dq[:, :, empty].any()
    assert not dk[:, :, unseen].any() and not dv[:, :, unseen].any()


@pytest.mark.gpu
def test_long_segments_without_queries_train_at_the_largest_head_dim() -> None:
    mask = segments((0, 0, 1208, 2048, 2048), (0, 2538, 4280, 5120, 8192))
    qkv = random_qkv(np.ones((2048, 8192), bool), num_q_heads=4, head_dim=256, dtype=torch.bfloat16, device="cuda")
    found = gradients(qkv, mask, "triton")
    for rows, keys in ((slice(0, 1208), slice(2538, 4280)), (slice(1208, 2048), slice(4280, 5120))):
        part = (qkv[0][:, :, rows], qkv[1][:, :, keys], qkv[2][:, :, keys])
        leaves = [x.double().requires_grad_() for x in part]
        o = torch.softmax(leaves[0] @ leaves[1].mT * OPTIONS.sm_scale, -1) @ leaves[2]
        wanted = torch.autograd.grad((o * weights_of(found[0])[:, :, rows].double()).sum(), leaves)
        for got, right in zip((found[1][:, :, rows], found[2][:, :, keys], found[3][:, :, keys]), wanted, strict=True):
            scale = right.abs().max().item()
            assert (got - right).abs().max().item() <= 4 * ulp(torch.bfloat16, scale)
    assert not found[2][:, :, :2538].any() and not found[3][:, :, 5120:].any()


@pytest.mark.parametrize(
    "length", [1, 2, 127, 129, pytest.param(1025, marks=pytest.mark.gpu), pytest.param(4250, marks=pytest.mark.gpu)]
)
def test_a_cap_on_lengths_that_are_no_whole_tiles_has_finite_gradients(length: int, impl: str, device: str) -> None:
    visible = causal(length, length)
    options = ScoreOptions(0.3, softcap=2.0)
    qkv = random_qkv(visible, num_q_heads=1, dtype=torch.bfloat16, device=device)
    leaves = [x.clone().requires_grad_() for x in qkv]
    o = attention(*leaves, descriptor_of(visible), sm_scale=0.3, softcap=2.0, impl=impl)  # type: ignore[call-overload]
    found = torch.autograd.grad((o * weights_of(o)).sum(), leaves)
    weights = weights_of(o.detach()).cpu()
    no_lse = torch.zeros(o.shape[:3])
    wanted = gradients_by_definition(tuple(x.double().cpu() for x in qkv), visible, options, weights.double(), no_lse)
    plain = gradients_by_definition(tuple(x.cpu() for x in qkv), visible, options, weights, no_lse)
    for got, rounded, right in zip(found, plain, wanted, strict=True):
        allowed = 2 * (rounded.double() - right).abs().max().item() + ulp(torch.bfloat16, right.abs().max().item())
        assert (got.double().cpu() - right).abs().max().item() <= allowed


def test_history_and_targets_that_see_no_other_target_train_at_ragged_lengths(impl: str, device: str) -> None:
    """History sees all history; each target sees history and itself: 5,5,5,5,5,6,6 for five and two; four items."""

    def item(history: int, targets: int, total: int) -> np.ndarray:
        q, k = np.arange(total)[:, None], np.arange(total)[None]
        real = history + targets
        return (q < real) & ((k < history) | ((q == k) & (k < real)))  # type: ignore[no-any-return]

    assert item(5, 2, 7).sum(1).tolist() == [5, 5, 5, 5, 5, 6, 6]
    table = [item(history, targets, 70) for history, targets in ((50, 20), (1, 7), (0, 3), (65, 0))]
    qkv = random_qkv(table[0], batch=4, num_q_heads=1, num_kv_heads=1, dtype=torch.float32, device=device)
    found = gradients(qkv, MaskBatch.of([[descriptor_of(visible)] for visible in table]), impl)
    doubles = [x.double().cpu().requires_grad_() for x in qkv]
    o = torch.cat(
        [dense_attention(*(x[b : b + 1] for x in doubles), visible, 0.3)[0] for b, visible in enumerate(table)]
    )
    wanted = [o, *torch.autograd.grad((o * weights_of(found[0]).double().cpu()).sum(), doubles)]
    for got, right in zip(found, wanted, strict=True):
        assert torch.allclose(got.double().cpu(), right, rtol=1e-5, atol=2e-5)


def test_keys_sliced_after_a_call_of_other_lengths_get_their_own_gradients(impl: str, device: str) -> None:
    """One compiled function, first the whole, then all but the last keys, as views and as copies."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda *x: attention(*x, impl=impl), fullgraph=True, dynamic=True, backend="aot_eager")
    leaves = [x.requires_grad_() for x in random_qkv(np.ones((60, 100), bool), num_q_heads=1, device=device)]
    for stop, copy in ((100, False), (72, False), (72, True)):
        q, k, v = leaves
        parts = [x[:, :, :stop].clone() if copy else x[:, :, :stop] for x in (k, v)]
        dq, dk, dv = torch.autograd.grad(compiled(q, *parts, descriptor_of(np.ones((60, stop), bool))).sum(), leaves)
        assert torch.allclose(dv.sum(2), torch.full_like(dv.sum(2), 60.0))
        assert torch.allclose(dk.sum(2), torch.zeros_like(dk.sum(2)), atol=1e-4)
        assert not dk[:, :, stop:].any() and not dv[:, :, stop:].any()
        assert dq.isfinite().all()


def test_a_sink_is_one_more_term_of_the_sum(impl: str, device: str) -> None:
    """Three keys of score 0, value 1 and a sink of 0: o = 3/4, lse = ln 4, d sink = -3/4 * 1/4 for a row."""
    q, k, v = (
        torch.randn(1, 1, 5, 1, device=device),
        torch.zeros(1, 1, 3, 1, device=device),
        torch.ones(1, 1, 3, 1, device=device),
    )
    sinks = torch.zeros(1, device=device, requires_grad=True)
    o, lse = attention(q, k, v, descriptor_of(np.ones((5, 3), bool)), sinks=sinks, impl=impl, return_lse=True)  # type: ignore[call-overload]
    assert torch.allclose(o, torch.full_like(o, 0.75))
    assert torch.allclose(lse, torch.full_like(lse, math.log(4)))
    o.sum().backward()
    assert torch.allclose(sinks.grad, torch.tensor([5 * -0.1875], device=device))


def test_a_cap_does_not_bring_a_hidden_key_back(impl: str, device: str) -> None:
    """Scores 0 and 50 under a cap of 1, the second key hidden; other caps give other results where both are seen."""
    q, k = torch.ones(1, 1, 1, 1, device=device), torch.tensor([0.0, 50.0], device=device).reshape(1, 1, 2, 1)
    v = torch.tensor([3.0, -7.0], device=device).reshape(1, 1, 2, 1)
    hidden = descriptor_of(np.array([[True, False]]))
    assert attention(q, k, v, hidden, sm_scale=1.0, softcap=1.0, impl=impl).item() == 3.0  # type: ignore[call-overload]
    visible = causal(20, 20)
    qkv = random_qkv(visible, device=device)
    results = [
        attention(*(x * 4 for x in qkv), descriptor_of(visible), softcap=cap, impl=impl)  # type: ignore[call-overload]
        for cap in (5.0, 50.0, None)
    ]
    for i in range(3):
        assert (results[i] - results[i - 1]).abs().max() > 1e-3
