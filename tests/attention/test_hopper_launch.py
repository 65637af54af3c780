"""What the Hopper forward kernel is launched with, told without a GPU: the kernel is replaced by one that notes its arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, neighbourhood, random_qkv

from compilemask.attention.hopper import (
    FORWARD_CONFIGS,
    forward,
    forward_launch,
    launch,
    obstacle,
    run,
    upload_work,
    work_cache,
)
from compilemask.attention.hopper.work_list import packed_work
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch
from compilemask.plan import plan_packed

OPTIONS = ScoreOptions(0.5)


class Noted:
    """Stands for the kernel."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.calls: list[dict[str, object]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def note(*args: object, **options: object) -> None:
            self.calls.append(dict(zip(self.names, args, strict=True)) | options | {"programs": grid[0]})

        return note


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    kernel = Noted(launch.hopper_forward_kernel.arg_names)
    monkeypatch.setattr(launch, "hopper_forward_kernel", kernel)
    monkeypatch.setattr(launch, "_multiprocessors", lambda _device: 132)
    return kernel


def half(visible: np.ndarray, **sizes: int) -> tuple[torch.Tensor, ...]:
    return random_qkv(visible, dtype=torch.bfloat16, **{"num_q_heads": 4, "num_kv_heads": 2, "head_dim": 64, **sizes})


@pytest.mark.parametrize("head_dims", list(itertools.product((24, 33, 40, 64, 100, 104, 256, 264), repeat=2)), ids=str)
def test_sizes_are_refused_or_have_tensor_maps(head_dims: tuple[int, int], noted: Noted) -> None:
    head_dim, v_head_dim = head_dims
    q, k = half(causal(40, 40), head_dim=head_dim)[:2]
    v = half(causal(40, 40), head_dim=v_head_dim)[2]
    refusal = obstacle(q, k, v)
    assert refusal is None or refusal.endswith(f"got head_dim {head_dim} and {v_head_dim}")
    if refusal is None:
        forward(q, k, v, descriptor_of(causal(40, 40)), OPTIONS)
    sizes = [range(33, 65), range(65, 129), range(129, 257)]
    one_size = any(head_dim in size and v_head_dim in size for size in sizes)
    assert len(noted.calls) == int(one_size and head_dim % 8 == v_head_dim % 8 == 0)


def test_tensor_maps_reach_from_the_first_row_to_the_last_key_that_is_seen(noted: Noted) -> None:
    visible = causal(200, 300)
    visible[:, 250:] = False
    q, k, v = half(visible, batch=3)
    forward(q, k.transpose(1, 2).contiguous().transpose(1, 2), v, descriptor_of(visible), OPTIONS)
    (call,) = noted.calls
    config = FORWARD_CONFIGS[64][0]
    assert (call["q_desc"].base is q, call["q_desc"].block_shape) == (True, [1, 1, 64, 64])
    assert call["k_desc"].shape == call["v_desc"].shape == [3, 2, 250, 64]
    assert call["k_desc"].block_shape == [1, 1, config.block_n, 64]
    assert call["k_desc"].strides == [300 * 2 * 64, 64, 2 * 64, 1]
    assert call["o_desc"].shape == [3, 4, 200, 64]
    assert (call["GROUP"], call["CHUNK"], call["q_len"], call["num_q_heads"]) == (2, 0, 200, 4)
    assert (call["programs"], call["num_warps"]) == (2 * 12, 4)
    assert call["qk_scale"] == pytest.approx(0.5 * math.log2(math.e))


def test_values_of_unseen_keys_are_cleared_where_others_follow(noted: Noted) -> None:
    visible = causal(200, 300)
    visible[:, 50:60] = False
    q, k, v = half(visible)
    v[:, :, 50:60] = math.nan
    forward(q, k, v, descriptor_of(visible), OPTIONS)
    read = noted.calls[0]["v_desc"].base
    assert (read[:, :, 50:60] == 0).all()
    assert torch.equal(read[:, :, 60:], v[:, :, 60:])


