"""What kernels would take: the least time of a schedule, tiles of several sizes, packed ones, head dimensions."""

from __future__ import annotations

import dataclasses
import itertools

import known_masks
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import (
    HOPPER_H200,
    KERNELS,
    TRITON_H200,
    CostModel,
    PackedPlan,
    TilePlan,
    Tiling,
    choose_kernel_tiling,
    choose_plan,
    kernel_choice,
)


def causal(n: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(n, n, known_masks.causal(n))


def short_documents(n: int, each: int) -> MaskDescriptor:
    starts = np.arange(0, n, each)
    one, none = np.ones_like(starts), np.zeros_like(starts)
    return MaskDescriptor.from_trapezoids(n, n, Trapezoids(starts, starts + each, none, starts, one, one))


def disc(radius: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(8704, 8704, known_masks.clear(512, 64, 128, radius))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 30), max_size=4), st.integers(1, 2), st.integers(1, 3))
def test_no_schedule_takes_less_and_greedy_ones_a_third_more_at_most(
    costs: list[int], heads: int, programs: int
) -> None:
    model = CostModel(multiprocessors=programs)
    found = model.balanced_milliseconds(np.array(costs, np.float64), heads) * 1000
    items = costs * heads
    best = min(
        max(sum(cost for cost, at in zip(items, places, strict=True) if at == one) for one in range(programs))
        for places in itertools.product(range(programs), repeat=len(items))
    )
    assert found <= best + 1e-9
    # Heaviest first is within 4/3 - 1/3P of the best (Graham, 1969), and its proof is in terms of these bounds and the mean.
    assert best <= found * 4 / 3 + 1e-9


def test_equal_items_take_whole_rounds() -> None:
    model = CostModel(multiprocessors=132)
    assert model.balanced_milliseconds(np.full(43, 10.0), 16) == pytest.approx(0.06), "688 items in 6 rounds of 132"
    twice = dataclasses.replace(model, multiprocessors=264)
    assert twice.balanced_milliseconds(np.full(43, 10.0), 16) == pytest.approx(0.03), "688 items in 3 rounds of 264"


def test_dense_masks_have_the_usual_tiles_and_a_time_that_adds_up() -> None:
    found = choose_kernel_tiling(causal(8192), HOPPER_H200)
    usual = HOPPER_H200.tilings[128][0]
    assert (found.tiling, found.chosen.kind) == (usual, "rows")
    model, tiles = usual.model, np.arange(64)
    costs = model.contiguous_us * (tiles + model.masked) + model.q_tile_us
    # 1024 items of 132 programs, the lightest of which fill up what the others leave.
    assert found.chosen.milliseconds == pytest.approx(costs.sum() * 16 / 132 / 1000, rel=0.02)
    assert isinstance(found.plan, TilePlan)
    assert "98% of the pairs" in found.reason


def kernel_of(*tilings: Tiling, **changes: object):  # type: ignore[no-untyped-def]
    return dataclasses.replace(HOPPER_H200, tilings={128: tilings}, **changes)


def test_small_tiles_are_taken_where_they_are_predicted_faster() -> None:
    large = Tiling(128, 128, CostModel(contiguous_us=1.6, fitted_cells=128 * 128, q_tile_us=3.0))
    small = Tiling(64, 64, CostModel(contiguous_us=0.5, fitted_cells=64 * 64, q_tile_us=1.5))
    kernel = kernel_of(large, small)
    short = choose_kernel_tiling(short_documents(8192, 64), kernel)
    assert short.tiling == small
    assert (short.plan.block_m, short.plan.block_n) == (64, 64)
    assert [tiling for tiling, one in short.considered if one.kind == "rows"] == [large, small]
    assert "128 x 128: row tiles" in short.reason
    dense = choose_kernel_tiling(causal(8192), kernel)
    assert dense.tiling == large
    assert [tiling for tiling, _ in dense.considered] == [large], "small ones cannot be faster, so they are not planned"
    # Hardly faster is not enough to leave the usual size.
    level = kernel_of(
        large, dataclasses.replace(large, block_n=64, model=dataclasses.replace(large.model, q_tile_us=2.9))
    )
    assert choose_kernel_tiling(causal(8192), level).tiling.block_n == 128


def test_packed_tiles_are_those_of_choose_plan_and_can_be_ruled_out() -> None:
    mask = disc(8)
    usual = HOPPER_H200.tilings[128][0]
    one_size = kernel_of(usual)
    found = choose_kernel_tiling(mask, one_size)
    assert isinstance(found.plan, PackedPlan)
    same = choose_plan(mask, 128, 128, chunks=HOPPER_H200.chunks, model=usual.model)
    assert found.chosen == same.chosen
    assert "row tiles" in found.reason
    rows = choose_kernel_tiling(mask, one_size, packed=False)
    assert isinstance(rows.plan, TilePlan)
    assert "gathered unpadded" in rows.reason


def test_masks_with_nothing_to_pack_are_not_priced_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[MaskDescriptor] = []

    def noted(mask: MaskDescriptor, *sizes: int, **options: object):  # type: ignore[no-untyped-def]
        asked.append(mask)
        return choose_plan(mask, *sizes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel_choice, "choose_plan", noted)
    lengths = [400, 130, 90, 300, 104] * 8
    stops = np.cumsum(lengths)
    one, none = np.ones(len(stops), np.int64), np.zeros(len(stops), np.int64)
    documents = Trapezoids(stops - lengths, stops, none, stops - lengths, one, one)
    mask = MaskDescriptor.from_trapezoids(8192, 8192, documents)
    found = choose_kernel_tiling(mask, HOPPER_H200)
    assert mask.visible_pairs < 0.75 * found.plan.processed_pairs
    assert (asked, "each row sees one run" in found.reason) == ([], True)
    # One run a row, but far apart: 128 rows see 128 keys in as many places.
    rows = np.arange(256)
    far = rows * 997 % 256 * 64
    level = np.zeros(256, np.int64)
    apart = MaskDescriptor.from_trapezoids(256, 16384, Trapezoids(rows, rows + 1, level, far, level, far + 8))
    packed = choose_kernel_tiling(apart, HOPPER_H200)
    assert (asked, packed.chosen.kind) == ([apart], "packed")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.impl)
def test_head_dimensions(kernel) -> None:  # type: ignore[no-untyped-def]
    mask = causal(512)
    known = {dim for dim in range(1, 300) if kernel.tilings_for(dim)}
    if kernel is TRITON_H200:
        assert known == set(range(1, 257))
    else:
        assert known == set(range(40, 257, 8))
        padded, whole = (choose_kernel_tiling(mask, kernel, head_dim=dim).chosen for dim in (96, 128))
        assert padded == whole
    with pytest.raises(ValueError, match=f"impl '{kernel.impl}' has no kernel for head_dim 264"):
        choose_kernel_tiling(mask, kernel, head_dim=264)


def test_masks_without_cells_take_no_kv_tiles() -> None:
    none = MaskDescriptor.from_trapezoids(300, 300, Trapezoids.empty())
    found = choose_kernel_tiling(none, HOPPER_H200)
    assert found.chosen.columns == 0
    nobody = MaskDescriptor.from_trapezoids(0, 0, Trapezoids.empty())
    assert choose_kernel_tiling(nobody, HOPPER_H200).chosen.milliseconds == 0.0
