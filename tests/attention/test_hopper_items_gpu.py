"""The Hopper forward with few programs: each walks many items that are unlike each other, even under small masks.

On a whole GPU a small call gives every program one item, and what a program carries from one item to the next is never seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from oracles_attention import (
    allowed_error,
    causal,
    dense_attention,
    descriptor_of,
    history_and_targets,
    neighbourhood,
    random_qkv,
    scattered,
)
from torch import Tensor

from compilemask.attention import attention, calls
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import plan_packed

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("needs a GPU of compute capability 9.0", allow_module_level=True)

from compilemask.attention import hopper
from compilemask.attention.hopper import launch

pytestmark = pytest.mark.gpu
DOCUMENT = np.repeat(np.arange(9), [1, 4, 90, 16, 25, 136, 149, 300, 200])
LOWER = causal(921, 921)
MASKS = {
    "history": history_and_targets(921, 200),
    "documents": (DOCUMENT[:, None] == DOCUMENT) & LOWER,
    "documents, some queries alone": (DOCUMENT[:, None] == DOCUMENT) & LOWER & (np.arange(921) % 300 < 200)[:, None],
    "prefix, then a window": LOWER & ((np.arange(921)[:, None] - np.arange(921) < 100) | (np.arange(921) < 260)),
    "more queries than keys": causal(921, 400),
    "scattered": scattered(921, 700, seed=1),
}
FORMS: dict[str, dict[str, object]] = {"softmax": {}, "cap": {"softcap": 2.0}, "silu": {"activation": "silu"}}


@pytest.fixture(params=[1, 2, 7])
def programs(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], object]], object]:
    """Runs a call as on a GPU of so many multiprocessors."""

    def run(call: Callable[[], object]) -> object:
        with monkeypatch.context() as patched:
            patched.setattr(launch, "_multiprocessors", lambda _device: request.param)
            patched.setattr(calls, "kept", calls._Calls(16))
            hopper.work_cache.clear()
            found = call()
        hopper.work_cache.clear()
        return found

    return run


def inputs(q_len: int, kv_len: int, head_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    cells = np.ones((q_len, kv_len), bool)
    return random_qkv(
        cells, batch=2, num_q_heads=4, num_kv_heads=2, head_dim=head_dim, dtype=torch.bfloat16, device="cuda"
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("name", MASKS)
def test_many_items_give_what_one_gives(name: str, head_dim: int, form: str, programs) -> None:  # type: ignore[no-untyped-def]
    visible, options = MASKS[name], FORMS[form]
    qkv, mask = inputs(*visible.shape, head_dim), descriptor_of(visible)

    def call() -> Tensor:
        return attention(*qkv, mask, impl="hopper", **options)  # type: ignore[call-overload, no-any-return]

    one_each = call()
    if form == "softmax" and head_dim == 64:
        head = tuple(x[1:, -1:] for x in qkv)
        exact, _ = dense_attention(*head, visible, head_dim**-0.5)
        error = (one_each[1:, -1:].double().cpu() - exact).abs().max()
        assert error <= allowed_error(*head, visible, head_dim**-0.5, exact)
    assert torch.equal(programs(call), one_each)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_masks_of_items_give_what_each_gives(head_dim: int, programs) -> None:  # type: ignore[no-untyped-def]
    masks = [descriptor_of(MASKS[name]) for name in ("history", "documents")]
    qkv = inputs(921, 921, head_dim)
    batch = MaskBatch.of([[mask] for mask in masks])
    found = programs(lambda: attention(*qkv, batch, impl="hopper", return_lse=True))
    for item, mask in enumerate(masks):
        own = attention(*(x[item : item + 1] for x in qkv), mask, impl="hopper", return_lse=True)  # type: ignore[call-overload]
        assert all(torch.equal(got[item : item + 1], right) for got, right in zip(found, own, strict=True))


@pytest.mark.parametrize("head_dim", [64, 128])
def test_packed_tiles_of_many_items(head_dim: int, programs) -> None:  # type: ignore[no-untyped-def]
    visible = neighbourhood(30, 31, 5)
    visible[400:430] = False
    mask, qkv, options = descriptor_of(visible), inputs(930, 930, head_dim), ScoreOptions(head_dim**-0.5)
    config = hopper.FORWARD_CONFIGS[head_dim][0]

    def call() -> tuple[Tensor, Tensor]:
        work = _packed(mask, config)
        return hopper.run(*qkv, work, options, config)

    assert all(torch.equal(a, b) for a, b in zip(programs(call), call(), strict=True))


def _packed(mask: MaskDescriptor, config: hopper.HopperForwardConfig) -> hopper.WorkTensors:
    plan = plan_packed(mask, config.block_m, config.block_n, 16)
    return hopper.upload_work(
        hopper.packed_work(plan), seen_keys(mask), torch.device("cuda", torch.cuda.current_device())
    )
