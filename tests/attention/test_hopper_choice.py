"""Which calls "auto" leaves to impl hopper, told without a GPU: tensors that only pretend to be on one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, neighbourhood
from torch._subclasses import FakeTensorMode

from compilemask.attention import DeviceMask, choose_impl
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch

ONE, OTHER = descriptor_of(causal(64, 64)), descriptor_of(np.ones((64, 64), bool))
PADDED = descriptor_of(np.arange(64) < np.full((64, 1), 60))


@pytest.fixture
def capability(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The compute capability of the GPU that is not there; [(9, 0)] at first."""
    found = [(9, 0)]
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=None: found[0])
    monkeypatch.setattr(torch.version, "hip", None)
    with FakeTensorMode():
        yield found


def tensors(head_dim: int, v_head_dim: int | None = None, dtype: torch.dtype = torch.bfloat16) -> list[torch.Tensor]:
    return [
        torch.empty(1, 2, 64, dim, dtype=dtype, device="cuda") for dim in (head_dim, head_dim, v_head_dim or head_dim)
    ]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("head_dim", [40, 64, 96, 128, 192, 256])
def test_hopper_is_taken_where_it_can(head_dim: int, dtype: torch.dtype, capability: list[tuple[int, int]]) -> None:
    q, k, v = tensors(head_dim, dtype=dtype)
    image = descriptor_of(neighbourhood(16, 128, 4))
    for mask in (
        None,
        ONE,
        MaskBatch.of([[ONE], [ONE]]),
        MaskBatch.of([[ONE], [PADDED]]),
        MaskBatch.of([[ONE, OTHER]]),
        image,
    ):
        assert choose_impl(q, k, v, mask=mask) == ("hopper", f"cuda:0 with head_dim {head_dim} and {head_dim}")
    q.requires_grad_()
    assert choose_impl(q, k, v, mask=ONE)[0] == "hopper"


def test_what_hopper_cannot_take_goes_to_triton_with_the_reason(capability: list[tuple[int, int]]) -> None:
    name, reason = choose_impl(*tensors(32), mask=ONE)
    assert (name, "got head_dim 32 and 32" in reason) == ("triton", True)
    name, reason = choose_impl(*tensors(64, 128), mask=ONE)
    assert (name, "got head_dim 64 and 128" in reason) == ("triton", True)
    name, reason = choose_impl(*tensors(64, dtype=torch.float32), mask=ONE)
    assert (name, "takes bfloat16 and float16, got torch.float32" in reason) == ("triton", True)
    name, reason = choose_impl(*tensors(64), mask=MaskBatch.of([[ONE, PADDED]]))
    assert (name, "heads with masks of their own that leave keys unseen" in reason) == ("triton", True)
    capability[0] = (10, 0)
    name, reason = choose_impl(*tensors(64), mask=ONE)
    assert (name, "needs compute capability 9.0, cuda:0 has 10.0" in reason) == ("triton", True)


def test_what_is_asked_for_and_cannot_be_is_refused_with_the_reason(capability: list[tuple[int, int]]) -> None:
    assert choose_impl(*tensors(64), mask=MaskBatch.of([[ONE, PADDED]]), impl="hopper") == ("hopper", "asked for")
    with pytest.raises(ValueError, match=r"impl 'hopper' cannot be used: .* got head_dim 32 and 32; use impl='auto'"):
        choose_impl(*tensors(32), mask=ONE, impl="hopper")
    capability[0] = (8, 0)
    with pytest.raises(ValueError, match=r"needs compute capability 9\.0, cuda:0 has 8\.0"):
        choose_impl(*tensors(64), mask=ONE, impl="hopper")


def test_a_device_mask_is_hoppers_when_it_was_made_from_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = DeviceMask.from_lengths("causal", 64, length=torch.tensor(64))
    planned = DeviceMask.of(ONE, "cpu")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=None: (9, 0))
    with FakeTensorMode():
        assert choose_impl(*tensors(64), mask=measured)[0] == "hopper"
        name, reason = choose_impl(*tensors(64), mask=planned)
        assert (name, "takes a DeviceMask made from lengths, not one from a descriptor" in reason) == ("triton", True)
        with pytest.raises(ValueError, match="not one from a descriptor"):
            choose_impl(*tensors(64), mask=planned, impl="hopper")


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(
    ("head_dim", "v_head_dim", "wanted"),
    [(128, 128, "hopper"), (64, 64, "hopper"), (96, 80, "hopper"), (40, 56, "hopper"), (256, 256, "triton")],
)
def test_gradients_of_hopper_calls_come_from_hopper_where_it_has_kernels_for_the_size(
    head_dim: int, v_head_dim: int, wanted: str, deterministic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compilemask.attention import gradients, impls
    from compilemask.attention.hopper import gradients as hopper_gradients

    asked = []
    monkeypatch.setattr(gradients, "gradients", lambda *_given: "triton")
    monkeypatch.setattr(
        hopper_gradients, "gradients", lambda *_given, deterministic: asked.append(deterministic) or "hopper"
    )
    q, k, v = (torch.zeros(1, 2, 64, dim, dtype=torch.bfloat16) for dim in (head_dim, head_dim, v_head_dim))
    given = (q, k, v, None, v, v[..., 0].float(), v, None)
    for mask, expected in (
        (ONE, wanted),
        (MaskBatch.of([[ONE, ONE]]), wanted),
        (MaskBatch.of([[ONE, OTHER]]), "triton"),
    ):
        found = impls.backward("hopper", *given, mask, ScoreOptions(0.1), (True,) * 4, deterministic)
        assert found == expected
    assert asked == ([deterministic] * 2 if wanted == "hopper" else [])
