"""Training through the Triton implementation: gradients by the rule of rounding, and the laws they obey."""

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
    random_qkv,
    scattered,
    ulp,
)
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from compilemask.attention import attention

SCALE = 0.3
Qkv = tuple[Tensor, Tensor, Tensor]


def plain(q: Tensor, k: Tensor, v: Tensor, visible: np.ndarray, sm_scale: float) -> tuple[Tensor, Tensor]:
    """Dense (o, lse) in the inputs' own dtype; differentiable; lse of the rows that see something, 0 elsewhere."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    seen = torch.from_numpy(visible).to(q.device)
    some = seen.any(-1, keepdim=True)
    scores = (q @ k.transpose(-1, -2) * sm_scale).masked_fill(~seen & some, -math.inf)
    lse = torch.logsumexp(scores, -1)
    return torch.softmax(scores, -1).masked_fill(~some, 0.0) @ v, lse.masked_fill(~some[:, 0], 0.0)


def backward(forward, qkv: Qkv, do: Tensor, dlse: Tensor, visible: np.ndarray) -> list[Tensor]:  # type: ignore[no-untyped-def]
    """dq, dk, dv of (o * do + lse * dlse).sum(), where (o, lse) = forward(q, k, v); empty rows of lse left out."""
    leaves = [x.detach().clone().requires_grad_() for x in qkv]
    o, lse = forward(*leaves)
    some = torch.from_numpy(visible.any(1)).to(o.device)
    ((o * do.to(o)).sum() + (lse * dlse.to(lse))[..., some].sum()).backward()
    return [x.grad for x in leaves]


def triton_gradients(
    qkv: Qkv, do: Tensor, dlse: Tensor, visible: np.ndarray, sm_scale: float | None = SCALE
) -> list[Tensor]:
    mask = descriptor_of(visible)

    def forward(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return attention(q, k, v, mask, sm_scale=sm_scale, impl="triton", return_lse=True)

    return backward(forward, qkv, do, dlse, visible)


def assert_rounds_like_plain_attention(qkv: Qkv, visible: np.ndarray, sm_scale: float = SCALE) -> None:
    """error <= 2 * (error of dense attention in the inputs' dtype) + 1 ulp, against float64 autograd, for o and lse at once.

    For half precision; test_gradients.py compares float32, where the rounding of lse itself is of the yardstick's size.
    """
    q, _, v = qkv
    generator = torch.Generator().manual_seed(1)
    do = torch.randn(*q.shape[:3], v.shape[3], generator=generator).to(q)
    dlse = torch.randn(*q.shape[:3], generator=generator).to(q.device)
    exact = backward(
        lambda *x: dense_attention(*x, visible, sm_scale),
        [x.double().cpu() for x in qkv],
        do.cpu(),
        dlse.cpu(),
        visible,
    )
    yardstick = backward(lambda *x: plain(*x, visible, sm_scale), qkv, do, dlse, visible)
    for name, got, rounded, wanted in zip(
        ("dq", "dk", "dv"), triton_gradients(qkv, do, dlse, visible, sm_scale), yardstick, exact, strict=True
    ):
        assert got.dtype == q.dtype
        error = (got.double().cpu() - wanted).abs().max().item()
        allowed = 2 * (rounded.double().cpu() - wanted).abs().max().item() + ulp(q.dtype, wanted.abs().max().item())
        assert error <= allowed, f"{name}: error {error:.3g} above {allowed:.3g}"


MASKS = {
    "causal": causal(100, 100),
    "empty rows": causal(100, 30),
    "history and targets": history_and_targets(80, 30),
    "neighbourhood": neighbourhood(9, 9, 3),
    "scattered": scattered(70, 90, seed=1),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("visible", MASKS.values(), ids=MASKS)
def test_gradients_of_o_and_lse_for_every_kind_of_mask(visible: np.ndarray, dtype: torch.dtype, device: str) -> None:
    qkv = random_qkv(visible, num_q_heads=2, num_kv_heads=1, v_head_dim=24, dtype=dtype, device=device)
    assert_rounds_like_plain_attention(qkv, visible)


@pytest.mark.parametrize("length", [1, 2, 127, 128, 129, 200, pytest.param(1025, marks=pytest.mark.gpu)])
def test_lengths_at_the_edges_of_tiles(length: int, device: str) -> None:
    visible = causal(length, length)
    assert_rounds_like_plain_attention(random_qkv(visible, dtype=torch.bfloat16, device=device), visible)


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (1, 200), (150, 1)])
def test_queries_and_keys_of_different_lengths(shape: tuple[int, int], device: str) -> None:
    visible = causal(*shape)
    assert_rounds_like_plain_attention(random_qkv(visible, dtype=torch.bfloat16, device=device), visible)


@pytest.mark.parametrize(("num_q_heads", "num_kv_heads"), [(6, 1), (7, 1), (12, 2), (9, 3), (14, 2)])
def test_key_heads_sum_the_gradients_of_their_query_heads(num_q_heads: int, num_kv_heads: int, device: str) -> None:
    visible = causal(20, 40)
    qkv = random_qkv(
        visible, batch=2, num_q_heads=num_q_heads, num_kv_heads=num_kv_heads, dtype=torch.float16, device=device
    )
    assert_rounds_like_plain_attention(qkv, visible)


@pytest.mark.parametrize(
    ("head_dim", "v_head_dim"), [(16, 16), (8, 40), (96, 160), (72, 80), (80, 72), (192, 128), (256, 256), (1, 3)]
)
def test_head_dims(head_dim: int, v_head_dim: int, device: str) -> None:
    visible = causal(40, 40)
    sizes = {"batch": 2, "num_kv_heads": 2, "head_dim": head_dim, "v_head_dim": v_head_dim}
    qkv = random_qkv(visible, dtype=torch.bfloat16, device=device, **sizes)
    assert_rounds_like_plain_attention(qkv, visible, 1 / math.sqrt(head_dim))


@pytest.mark.parametrize("sm_scale", [-0.4, 0.0, 1e-3])
def test_any_scale(sm_scale: float, device: str) -> None:
    visible = scattered(40, 80, seed=5)
    qkv = random_qkv(visible, dtype=torch.float16, device=device)
    assert_rounds_like_plain_attention(qkv, visible, sm_scale)
    if sm_scale == 0:
        dq, dk, _ = triton_gradients(
            qkv, torch.ones_like(qkv[0]), torch.ones(qkv[0].shape[:3]).to(device), visible, 0.0
        )
        assert not dq.any()
        assert not dk.any()


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_keys_that_no_row_sees_and_rows_that_see_no_key_take_no_part(poison: float, device: str) -> None:
    """Whatever they hold, in K and V, in q and in the gradient of o, changes no bit of any gradient; their own are 0."""
    visible = scattered(70, 90, seed=3)
    unseen, empty = torch.from_numpy(~visible.any(0)), torch.from_numpy(~visible.any(1))
    assert unseen.any()
    assert empty.any()
    q, k, v = random_qkv(visible, dtype=torch.float16, device=device)
    do, dlse = torch.randn_like(q), torch.randn(1, 2, 70, device=device)
    clean = triton_gradients((q, k, v), do, dlse, visible)
    k[:, :, unseen] = v[:, :, unseen] = poison
    q[:, :, empty] = do[:, :, empty] = poison
    dirty = triton_gradients((q, k, v), do, dlse, visible)
    assert all(torch.equal(a, b) for a, b in zip(dirty, clean, strict=True))
    assert not dirty[0][:, :, empty].any()
    assert not dirty[1][:, :, unseen].any()
    assert not dirty[2][:, :, unseen].any()


def test_a_bad_head_stays_alone(device: str) -> None:
    """A NaN in one head's gradient reaches no other head, though tiles reach beyond the last row."""
    visible = causal(70, 70)
    qkv = random_qkv(visible, batch=2, num_q_heads=2, num_kv_heads=2, dtype=torch.float16, device=device)
    do, dlse = torch.randn_like(qkv[0]), torch.randn(2, 2, 70, device=device)
    clean = triton_gradients(qkv, do, dlse, visible)
    do[0, 1] = math.nan
    for got, wanted in zip(triton_gradients(qkv, do, dlse, visible), clean, strict=True):
        assert torch.equal(got[0, 0], wanted[0, 0])
        assert torch.equal(got[1], wanted[1])


def test_equal_inputs_give_equal_bits_whatever_the_strides(device: str) -> None:
    visible = causal(40, 70)
    qkv = random_qkv(visible, batch=2, num_q_heads=2, dtype=torch.float16, device=device)
    dlse = torch.randn(2, 2, 40, device=device)
    turned = torch.randn(2, 40, 16, 2, device=device).half().permute(0, 3, 1, 2)
    by_length = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in qkv]
    for do in (
        turned,
        torch.ones((), device=device, dtype=torch.float16).expand(2, 2, 40, 16),
        torch.randn(4, 4, 40, 16, device=device).half()[::2, ::2],
    ):
        once = triton_gradients(qkv, do.contiguous(), dlse, visible)
        for again in (
            triton_gradients(qkv, do, dlse.mT.contiguous().mT, visible),
            triton_gradients(by_length, do, dlse, visible),
        ):
            assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


