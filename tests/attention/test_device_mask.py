"""Attention under a DeviceMask: the mask it is now, in memory that stays, for captured graphs."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from oracles_attention import causal, dense_attention, descriptor_of, neighbourhood, random_qkv, scattered
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

import compilemask
from compilemask.attention import DeviceMask, attention, choose_impl
from compilemask.descriptor import MaskDescriptor

PROGRAM = compilemask.compile(compilemask.preset_source("hstu_jagged"))
FIRST = {"context": [3, 4], "history": [40, 20], "targets": [10, 20]}
THEN = {"context": [5, 0], "history": [1, 70], "targets": [0, 20]}


def lengths(numbers: dict[str, list[int]], device: str) -> dict[str, Tensor]:
    return {name: torch.tensor(value, device=device) for name, value in numbers.items()}


def results(mask: DeviceMask | MaskDescriptor, qkv: tuple[Tensor, ...], impl: str) -> list[Tensor]:
    """o, lse and the gradients of a sum of both."""
    own = [x.clone().requires_grad_() for x in qkv]
    o, lse = attention(*own, mask, sm_scale=0.3, impl=impl, return_lse=True)
    weights = torch.randn(o.shape, generator=torch.Generator().manual_seed(1)).to(o)
    loss = (o * weights).sum() + torch.where(torch.isneginf(lse), 0.0, lse).sum()
    return [o.detach(), lse.detach(), *torch.autograd.grad(loss, own)]


@pytest.mark.parametrize("impl", ["reference", "torch", "triton"])
def test_lengths_on_the_device_give_what_the_bound_mask_gives(impl: str, device: str) -> None:
    qkv = random_qkv(np.ones((100, 100), bool), num_q_heads=4, num_kv_heads=2, device=device)
    mask = DeviceMask.from_lengths("hstu_jagged", 100, **lengths(FIRST, device))
    for numbers in (FIRST, THEN):
        mask.replan(**lengths(numbers, device))
        bound = PROGRAM.bind(**numbers).pad_to(100, 100)
        for found, wanted in zip(results(mask, qkv, impl), results(bound, qkv, impl), strict=True):
            assert torch.allclose(found, wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("impl", ["torch", "triton"])
def test_new_masks_in_place_give_what_they_give_alone(impl: str, device: str) -> None:
    """Of every kind: with gaps in tiles, empty rows and unseen keys, and none of them."""
    qkv = random_qkv(np.ones((36, 36), bool), device=device)
    mask = DeviceMask.of(descriptor_of(scattered(36, 36, seed=1)), device)
    for visible in (neighbourhood(6, 6, 3), causal(36, 36), scattered(36, 36, seed=2), np.zeros((36, 36), bool)):
        mask.update(descriptor_of(visible))
        assert mask.descriptor() == descriptor_of(visible)
        for found, wanted in zip(results(mask, qkv, impl), results(descriptor_of(visible), qkv, impl), strict=True):
            assert torch.allclose(found, wanted, rtol=1e-5, atol=2e-6)


def test_a_mask_without_padding_has_no_table_of_seen_keys(device: str) -> None:
    mask = DeviceMask.of(descriptor_of(causal(40, 40)), device, padded=False)
    assert mask.tiles(16, 16).seen is None
    q, k, v = random_qkv(causal(40, 40), device=device)
    exact, _ = dense_attention(q, k, v, causal(40, 40), 0.25)
    assert torch.allclose(attention(q, k, v, mask, impl="triton").double().cpu(), exact, atol=2e-6)
    assert choose_impl(q, k, v, impl="triton", mask=mask)[0] == "triton"
    with pytest.raises(ValueError, match="0 queries that see nothing and 3 keys that nobody sees"):
        mask.update(descriptor_of(np.pad(causal(40, 37), ((0, 0), (0, 3))) | (np.arange(40) < 1)))


def test_graphs_take_a_device_mask_and_follow_its_numbers(device: str) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda *x: attention(*x, impl="triton"), fullgraph=True, dynamic=True, backend=counter)
    qkv = random_qkv(causal(50, 50), device=device)
    mask = DeviceMask.from_lengths("documents", 50, lengths=torch.tensor([20, 30], device=device))
    for cut in (20, 7, 50):
        mask.replan(lengths=torch.tensor([cut, 50 - cut], device=device))
        bound = compilemask.compile(compilemask.preset_source("documents")).bind(lengths=[cut, 50 - cut])
        assert torch.allclose(compiled(*qkv, mask), attention(*qkv, bound, impl="triton"), atol=1e-6)
    assert counter.frame_count == 1


def test_a_backward_after_an_update_is_refused(device: str) -> None:
    own = [x.requires_grad_() for x in random_qkv(causal(20, 20), device=device)]
    mask = DeviceMask.of(descriptor_of(causal(20, 20)), device)
    o = attention(*own, mask, impl="torch")
    mask.update(descriptor_of(np.ones((20, 20), bool)))
    with pytest.raises(RuntimeError, match="DeviceMask that was given new numbers since"):
        o.sum().backward()


def made(**options: object) -> Callable[[], object]:
    return lambda: DeviceMask.of(descriptor_of(causal(20, 20)), "cpu", **options)  # type: ignore[arg-type]


DOCUMENTS = {"family": "documents", "total": 20}


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: DeviceMask.of("causal", "cpu"), TypeError, "takes a MaskDescriptor, got str"),
        (made(room=0.5), ValueError, "room must be at least 1, got 0.5"),
        (lambda: made()().update(descriptor_of(causal(19, 20))), ValueError, "for q_len 20 and kv_len 20, got a mask of 19 and 20; pad_to"),
        (lambda: made()().replan(length=torch.tensor(1)), TypeError, "made from a descriptor: give it a new one with update"),
        (lambda: DeviceMask.from_lengths("banded", 20), ValueError, "'hstu_jagged', got 'banded'"),
        (lambda: DeviceMask.from_lengths("documents", -1, lengths=torch.tensor([1])), ValueError, "total must be an integer from 0 on, got -1"),
        (lambda: DeviceMask.from_lengths("documents", 20, sizes=torch.tensor([1])), TypeError, "documents takes the lengths lengths, got sizes"),
        (lambda: DeviceMask.from_lengths("documents", 20, lengths=[20]), TypeError, "lengths must be a torch.Tensor of lengths, got list"),
        (lambda: DeviceMask.from_lengths("documents", 20, lengths=torch.tensor([2.0])), ValueError, "of 1 dimensions, got torch.float32 of shape (1,)"),
        (lambda: DeviceMask.from_lengths("causal", 20, length=torch.tensor([2])), ValueError, "of 0 dimensions, got torch.int64 of shape (1,)"),
        (lambda: DeviceMask.from_lengths("documents", 20, lengths=torch.tensor([5])).replan(lengths=torch.tensor([5, 5])), ValueError, "lengths must have shape (1,) on cpu, got (2,) on cpu"),
        (lambda: DeviceMask.from_lengths("documents", 20, lengths=torch.tensor([5])).update(descriptor_of(causal(20, 20))), TypeError, "made from lengths: give it new ones with replan"),
        (lambda: attention(*random_qkv(causal(20, 20)), DeviceMask.from_lengths("causal", 20, length=torch.tensor(20, device="meta"))), ValueError, "the DeviceMask is on meta, the tensors are on cpu"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(call: Callable[[], object], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        call()


@pytest.mark.parametrize("from_lengths", [True, False])
def test_a_mask_first_met_in_inference_mode_changes_outside_of_it(from_lengths: bool, device: str) -> None:
    qkv = random_qkv(np.ones((100, 100), bool), num_q_heads=4, num_kv_heads=2, device=device)
    first, then = (PROGRAM.bind(**numbers).pad_to(100, 100) for numbers in (FIRST, THEN))
    with torch.inference_mode():
        if from_lengths:
            mask = DeviceMask.from_lengths("hstu_jagged", 100, **lengths(FIRST, device))
        else:
            mask = DeviceMask.of(first, device)
        attention(*qkv, mask, impl="triton")
    if from_lengths:
        mask.replan(**lengths(THEN, device))
    else:
        mask.update(then)
    for found, wanted in zip(results(mask, qkv, "triton"), results(then, qkv, "triton"), strict=True):
        assert torch.allclose(found, wanted, rtol=1e-5, atol=2e-6)


def test_a_replan_that_fails_on_the_cpu_changes_nothing() -> None:
    """The lengths of before, and the backward of a forward of before, whose tiles are made only then."""
    qkv = random_qkv(np.ones((100, 100), bool))
    leaves = [x.clone().requires_grad_() for x in qkv]
    mask = DeviceMask.from_lengths("hstu_jagged", 100, **lengths(FIRST, "cpu"))
    bound = PROGRAM.bind(**FIRST).pad_to(100, 100)
    o = attention(*leaves, mask, impl="triton")
    with pytest.raises(RuntimeError, match="lengths must be 0 or more and fit the mask's total"):
        mask.replan(**lengths(THEN | {"history": [1, 90]}, "cpu"))
    assert mask.descriptor() == bound
    grads = torch.autograd.grad(o.sum(), leaves)
    wanted = torch.autograd.grad(attention(*leaves, bound, impl="triton").sum(), leaves)
    for found, exact in zip(grads, wanted, strict=True):
        assert torch.allclose(found, exact, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_copy_that_would_share_tiles_is_refused(way: Callable[[DeviceMask], object]) -> None:
    mask = DeviceMask.of(descriptor_of(causal(36, 36)), "cpu")
    with pytest.raises(TypeError, match="a DeviceMask is not copied or pickled: make another one"):
        way(mask)


def test_an_update_without_room_changes_nothing() -> None:
    mask = DeviceMask.of(descriptor_of(causal(64, 64)), "cpu", room=1.0)
    tiles = mask.tiles(16, 16)
    before = tiles.ends.clone()
    with pytest.raises(
        ValueError, match=r"the mask needs \d+ entries of \w+, the DeviceMask has room for \d+; make it with more"
    ):
        mask.update(descriptor_of(scattered(64, 64, seed=1)))
    assert torch.equal(tiles.ends, before)
    assert mask.descriptor() == descriptor_of(causal(64, 64))


@pytest.mark.gpu
@pytest.mark.parametrize("from_lengths", [False, True])
def test_a_replayed_graph_computes_under_the_new_mask(from_lengths: bool) -> None:
    """Forward and backward captured once; replays follow the mask, and follow lengths when replanning is captured too."""
    documents = compilemask.compile(compilemask.preset_source("documents"))
    q, k, v = (
        x.requires_grad_() for x in random_qkv(causal(300, 300), num_q_heads=4, dtype=torch.float16, device="cuda")
    )
    sizes = torch.tensor([100, 200], device="cuda")
    if from_lengths:
        mask = DeviceMask.from_lengths("documents", 300, padded=False, lengths=sizes)
    else:
        mask = DeviceMask.of(documents.bind(lengths=[100, 200]), "cuda", padded=False, room=4.0)

    def step() -> tuple[Tensor, ...]:
        if from_lengths:
            mask.replan(lengths=sizes)
        o = attention(q, k, v, mask, impl="triton")
        return o, *torch.autograd.grad(o.square().sum(), (q, k, v))

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for cut in (100, 13, 250, 299):
        if from_lengths:
            sizes.copy_(torch.tensor([cut, 300 - cut]))
        else:
            mask.update(documents.bind(lengths=[cut, 300 - cut]))
        graph.replay()
        o = attention(q, k, v, documents.bind(lengths=[cut, 300 - cut]), impl="triton")
        wanted = (o, *torch.autograd.grad(o.square().sum(), (q, k, v)))
        assert all(torch.allclose(a, b, rtol=1e-2, atol=2e-3) for a, b in zip(captured, wanted, strict=True))


@pytest.mark.gpu
def test_a_capture_before_the_first_call_is_refused() -> None:
    q, k, v = random_qkv(causal(30, 30), device="cuda")
    mask = DeviceMask.of(descriptor_of(causal(30, 30)), "cuda")
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="call attention once, forward and backward"), torch.cuda.graph(graph):
        attention(q, k, v, mask, impl="triton")
