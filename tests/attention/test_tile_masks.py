"""Partial tiles spelled out row by row hold exactly the cells of the mask."""

from __future__ import annotations

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

from compilemask.attention import tile_masks as module
from compilemask.attention.dense_mask import dense_rows, seen_keys
from compilemask.attention.mask_tensors import count_heavy
from compilemask.attention.tile_masks import LENGTH_SHIFT, MIN_GAPS, TileMasks, tile_masks
from compilemask.plan import TilePlan, plan_tiles

MASKS = [
    causal(50, 70),
    history_and_targets(60, 20),
    neighbourhood(8, 8, 3),
    scattered(70, 90, seed=1),
    np.zeros((9, 9), bool),
]


def inside(masks: TileMasks, vector: int, block_n: int) -> BoolArray:
    ends = masks.ends[vector][:, None]
    lo, length = ends & ((1 << LENGTH_SHIFT) - 1), ends >> LENGTH_SHIFT
    column = np.arange(block_n)
    return (column >= lo) & (column < lo + length)


def paint(plan: TilePlan, masks: TileMasks) -> BoolArray:
    """The cells that full tiles and spelled-out tiles hold, each tile painted once."""
    pad = np.zeros((plan.num_q_tiles * plan.block_m, plan.kv_len + plan.block_n), np.int64)
    for t in range(plan.num_q_tiles):
        rows = slice(t * plan.block_m, (t + 1) * plan.block_m)
        for r in range(plan.full_indptr[t], plan.full_indptr[t + 1]):
            stop = plan.full_start[r] + plan.full_count[r] * plan.block_n
            pad[t * plan.block_m : min((t + 1) * plan.block_m, plan.q_len), plan.full_start[r] : stop] += 1
        for p in range(masks.interval_indptr[t], masks.interval_indptr[t + 1]):
            start = masks.interval_start[p]
            pad[rows, start : start + plan.block_n] += inside(masks, masks.interval_ends[p], plan.block_n)
        for g in range(masks.gap_indptr[t], masks.gap_indptr[t + 1]):
            vectors = masks.gap_ends[masks.gap_ends_indptr[g] : masks.gap_ends_indptr[g + 1]]
            assert len(vectors) >= MIN_GAPS
            hidden = np.any([inside(masks, vector, plan.block_n) for vector in vectors], axis=0)
            pad[rows, masks.gap_start[g] : masks.gap_start[g] + plan.block_n] += ~hidden
    assert pad.max(initial=0) <= 1
    assert not pad[plan.q_len :].any()
    assert not pad[:, plan.kv_len :].any()
    return pad[: plan.q_len, : plan.kv_len].astype(bool)


@pytest.mark.parametrize("visible", MASKS)
@pytest.mark.parametrize(("block_m", "block_n"), [(16, 16), (16, 64), (64, 32), (128, 128)])
def test_both_planners_tiles_hold_the_mask_s_cells_once(visible: BoolArray, block_m: int, block_n: int) -> None:
    for plan in (plan_from_dense(visible, block_m, block_n), plan_tiles(descriptor_of(visible), block_m, block_n)):
        assert (paint(plan, tile_masks(plan)) == visible).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([1, 4, 16]),
    st.sampled_from([1, 8, 32]),
)
def test_random_masks_survive_any_tiling(seed: int, q_len: int, kv_len: int, block_m: int, block_n: int) -> None:
    rng = np.random.default_rng(seed)
    visible = rng.random((q_len, kv_len)) < rng.random()
    plan = plan_tiles(descriptor_of(visible), block_m, block_n)
    assert (paint(plan, tile_masks(plan)) == visible).all()


def test_equal_row_vectors_are_stored_once_and_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_tiles(descriptor_of(causal(256, 256)), 16, 16)
    whole = tile_masks(plan)
    assert len(whole.interval_start) == 16
    assert len(whole.ends) == 1
    scattered_plan = plan_tiles(descriptor_of(scattered(200, 200, seed=2)), 16, 16)
    whole = tile_masks(scattered_plan)
    monkeypatch.setattr(module, "_ROWS_PER_CHUNK", 100)
    in_chunks = tile_masks(scattered_plan)
    for name in TileMasks.__slots__:
        assert np.array_equal(getattr(whole, name), getattr(in_chunks, name))


@pytest.mark.parametrize("visible", MASKS)
def test_dense_rows_and_seen_keys_are_the_mask(visible: BoolArray) -> None:
    mask = descriptor_of(visible)
    middle = len(visible) // 2
    assert (dense_rows(mask, 0, len(visible)) == visible).all()
    assert (dense_rows(mask, middle, middle + 3) == visible[middle : middle + 3]).all()
    assert (seen_keys(mask) == visible.any(0)).all()


def test_heavy_tiles_are_those_with_more_than_twice_the_median_s_work() -> None:
    visible = np.eye(160, dtype=bool)
    visible[:20] = True
    assert count_heavy(plan_tiles(descriptor_of(visible), 16, 16)) == 2
    assert count_heavy(plan_tiles(descriptor_of(causal(160, 160)), 16, 16)) == 0
    assert count_heavy(plan_tiles(descriptor_of(np.zeros((0, 5), bool)), 16, 16)) == 0
