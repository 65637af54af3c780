"""A backward that repeats the launches of the last one: whatever changed in between, it gives what a first backward gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from oracles_attention import descriptor_of, random_qkv, scattered
from torch import Tensor

from compilemask.attention import attention, calls, impls

VISIBLE = scattered(20, 30, seed=1)
MASK = descriptor_of(VISIBLE)
SUBSETS = [subset for count in (1, 2, 3) for subset in itertools.combinations(range(3), count)]
USES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "o": lambda o, _: o.float().square().sum(),
    "lse": lambda _, lse: torch.where(lse.isinf(), 0.0, lse).sum(),
    "both": lambda o, lse: o.float().square().sum() + torch.where(lse.isinf(), 0.0, lse).sum(),
}


def gradients(qkv: tuple[Tensor, ...], subset: tuple[int, ...], use: str) -> list[Tensor | None]:
    leaves = [x.detach().requires_grad_(i in subset) for i, x in enumerate(qkv)]
    o, lse = attention(*leaves, MASK, impl="triton", return_lse=True)  # type: ignore[call-overload]
    USES[use](o, lse).backward()
    return [x.grad for x in leaves]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What launches were made for, beginning with no call that is kept: (which gradients, deterministic)."""
    monkeypatch.setattr(calls, "kept", calls._Calls(16))
    own, found = impls.repeatable_backward, []

    def spy(*arguments: object) -> object:
        found.append(arguments[-2:])
        return own(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(impls, "repeatable_backward", spy)
    return found


def test_each_choice_of_gradients_gives_its_own(
    asked: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    qkv = random_qkv(VISIBLE, num_q_heads=4, num_kv_heads=2, dtype=torch.float16, device=device)
    kept = calls.kept
    choices = [*((subset, "o") for subset in SUBSETS), *((SUBSETS[-1], use) for use in USES)]
    first = []
    for choice in choices:
        monkeypatch.setattr(calls, "kept", calls._Calls(16))
        first.append(gradients(qkv, *choice))
    monkeypatch.setattr(calls, "kept", kept)
    for (subset, use), alone in [*zip(choices, first, strict=True), *zip(choices[::-1], first[::-1], strict=True)]:
        for i, (got, wanted) in enumerate(zip(gradients(qkv, subset, use), alone, strict=True)):
            assert (got is None) == (wanted is None) == (i not in subset)
            assert got is None or torch.equal(got, wanted)


def test_launches_are_made_again_for_another_choice_only(asked: list[tuple[object, ...]], device: str) -> None:
    qkv = random_qkv(VISIBLE, dtype=torch.float16, device=device)
    for _ in range(3):
        gradients(qkv, (0, 1, 2), "o")
    assert len(asked) == 1
    gradients(qkv, (0,), "o")
    assert [one[0] for one in asked] == [(True, True, True), (True, False, False)]
    gradients(qkv, (0,), "both")
    assert len(asked) == 3


def test_launches_are_made_again_when_bits_must_repeat(asked: list[tuple[object, ...]], device: str) -> None:
    qkv = random_qkv(VISIBLE, dtype=torch.float16, device=device)
    for deterministic in (True, False, True):
        torch.use_deterministic_algorithms(deterministic)
        gradients(qkv, (0, 1, 2), "o")
    assert [one[1] for one in asked] == [True, False, True]


@pytest.mark.parametrize("place", range(5))
def test_tensors_that_come_back_at_an_odd_address_have_launches_of_their_own(
    place: int, asked: list[tuple[object, ...]], device: str
) -> None:
    """Hooks of autograd may move what was saved: q, k, v, o or lse."""
    qkv = random_qkv(VISIBLE, dtype=torch.float16, device=device)
    wanted = gradients(qkv, (0, 1, 2), "o")
    saved = []

    def unpack(number: int) -> Tensor:
        x: Tensor = saved[number]
        if number != place:
            return x
        moved = torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape)
        assert moved.data_ptr() % 16 != 0
        return moved

    with torch.autograd.graph.saved_tensors_hooks(lambda x: (saved.append(x), len(saved) - 1)[1], unpack):
        leaves = [x.detach().requires_grad_() for x in qkv]
        o = attention(*leaves, MASK, impl="triton")  # type: ignore[call-overload]
    o.float().square().sum().backward()
    assert len(asked) == 2
    assert all(torch.equal(x.grad, right) for x, right in zip(leaves, wanted, strict=True))
    gradients(qkv, (0, 1, 2), "o")
    assert len(asked) == 2


@pytest.mark.parametrize("impl", ["triton", "torch"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_tensors_that_come_back_in_other_strides_give_the_same(impl: str, dtype: torch.dtype, device: str) -> None:
    qkv = random_qkv(VISIBLE, num_q_heads=4, num_kv_heads=2, dtype=dtype, device=device)

    def turned(x: Tensor) -> Tensor:
        return x if x.ndim < 3 else x.transpose(-1, -2).contiguous().transpose(-1, -2)

    def of(unpack: Callable[[Tensor], Tensor]) -> list[Tensor]:
        leaves = [x.detach().requires_grad_() for x in qkv]
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
            o, lse = attention(*leaves, MASK, impl=impl, return_lse=True)  # type: ignore[call-overload]
        USES["both"](o, lse).backward()
        return [x.grad for x in leaves if x.grad is not None]

    assert all(torch.equal(a, b) for a, b in zip(of(turned), of(lambda x: x), strict=True))
