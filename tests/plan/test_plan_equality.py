"""Attention over any plan of a mask is the attention of the mask: tiles of any size and kind, slices and their merge."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from grid_masks import disc, natten
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_plans import BoolArray, FloatArray, attend, merge, tiles_of, value_gradient
from strategies import descriptors

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import GridStructure, PatchedGrid, TilePlan, choose_plan, plan_packed, plan_tiles

law = settings(max_examples=120, derandomize=True, deadline=None)
Result = tuple[FloatArray, FloatArray]


def inputs(mask: MaskDescriptor) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(mask.q_len * 100 + mask.kv_len)
    q, k, v = (rng.standard_normal((n, 4)) for n in (mask.q_len, mask.kv_len, mask.kv_len))
    return 3 * q, k, v


def dense(mask: MaskDescriptor) -> Result:
    q, k, v = inputs(mask)
    visible: BoolArray = mask.dense()
    weights = np.where(visible, np.exp(q @ k.T), 0.0)
    total = weights.sum(axis=1)
    seen = visible.any(axis=1)
    lse = np.where(seen, np.log(np.where(seen, total, 1.0)), -np.inf)
    return weights @ v / np.where(seen, total, 1.0)[:, None], lse


def assert_equal(found: Result, expected: Result) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@st.composite
def patched_grids(draw: st.DrawFn, q_len: int) -> tuple[int, list[PatchedGrid]]:
    """(block_m, grids): any patches in any grid, whether the mask has it or not."""
    patch = (draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    grid = GridStructure(draw(st.integers(0, 4)), (draw(st.integers(1, 4)), draw(st.integers(1, 6))))
    return prod(patch), draw(st.sampled_from([[], [PatchedGrid(grid, patch)]])) if q_len else []


@law
@given(descriptors(), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_row_tiles_of_any_size(mask: MaskDescriptor, block_m: int, block_n: int, force_partial: bool) -> None:
    q, k, v = inputs(mask)
    plan = plan_tiles(mask, block_m, block_n)
    o, lse = attend(q, k, v, tiles_of(plan, force_partial=force_partial))
    assert_equal((o, lse), dense(mask))
    if not force_partial:
        forced, forced_lse = attend(q, k, v, tiles_of(plan, force_partial=True))
        assert np.array_equal(forced, o) and np.array_equal(forced_lse, lse), (
            "full tiles are partial ones that need no test"
        )


@law
@given(descriptors(), st.data())
def test_packed_tiles_of_any_chunks_and_grids(mask: MaskDescriptor, data: st.DataObject) -> None:
    block_m, grids = data.draw(patched_grids(mask.q_len))
    block_n, chunk = data.draw(st.sampled_from([32, 64])), data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    plan = plan_packed(mask, block_m, block_n, chunk, grids)
    assert_equal(attend(*inputs(mask), tiles_of(plan)), dense(mask))


@law
@given(descriptors(), st.data())
def test_slices_planned_by_themselves_and_merged(mask: MaskDescriptor, data: st.DataObject) -> None:
    row, key = data.draw(st.integers(0, mask.q_len)), data.draw(st.integers(0, mask.kv_len))
    q, k, v = inputs(mask)
    o, lse = np.full((mask.q_len, 4), np.nan), np.full(mask.q_len, np.nan)
    for a, b in ((0, row), (row, mask.q_len)):
        parts = []
        for c, d in ((0, key), (key, mask.kv_len)):
            part = mask.slice_queries(a, b).slice_keys(c, d)
            block = data.draw(st.integers(1, 9))
            plan = plan_tiles(part, block, 10 - block) if block % 2 else plan_packed(part, block, 32, 4)
            parts.append(attend(q[a:b], k[c:d], v[c:d], tiles_of(plan)))
        o[a:b], lse[a:b] = merge(parts)
    assert_equal((o, lse), dense(mask))


@law
@given(descriptors(), st.integers(1, 9), st.integers(1, 9))
def test_value_gradients_over_the_tiles_of_the_transposed_mask(
    mask: MaskDescriptor, block_m: int, block_n: int
) -> None:
    q, k, _ = inputs(mask)
    do = np.random.default_rng(1).standard_normal((mask.q_len, 3))
    _, lse = dense(mask)
    weights = np.where(mask.dense(), np.exp(q @ k.T - np.where(np.isfinite(lse), lse, 0.0)[:, None]), 0.0)
    found = value_gradient(q, k, lse, do, tiles_of(plan_tiles(mask.transpose(), block_m, block_n)))
    np.testing.assert_allclose(found, weights.T @ do, rtol=1e-11, atol=1e-12)
    assert np.all(found[~mask.dense().any(axis=0)] == 0), "what no query sees has no gradient"


def causal_of(n: int, q_len: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(n, n, Trapezoids.of(0, q_len, 0, 0, 1, 1))


LARGER: dict[str, MaskDescriptor] = {
    "causal": causal_of(300, 300),
    "padded": causal_of(256, 200),
    "steps": MaskDescriptor.from_trapezoids(
        210, 210, Trapezoids.rectangle(range(0, 210, 3), range(3, 211, 3), 0, range(3, 211, 3))
    ),
    "disc": disc(20, 12, 16, 5),
    "windows pushed inside": natten((14, 16), (5, 5)),
}


@pytest.mark.parametrize("name", LARGER)
def test_larger_masks_under_every_tiling(name: str) -> None:
    mask = LARGER[name]
    expected = dense(mask)
    q, k, v = inputs(mask)
    plans = [plan_tiles(mask, block_m, block_n) for block_m, block_n in ((16, 16), (128, 64), (64, 128), (7, 33))]
    plans += [plan_packed(mask, block_m, 64, chunk) for block_m, chunk in ((16, 8), (128, 16), (31, 4))]
    choice = choose_plan(mask, 32, 32, chunks=(8, 16))
    for plan in (*plans, choice.plan):
        assert_equal(attend(q, k, v, tiles_of(plan)), expected)


def test_padding_changes_no_bit_of_the_queries_before_it() -> None:
    q, k, v = inputs(LARGER["padded"])
    o, _ = attend(q, k, v, tiles_of(plan_tiles(LARGER["padded"], 16, 16)))
    alone, _ = attend(q[:200], k[:200], v[:200], tiles_of(plan_tiles(causal_of(200, 200), 16, 16)))
    assert np.array_equal(o[:200], alone)
    assert np.all(o[200:] == 0)


def test_a_plan_that_loses_a_tile_is_found_out() -> None:
    mask = LARGER["causal"]
    plan = plan_tiles(mask, 16, 16)
    assert isinstance(plan, TilePlan)
    tiles = list(tiles_of(plan))
    with pytest.raises(AssertionError):
        assert_equal(attend(*inputs(mask), tiles[:-1]), dense(mask))
