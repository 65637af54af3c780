"""Caps, sinks and activations through the door: operators, graphs, batches of masks, packed tensors, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv, scattered
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from compilemask.attention import attention
from compilemask.descriptor import MaskBatch
from compilemask.nn import MaskedAttention
from compilemask.nn.hugging_face import hugging_face_attention

VISIBLE = scattered(30, 30, seed=4)
MASK = descriptor_of(VISIBLE)
SINKS = torch.tensor([0.5, -1.0, 2.0, 0.0])
FORMS = {"cap and sinks": {"softcap": 2.0, "sinks": SINKS}, "silu": {"activation": "silu", "norm": 7.0}}


def plain(q: Tensor, k: Tensor, v: Tensor, visible: np.ndarray, form: dict[str, object]) -> Tensor:
    """The definition, dense, in float64; differentiable."""
    k, v = (x.double().repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q.double() @ k.mT * q.shape[-1] ** -0.5
    seen = torch.from_numpy(visible).to(q.device)
    if form.get("activation") == "silu":
        return torch.where(seen, torch.nn.functional.silu(scores) / form["norm"], 0.0) @ v
    cap = form["softcap"]
    scores = (cap * torch.tanh(scores / cap)).masked_fill(~seen, -torch.inf)
    sinks = form["sinks"].double()[:, None, None].expand(*scores.shape[:3], 1)
    return torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1] @ v


def inputs(device: str, form: dict[str, object]) -> tuple[list[Tensor], dict[str, object]]:
    """q, k, v and the options, all that can be differentiated as leaves of their own."""
    qkv = [x.requires_grad_() for x in random_qkv(VISIBLE, num_q_heads=4, num_kv_heads=2, device=device)]
    own = {name: x.to(device).clone().requires_grad_() if isinstance(x, Tensor) else x for name, x in form.items()}
    return qkv, own


def gradients(o: Tensor, qkv: list[Tensor], form: dict[str, object]) -> list[Tensor]:
    weights = torch.randn(o.shape, generator=torch.Generator().manual_seed(1)).to(o)
    return list(torch.autograd.grad((o * weights).sum(), [*qkv, *(x for x in form.values() if isinstance(x, Tensor))]))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_graph_has_the_options_and_their_gradients(form: dict[str, object], impl: str, device: str) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda *x, **o: attention(*x, **o), fullgraph=True, dynamic=True, backend=counter)
    qkv, own = inputs(device, form)
    o = compiled(*qkv, MASK, impl=impl, **own)
    exact = plain(*qkv, VISIBLE, own)
    assert torch.allclose(o.double(), exact, atol=1e-5)
    for found, wanted in zip(gradients(o, qkv, own), gradients(exact, qkv, own), strict=True):
        assert torch.allclose(found, wanted.to(found), atol=1e-4)
    assert counter.frame_count <= 2


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_operators_keep_all_that_torch_asks_of_them(form: dict[str, object], device: str) -> None:
    qkv, own = inputs(device, form)
    numbers = (0.25, own.get("softcap"), own.get("activation", "softmax"), own.get("norm"))
    token = torch.from_numpy(MASK.token)
    torch.library.opcheck(
        torch.ops.compilemask.attention_forward,
        (*qkv, own.get("sinks"), token, "torch", False, *numbers),
        # without a logarithm lse is NaN, which equals nothing
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_heads_with_masks_of_their_own_have_options_of_their_own(
    form: dict[str, object], impl: str, device: str
) -> None:
    qkv, own = inputs(device, form)
    heads = [VISIBLE, causal(30, 30), VISIBLE, np.ones((30, 30), bool)]
    o = attention(*qkv, MaskBatch.of([[descriptor_of(x) for x in heads]]), impl=impl, **own)  # type: ignore[call-overload]
    exact = torch.cat([plain(*qkv, x, own)[:, h : h + 1] for h, x in enumerate(heads)], 1)
    assert torch.allclose(o.double(), exact, atol=1e-5)
    for found, wanted in zip(gradients(o, qkv, own), gradients(exact, qkv, own), strict=True):
        assert torch.allclose(found, wanted.to(found), atol=1e-4)


def test_packed_tensors_take_them_too(impl: str, device: str) -> None:
    qkv, own = inputs(device, FORMS["cap and sinks"])
    o, lse = attention(*qkv, MASK, impl=impl, return_lse=True, **own)  # type: ignore[call-overload]
    packed = [x[0].transpose(0, 1) for x in qkv]
    packed_o, packed_lse = attention(*packed, MASK, impl=impl, return_lse=True, **own)  # type: ignore[call-overload]
    assert packed_o.is_contiguous()
    assert torch.equal(packed_o.transpose(0, 1), o[0])
    assert torch.equal(packed_lse.transpose(0, 1), lse[0])


def test_modules_and_transformers_pass_them_on() -> None:
    layer = MaskedAttention(64, 4, num_kv_heads=2, sinks=True, softcap=2.0)
    with torch.no_grad():
        layer.sinks.copy_(SINKS)
    x = torch.randn(1, 30, 64)
    q, k, v = (proj(x).unflatten(-1, (-1, 16)).transpose(1, 2) for proj in (layer.q_proj, layer.k_proj, layer.v_proj))
    exact = plain(q, k, v, VISIBLE, FORMS["cap and sinks"])
    assert torch.allclose(layer(x, MASK), layer.o_proj(exact.float().transpose(1, 2).flatten(2)), atol=1e-5)
    layer(x, MASK).sum().backward()
    assert layer.sinks.grad.abs().min() > 0
    o, _ = hugging_face_attention(layer, q, k, v, None, softcap=2.0, s_aux=SINKS, compilemask=MASK)
    assert torch.allclose(o.transpose(1, 2).double(), exact, atol=1e-5)


def call(**options: object) -> Callable[[], object]:
    return lambda: attention(*random_qkv(VISIBLE, num_q_heads=4), MASK, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("run", "kind", "said"),
    [
        (call(sinks=[0.0] * 4), TypeError, "sinks must be a torch.Tensor [num_q_heads] or None, got list"),
        (call(sinks=torch.zeros(2)), ValueError, "one logit for each query head, [4], got shape (2,)"),
        (call(sinks=torch.zeros(4, dtype=torch.int64)), ValueError, "sinks must have a floating-point dtype, got torch.int64"),
        (call(sinks=torch.zeros(4, device="meta")), ValueError, "sinks must be on the device of q, got meta and cpu"),
        (call(sinks=torch.zeros(4), activation="silu"), ValueError, "sinks join the sum of a softmax, activation 'silu' has none"),
        (call(activation="silu", return_lse=True), ValueError, "activation 'silu' has no logarithm of a sum: call attention without return_lse"),
        (call(activation="relu"), ValueError, "activation must be 'softmax' or 'silu', got 'relu'"),
        (call(softcap=0.0), ValueError, "softcap must be positive, from 2**-100 to 2**100, or None, got 0.0"),
        (call(norm=4.0), ValueError, "norm divides the weights of activation 'silu'; softmax has no norm, got 4.0"),
        (call(deterministic=1), TypeError, "deterministic must be True or False, got 1"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_told(run: Callable[[], object], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)) as caught:
        run()
    assert "\n" not in str(caught.value)


def test_a_map_over_sinks_is_refused() -> None:
    q, k, v = random_qkv(VISIBLE, num_q_heads=4)
    with pytest.raises(NotImplementedError, match="vmap over sinks is not supported"):
        torch.vmap(lambda sinks: attention(q, k, v, MASK, sinks=sinks, impl="torch"))(torch.zeros(3, 4))


@pytest.mark.parametrize("switch", [True, False])
def test_repeated_runs_give_equal_bits(switch: bool, impl: str, device: str) -> None:
    """With the flag, or with torch's own switch, which the tests' fixture sets; two query heads a key head, float16."""
    qkv = random_qkv(VISIBLE, num_q_heads=4, num_kv_heads=2, dtype=torch.float16, device=device)
    runs = []
    for _ in range(3):
        own = [x.clone().requires_grad_() for x in qkv]
        o = attention(*own, MASK, impl=impl, deterministic=switch)
        runs.append([o, *torch.autograd.grad(o.float().square().sum(), own)])
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(run, runs[0], strict=True))
