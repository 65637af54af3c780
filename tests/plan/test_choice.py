"""choose_plan: the golden table of choices, columns known from an independent model, and the cost model's arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import known_masks
import numpy as np
import pytest
from grid_masks import descriptor_of, disc, natten
from hypothesis import given, settings
from strategies import descriptors

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import (
    H200,
    CostModel,
    GridStructure,
    PackedPlan,
    PatchedGrid,
    TilePlan,
    choose_plan,
    infer_structure,
    plan_packed,
    plan_tiles,
)
from compilemask.plan.candidates import patches

N = 32768


def one_axis(n: int, shapes: Trapezoids) -> Callable[[], MaskDescriptor]:
    return lambda: MaskDescriptor.from_trapezoids(n, n, shapes)


# mask: (kind, chunk, patch)
GOLDEN: dict[str, tuple[Callable[[], MaskDescriptor], str, int | None, tuple[int, ...] | None]] = {
    "causal": (one_axis(N, known_masks.causal(N)), "rows", None, None),
    "sliding window": (one_axis(N, known_masks.sliding_window(N, 1024)), "rows", None, None),
    "hstu": (one_axis(N, known_masks.hstu(24576, 8192)), "rows", None, None),
    "shared prompt": (one_axis(N, known_masks.shared_prompt(8192, 12, 2048)), "rows", None, None),
    "documents": (one_axis(N, known_masks.documents(N, 16)), "rows", None, None),
    "short documents": (one_axis(16384, known_masks.documents(16384, 256)), "rows", None, None),
    "no cells": (one_axis(300, Trapezoids.empty()), "rows", None, None),
    "no queries": (one_axis(0, Trapezoids.empty()), "rows", None, None),
    "disc 8, 128 wide": (lambda: disc(512, 128, 128, 8), "packed", 16, (8, 16)),
    "disc 16, 128 wide": (lambda: disc(512, 128, 128, 16), "packed", 16, (8, 16)),
    "disc 16, 256 wide": (lambda: disc(512, 126, 256, 16), "packed", 16, (8, 16)),
    "windows 13 x 13, 64 wide": (lambda: natten((64, 64), (13, 13)), "packed", 8, (8, 16)),
    "windows 13 x 13, 128 wide": (lambda: natten((128, 128), (13, 13)), "packed", 8, (8, 16)),
    "windows 5 x 5 x 5": (lambda: natten((8, 32, 32), (5, 5, 5)), "packed", 8, (8, 4, 4)),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_table_of_choices(name: str) -> None:
    build, kind, chunk, patch = GOLDEN[name]
    choice = choose_plan(build())
    assert (choice.kind, choice.chosen.chunk) == (kind, chunk)
    assert [grid.patch for grid in choice.chosen.grids] == ([] if patch is None else [patch])
    assert isinstance(choice.plan, PackedPlan if kind == "packed" else TilePlan)
    assert choice.chosen in choice.candidates
    assert choice.reason.startswith(f"{choice.chosen}: ")
    cheapest = min(one.milliseconds for one in choice.candidates)
    # chunks of 8 over 16 must be worth 5 %, and so must packing over rows
    assert cheapest <= choice.chosen.milliseconds <= cheapest * 1.05**2


# Keys processed per query with 128 x 64 tiles, as a dense model of each mask counted them, cell by cell:
# row tiles, chunks of 16, chunks of 8; patches of 8 x 16 and 4 x 4 x 8.
COLUMNS = {
    "disc 8, 64 wide": (lambda: disc(512, 64, 64, 8), 1820, 1550, 1493),
    "disc 16, 64 wide": (lambda: disc(512, 64, 64, 16), 2560, 2119, 2105),
    "disc 32, 64 wide": (lambda: disc(512, 64, 64, 32), 3698, 3470, 3399),
    "disc 8, 128 wide": (lambda: disc(512, 128, 128, 8), 2816, 1668, 1637),
    "disc 16, 128 wide": (lambda: disc(512, 128, 128, 16), 4624, 2494, 2459),
    "disc 16, 252 lines": (lambda: disc(512, 252, 128, 16), 4802, 2582, 2540),
    "windows 13 x 13, 64 wide": (lambda: natten((64, 64), (13, 13)), 884, 592, 536),
    "windows 13 x 13, 128 wide": (lambda: natten((128, 128), (13, 13)), 1664, 616, 586),
    "windows 7 x 7 x 7": (lambda: natten((16, 32, 32), (7, 7, 7)), 2128, 1280, 1280),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_of_the_dense_model(name: str) -> None:
    build, rows, sixteen, eight = COLUMNS[name]
    descriptor = build()
    (grid,) = infer_structure(descriptor)
    patched = [PatchedGrid(grid, (8, 16) if len(grid.shape) == 2 else (4, 4, 8))]
    plans = (
        plan_tiles(descriptor, 128, 64),
        plan_packed(descriptor, 128, 64, 16, patched),
        plan_packed(descriptor, 128, 64, 8, patched),
    )
    assert [round(plan.processed_pairs / descriptor.q_len) for plan in plans] == [rows, sixteen, eight]


def test_estimates_from_samples_are_near_the_plan() -> None:
    # the tall disc has 48 lines of 8 patches: every eighth one lies at the left border
    for build in (
        lambda: disc(512, 126, 256, 16),
        lambda: disc(0, 384, 128, 16),
        lambda: natten((128, 128), (13, 13)),
    ):
        choice = choose_plan(build())
        exact = choice.plan.processed_pairs / choice.plan.q_len
        assert abs(choice.chosen.columns - exact) <= 0.04 * exact


def test_predictions_are_near_measured_times() -> None:
    """Milliseconds measured on an H200 with 16 heads of 128, packed: the figures that the model was fitted on."""
    for build, chunk, measured in (
        (lambda: disc(512, 252, 128, 16), 16, 1.62),
        (lambda: disc(512, 252, 128, 8), 16, 1.12),
        (lambda: disc(512, 252, 128, 32), 16, 3.13),
        (lambda: natten((128, 128), (13, 13)), 8, 0.243),
    ):
        candidates = choose_plan(build(), chunks=(chunk,)).candidates
        predicted = min(one.milliseconds for one in candidates if one.chunk == chunk)
        assert abs(predicted - measured) <= 0.05 * measured


def test_costs_add_up() -> None:
    model = CostModel(gathered_us=3.0, contiguous_us=2.0, masked=1.5, q_tile_us=10.0, multiprocessors=4)
    tiles, full = np.array([5, 0, 2]), np.array([3, 0, 2])
    sizes = {"block_m": 128, "block_n": 64, "head_dim": 128}
    assert model.q_tile_costs(tiles, full, gathered=True, **sizes).tolist() == [28.0, 10.0, 16.0]
    assert model.q_tile_costs(tiles, full, gathered=False, **sizes).tolist() == [22.0, 10.0, 14.0]
    halved = model.q_tile_costs(tiles, full, gathered=False, block_m=64, block_n=64, head_dim=128)
    assert halved.tolist() == [16.0, 10.0, 12.0]
    assert model.milliseconds(46.0, 22.0, num_heads=8) == 0.092
    assert model.milliseconds(46.0, 22.0, num_heads=1) == 0.022, "one q tile cannot be shared"


def test_the_model_decides() -> None:
    """Where gathering costs nothing more than reading in place, packing pays sooner; where it is dear, never."""
    descriptor = disc(512, 64, 64, 32)
    assert choose_plan(descriptor).kind == "rows"
    assert choose_plan(descriptor, model=CostModel(gathered_us=H200.contiguous_us)).kind == "packed"
    dear = CostModel(gathered_us=20.0)
    assert choose_plan(disc(512, 64, 64, 8), model=dear).kind == "rows"


def test_two_pictures_are_patched_each_by_itself() -> None:
    first, second = natten((32, 128), (7, 7)), natten((40, 96), (7, 7))
    n = first.q_len + second.q_len
    shapes = second.trapezoids()
    at = first.q_len
    moved = Trapezoids(
        shapes.q_start + at,
        shapes.q_stop + at,
        shapes.lo_slope,
        shapes.lo_offset + at - shapes.lo_slope * at,
        shapes.hi_slope,
        shapes.hi_offset + at - shapes.hi_slope * at,
    )
    choice = choose_plan(MaskDescriptor.from_trapezoids(n, n, Trapezoids.concat([first.trapezoids(), moved])))
    assert choice.kind == "packed"
    assert [patched.grid for patched in choice.chosen.grids] == [
        GridStructure(0, (32, 128)),
        GridStructure(at, (40, 96)),
    ]


def test_scattered_blocks_of_keys_are_packed_without_a_grid() -> None:
    blocks = np.random.default_rng(0).random((8, 256)) < 0.1
    choice = choose_plan(descriptor_of(np.kron(blocks, np.ones((128, 16), np.bool_)).astype(np.bool_)))
    assert choice.kind == "packed"
    assert choice.chosen.grids == ()


def test_patches_fit_their_grid_and_have_long_sides() -> None:
    assert list(patches(GridStructure(0, (64, 64)), 128)) == [(4, 32), (8, 16), (16, 8), (32, 4)]
    assert list(patches(GridStructure(0, (6, 64)), 128)) == [(4, 32)]
    assert list(patches(GridStructure(0, (64, 64)), 8)) == []
    for patch in patches(GridStructure(0, (4, 16, 16)), 128):
        assert np.prod(patch) == 128
        assert min(patch[1:]) >= 4
        assert patch[0] <= 4


@settings(max_examples=60, derandomize=True, deadline=None)
@given(descriptors())
def test_any_mask_gets_a_plan(descriptor: MaskDescriptor) -> None:
    choice = choose_plan(descriptor, 16, 32)
    assert (choice.plan.q_len, choice.plan.kv_len) == (descriptor.q_len, descriptor.kv_len)
    assert {one.kind for one in choice.candidates} == {"rows", "packed"}


def test_what_does_not_fit_is_refused() -> None:
    mask = one_axis(8, Trapezoids.rectangle(0, 8, 0, 8))()
    with pytest.raises(ValueError, match="num_heads and head_dim must be at least 1, got 0 and 128"):
        choose_plan(mask, num_heads=0)
    with pytest.raises(ValueError, match=r"head_dim must be an integer, got 64\.0"):
        choose_plan(mask, head_dim=64.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chunk must be one of 1, 2, 4, 8, 16, 32, got 5"):
        choose_plan(mask, chunks=(5,))


def test_masks_of_endless_length_keep_rows_and_say_so() -> None:
    n = 2**25
    choice = choose_plan(one_axis(n, known_masks.sliding_window(n, 1024))(), 2**16, 2**16)
    assert choice.kind == "rows"
    assert choice.reason == "33554432 queries are more than the 16777216 that packing is considered for"
