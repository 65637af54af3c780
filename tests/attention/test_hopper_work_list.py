"""What the Hopper forward kernel reads shows every visible cell once and nothing else, and every item is computed once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_attention import (
    BoolArray,
    causal,
    descriptor_of,
    history_and_targets,
    neighbourhood,
    plan_from_dense,
    scattered,
)
from oracles_hopper import cells_shown, items_in_order, lane_words, packed_cells_shown, shown_by_words

from compilemask.attention.hopper.schedule import (
    BALANCED,
    Schedule,
    deal,
    heads_per_round,
    schedule_in_rounds,
    schedule_items,
)
from compilemask.attention.hopper.work_list import forward_work, join_work, packed_work
from compilemask.attention.tile_masks import tile_masks
from compilemask.plan import CostModel, PatchedGrid, infer_structure, plan_packed, plan_tiles

MASKS = [
    causal(150, 170),
    causal(300, 129),
    history_and_targets(160, 40),
    neighbourhood(16, 16, 3),
    scattered(170, 290, seed=1),
    np.ones((130, 400), bool),
    np.zeros((9, 9), bool),
    np.kron(np.eye(3, dtype=bool), np.ones((64, 100), bool)),
]


@pytest.mark.parametrize("visible", MASKS)
@pytest.mark.parametrize(("block_m", "block_n"), [(64, 64), (128, 128), (128, 64), (64, 32)])
def test_every_visible_cell_counts_once_and_no_other(visible: BoolArray, block_m: int, block_n: int) -> None:
    for plan in (plan_from_dense(visible, block_m, block_n), plan_tiles(descriptor_of(visible), block_m, block_n)):
        assert (cells_shown(forward_work(plan)) == visible).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_random_masks_of_rectangles_and_single_cells(data: st.DataObject) -> None:
    q_len, kv_len = data.draw(st.integers(1, 200)), data.draw(st.integers(1, 300))
    visible = np.zeros((q_len, kv_len), bool)
    for _ in range(data.draw(st.integers(0, 6))):
        row, column = data.draw(st.integers(0, q_len - 1)), data.draw(st.integers(0, kv_len - 1))
        height, width = data.draw(st.integers(1, q_len)), data.draw(st.integers(1, kv_len))
        visible[row : row + height, column : column + width] ^= True
    work = forward_work(plan_tiles(descriptor_of(visible), 128, 128))
    assert (cells_shown(work) == visible).all()


@pytest.mark.parametrize("visible", MASKS)
@pytest.mark.parametrize("chunk", [8, 16])
def test_packed_tiles_count_every_visible_cell_once_and_no_other(visible: BoolArray, chunk: int) -> None:
    assert (packed_cells_shown(packed_work(plan_packed(descriptor_of(visible), 128, 128, chunk))) == visible).all()


def test_packed_tiles_of_patches_count_every_visible_cell_once() -> None:
    visible = neighbourhood(32, 32, 4)
    mask = descriptor_of(visible)
    (grid,) = infer_structure(mask)
    plan = plan_packed(mask, 128, 128, 16, (PatchedGrid(grid, (8, 16)),))
    assert (packed_cells_shown(packed_work(plan)) == visible).all()


def test_equal_bit_masks_are_stored_once() -> None:
    tile = scattered(128, 128, seed=3)
    tile[0, ::2] = True
    visible = np.kron(np.eye(4, dtype=bool), tile)
    plan = plan_tiles(descriptor_of(visible), 128, 128)
    work = forward_work(plan)
    assert len(tile_masks(plan).gap_start) > len(work.words) > 0
    assert len(np.unique(work.words.reshape(len(work.words), -1), axis=0)) == len(work.words)


@pytest.mark.parametrize("block_n", [32, 64, 128])
def test_lane_words_of_an_interval_are_those_of_its_bits(block_n: int) -> None:
    column = np.arange(block_n)
    lo, hi = np.array([(a, b) for a in range(block_n + 1) for b in range(a, block_n + 1)]).T
    wanted = (column >= lo[:, None]) & (column < hi[:, None])
    work = forward_work(plan_tiles(descriptor_of(np.ones((1, 1), bool)), len(lo), block_n))
    work.intervals[0] = lo + ((hi - lo) << 16)
    assert (shown_by_words(lane_words(work, 0), block_n) == wanted).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 12), st.integers(1, 5), st.integers(1, 4), st.integers(1, 6), st.integers(1, 20), st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_every_item_is_in_one_list_and_the_lists_are_even(
    num_tiles: int, num_kv_heads: int, group: int, round_heads: int, num_programs: int, num_masks: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 50, (num_masks, num_tiles)).astype(np.float64)
    mask_of_head = rng.integers(0, num_masks, num_kv_heads * group)
    schedule = schedule_items(costs, mask_of_head, group, round_heads, num_programs)
    lists = items_in_order(schedule)
    items = [item for one in lists for item in one]
    wanted = [
        (int(mask) * num_tiles + tile, head, tile)
        for head, mask in enumerate(mask_of_head)
        for tile in range(num_tiles)
    ]
    assert sorted(items) == sorted(wanted)
    assert len(lists) == min(num_programs, len(items))
    loads = [sum(costs.flat[listed] for listed, _, _ in one) for one in lists]
    # Greedy: whoever is ahead got his last item when he had the least.
    assert max(loads) - min(loads) <= costs.max()
    assert schedule.imbalance == pytest.approx(max(loads) / np.mean(loads))
    assert schedule.items.dtype == schedule.program_indptr.dtype == np.int32


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 40), max_size=120), st.integers(1, 9), st.booleans())
def test_many_items_are_dealt_as_one_by_one(costs: list[int], num_programs: int, sorted_: bool) -> None:
    costs = sorted(costs, reverse=True) if sorted_ else costs
    programs, loads = deal(np.array(costs, np.float64), num_programs)
    one_by_one = [0.0] * num_programs
    for cost, program in zip(costs, programs.tolist(), strict=True):
        # Equal loads may be served in any order.
        assert one_by_one[program] == min(one_by_one)
        one_by_one[program] += cost
    assert one_by_one == loads.tolist()


def test_heads_are_computed_in_rounds_that_fit_the_cache_heavy_tiles_first() -> None:
    costs, heads = np.array([[3.0, 5.0, 4.0]]), np.zeros(8, np.int64)
    (order,) = items_in_order(schedule_items(costs, heads, group=2, round_heads=2, num_programs=1))
    assert [(tile, head) for tile, head, _ in order[:4]] == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert [tile for tile, _, _ in order[:12:4]] == [1, 2, 0]
    assert {head for _, head, _ in order[12:]} == {4, 5, 6, 7}
    assert (heads_per_round(64 << 20), heads_per_round(5 << 20), heads_per_round(0)) == (1, 2, 12 << 20)


def heads_by_time(schedule: Schedule, num_programs: int) -> list[set[int]]:
    """The heads of every program's first item, of its second, and so on."""
    lists = items_in_order(schedule)
    longest = max(map(len, lists))
    assert len(lists) == num_programs
    return [{one[place][1] for one in lists if len(one) > place} for place in range(longest)]


