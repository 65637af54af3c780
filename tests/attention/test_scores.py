"""Soft caps, learnable sinks and SiLU: o, lse and gradients of every implementation against their definitions in float64."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from oracles_attention import (
    causal,
    descriptor_of,
    history_and_targets,
    random_qkv,
    scattered,
    ulp,
)
from oracles_scores import attention_by_definition, gradients_by_definition
from torch import Tensor

from compilemask.attention import attention, merge, reference
from compilemask.attention.score_options import ScoreOptions

# (options, whether there are sinks)
FORMS = {
    "cap": (ScoreOptions(0.4, softcap=2.0), False),
    "negative scale under a cap": (ScoreOptions(-0.4, softcap=5.0), True),
    "sinks": (ScoreOptions(0.3), True),
    "silu": (ScoreOptions(0.3, activation="silu", norm=70.0), False),
    "silu under a cap": (ScoreOptions(-0.3, activation="silu", softcap=1.5), False),
}
EMPTY_ROWS, SCATTERED = causal(50, 30), scattered(40, 75, seed=1)
forms = pytest.mark.parametrize("form", FORMS)


def words(options: ScoreOptions) -> dict[str, object]:
    return asdict(options)


def inputs_for(visible: np.ndarray, form: str, device: str, **sizes: object) -> tuple[Tensor, ...]:
    """q, k, v and, where the form has them, sinks in float32."""
    qkv = random_qkv(visible, device=device, **{"num_q_heads": 2, "v_head_dim": 24, **sizes})
    if not FORMS[form][1]:
        return qkv
    return *qkv, torch.randn(qkv[0].shape[1], generator=torch.Generator().manual_seed(5)).to(device)


def run(
    inputs: tuple[Tensor, ...], visible: np.ndarray, options: ScoreOptions, impl: str
) -> tuple[Tensor, Tensor | None]:
    """(o, lse or None)."""
    sinks = inputs[3] if len(inputs) > 3 else None
    own = {"sinks": sinks, "impl": impl, **words(options)}
    if options.has_lse:
        return attention(*inputs[:3], descriptor_of(visible), **own, return_lse=True)
    return attention(*inputs[:3], descriptor_of(visible), **own), None


def forward_and_gradients(
    inputs: tuple[Tensor, ...], visible: np.ndarray, options: ScoreOptions, impl: str, do: Tensor, dlse: Tensor
) -> tuple[tuple[Tensor, Tensor | None], list[Tensor]]:
    """((o, lse or None), gradients of all inputs); lse counts in the rows that have one."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    o, lse = run(tuple(leaves), visible, options, impl)
    loss = (o * do).sum()
    if lse is not None:
        loss = loss + torch.where(lse == -math.inf, 0.0, lse * dlse).sum()
    loss.backward()
    return (o.detach(), None if lse is None else lse.detach()), [x.grad for x in leaves]


def by_definition(
    inputs: tuple[Tensor, ...], visible: np.ndarray, options: ScoreOptions
) -> tuple[Tensor, Tensor | None]:
    return attention_by_definition(*inputs[:3], visible, options, inputs[3] if len(inputs) > 3 else None)


def incoming(inputs: tuple[Tensor, ...], visible: np.ndarray) -> tuple[Tensor, Tensor]:
    """Gradients of o and lse."""
    q, _, v, *_ = inputs
    generator = torch.Generator().manual_seed(7)
    do = torch.randn(*q.shape[:3], v.shape[3], generator=generator)
    return do.to(q), torch.randn(q.shape[:3], generator=generator).to(q.device)