def test_gradients_of_expanded_inputs_are_summed_over_what_was_repeated(device: str) -> None:
    """One item seen as two, one key head as two, one query as all rows: strides of 0."""
    visible = causal(20, 20)
    mask, (q, k, v) = descriptor_of(visible), random_qkv(visible, num_q_heads=2, device=device)
    narrow = [x.clone().requires_grad_() for x in (q[:, :, :1], k, v)]
    wide = [narrow[0].expand(2, -1, 20, -1), *(x.expand(2, 2, -1, -1) for x in narrow[1:])]
    plain = [x.detach().contiguous().requires_grad_() for x in wide]
    for leaves in (wide, plain):
        attention(*leaves, mask, impl="triton").square().sum().backward()
    sums = [plain[0].grad.sum((0, 2), keepdim=True), *(x.grad.sum((0, 1), keepdim=True) for x in plain[1:])]
    for x, wanted in zip(narrow, sums, strict=True):
        assert torch.allclose(x.grad, wanted, rtol=1e-5, atol=1e-6)


def test_gradients_of_sliced_keys_land_in_the_slice(device: str) -> None:
    whole = random_qkv(causal(100, 150), num_q_heads=1, device=device)
    q, k, v = (x.requires_grad_() for x in whole)
    attention(q, k, v, descriptor_of(np.ones((100, 150), bool)), impl="triton").sum().backward()
    q.grad = k.grad = v.grad = None
    attention(q, k[:, :, :-28], v[:, :, :-28], descriptor_of(np.ones((100, 122), bool)), impl="triton").sum().backward()
    assert not k.grad[:, :, -28:].any()
    assert not v.grad[:, :, -28:].any()
    assert torch.allclose(v.grad.sum(2), torch.full_like(v.grad.sum(2), 100.0))
    assert torch.allclose(k.grad.sum(2), torch.zeros_like(k.grad.sum(2)), atol=1e-4)