def test_each_item_of_a_batch_has_its_own_unseen_keys(noted: Noted) -> None:
    one, other = np.ones((256, 300), bool), np.ones((256, 300), bool)
    one[:, 10:20] = other[:, 100:110] = False
    q, k, v = half(one, batch=2)
    masks = MaskBatch.of([[descriptor_of(one)], [descriptor_of(other)]])
    found = forward_launch(q, k, v, None, masks, OPTIONS)
    assert found is not None
    found(q, k, v)
    read = noted.calls[0]["v_desc"].base
    assert [(read[item] == 0).all(-1).any(0).nonzero().flatten().tolist() for item in (0, 1)] == [
        list(range(10, 20)), list(range(100, 110))
    ]  # fmt: skip
    by_head = MaskBatch.of([[descriptor_of(one)] * 2 + [descriptor_of(other)] * 2])
    assert forward_launch(q, k, v, None, by_head, OPTIONS) is None


def test_what_a_tensor_map_cannot_address_is_copied_and_a_sign_moves_into_the_queries(noted: Noted) -> None:
    visible = causal(200, 200)
    q, k, v = half(visible)
    unaligned = torch.nn.functional.pad(k, (3, 2))[..., 3:-2]
    forward(q, unaligned, v.expand(1, 2, 200, 64), descriptor_of(visible), ScoreOptions(-0.5))
    (call,) = noted.calls
    assert torch.equal(call["k_desc"].base, k)
    assert call["k_desc"].base.is_contiguous()
    assert torch.equal(call["q_desc"].base, -q)
    assert call["qk_scale"] > 0


@pytest.mark.parametrize("visible", [causal(256, 256), neighbourhood(16, 16, 3)], ids=["rows", "packed"])
def test_tensors_that_begin_between_addresses_are_copied(visible: np.ndarray, noted: Noted) -> None:
    plain = half(visible)
    moved = [torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape) for x in plain]
    assert all(x.is_contiguous() and x.data_ptr() % 16 for x in moved)
    config = FORWARD_CONFIGS[64][0]
    plan = plan_packed(descriptor_of(visible), config.block_m, config.block_n, 16)
    packed = upload_work(packed_work(plan), visible.any(0), plain[0].device)
    forward(*moved, descriptor_of(visible), OPTIONS)
    run(*moved, packed, OPTIONS, config)
    rows, gathered = noted.calls
    read = [rows["q_desc"].base, rows["k_desc"].base, rows["v_desc"].base, gathered["q_ptr"], gathered["k_desc"].base]
    for given, wanted in zip(read, [*plain, plain[0], plain[1]], strict=True):
        assert given.data_ptr() % 16 == 0
        assert torch.equal(given, wanted)


def test_packed_tiles_gather_queries_by_pointer_and_keys_in_chunks(noted: Noted) -> None:
    visible = neighbourhood(16, 16, 3)
    q, k, v = half(visible)
    config = FORWARD_CONFIGS[64][0]
    plan = plan_packed(descriptor_of(visible), config.block_m, config.block_n, 16)
    work = upload_work(packed_work(plan), visible.any(0), q.device)
    o, _ = run(q, k, v, work, OPTIONS, config)
    (call,) = noted.calls
    assert call["q_ptr"] is q
    assert call["o_ptr"] is o
    assert call["q_desc"] is None
    assert (call["CHUNK"], call["k_desc"].block_shape) == (16, [1, 1, 16, 64])


def test_masks_of_many_short_runs_get_packed_tiles_and_others_row_tiles() -> None:
    image, device = descriptor_of(neighbourhood(16, 128, 4)), torch.device("cpu")
    packed = work_cache.get(image, 128, True, device)
    assert packed.chunk == 16
    assert "packed" in packed.reason
    square = work_cache.get(descriptor_of(causal(1024, 1024)), 128, True, device)
    assert square.chunk == 0
    assert "row tiles" in square.reason
    assert "89% of the pairs" in square.reason
    assert work_cache.get(image, 128, False, device).chunk == 0


def test_a_call_like_one_before_finds_its_launch(noted: Noted) -> None:
    visible = causal(200, 200)
    mask, (q, k, v) = descriptor_of(visible), half(visible)
    first = forward_launch(q, k, v, None, mask, OPTIONS)
    assert forward_launch(q.clone(), k.clone(), v.clone(), None, mask, OPTIONS) is first
    assert forward_launch(q, k, v, torch.zeros(4), mask, OPTIONS) is not first
    assert forward_launch(q.transpose(1, 2).contiguous().transpose(1, 2), k, v, None, mask, OPTIONS) is not first


def test_no_key_that_is_seen_needs_no_launch(noted: Noted) -> None:
    visible = np.zeros((70, 80), bool)
    o, lse = forward(*half(visible), descriptor_of(visible), OPTIONS)
    assert (o == 0).all()
    assert (lse == -math.inf).all()
    assert not noted.calls