def in_float64(inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(x.detach().double().cpu() for x in inputs)


def assert_as_exact_as_plain(got: Tensor, plain: Tensor, exact: Tensor, dtype: torch.dtype, name: str) -> None:
    """error <= 2 * the error of the definition in low precision + 1 ulp."""
    error = (got.double().cpu() - exact).abs().max().item()
    allowed = 2 * (plain.double().cpu() - exact).abs().max().item() + ulp(dtype, exact.abs().max().item())
    assert error <= allowed, f"{name}: error {error:.3g} above {allowed:.3g}"


@forms
@pytest.mark.parametrize("visible", [EMPTY_ROWS, SCATTERED], ids=["empty rows", "scattered"])
def test_o_and_lse_and_all_gradients_follow_the_definition(
    visible: np.ndarray, form: str, impl: str, device: str
) -> None:
    options, _ = FORMS[form]
    inputs = inputs_for(visible, form, device)
    do, dlse = incoming(inputs, visible)
    exact_o, exact_lse = by_definition(in_float64(inputs), visible, options)
    plain_o, _ = by_definition(inputs, visible, options)
    (o, lse), found = forward_and_gradients(inputs, visible, options, impl, do, dlse)
    assert_as_exact_as_plain(o, plain_o, exact_o, torch.float32, "o")
    assert (o[:, :, torch.from_numpy(~visible.any(1))] == 0).all()
    if lse is not None and exact_lse is not None:
        # Rows without keys too: -inf, or the sink.
        assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=4e-6)
    exact = gradients_by_definition(in_float64(inputs), visible, options, do.cpu(), dlse.cpu())
    for got, wanted in zip(found, exact, strict=True):
        assert torch.allclose(got.double().cpu(), wanted, rtol=1e-5, atol=2e-5)


@forms
@pytest.mark.parametrize("impl", ["torch", "triton"])
def test_half_precision_rounds_no_worse_than_twice_the_plain_definition(form: str, impl: str, device: str) -> None:
    options, has_sinks = FORMS[form]
    dtype = torch.float16 if has_sinks else torch.bfloat16
    inputs = inputs_for(SCATTERED, form, device, num_q_heads=3, dtype=dtype)
    do, dlse = incoming(inputs, SCATTERED)
    (o, _), found = forward_and_gradients(inputs, SCATTERED, options, impl, do, dlse)
    assert o.dtype == dtype
    plain_o, exact_o = (by_definition(x, SCATTERED, options)[0] for x in (inputs, in_float64(inputs)))
    assert_as_exact_as_plain(o, plain_o, exact_o, dtype, "o")
    plain = gradients_by_definition(inputs, SCATTERED, options, do, dlse)
    exact = gradients_by_definition(in_float64(inputs), SCATTERED, options, do.cpu(), dlse.cpu())
    for name, got, rounded, wanted in zip(("dq", "dk", "dv", "dsinks"), found, plain, exact, strict=False):
        assert_as_exact_as_plain(got, rounded, wanted, dtype, name)


@forms
@pytest.mark.parametrize("length", [1, 65])
def test_lengths_at_the_edges_of_tiles(length: int, form: str, device: str) -> None:
    visible, (options, _) = causal(length, length), FORMS[form]
    inputs = inputs_for(visible, form, device, batch=2, num_q_heads=1, v_head_dim=16)
    do, dlse = incoming(inputs, visible)
    exact = gradients_by_definition(in_float64(inputs), visible, options, do.cpu(), dlse.cpu())
    _, found = forward_and_gradients(inputs, visible, options, "triton", do, dlse)
    for got, wanted in zip(found, exact, strict=True):
        assert torch.allclose(got.double().cpu(), wanted, rtol=1e-5, atol=3e-5)


@forms
def test_keys_that_no_row_sees_and_rows_that_see_no_key_take_no_part(form: str, impl: str, device: str) -> None:
    """Whatever unseen keys hold, and q and the gradients of o and lse in empty rows, changes no bit; their gradients are 0."""
    options, _ = FORMS[form]
    inputs = inputs_for(SCATTERED, form, device, num_q_heads=1)
    unseen, empty = torch.from_numpy(~SCATTERED.any(0)), torch.from_numpy(~SCATTERED.any(1))
    assert unseen.any()
    assert empty.any()
    do, dlse = incoming(inputs, SCATTERED)
    (clean_o, _), clean = forward_and_gradients(inputs, SCATTERED, options, impl, do, dlse)
    inputs[1][:, :, unseen] = math.nan
    inputs[2][:, :, unseen] = math.inf
    inputs[0][:, :, empty] = do[:, :, empty] = math.nan
    (o, _), dirty = forward_and_gradients(inputs, SCATTERED, options, impl, do, dlse)
    assert torch.equal(o, clean_o)
    assert all(torch.equal(a, b) for a, b in zip(clean, dirty, strict=True))
    assert not dirty[0][:, :, empty].any()
    assert not dirty[1][:, :, unseen].any()
    assert not dirty[2][:, :, unseen].any()