def test_sums_over_keys_follow_from_the_softmax(device: str) -> None:
    """With loss = o.sum(): dv sums to the rows that see something, times the group; dk to 0, as every weight's gradient does."""
    visible = causal(90, 70)
    q, k, v = random_qkv(visible, num_q_heads=6, num_kv_heads=2, device=device)
    ones, none = torch.ones(1, 6, 90, 16, device=device), torch.zeros(1, 6, 90, device=device)
    _, dk, dv = triton_gradients((q, k, v), ones, none, visible)
    assert torch.allclose(dv.sum(2), torch.full_like(dv.sum(2), 3.0 * visible.any(1).sum()), rtol=1e-5)
    assert torch.allclose(dk.sum(2), torch.zeros_like(dk.sum(2)), atol=1e-4)


def test_only_what_is_asked_for_is_computed(device: str) -> None:
    visible = scattered(40, 50, seed=7)
    mask, qkv = descriptor_of(visible), random_qkv(visible, device=device)
    everything = triton_gradients(qkv, torch.ones_like(qkv[0]), torch.zeros(1, 2, 40, device=device), visible)
    for wanted in range(3):
        leaves = [x.clone().requires_grad_(i == wanted) for i, x in enumerate(qkv)]
        attention(*leaves, mask, sm_scale=SCALE, impl="triton").sum().backward()
        assert [x.grad is None for x in leaves] == [i != wanted for i in range(3)]
        assert torch.equal(leaves[wanted].grad, everything[wanted])
    leaves = [x.clone().requires_grad_() for x in qkv]
    some = torch.from_numpy(visible.any(1))
    attention(*leaves, mask, sm_scale=SCALE, impl="triton", return_lse=True)[1][..., some].sum().backward()
    zeros, ones = torch.zeros_like(qkv[0]), torch.ones(1, 2, 40, device=device)
    from_lse = triton_gradients(qkv, zeros, ones, visible)
    assert all(torch.equal(x.grad, wanted) for x, wanted in zip(leaves, from_lse, strict=True))
    with torch.no_grad():
        assert not attention(*leaves, mask, impl="triton").requires_grad


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (70, 70)])
def test_nothing_visible_has_gradient_zero(shape: tuple[int, int], device: str) -> None:
    visible = np.zeros(shape, bool)
    leaves = [x.requires_grad_() for x in random_qkv(visible, device=device)]
    attention(*leaves, descriptor_of(visible), impl="triton").sum().backward()
    assert all(x.grad.shape == x.shape and not x.grad.any() for x in leaves)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointing_recomputes_the_same_gradients(use_reentrant: bool, device: str) -> None:
    visible = causal(40, 40)
    mask, qkv = descriptor_of(visible), random_qkv(visible, device=device)
    gradients = []
    for run in (lambda f, *x: f(*x), lambda f, *x: checkpoint(f, *x, use_reentrant=use_reentrant)):
        leaves = [x.clone().requires_grad_() for x in qkv]
        run(lambda q, k, v: attention(q, k, v, mask, impl="triton") ** 2, *leaves).sum().backward()
        gradients.append([x.grad for x in leaves])
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_a_second_derivative_is_refused_in_words(device: str) -> None:
    visible = causal(20, 20)
    q, k, v = (x.requires_grad_() for x in random_qkv(visible, device=device))
    o = attention(q, k, v, descriptor_of(visible), impl="triton")
    (dq,) = torch.autograd.grad((o**2).sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"first derivatives only.*use impl='reference'"):
        dq.sum().backward()


def test_under_autocast_gradients_have_the_inputs_dtype(device: str) -> None:
    visible = causal(40, 40)
    leaves = [x.requires_grad_() for x in random_qkv(visible, device=device)]
    with torch.autocast(device, torch.bfloat16):
        o = attention(*leaves, descriptor_of(visible), impl="triton")
    o.float().sum().backward()
    half = [x.detach().bfloat16().requires_grad_() for x in leaves]
    attention(*half, descriptor_of(visible), impl="triton").float().sum().backward()
    assert o.dtype == torch.bfloat16
    assert all(torch.equal(a.grad, b.grad.float()) for a, b in zip(leaves, half, strict=True))
