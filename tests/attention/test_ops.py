"""attention() as torch sees it: one operator with a backward, in graphs that depend on no number of the mask."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from oracles_attention import causal, dense_attention, descriptor_of, random_qkv, scattered
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from compilemask.attention import attention, held_masks, ops
from compilemask.descriptor import MaskBatch, MaskDescriptor

VISIBLE = scattered(30, 40, seed=1)
MASK = descriptor_of(VISIBLE)
OPERATED = ["torch", "triton"]


def token(mask: MaskDescriptor | MaskBatch) -> Tensor:
    return torch.from_numpy(mask.token)


def leaves(visible: np.ndarray, device: str, **sizes: int) -> list[Tensor]:
    return [x.requires_grad_() for x in random_qkv(visible, device=device, **sizes)]


@pytest.mark.parametrize("impl", ["reference", *OPERATED])
def test_the_operators_keep_all_that_torch_asks_of_them(impl: str, device: str) -> None:
    options = (impl, False, 0.25, None, "softmax", None)
    q, k, v = leaves(VISIBLE, device, v_head_dim=24)
    torch.library.opcheck(torch.ops.compilemask.attention_forward, (q, k, v, None, token(MASK), *options))
    q, k, v = (x.detach() for x in (q, k, v))
    o, lse = ops.attention_forward(q, k, v, None, token(MASK), *options)
    for do, dlse, wanted in (
        (torch.ones_like(o), None, [True, False, True]),
        (None, torch.ones_like(lse), [False, True, False]),
    ):
        inputs = (q, k, v, None, o, lse, do, dlse, token(MASK), [*wanted, False], *options)
        torch.library.opcheck(torch.ops.compilemask.attention_backward, inputs)


@pytest.mark.parametrize("impl", ["reference", *OPERATED])
def test_the_backward_operator_gives_the_gradients(impl: str, device: str) -> None:
    q, k, v = leaves(VISIBLE, device, v_head_dim=24)
    exact = [x.detach().double().cpu().requires_grad_() for x in (q, k, v)]
    exact_o, exact_lse = dense_attention(*exact, VISIBLE, 0.25)
    some = torch.from_numpy(VISIBLE.any(1))
    (exact_o.sum() + exact_lse[..., some].sum()).backward()
    options = (impl, False, 0.25, None, "softmax", None)
    with torch.no_grad():
        o, lse = ops.attention_forward(q, k, v, None, token(MASK), *options)
        ones = (torch.ones_like(o), torch.ones_like(lse))
        found = ops.attention_backward(q, k, v, None, o, lse, *ones, token(MASK), [True] * 3 + [False], *options)
    for grad, leaf in zip(found, exact, strict=False):
        assert torch.allclose(grad.double().cpu(), leaf.grad, rtol=1e-5, atol=2e-5)


def test_new_lengths_and_new_masks_are_no_new_graphs(device: str) -> None:
    """Forward and backward in one graph each; the mask may be made anew, kept on a module, or be of another kind."""
    counter = CompileCounterWithBackend("aot_eager")

    class Block(torch.nn.Module):
        mask: MaskDescriptor | MaskBatch

        def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor) -> Tensor:
            first = attention(q * 1.0, k, v, mask)
            return attention(first, k, v, self.mask).square().sum()

    block = Block()
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=counter)
    for length in (320, 256, 192, 128, 100, 37, 6):
        mask, block.mask = descriptor_of(causal(length, length)), descriptor_of(np.ones((length, length), bool))
        inputs = random_qkv(causal(length, length), num_q_heads=4, num_kv_heads=2, device=device)
        found = []
        for run in (compiled, block):
            own = [x.clone().requires_grad_() for x in inputs]
            found.append((run(*own, mask), own))
            found[-1][0].backward()
        assert torch.allclose(found[0][0], found[1][0])
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(found[0][1], found[1][1], strict=True))
    assert counter.frame_count <= 2


def test_a_graph_takes_batches_of_masks_autocast_and_packed_tensors(device: str) -> None:
    counter = CompileCounterWithBackend("aot_eager")

    @torch.compile(fullgraph=True, dynamic=True, backend=counter)
    def run(q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor | MaskBatch) -> tuple[Tensor, Tensor]:
        with torch.autocast(device, torch.bfloat16):
            return attention(q, k, v, mask, sm_scale=0.2, return_lse=True)

    for visible in (causal(20, 30), scattered(40, 50, seed=2)):
        batch = MaskBatch.of([[descriptor_of(visible)], [descriptor_of(~visible)]])
        q, k, v = random_qkv(visible, batch=2, device=device)
        half = [x.bfloat16() for x in (q, k, v)]
        for got, wanted in zip(
            run(q, k, v, batch), attention(*half, batch, sm_scale=0.2, return_lse=True), strict=True
        ):
            assert torch.equal(got, wanted)
    assert counter.frame_count == 1
    packed = [x[0].transpose(0, 1) for x in (q, k, v)]
    o, lse = run(*packed, batch.item(1))
    assert (o.shape, lse.shape, o.dtype) == ((40, 2, 16), (40, 2), torch.bfloat16)
    assert torch.equal(o.transpose(0, 1), attention(*(x[:1] for x in half), batch.item(1), sm_scale=0.2)[0])


def test_in_a_graph_what_does_not_fit_the_mask_is_told_in_the_same_words(device: str) -> None:
    q, k, v = random_qkv(causal(20, 30), device=device)
    compiled = torch.compile(lambda *x: attention(*x), fullgraph=True, dynamic=True, backend="aot_eager")
    with pytest.raises(ValueError, match="the mask is for q_len 30 and kv_len 40, got tensors of 20 and 30"):
        compiled(q, k, v, MASK)


def test_a_mask_lives_until_its_backward_has_run(device: str) -> None:
    compiled = torch.compile(lambda *x: attention(*x).sum(), fullgraph=True, backend="aot_eager")
    own = leaves(causal(9, 9), device)
    loss = compiled(*own, descriptor_of(causal(9, 9)))
    gc.collect()
    loss.backward()
    assert all(x.grad is not None for x in own)


def test_a_mask_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(held_masks, "_held", held_masks._HeldMasks(0))
    mask = descriptor_of(causal(9, 9))
    gone = token(mask).clone()
    del mask
    gc.collect()
    with pytest.raises(RuntimeError, match="keep a mask as it is, and a reference to it, until the backward has run"):
        qkv = random_qkv(causal(9, 9), device=device)
        ops.attention_forward(*qkv, None, gone, "torch", False, 0.25, None, "softmax", None)


@pytest.mark.parametrize("impl", OPERATED)
def test_functional_gradients_equal_those_of_the_tape(impl: str, device: str) -> None:
    own = leaves(VISIBLE, device)

    def loss(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v, MASK, impl=impl).square().sum()

    loss(*own).backward()
    found = torch.func.grad(loss, argnums=(0, 1, 2))(*(x.detach() for x in own))
    assert all(torch.equal(x.grad, grad) for x, grad in zip(own, found, strict=True))


@pytest.mark.parametrize("impl", OPERATED)
def test_mapped_dimensions_are_batch_items(impl: str, device: str) -> None:
    """vmap over q and v, in any place, with k shared; and gradients for each sample."""
    q, k, v = random_qkv(VISIBLE, batch=3, device=device)
    k = k[:1]

    def run(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return attention(q[None], k, v[None], MASK, impl=impl, return_lse=True)

    wanted = attention(q, k.expand(3, -1, -1, -1), v, MASK, impl=impl, return_lse=True)
    found = torch.vmap(run, in_dims=(1, None, 0))(q.transpose(0, 1), k, v)
    assert all(torch.equal(a[:, 0], b) for a, b in zip(found, wanted, strict=True))

    def loss(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return run(q, k, v)[0].square().sum()

    each = torch.vmap(torch.func.grad(loss, argnums=(0, 1)), in_dims=(0, None, 0))(q, k, v)
    for item in range(3):
        own = [x.clone().requires_grad_() for x in (q[item], k, v[item])]
        loss(*own).backward()
        assert torch.allclose(each[0][item], own[0].grad, atol=5e-6)
        assert torch.allclose(each[1][item], own[1].grad, atol=5e-6)


@pytest.mark.parametrize("impl", OPERATED)
def test_a_map_over_batches_keeps_items_apart(impl: str, device: str) -> None:
    """Three batches of two items."""
    items = random_qkv(VISIBLE, batch=6, device=device)
    batches = [x.unflatten(0, (3, 2)) for x in items]

    def loss(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        o, lse = attention(q, k, v, MASK, impl=impl, return_lse=True)  # type: ignore[call-overload]
        return o.square().sum(), (o, lse)

    found = torch.vmap(torch.func.grad(loss, argnums=(0, 1, 2), has_aux=True))(*batches)
    leaves = [x.clone().requires_grad_() for x in items]
    value, outputs = loss(*leaves)
    wanted = (torch.autograd.grad(value, leaves), [x.detach() for x in outputs])
    for group, right in zip(found, wanted, strict=True):
        assert all(torch.equal(a.flatten(0, 1), b) for a, b in zip(group, right, strict=True))


def test_mapping_over_a_batch_of_masks_is_refused(device: str) -> None:
    batch = MaskBatch.of([[MASK], [descriptor_of(~VISIBLE)]])
    q, k, v = (x[:, None] for x in random_qkv(VISIBLE, batch=2, device=device))
    run = torch.vmap(lambda *x: attention(*(y.expand(2, -1, -1, -1) for y in x), batch, impl="torch"))
    with pytest.raises(
        NotImplementedError, match="MaskBatch of 2 items is not supported: put the mapped dimension into"
    ):
        run(q, k, v)


@pytest.mark.parametrize("impl", OPERATED)
def test_forward_mode_is_refused_and_the_reference_has_it(impl: str, device: str) -> None:
    q, k, v = random_qkv(causal(8, 8), device=device)
    mask = descriptor_of(causal(8, 8))

    def run(impl: str) -> Callable[[Tensor], Tensor]:
        return lambda q: attention(q, k, v, mask, impl=impl)

    with pytest.raises(NotImplementedError, match=r"no forward-mode derivatives \(jvp\), except with impl 'reference'"):
        torch.func.jvp(run(impl), (q,), (q,))
    # Nested transforms hide the tangent from attention().
    for nested in (torch.func.jacrev(run(impl)), torch.func.vmap(lambda q: run(impl)(q[None])[0])):
        with pytest.raises(NotImplementedError, match=r"no forward-mode derivatives \(jvp\), except with"):
            torch.func.jacfwd(nested)(q)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=r"no forward-mode derivatives \(jvp\)"):
        run(impl)(forward_ad.make_dual(q, q))
    _, tangent = torch.func.jvp(run("reference"), (q,), (q,))
    step = 1e-3
    slope = (run("reference")(q * (1 + step)) - run("reference")(q * (1 - step))) / (2 * step)
    assert torch.allclose(tangent, slope, atol=1e-3)


@pytest.mark.parametrize("impl", OPERATED)
def test_second_derivatives_are_refused_and_the_reference_has_them(impl: str, device: str) -> None:
    own = leaves(causal(8, 8), device)
    mask = descriptor_of(causal(8, 8))
    (dq,) = torch.autograd.grad(attention(*own, mask, impl=impl).square().sum(), own[0], create_graph=True)
    with pytest.raises(NotImplementedError, match=r"first derivatives only.*use impl='reference'"):
        dq.sum().backward()

    def through(run: Callable[..., Tensor]) -> Tensor:
        (dq,) = torch.autograd.grad(run(*own).square().sum(), own[0], create_graph=True)
        return torch.autograd.grad(dq.square().sum(), own[1])[0]

    found = through(lambda *x: attention(*x, mask, impl="reference").double())
    wanted = through(lambda *x: dense_attention(*x, causal(8, 8), 0.25)[0].to(device))
    assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_recompute_the_same_bits(use_reentrant: bool, device: str) -> None:
    found = []
    for run in (lambda f, *x: f(*x), lambda f, *x: checkpoint(f, *x, use_reentrant=use_reentrant)):
        own = leaves(VISIBLE, device)
        run(lambda *x: attention(*x, MASK, impl="torch").square(), *own).sum().backward()
        found.append([x.grad for x in own])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize(
    "mode", ["reduce-overhead", "max-autotune", pytest.param("max-autotune-no-cudagraphs", marks=pytest.mark.gpu)]
)
def test_every_mode_of_the_compiler_follows_the_mask(mode: str, device: str) -> None:
    """Masks of equal sizes, one after the other, several times each: a recorded call would compute under an earlier one."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda *x: attention(*x, sm_scale=0.3), mode=mode, fullgraph=True, dynamic=False)
    inputs = random_qkv(causal(40, 40), num_q_heads=4, num_kv_heads=2, device=device)
    masks = [descriptor_of(visible) for visible in (causal(40, 40), np.ones((40, 40), bool), np.eye(40, dtype=bool))]
    for mask in [masks[0]] * 4 + masks * 2:
        found = []
        for run in (compiled, lambda *x: attention(*x, sm_scale=0.3)):
            torch.compiler.cudagraph_mark_step_begin()
            own = [x.clone().requires_grad_() for x in inputs]
            o = run(*own, mask)
            found.append([o.detach().clone(), *(x.clone() for x in torch.autograd.grad(o.square().sum(), own))])
        assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_the_compiler_is_told_to_record_no_operator_of_a_mask_that_changes() -> None:
    for op in (torch.ops.compilemask.attention_forward, torch.ops.compilemask.attention_backward):
        assert torch.Tag.cudagraph_unsafe in op.default.tags


@pytest.mark.gpu
def test_the_default_compiler_takes_the_operator_on_a_gpu() -> None:
    compiled = torch.compile(lambda *x: attention(*x).square().sum(), fullgraph=True, dynamic=True)
    for length in (128, 200, 333):
        mask = descriptor_of(causal(length, length))
        found = []
        for run in (compiled, lambda *x: attention(*x).square().sum()):
            own = leaves(causal(length, length), "cuda")
            run(*own, mask).backward()
            found.append([x.grad for x in own])
        assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