@pytest.mark.parametrize("sink", [None, -math.inf, 0.5])
def test_gradients_of_nothing_in_empty_rows_reach_nothing(sink: float | None, impl: str, device: str) -> None:
    """NaN as the gradient of o, and of an lse of -inf; of an lse that is the sink it counts, and for the sink alone."""
    visible = SCATTERED
    empty = torch.from_numpy(~visible.any(1))
    inputs = list(random_qkv(visible, device=device))
    inputs += [] if sink is None else [torch.full((2,), sink, device=device)]
    found = []
    for poison in (1.0, math.nan):
        leaves = [x.clone().requires_grad_() for x in inputs]
        sinks = leaves[3] if len(leaves) > 3 else None
        o, lse = attention(*leaves[:3], descriptor_of(visible), sinks=sinks, impl=impl, return_lse=True)
        do, dlse = torch.ones_like(o), torch.ones_like(lse)
        do[:, :, empty] = poison
        dlse[:, :, empty] = poison
        found.append(torch.autograd.grad([o, lse], leaves, [do, dlse]))
    assert all(torch.equal(a, b) for a, b in zip(found[0][:3], found[1][:3], strict=True))
    assert not found[0][0][:, :, empty].any()
    if sink is not None:
        assert found[0][3].isfinite().all()
        assert torch.isnan(found[1][3]).all() if sink == 0.5 else torch.equal(found[0][3], found[1][3])


@forms
def test_finite_differences_agree_with_the_reference(form: str) -> None:
    options, has_sinks = FORMS[form]
    visible = causal(5, 4) & (np.arange(4) != 1)
    q, k, v = (x.double().requires_grad_() for x in random_qkv(visible, head_dim=2, v_head_dim=1))
    sinks = (torch.tensor([0.3, -1.0], dtype=torch.float64, requires_grad=True),) if has_sinks else ()

    def both(*inputs: Tensor) -> tuple[Tensor, ...]:
        o, lse = reference.forward(*inputs[:3], descriptor_of(visible), options, *inputs[3:])
        return (o, torch.where(lse == -math.inf, 0.0, lse)) if options.has_lse else (o,)

    assert torch.autograd.gradcheck(both, (q, k, v, *sinks))


@pytest.mark.parametrize("sink", [-math.inf, -200.0, 200.0])
def test_extreme_sinks(sink: float, impl: str, device: str) -> None:
    """-inf is no sink; a sink far above all scores leaves nothing of o, one far below changes no bit that counts."""
    visible = SCATTERED
    q, k, v = random_qkv(visible, device=device)
    mask, sinks = descriptor_of(visible), torch.full((2,), sink, device=device)
    leaves = [x.clone().requires_grad_() for x in (q, k, v, sinks)]
    o, lse = attention(*leaves[:3], mask, sinks=leaves[3], impl=impl, return_lse=True)
    none, none_lse = attention(q, k, v, mask, impl=impl, return_lse=True)
    some = torch.from_numpy(visible.any(1))
    o.sum().backward()
    assert all(x.grad.isfinite().all() for x in leaves)
    if sink > 0:
        assert o.abs().max() < 1e-30
        assert torch.allclose(lse, torch.full_like(lse, sink))
    else:
        assert torch.allclose(o, none, rtol=1e-6, atol=1e-7)
        assert torch.allclose(lse[..., some], none_lse[..., some], rtol=1e-6)
        assert (lse[..., ~some] == sink).all()
        assert not leaves[3].grad.any()