def test_rounds_of_heads_grow_where_they_leave_programs_idle() -> None:
    heads, mib = np.zeros(16, np.int64), 1 << 20
    causal_tiles = np.arange(1.0, 65.0)[None]
    small = schedule_items(causal_tiles, heads, 1, heads_per_round(4 * mib), 132)
    chosen = schedule_in_rounds(causal_tiles, heads, 1, 4 * mib, 132)
    assert small.imbalance > 1.1
    assert chosen.imbalance <= BALANCED
    assert sorted(map(tuple, chosen.items.tolist())) == sorted(map(tuple, small.items.tolist()))
    even = schedule_in_rounds(np.full((1, 64), 60.0), heads, 1, 4 * mib, 128)
    assert heads_by_time(even, 128)[0] == {0, 1, 2}
    few = schedule_in_rounds(np.array([[9.0, 1.0]]), np.zeros(3, np.int64), 1, 12 * mib, 4)
    assert few.imbalance == min(
        schedule_items(np.array([[9.0, 1.0]]), np.zeros(3, np.int64), 1, rounds, 4).imbalance for rounds in (1, 2, 4)
    )


def test_tiles_that_stand_out_come_first_for_all_heads() -> None:
    costs, heads = np.array([[3.0, 50.0, 4.0]]), np.zeros(3, np.int64)
    one, other = items_in_order(schedule_items(costs, heads, group=1, round_heads=1, num_programs=2))
    assert [tile for _, _, tile in (*one[:2], *other[:1])] == [1, 1, 1]


def test_masks_of_a_batch_are_read_one_behind_the_other() -> None:
    visible = [scattered(170, 290, seed=1), causal(170, 290), np.zeros((170, 290), bool), scattered(170, 290, seed=2)]
    works = [forward_work(plan_tiles(descriptor_of(one), 128, 128)) for one in visible]
    joined = join_work(works)
    own = works[0].num_q_tiles
    for number, one in enumerate(visible):
        part = slice(number * own, (number + 1) * own)
        alone = dataclasses.replace(
            joined,
            tested_indptr=joined.tested_indptr[number * own :],
            full_indptr=joined.full_indptr[number * own :],
            full_total=joined.full_total[part],
        )
        assert (cells_shown(alone) == one).all()
    model = CostModel()
    assert (joined.costs(model).reshape(4, own) == np.stack([work.costs(model) for work in works])).all()
