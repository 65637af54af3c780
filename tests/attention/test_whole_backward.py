"""The Hopper backward as one object launches what its parts launch, in the same order, with the same arguments."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv, scattered

from compilemask.attention import hopper
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.hopper import backward_launch
from compilemask.attention.hopper.gradients import gradients
from compilemask.attention.mask_tensors import cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import backward_launch as triton_launch

OPTIONS = ScoreOptions(0.1)
MASK = descriptor_of(causal(200, 200))
Log = list[tuple[object, ...]]


def inputs(num_kv_heads: int = 2, device: str = "cpu") -> dict[str, torch.Tensor]:
    q, k, v = random_qkv(
        causal(200, 200), num_q_heads=2, num_kv_heads=num_kv_heads, head_dim=64, dtype=torch.float16, device=device
    )
    o, do = torch.zeros_like(q), torch.zeros_like(q)
    return {"q": q, "k": k, "v": v, "o": o, "lse": torch.zeros(q.shape[:3], device=device), "do": do}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, torch.Tensor]], Log]:
    """Clears the log and gives the launches from then on, inputs by their names."""
    log: list[tuple[object, tuple[object, ...]]] = []
    # All tests here ask for deterministic algorithms, which leaves the fused form out.
    torch.use_deterministic_algorithms(False)

    class Recorded:
        def __init__(self, kernel: Any, *same: Any) -> None:
            self.same = (kernel, *same)

        def __call__(self, *args: object) -> None:
            kernel, programs, constants, options, *fixed = self.same
            log.append(((kernel, programs, constants, tuple(options.items())), (*args, *(x for f in fixed for x in f))))

    for kept in (cache, backward_launch._converts, triton_launch._row_terms):
        kept.clear()
    for module in (backward_launch, triton_launch):
        monkeypatch.setattr(module, "Relaunch", Recorded)

    def since(named: dict[str, torch.Tensor]) -> Log:
        found = [(what, *(described(x, named) for x in args)) for what, args in log]
        log.clear()
        return found

    return since


def described(x: object, named: dict[str, torch.Tensor]) -> object:
    names = {value.data_ptr(): name for name, value in named.items()}
    if isinstance(x, torch.Tensor):
        return names.get(x.data_ptr(), (tuple(x.shape), x.stride(), x.dtype))
    if hasattr(x, "block_shape"):
        return described(x.base, named), tuple(x.shape), tuple(x.strides), tuple(x.block_shape), x.layout
    return x


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("wanted", [(True, True, True), (True, False, False), (False, True, True)])
@pytest.mark.parametrize("num_kv_heads", [1, 2])
@pytest.mark.parametrize("with_dlse", [False, True])
def test_one_object_launches_what_the_parts_launch(
    launched: Callable[[dict[str, torch.Tensor]], Log], deterministic: bool, wanted: tuple[bool, bool, bool],
    num_kv_heads: int, with_dlse: bool,
) -> None:  # fmt: skip
    named = inputs(num_kv_heads)
    tensors = list(named.values())
    dlse = torch.zeros_like(named["lse"]) if with_dlse else None
    parts = gradients(*tensors, dlse, MASK, OPTIONS, wanted=(*wanted, False), deterministic=deterministic)
    expected = launched(named)
    whole = hopper.repeatable_gradients(*tensors, dlse, MASK, OPTIONS, wanted, deterministic=deterministic)
    again = hopper.repeatable_gradients(*tensors, dlse, MASK, OPTIONS, wanted, deterministic=deterministic)
    assert whole is not None and whole is again
    launched(named)
    found = whole(*tensors, dlse)
    terms, *others = launched(named)
    if all(wanted) and not deterministic:
        # The sums of dq are cleared with the row terms, where the parts take memory that is clear.
        head, *args = terms
        assert args.pop(6) == ((1, 2, 200, 64), (25600, 12800, 64, 1), torch.float32)
        assert head[2][6:] == (64, 64)
        expected[0] = (expected[0][0], *expected[0][1:7], *expected[0][8:])
        terms = ((*head[:2], (*head[2][:6], 0, 0), *head[3:]), *args)
    assert [terms, *others] == expected
    for mine, other, name in zip(found, parts, "qkv", strict=False):
        assert (mine is None) == (other is None)
        assert mine is None or (mine.shape, mine.dtype, mine.is_contiguous()) == (
            named[name].shape,
            torch.float16,
            True,
        )


def test_what_must_be_copied_first_has_no_such_object(device: str) -> None:
    named = inputs(device=device)
    tensors = list(named.values())

    def asked(mask: Any = MASK, **other: torch.Tensor) -> object:
        given = [other.get(name, x) for name, x in named.items()]
        return hopper.repeatable_gradients(*given, None, mask, OPTIONS, (True, True, True), deterministic=False)

    assert asked() is not None
    spaced = torch.stack([tensors[0]] * 2, -1)[..., 0]
    assert spaced.stride(-1) == 2 and asked(q=spaced) is None
    visible = scattered(200, 200, seed=1)
    visible[:, 3] = False
    assert asked(descriptor_of(visible)) is None
    visible = np.ones((200, 200), bool)
    visible[7] = False
    assert asked(descriptor_of(visible)) is None
    assert asked(DeviceMask.of(MASK, device)) is None
    assert asked(DeviceMask.of(MASK, device, padded=False)) is not None


def test_it_goes_with_the_tiles(device: str) -> None:
    tensors = list(inputs(device=device).values())
    cache.clear()
    found = weakref.ref(
        hopper.repeatable_gradients(*tensors, None, MASK, OPTIONS, (True, True, True), deterministic=True)
    )
    gc.collect()
    gc.disable()
    try:
        assert found() is not None
        cache.clear()
        assert found() is None
    finally:
        gc.enable()
