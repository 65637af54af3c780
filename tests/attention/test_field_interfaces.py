"""Faults seen where attention meets models elsewhere, as small inputs with the right value."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import causal, dense_attention, descriptor_of, random_qkv
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend

import compilemask
from compilemask.attention import DeviceMask, attention, choose_impl
from compilemask.descriptor import MaskBatch
from compilemask.nn import MaskedAttention

DOCUMENTS = compilemask.compile(compilemask.preset_source("documents"))


def test_a_query_without_keys_spoils_no_weight_gradient(impl: str, device: str) -> None:
    """Of two items under a band of two keys, the second one's last keys are hidden too, so its last query sees nothing."""
    torch.manual_seed(0)
    band = (np.arange(4)[:, None] - np.arange(4) >= 0) & (np.arange(4)[:, None] - np.arange(4) <= 1)
    short = band & (np.arange(4) < 2)
    assert not short[3].any()
    layer = MaskedAttention(4, 1, impl=impl).to(device)  # type: ignore[arg-type]
    x = torch.randn(2, 4, 4, device=device)
    o = layer(x, MaskBatch.of([[descriptor_of(band)], [descriptor_of(short)]]))
    assert torch.equal(o[1, 3], layer.o_proj.bias)
    o.sum().backward()
    found = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    # the same without that row; what it adds is the output projection's bias
    rest = layer(x[:1], descriptor_of(band)).sum() + layer(x[1:, :3], descriptor_of(short[:3, :3])).sum()
    (rest + layer.o_proj.bias.sum()).backward()
    for grad, parameter in zip(found, layer.parameters(), strict=True):
        assert grad.isfinite().all()
        assert torch.allclose(grad, parameter.grad, atol=1e-5)


def test_rows_behind_the_last_document_are_written_and_reach_no_weight(impl: str, device: str) -> None:
    """Unwritten memory reads as NaN here: 64 packed rows of which the documents fill 50."""
    mask = DOCUMENTS.bind(lengths=[20, 1, 29]).pad_to(64, 64)
    x = torch.randn(64, 16, device=device)
    w = torch.randn(16, 16, device=device, requires_grad=True)
    q, k, v = (x.unflatten(1, (1, 16)).clone().requires_grad_() for _ in range(3))
    o, lse = attention(q, (x @ w).unflatten(1, (1, 16)) + 0 * k, v, mask, impl=impl, return_lse=True)  # type: ignore[call-overload]
    o.sum().backward()
    for rows in (o, q.grad, k.grad, v.grad):
        assert not rows[50:].any()
    assert torch.isneginf(lse[50:]).all()
    assert w.grad.isfinite().all()


@pytest.mark.parametrize("stride", [1, 8])
def test_views_of_one_fused_projection_are_as_good_as_copies(stride: int, impl: str, device: str) -> None:
    fused = torch.randn(2, 40, 3 * 4 * 16 * stride, device=device)[..., ::stride].requires_grad_()
    found = []
    for copy in (False, True):
        views = [x.unflatten(-1, (4, 16)).transpose(1, 2) for x in fused.chunk(3, -1)]
        qkv = [x.contiguous() for x in views] if copy else views
        assert copy or not any(x.is_contiguous() for x in qkv)
        o = attention(*qkv, descriptor_of(causal(40, 40)), impl=impl)  # type: ignore[call-overload]
        found.append((o, *torch.autograd.grad(o.square().sum(), fused)))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("negated", ["q, k, v", "sinks", "gradient"])
def test_views_whose_memory_has_the_other_sign_are_read_as_what_they_are(negated: str, impl: str, device: str) -> None:
    """Such as the imaginary part of a conjugate: a bit of the tensor says that its elements are negated."""
    qkv = random_qkv(causal(20, 20), num_q_heads=2, device=device)
    plain = [*qkv, torch.randn(2, device=device), torch.randn_like(qkv[0])]
    turned = [
        torch._neg_view(-x) if negated == name else x
        for x, name in zip(plain, ["q, k, v"] * 3 + ["sinks", "gradient"], strict=True)
    ]
    assert any(x.is_neg() for x in turned)
    results = []
    for *leaves, do in (plain, turned):
        own = [x.detach().requires_grad_() for x in leaves]
        o = attention(*own[:3], descriptor_of(causal(20, 20)), sinks=own[3], impl=impl)  # type: ignore[call-overload]
        results.append([o, *torch.autograd.grad(o, own, do)])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def masks_of_all_kinds(offset: int, device: str) -> dict[str, object]:
    """Of 40 tokens, with cells that no other test has, so that nothing is planned for them yet."""
    ways = [causal(40, 40) & (np.arange(40)[:, None] - np.arange(40) < offset + i) for i in range(3)]
    ways[2][:, 35:] = False
    near = [descriptor_of(x) for x in ways]
    lengths = torch.tensor([offset, 9], device=device)
    return {
        "one": near[2],
        "items": MaskBatch.of([[near[0]], [near[1]]]),
        "heads": MaskBatch.of([[near[0], near[1], near[1], near[0]], [near[1], near[1], near[2], near[0]]]),
        "on the device": DeviceMask.of(near[0], device),
        "from lengths": DeviceMask.from_lengths("documents", 40, lengths=lengths),
    }