def test_sinks_of_any_strides_and_dtype_belong_to_their_heads(impl: str, device: str) -> None:
    visible = causal(20, 20)
    q, k, v = random_qkv(visible, num_q_heads=6, num_kv_heads=2, device=device)
    sinks = torch.randn(12, device=device).bfloat16().requires_grad_()
    o, lse = attention(q, k, v, descriptor_of(visible), sinks=sinks[::2], impl=impl, return_lse=True)
    o.sum().backward()
    exact_o, exact_lse = attention_by_definition(
        *in_float64((q, k, v)), visible, ScoreOptions(0.25), sinks[::2].detach().double().cpu()
    )
    assert torch.allclose(o.double().cpu(), exact_o, rtol=1e-5, atol=1e-6)
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=1e-6)
    assert sinks.grad.dtype == torch.bfloat16
    assert not sinks.grad[1::2].any()
    assert sinks.grad[::2].all()


def test_one_part_of_the_keys_takes_the_sinks_when_parts_are_merged(impl: str, device: str) -> None:
    visible = SCATTERED
    q, k, v = random_qkv(visible, device=device)
    sinks = torch.tensor([0.5, 2.0], device=device)
    left, right = visible.copy(), visible.copy()
    left[:, 40:] = False
    right[:, :40] = False
    whole = attention(q, k, v, descriptor_of(visible), sinks=sinks, impl=impl, return_lse=True)
    parts = [
        *attention(q, k, v, descriptor_of(left), sinks=sinks, impl=impl, return_lse=True),
        *attention(q, k, v, descriptor_of(right), impl=impl, return_lse=True),
    ]
    for got, wanted in zip(merge(*parts), whole, strict=True):
        assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_silu_of_parts_of_the_keys_adds_up(impl: str, device: str) -> None:
    visible = history_and_targets(60, 20)
    q, k, v = random_qkv(visible, device=device)
    left, right = visible.copy(), visible.copy()
    left[:, 40:] = False
    right[:, :40] = False
    whole, one, other = (
        attention(q, k, v, descriptor_of(cells), activation="silu", norm=8.0, impl=impl)
        for cells in (visible, left, right)
    )
    assert torch.allclose(one + other, whole, rtol=1e-5, atol=1e-6)


def test_a_cap_far_above_the_scores_changes_nothing(impl: str, device: str) -> None:
    """The hyperbolic tangent near 0 to float32's last places: an absolute error of 1e-7 times the cap would show."""
    visible = causal(50, 50)
    inputs = random_qkv(visible, device=device)
    mask = descriptor_of(visible)
    assert torch.allclose(
        attention(*inputs, mask, softcap=1e6, impl=impl), attention(*inputs, mask, impl=impl), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_scale_picks_one_key(sign: int, impl: str, device: str) -> None:
    visible = SCATTERED
    q, k, v = random_qkv(visible, device=device, num_kv_heads=2)
    o, lse = attention(q, k, v, descriptor_of(visible), sm_scale=sign * 2.0**100, impl=impl, return_lse=True)
    scores = (sign * q.double() @ k.double().mT).masked_fill(~torch.from_numpy(visible).to(device), -math.inf)
    some = torch.from_numpy(visible.any(1))
    chosen = v.gather(2, scores.argmax(-1)[..., None].expand(-1, -1, -1, v.shape[3]))
    assert torch.equal(o[:, :, some], chosen[:, :, some])
    assert lse[..., some].isfinite().all()


@forms
def test_the_reference_is_the_same_in_chunks_of_rows(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, _ = FORMS[form]
    inputs = inputs_for(SCATTERED, form, "cpu", batch=2)
    do, dlse = incoming(inputs, SCATTERED)
    (o, lse), grads = forward_and_gradients(inputs, SCATTERED, options, "reference", do, dlse)
    # Seven rows at a time.
    monkeypatch.setattr(reference, "_CELLS_PER_CHUNK", 7 * 2 * 2 * SCATTERED.shape[1])
    (chunked_o, chunked_lse), chunked = forward_and_gradients(inputs, SCATTERED, options, "reference", do, dlse)
    assert torch.allclose(chunked_o, o, atol=1e-6)
    assert (lse is None and chunked_lse is None) or torch.allclose(chunked_lse, lse, atol=1e-6)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(chunked, grads, strict=True))
