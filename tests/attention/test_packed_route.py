"""Which kernel a mask takes: chosen once by the planner, reported, and the same result either way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from grid_masks import disc
from oracles_attention import allowed_error, causal, dense_attention, descriptor_of, random_qkv
from torch import Tensor

from compilemask.attention import attention, packed_tensors
from compilemask.attention.gradients import gradients
from compilemask.attention.packed_tensors import PackedChoiceCache, choices
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, choose_route, packed_route, row_route
from compilemask.attention.triton.packed_configs import PACKED_CONFIGS
from compilemask.plan import GridStructure, PatchedGrid

CPU = torch.device("cpu")
IMAGE = disc(3, 8, 96, 3)
TILES = ForwardConfig(64, 64, 4, 1)


def image_qkv(device: str) -> tuple[Tensor, Tensor, Tensor]:
    return random_qkv(np.empty((IMAGE.q_len, IMAGE.kv_len), bool), num_q_heads=1, head_dim=64, device=device)


def test_attention_packs_what_the_planner_would_and_gives_dense_attention(device: str) -> None:
    qkv = image_qkv(device)
    route = choose_route(*qkv, IMAGE)
    assert route.kind == "packed"
    assert "patches of" in route.reason
    assert "packed tiles" in route.detail
    o, lse = attention(*qkv, IMAGE, sm_scale=0.3, impl="triton", return_lse=True)
    again = route.run(*qkv, ScoreOptions(0.3))
    assert torch.equal(o, again[0])
    assert torch.equal(lse, again[1])
    exact_o, exact_lse = dense_attention(*qkv, IMAGE.dense(), 0.3)
    assert (o.double().cpu() - exact_o).abs().max() <= allowed_error(*qkv, IMAGE.dense(), 0.3, exact_o)
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=2e-6)


def test_a_mask_of_long_intervals_keeps_its_rows(device: str) -> None:
    mask = descriptor_of(causal(150, 150))
    qkv = random_qkv(mask.dense(), device=device)
    route = choose_route(*qkv, mask)
    forced = row_route(*qkv, mask)
    assert (route.kind, forced.kind) == ("rows", "rows")
    assert route.tensors is forced.tensors
    assert route.reason.startswith("row tiles, keys in place")
    assert route.plan_ms > forced.plan_ms
    assert "tiles" in route.detail
    assert "packed" not in route.detail


def test_either_tiling_can_be_forced_and_both_agree(device: str) -> None:
    qkv = image_qkv(device)
    grids = (PatchedGrid(GridStructure(3, (8, 96)), (8, 8)),)
    rows = row_route(*qkv, IMAGE)
    packed = packed_route(qkv[0], qkv[2], IMAGE, chunk=8, grids=grids, config=TILES)
    plain = packed_route(qkv[0], qkv[2], IMAGE, config=TILES)
    assert packed.detail == "8x8 patches, 64x64 packed tiles, 4 warps, 1 stages, chunks of 8"
    assert plain.detail == "64x64 packed tiles, 4 warps, 1 stages, chunks of 16"
    wanted = rows.run(*qkv, ScoreOptions(0.3))
    for route in (packed, plain):
        for found, expected in zip(route.run(*qkv, ScoreOptions(0.3)), wanted, strict=True):
            assert torch.allclose(found, expected, rtol=1e-5, atol=2e-6)


def test_gradients_follow_a_packed_forward(device: str) -> None:
    mask = disc(5, 6, 12, 3)
    qkv = random_qkv(mask.dense(), device=device)
    route = packed_route(qkv[0], qkv[2], mask, config=ForwardConfig(16, 32, 4, 1))
    weights = torch.randn(1, 2, mask.q_len, 16, generator=torch.Generator().manual_seed(1)).to(device)
    o, lse = route.run(*qkv, ScoreOptions(0.3))
    *found, _ = gradients(*qkv, o, lse, weights, torch.ones_like(lse), mask, ScoreOptions(0.3))
    exact = [x.detach().double().cpu().requires_grad_() for x in qkv]
    exact_o, exact_lse = dense_attention(*exact, mask.dense(), 0.3)
    wanted = torch.autograd.grad((exact_o * weights.double().cpu()).sum() + exact_lse.sum(), exact)
    for grad, expected in zip(found, wanted, strict=True):
        assert torch.allclose(grad.double().cpu(), expected, rtol=1e-4, atol=1e-5)


def test_the_planner_is_asked_once_for_a_mask_whatever_the_number_of_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    everybody_waits = threading.Barrier(6)
    choose_plan = packed_tensors.choose_plan

    def counted(*arguments: object, **options: object) -> object:
        asked.append(arguments)
        return choose_plan(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(packed_tensors, "choose_plan", counted)
    choices.clear()
    mask = disc(3, 8, 96, 3)

    def ask(heads: int) -> packed_tensors.PackedTensors:
        qkv = random_qkv(np.empty((mask.q_len, mask.kv_len), bool), num_q_heads=heads, batch=heads)
        everybody_waits.wait()
        tensors = choose_route(*qkv, mask).tensors
        assert isinstance(tensors, packed_tensors.PackedTensors)
        return tensors

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(1, 7)))
    assert len(asked) == 1
    assert all(answer is answers[0] for answer in answers)
    assert len(choices) == 1


def test_choices_are_kept_by_mask_tiles_and_head_dim() -> None:
    store = PackedChoiceCache(max_entries=2)
    image, lower = disc(3, 8, 96, 3), descriptor_of(causal(40, 40))
    first = store.get(image, 64, 64, 64, CPU)
    assert first.packed is not None
    assert first.build_ms > first.packed.build_ms
    assert store.get(image, 64, 64, 64, CPU) is first
    assert store.get(image, 64, 64, 256, CPU) is not first
    assert store.get(image, 64, 64, 64, CPU) is first
    assert store.get(lower, 64, 64, 64, CPU).packed is None
    assert store.get(image, 32, 64, 64, CPU).packed.plan.block_m == 32  # type: ignore[union-attr]
    assert len(store) == 2
    store.clear()
    assert len(store) == 0


@pytest.mark.parametrize("capability", [None, (8, 0), (8, 9), (9, 0), (10, 0)])
@pytest.mark.parametrize("itemsize", [2, 4])
def test_every_committed_tile_can_be_packed(capability: tuple[int, int] | None, itemsize: int) -> None:
    for head_dim in (1, 16, 64, 80, 128, 200, 256):
        config = PACKED_CONFIGS.choose(head_dim, 256 - head_dim or 1, itemsize, capability)
        assert config.block_n % 32 == 0
        assert not config.tma


def test_a_build_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_options: object) -> object:
        raise MemoryError("no memory for this plan")

    store, mask = PackedChoiceCache(), descriptor_of(causal(40, 40))
    with monkeypatch.context() as patch:
        patch.setattr(packed_tensors, "choose_plan", broken)
        with pytest.raises(MemoryError, match="no memory for this plan"):
            store.get(mask, 64, 64, 64, CPU)
    assert store.get(mask, 64, 64, 64, CPU).packed is None
