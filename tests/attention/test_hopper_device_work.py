"""The Hopper forward on tiles that were planned on the device: its reading of them, its schedule, and what it is launched with."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hopper_backward_mirror import Launch, programs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_attention import causal, random_qkv
from oracles_hopper import cells_shown, items_in_order

import compilemask
from compilemask.attention import DeviceMask
from compilemask.attention.hopper import device_work, launch
from compilemask.attention.hopper.work_list import ForwardWork
from compilemask.attention.score_options import ScoreOptions

PROGRAM = compilemask.compile(compilemask.preset_source("hstu_jagged"))


def users(numbers: list[tuple[int, int, int]]) -> dict[str, list[int]]:
    parts = [list(part) for part in zip(*numbers, strict=True)] or [[], [], []]
    return dict(zip(("context", "history", "targets"), parts, strict=True))


def forward_work_of(mask: DeviceMask, block_m: int, block_n: int) -> ForwardWork:
    """The same lists as the host's work list names them."""
    work = device_work.device_work(mask, block_m, block_n)
    lists = {name: x.numpy() for name, x in work.arrays.items() if name not in ("words", "tile_order")}
    words = np.zeros((0, block_m, block_n // 32), np.int32)
    return ForwardWork(mask.q_len, mask.kv_len, block_m, block_n, words=words, **lists)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 200), st.integers(0, 40)), min_size=1, max_size=4),
    st.integers(0, 150),
    st.sampled_from([(64, 64), (128, 64), (128, 128)]),
)
def test_the_kernel_counts_each_visible_cell_once(
    numbers: list[tuple[int, int, int]], padding: int, blocks: tuple[int, int]
) -> None:
    named = users(numbers)
    bound = PROGRAM.bind(**named)
    total = max(1, bound.q_len + padding)
    mask = DeviceMask.from_lengths("hstu_jagged", total, **{name: torch.tensor(x) for name, x in named.items()})
    assert np.array_equal(cells_shown(forward_work_of(mask, *blocks)), bound.pad_to(total, total).dense())


def test_full_tiles_alone_are_tested_once_and_missing_ones_past_the_end() -> None:
    """One document of a context that sees all of it: no partial tile anywhere but in the padding."""
    lengths = {"context": [256], "history": [0], "targets": [0]}
    mask = DeviceMask.from_lengths("hstu_jagged", 512, **{name: torch.tensor(x) for name, x in lengths.items()})
    work = forward_work_of(mask, 128, 128)
    assert work.tested_indptr.tolist() == [0, 1, 2, 3, 4]
    assert work.tested_start[:4].tolist() == [0, 0, 512, 512]
    assert work.full_total.tolist() == [1, 1, 0, 0]
    assert np.array_equal(cells_shown(work), PROGRAM.bind(**lengths).pad_to(512, 512).dense())


@given(st.integers(1, 40), st.integers(1, 20), st.integers(1, 140))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_every_rank_of_every_head_is_dealt_once(num_ranks: int, num_heads: int, num_programs: int) -> None:
    found = device_work.deal(num_ranks, num_heads, num_programs)
    lists = items_in_order(found)
    assert len(lists) == min(num_programs, num_ranks * num_heads)
    dealt = sorted(item for one in lists for item in one)
    assert dealt == [(rank, head, rank) for rank in range(num_ranks) for head in range(num_heads)]
    sizes = [len(one) for one in lists]
    assert max(sizes) - min(sizes) <= 1
    assert all(one == sorted(one) for one in lists)


def test_programs_get_nearly_equal_work_where_it_falls_with_the_rank() -> None:
    """A causal mask of 8K tokens, 16 heads."""
    found = device_work.deal(64, 16, 132)
    work = [sum(64 - rank for rank, _, _ in one) for one in items_in_order(found)]
    assert max(work) <= 1.08 * np.mean(work)


@pytest.mark.parametrize("heads", [1, 3, 64, 1000])
def test_the_backward_computes_every_tile_of_every_head_and_ends_with_light_ones_of_all(heads: int) -> None:
    mask = DeviceMask.from_lengths("causal", 5000, length=torch.tensor(5000))
    tiles = mask.tiles(128, 64, transposed=True)
    rows = (np.zeros((1, heads, 5000, 0)),) * 2
    found = [
        (one.tile, one.row_head) for one in programs(Launch(rows, rows, None, tiles, ScoreOptions(1.0), True, True, 1))
    ]
    assert sorted(found) == [(tile, head) for tile in range(40) for head in range(heads)]
    rank = {tile: number for number, tile in enumerate(tiles.tile_order.tolist())}
    last = [rank[tile] for tile, _ in found[-min(792, len(found)) :]]
    assert last == sorted(last)
    assert set(last[-min(heads, len(last)) :]) == {39}


class Noted:
    """Stands for the kernel."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.calls: list[dict[str, object]] = []

    def __getitem__(self, _grid: tuple[int, ...]) -> Callable[..., None]:
        def note(*args: object, **_options: object) -> None:
            self.calls.append(dict(zip(self.names, args, strict=True)))

        return note


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    kernel = Noted(launch.hopper_forward_kernel.arg_names)
    monkeypatch.setattr(launch, "hopper_forward_kernel", kernel)
    monkeypatch.setattr(launch, "_multiprocessors", lambda _device: 132)
    return kernel


def half() -> tuple[torch.Tensor, ...]:
    return random_qkv(causal(300, 300), num_q_heads=4, num_kv_heads=2, head_dim=64, dtype=torch.bfloat16)


def test_one_launch_reads_the_tiles_as_they_are_and_hides_what_is_padding_now(noted: Noted) -> None:
    q, k, v = half()
    v[:, :, 250:] = math.nan
    mask = DeviceMask.from_lengths("documents", 300, lengths=torch.tensor([100, 150]))
    options = ScoreOptions(0.5)
    found = launch.forward_launch(q, k, v, None, mask, options)
    found(q, k, v)
    mask.replan(lengths=torch.tensor([200, 30]))
    assert launch.forward_launch(q, k, v, None, mask, options) is found
    found(q, k, v)
    tiles = mask.tiles(128, 128)
    for call, stop in zip(noted.calls, (250, 230), strict=True):
        assert call["tile_order_ptr"] is tiles.tile_order
        assert call["tested_mask_ptr"] is tiles.interval_ends
        assert call["row_index_ptr"] is None
        assert call["k_desc"].base is k  # type: ignore[attr-defined]
        assert torch.equal(call["v_desc"].base[:, :, :stop], v[:, :, :stop])  # type: ignore[attr-defined]
        assert not call["v_desc"].base[:, :, stop:].any()  # type: ignore[attr-defined]


def test_values_are_read_where_they_are_when_there_is_no_padding(noted: Noted) -> None:
    q, k, v = half()
    mask = DeviceMask.from_lengths("documents", 300, padded=False, lengths=torch.tensor([100, 200]))
    launch.forward_launch(q, k, v, None, mask, ScoreOptions(0.5))(q, k, v)
    assert noted.calls[0]["v_desc"].base is v  # type: ignore[attr-defined]


def test_more_intervals_than_offsets_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = DeviceMask.from_lengths("causal", 300, length=torch.tensor(300))
    monkeypatch.setattr(device_work, "MAX_INT32", 1000)
    with pytest.raises(
        ValueError, match=r"a DeviceMask of 300 tokens have room for \d+ entries, the hopper kernel reads at most 1000"
    ):
        device_work.device_work(mask, 64, 64)