@pytest.mark.parametrize("kind", masks_of_all_kinds(5, "cpu"))
def test_the_default_device_may_be_another_one_than_that_of_the_tensors(kind: str, impl: str, device: str) -> None:
    """torch.set_default_device and `with torch.device(...)` say where new tensors go that name no device."""
    offset = 11 + 3 * ["reference", "torch", "triton"].index(impl)
    shape = np.ones((40, 40), bool)
    qkv = random_qkv(shape, batch=2, num_q_heads=4, num_kv_heads=2, device=device)
    results = []
    for place in ("meta", device):
        mask = masks_of_all_kinds(offset, device)[kind]
        leaves = [x.clone().requires_grad_() for x in qkv]
        with torch.device(place):
            o, lse = attention(*leaves, mask, impl=impl, return_lse=True)  # type: ignore[call-overload]
            found = torch.autograd.grad(o.square().sum() + torch.where(lse.isinf(), 0.0, lse).sum(), leaves)
        results.append((o, lse, *found))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_without_a_gpu_everything_works_and_the_choice_says_why() -> None:
    q, k, v = random_qkv(np.ones((64, 64), bool), head_dim=32)
    assert choose_impl(q, k, v) == ("torch", "the tensors are on the CPU")
    o, lse = attention(q, k, v, DOCUMENTS.bind(lengths=[64]), return_lse=True)
    exact, exact_lse = dense_attention(q, k, v, causal(64, 64), 32**-0.5)
    assert torch.allclose(o.double(), exact, atol=2e-6)
    assert torch.allclose(lse.double(), exact_lse, atol=2e-6)


def test_hundreds_of_lengths_stay_within_two_graphs() -> None:
    counter = CompileCounterWithBackend("eager")
    lengths = [320, 256, 192, 128, *np.random.default_rng(0).integers(4, 600, 20).tolist()]
    with torch._dynamo.config.patch(recompile_limit=2):
        compiled = torch.compile(lambda *x: attention(*x), fullgraph=True, dynamic=True, backend=counter)
        for length in lengths:
            q = torch.randn(1, 1, length, 16)
            assert compiled(q, q, q, DOCUMENTS.bind(lengths=[length])).shape == q.shape
    assert counter.frame_count <= 2


class Block(nn.Module):
    """A transformer block over packed tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(32), nn.LayerNorm(32)
        self.mix = MaskedAttention(32, 4, num_kv_heads=2)
        self.feed = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x: Tensor, mask: compilemask.MaskDescriptor) -> Tensor:
        x = x + self.mix(self.first(x), mask)
        return x + self.feed(self.second(x))


def test_a_block_over_packed_documents_is_one_graph_without_a_break() -> None:
    torch.manual_seed(0)
    block, mask = Block(), DOCUMENTS.bind(lengths=[50, 8, 70])
    x = torch.randn(128, 32)
    explained = torch._dynamo.explain(block)(x, mask)
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)
    torch._dynamo.reset()
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    found = []
    for run in (compiled, block):
        block.zero_grad()
        run(x, mask).square().mean().backward()
        found.append([p.grad.clone() for p in block.parameters()])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*found, strict=True))


def test_a_call_without_keys_gives_empty_rows_and_gradients_of_zero(impl: str, device: str) -> None:
    qkv = [x.requires_grad_() for x in random_qkv(np.ones((3, 0), bool), device=device)]
    mask = descriptor_of(np.ones((3, 0), bool))
    o, lse = attention(*qkv, mask, impl=impl, return_lse=True)  # type: ignore[call-overload]
    assert not o.any()
    assert (lse == -math.inf).all()
    o.sum().backward()
    assert not qkv[0].grad.any()


def test_a_call_without_keys_has_the_sink_alone(impl: str, device: str) -> None:
    qkv = random_qkv(np.ones((3, 0), bool), device=device)
    sinks = torch.tensor([0.5, -2.0], device=device, requires_grad=True)
    mask = descriptor_of(np.ones((3, 0), bool))
    o, lse = attention(*qkv, mask, sinks=sinks, impl=impl, return_lse=True)  # type: ignore[call-overload]
    assert not o.any()
    assert torch.equal(lse, sinks.detach()[None, :, None].expand_as(lse))
    (o.sum() + lse.sum()).backward()
    assert torch.equal(sinks.grad, torch.full_like(sinks, 3.0))


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_the_kernel_runs_where_the_tensors_are() -> None:
    """All tensors on the second device while the first is current; tensors on two devices are refused with both names."""
    q, k, v = (x.requires_grad_() for x in random_qkv(causal(50, 50), device="cuda:1"))
    with torch.cuda.device(0):
        o = attention(q, k, v, descriptor_of(causal(50, 50)), impl="triton")
        o.sum().backward()
    exact, _ = dense_attention(q.detach(), k.detach(), v.detach(), causal(50, 50), 0.25)
    assert torch.allclose(o.double().cpu(), exact, atol=1e-5)
    with pytest.raises(ValueError, match="on one device, got cuda:0, cuda:1, cuda:1"):
        attention(q.to("cuda:0"), k, v, descriptor_of(causal(50, 50)))
