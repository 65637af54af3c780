"""A repeated call of attention() does little, and nothing else than the first one."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv, scattered
from torch import Tensor
from torch.autograd.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from triton import knobs
from triton.compiler import CompiledKernel

from compilemask.attention import DeviceMask, attention, calls
from compilemask.attention.mask_tensors import cache
from compilemask.attention.triton import relaunch
from compilemask.attention.triton.relaunch import Relaunch, boxes

VISIBLE = scattered(40, 70, seed=1)
MASK = descriptor_of(VISIBLE)


class NoKernel(Relaunch):
    """Counts launches, and computes nothing."""

    launched: ClassVar[list[int]] = []

    def __call__(self, *args: object) -> None:
        self.launched.append(len(args))


def steps(run: Callable[[], object]) -> int:
    """Calls of Python functions and of built-in ones that `run` makes: its work, on any machine."""
    count = 0

    def on_event(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    run()
    run()
    sys.setprofile(on_event)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def test_a_repeated_call_takes_few_steps(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """Of a call without gradients, and of one with its backward."""
    for module in ("launch", "packed_launch", "backward_launch", "gradient_launch"):
        monkeypatch.setattr(f"compilemask.attention.triton.{module}.Relaunch", NoKernel, raising=False)
    visible = causal(130, 130)
    mask = descriptor_of(visible)
    qkv = random_qkv(visible, dtype=torch.float16, device=device)
    leaves = [x.clone().requires_grad_() for x in qkv]
    do = torch.zeros_like(qkv[0])

    def forward() -> Tensor:
        with torch.no_grad():
            return attention(*qkv, mask, impl="triton")

    def both() -> tuple[Tensor, ...]:
        return torch.autograd.grad(attention(*leaves, mask, impl="triton"), leaves, do)

    cache.clear()
    found = steps(forward), steps(both)
    # On a GPU the current device is asked for, and tensor descriptors are made.
    most = (75, 225) if device == "cpu" else (90, 320)
    assert found[0] <= most[0] and found[1] <= most[1], found
    # The first backward launches the row terms twice: their layout is needed for the other launches.
    assert len(NoKernel.launched) == 3 + 3 * 4 + 1


class Compiled(CompiledKernel):
    """Keeps what it is run with."""

    def __init__(self) -> None:
        self.runs: list[tuple[object, ...]] = []
        self.function, self.packed_metadata = "function", "metadata"
        self.metadata = SimpleNamespace(tensordesc_meta=None)

    def __del__(self) -> None:
        """No module was loaded."""

    @property
    def run(self) -> Callable[..., None]:
        return lambda *args: self.runs.append(args)

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return lambda *args: self.runs.append(("hooked", grid, *args))


def repeated(monkeypatch: pytest.MonkeyPatch) -> tuple[Relaunch, Compiled, list[object]]:
    """A launch on stream 77 of device 3, what it runs, and what Triton was asked."""
    compiled, asked = Compiled(), []
    active = SimpleNamespace(get_current_device=lambda: 3, get_current_stream={3: 77}.__getitem__)
    monkeypatch.setattr(relaunch, "driver", SimpleNamespace(active=active))

    class Kernel:
        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Any]:
            def launch(*args: object, **options: object) -> CompiledKernel:
                asked.append((grid, args, options))
                return compiled

            return launch

    return Relaunch(Kernel(), 7, (64, True), {"num_warps": 4}, (FIXED, None)), compiled, asked


FIXED = torch.zeros(3)


def test_a_launch_asks_triton_once_and_then_gives_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    launch, compiled, asked = repeated(monkeypatch)
    tensors = [torch.zeros(1) for _ in range(3)]
    for number, tensor in enumerate(tensors):
        launch(tensor, number)
    assert asked == [((7, 1, 1), (tensors[0], 0, FIXED, None, 64, True), {"num_warps": 4})]
    before = (7, 1, 1, 77, "function", "metadata", None, None, None)
    after = (FIXED.data_ptr(), None, 64, True)
    assert compiled.runs == [(*before, tensors[i].data_ptr(), i, *after) for i in (1, 2)]


def test_who_hooks_into_launches_sees_repeated_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    launch, compiled, _ = repeated(monkeypatch)
    q = torch.zeros(1)
    launch(q)
    launch(q)

    def hook(_metadata: object) -> None:
        """Triton calls it; here nothing does."""

    for chain in (knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook):
        chain.add(hook)
        launch(q)
        chain.remove(hook)
    launch(q)
    assert [run[0] for run in compiled.runs] == [7, "hooked", "hooked", 7]
    assert compiled.runs[1] == ("hooked", (7, 1, 1), q.data_ptr(), FIXED.data_ptr(), None, 64, True)


def test_descriptors_of_one_layout_differ_in_their_tensor_only() -> None:
    first, second = torch.zeros(1, 2, 64, 32, dtype=torch.float16), torch.ones(1, 2, 64, 32, dtype=torch.float16)
    kept = boxes(first, 16, 32)
    made = kept.of(first), kept.of(second)
    assert made[0].base is first and made[1].base is second
    assert made[0].block_shape == made[1].block_shape == [1, 1, 16, 32]
    assert list(made[1].shape) == [1, 2, 64, 32] and made[1].strides[1:] == [2048, 32, 1]


def test_what_was_refused_once_is_refused_again_and_equal_numbers_are_not_one_type(device: str) -> None:
    qkv = random_qkv(VISIBLE, device=device)
    wanted = attention(*qkv, MASK, sm_scale=1.0, impl="torch")
    for _ in range(2):
        with pytest.raises(ValueError, match="sm_scale must be a finite number or None, got True"):
            attention(*qkv, MASK, sm_scale=True, impl="torch")
        with pytest.raises(TypeError, match="deterministic must be True or False, got 0"):
            attention(*qkv, MASK, sm_scale=1.0, impl="torch", deterministic=0)
        with pytest.raises(ValueError, match="sm_scale must be a finite number or None"):
            attention(*qkv, MASK, sm_scale=[1.0], impl="torch")
        with pytest.raises(ValueError, match="the mask is for q_len 40 and kv_len 70, got tensors of 39 and 70"):
            attention(qkv[0][:, :, :39], *qkv[1:], MASK, sm_scale=1.0, impl="torch")
    assert torch.equal(attention(*qkv, MASK, sm_scale=1.0, impl="torch"), wanted)


def test_every_layout_is_a_call_of_its_own(device: str) -> None:
    visible = scattered(10, 12, seed=1)
    mask = descriptor_of(visible)
    q, k, v = random_qkv(visible, device=device)
    wanted = attention(q, k, v, mask, impl="triton")
    spaced = torch.stack([q, q], -1).flatten(3)[..., ::2]
    shifted = torch.cat([q.new_zeros(1), q.flatten()])[1:].view(q.shape)
    assert shifted.data_ptr() % 16 != 0
    for other in (q.transpose(1, 2).contiguous().transpose(1, 2), spaced, shifted, q):
        assert torch.equal(attention(other, k, v, mask, impl="triton"), wanted)
    assert torch.allclose(attention(-q, k, v, mask, impl="triton", sm_scale=-0.25), wanted, atol=1e-6)


@pytest.mark.parametrize("place", range(4))
def test_addresses_of_another_alignment_are_another_call(place: int) -> None:
    """A kernel that was compiled for multiples of 16 bytes faults elsewhere; without a GPU nothing would show it."""
    inputs = [*random_qkv(VISIBLE), torch.zeros(4)]
    shifted = list(inputs)
    flat = torch.cat([inputs[place].new_zeros(1), inputs[place].flatten()])
    shifted[place] = flat[1:].view(inputs[place].shape)
    assert shifted[place].stride() == inputs[place].stride()
    same = [x.clone() for x in inputs]
    first, again, other = (calls.key_of(q, k, v, sinks, MASK, ()) for q, k, v, sinks in (inputs, same, shifted))
    assert first == again
    assert other != first


def test_a_repeated_call_sees_a_device_mask_as_it_is(device: str) -> None:
    visible = [causal(10, 20), np.ones((10, 20), bool)]
    mask = DeviceMask.of(descriptor_of(visible[1]), device, room=8.0)
    leaves = [x.requires_grad_() for x in random_qkv(visible[0], device=device)]
    for number in (1, 0, 1):
        own = descriptor_of(visible[number])
        mask.update(own)
        for _ in range(2):
            found, wanted = (attention(*leaves, m, impl="triton") for m in (mask, own))
            assert torch.allclose(found, wanted, atol=1e-6)
    before = attention(*leaves, mask, impl="triton")
    mask.update(descriptor_of(visible[0]))
    with pytest.raises(RuntimeError, match="given new numbers since"):
        before.sum().backward()


def test_calls_keep_no_mask_and_no_tiles(device: str) -> None:
    qkv = random_qkv(VISIBLE, device=device)
    mask = descriptor_of(scattered(40, 70, seed=77))
    wanted = attention(*qkv, mask, impl="triton")
    tiles = cache.get(mask, 64, 64, torch.device(device)) if device == "cpu" else None
    kept = None if tiles is None else weakref.ref(tiles.full_start)
    del tiles
    cache.clear()
    gc.collect()
    assert kept is None or kept() is None
    # what was forgotten is planned again
    assert torch.equal(attention(*qkv, mask, impl="triton"), wanted)
    gone = weakref.ref(mask)
    del mask
    gc.collect()
    assert gone() is None


def test_calls_are_bounded(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(calls, "kept", calls._Calls(4))
    qkv = random_qkv(VISIBLE, device=device)
    for scale in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        attention(*qkv, MASK, sm_scale=scale, impl="torch")
    assert len(calls.kept._calls) == 4


def test_who_watches_operators_sees_the_operator(device: str) -> None:
    qkv = random_qkv(VISIBLE, device=device)
    wanted = attention(*qkv, MASK, impl="torch")
    seen: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Watch():
        assert torch.equal(attention(*qkv, MASK, impl="torch"), wanted)
    assert "compilemask.attention_forward.default" in seen
    with profile() as profiled:
        attention(*qkv, MASK, impl="torch")
    assert any(event.name == "compilemask::attention_forward" for event in profiled.function_events)


@pytest.mark.parametrize("impl", ["torch", "triton"])
def test_a_call_made_in_inference_mode_trains_later(impl: Any, device: str) -> None:
    visible = scattered(10, 12, seed=5)
    mask = descriptor_of(visible)
    qkv = random_qkv(visible, device=device)
    with torch.inference_mode():
        attention(*qkv, mask, impl=impl)
    found, wanted = ([x.clone().requires_grad_() for x in qkv] for _ in range(2))
    attention(*found, mask, impl=impl).sum().backward()
    attention(*wanted, descriptor_of(visible), impl="reference").sum().backward()
    assert all(torch.allclose(a.grad, b.grad, atol=1e-5) for a, b in zip(found, wanted, strict=True))


def test_a_checkpoint_may_recompute_under_a_profiler(device: str) -> None:
    leaves = [x.requires_grad_() for x in random_qkv(VISIBLE, device=device)]
    o = checkpoint(lambda *x: attention(*x, MASK, impl="torch"), *leaves, use_reentrant=False)
    wanted = torch.autograd.grad(attention(*leaves, MASK, impl="torch").sum(), leaves)
    with profile():
        found = torch.autograd.grad(o.sum(), leaves)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_a_second_derivative_is_refused_and_batched_gradients_are_not(device: str) -> None:
    leaves = [x.requires_grad_() for x in random_qkv(VISIBLE, device=device)]
    o = attention(*leaves, MASK, impl="torch")
    (dq,) = torch.autograd.grad(o.square().sum(), leaves[:1], create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        dq.sum().backward()
    do = torch.randn(3, *attention(*leaves, MASK, impl="torch").shape, device=device)
    found = torch.autograd.grad(attention(*leaves, MASK, impl="torch"), leaves, do, is_grads_batched=True)
    for i in range(3):
        one = torch.autograd.grad(attention(*leaves, MASK, impl="torch"), leaves, do[i])
        assert all(torch.allclose(a[i], b, atol=1e-5) for a, b in zip(found, one, strict=True))
