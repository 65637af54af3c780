"""Reordered plans and the tiles cut from them, against the dense mask, whatever grids are said to be there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from grid_masks import descriptor_of, disc, natten
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.descriptor import MaskDescriptor
from compilemask.plan import (
    H200_HOPPER_BACKWARD,
    GridStructure,
    PatchedGrid,
    ReorderedPlan,
    ReorderedTiles,
    choose_backward,
    cut_tiles,
    infer_structure,
    reorder,
)
from compilemask.plan.reordered_plan import BLOCK

BoolArray = npt.NDArray[np.bool_]
TILES = ((128, 64), (128, 128), (64, 64), (64, 32))


def bits_of(mask: npt.NDArray[np.uint32]) -> BoolArray:
    return np.unpackbits(np.ascontiguousarray(mask, "<u4").view(np.uint8), axis=-1, bitorder="little").astype(bool)


def decode(plan: ReorderedPlan) -> BoolArray:
    """The visible cells of the blocks; asserts that the plan keeps its promises on the way."""
    q_held, k_held = plan.q_order >= 0, plan.k_order >= 0
    assert sorted(plan.q_order[q_held].tolist()) == list(range(plan.q_len))
    assert sorted(plan.k_order[k_held].tolist()) == list(range(plan.kv_len))
    assert np.array_equal(plan.q_order[plan.slots_of_queries()], np.arange(plan.q_len))
    assert np.array_equal(plan.k_order[plan.slots_of_keys()], np.arange(plan.kv_len))
    slots = np.zeros((len(plan.q_order), len(plan.k_order)), bool)
    for i in range(len(plan.q_order) // BLOCK):
        blocks = range(plan.block_indptr[i], plan.block_indptr[i + 1])
        assert np.all(np.diff(plan.block_column[blocks.start : blocks.stop]) > 0)
        for b in blocks:
            rows, columns = (slice(n * BLOCK, (n + 1) * BLOCK) for n in (i, int(plan.block_column[b])))
            if plan.mask_id[b] < 0:
                assert k_held[columns].all()
                slots[rows, columns] = q_held[rows, None]
            else:
                bits = bits_of(plan.masks[plan.mask_id[b]])
                assert not bits[~q_held[rows]].any()
                assert not bits[:, ~k_held[columns]].any()
                assert not bits[np.ix_(q_held[rows], k_held[columns])].all() or not k_held[columns].all()
                slots[rows, columns] = bits
    assert len({mask.tobytes() for mask in plan.masks}) == plan.num_masks
    assert all(mask.any() for mask in plan.masks)
    assert set(plan.mask_id.tolist()) - {-1} == set(range(plan.num_masks))
    return back(slots, plan.q_order, plan.k_order)


def back(slots: BoolArray, rows: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]) -> BoolArray:
    """Cells of slots as cells of tokens."""
    held = np.flatnonzero(rows >= 0), np.flatnonzero(columns >= 0)
    cells = np.zeros([len(found) for found in held], bool)
    cells[np.ix_(rows[held[0]], columns[held[1]])] = slots[np.ix_(*held)]
    return cells


def drawn(tiles: ReorderedTiles) -> BoolArray:
    """The cells that the tiles visit and do not hide; no cell is visited twice."""
    cells = np.zeros((tiles.num_rows, tiles.num_columns), np.int64)
    for t in range(tiles.num_tiles):
        rows = slice(t * tiles.block_m, (t + 1) * tiles.block_m)
        for r in range(tiles.full_indptr[t], tiles.full_indptr[t + 1]):
            begin = int(tiles.full_start[r])
            cells[rows, begin : begin + int(tiles.full_count[r]) * tiles.block_n] += 1
        for p in range(tiles.bit_indptr[t], tiles.bit_indptr[t + 1]):
            begin = int(tiles.bit_start[p])
            bits = bits_of(tiles.masks[tiles.bit_mask[p]])
            assert bits.any()
            assert not bits.all()
            cells[rows, begin : begin + tiles.block_n] += bits
    assert cells.max(initial=0) <= 1
    return cells > 0


def assert_exact(mask: MaskDescriptor, grids: tuple[PatchedGrid, ...]) -> ReorderedPlan:
    dense = mask.dense()
    k_grids = grids if mask.q_len == mask.kv_len else ()
    plan = reorder(mask, grids, k_grids)
    assert np.array_equal(decode(plan), dense)
    for block_m, block_n in TILES:
        rows = cut_tiles(plan, block_m, block_n)
        assert np.array_equal(back(drawn(rows), plan.q_order, plan.k_order), dense)
        columns = cut_tiles(plan, block_m, block_n, transposed=True)
        assert np.array_equal(back(drawn(columns), plan.k_order, plan.q_order), dense.T)
        assert (rows.num_rows, rows.num_columns) == (columns.num_columns, columns.num_rows)
    return plan


@pytest.mark.parametrize(
    ("mask", "patch"),
    [
        (disc(20, 20, 37, 5), (8, 8)),
        (disc(0, 16, 64, 9), (4, 16)),
        (natten((20, 30), (7, 9), text=11), (16, 4)),
        (natten((4, 12, 16), (3, 5, 7)), (2, 4, 8)),
    ],
)
def test_reordered_images_have_the_cells_of_the_mask(mask: MaskDescriptor, patch: tuple[int, ...]) -> None:
    grids = tuple(PatchedGrid(grid, patch) for grid in infer_structure(mask))
    assert grids
    assert_exact(mask, grids)


@settings(max_examples=40)
@given(st.data())
def test_any_mask_under_any_grid_keeps_its_cells(data: st.DataObject) -> None:
    q_len, kv_len = data.draw(st.integers(0, 300)), data.draw(st.integers(0, 300))
    if data.draw(st.booleans()):
        kv_len = q_len
    cells = np.random.default_rng(data.draw(st.integers(0, 99))).random((q_len, kv_len)) < data.draw(
        st.sampled_from([0.01, 0.5, 0.995, 1.0])
    )
    start = data.draw(st.integers(0, 200))
    shape = data.draw(st.tuples(st.integers(1, 20), st.integers(1, 20)))
    patch = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    assert_exact(descriptor_of(cells), (PatchedGrid(GridStructure(start, shape), patch),))


def test_full_blocks_need_no_mask_and_hidden_ones_no_visit() -> None:
    cells = np.zeros((256, 256), bool)
    cells[:128, :128] = True
    plan = assert_exact(descriptor_of(cells), ())
    assert plan.mask_id.tolist() == [-1]
    tiles = cut_tiles(plan, 64, 32, transposed=True)
    assert (tiles.num_full, tiles.num_partial) == (8, 0)


def test_heavy_row_tiles_come_first() -> None:
    plan = reorder(disc(128, 32, 64, 5), (), ())
    tiles = cut_tiles(plan, 128, 64)
    assert tiles.num_heavy == 1
    assert tiles.tile_order.tolist() == list(range(17))


def test_tiles_that_leave_a_rest_are_refused() -> None:
    plan = reorder(disc(0, 16, 16, 3), (), ())
    with pytest.raises(ValueError, match="tiles of 128 x 48 do not cut blocks of 128 into words of 32 columns"):
        cut_tiles(plan, 128, 48)


def test_large_discs_are_reordered_and_the_prediction_is_told() -> None:
    mask = disc(128, 64, 128, 8)
    choice = choose_backward(mask, H200_HOPPER_BACKWARD)
    assert choice.plan is not None
    assert choice.rows_ms is not None
    assert choice.reordered_ms is not None
    assert choice.reordered_ms < choice.rows_ms
    assert [patched.patch for patched in choice.grids] == [(8, 8)]
    assert choice.reason.startswith(
        f"reordered: {choice.rows_ms:.3f} ms predicted for row tiles, {choice.reordered_ms:.3f} ms"
    )
    visited = cut_tiles(choice.plan, 128, 64, transposed=True)
    kernels = H200_HOPPER_BACKWARD.kernels_ms(visited.num_full, visited.num_partial, visited.num_tiles, 128)
    assert choice.reordered_ms == kernels + H200_HOPPER_BACKWARD.copies_ms(mask.q_len, mask.kv_len, 128)


@pytest.mark.parametrize(
    ("mask", "reason"),
    [
        (descriptor_of(np.tri(300, dtype=bool)), "a query sees 1.0 intervals of keys"),
        (disc(0, 16, 24, 6).slice_keys(0, 300), "there are 300 and 384"),
        (descriptor_of(np.tile(np.arange(200) % 2 == 0, (200, 1))), "the runs show no grid"),
        (descriptor_of(np.random.default_rng(0).random((200, 200)) < 0.5), "the grids are smaller than the patches"),
        (disc(0, 16, 16, 4), "row tiles: 0.0"),
    ],
)
def test_other_masks_keep_row_tiles_and_the_reason_is_told(mask: MaskDescriptor, reason: str) -> None:
    choice = choose_backward(mask, H200_HOPPER_BACKWARD)
    assert choice.plan is None
    assert choice.reason.startswith("row tiles: ")
    assert reason in choice.reason
