"""plan_packed: the laws of a PackedPlan, against the dense mask, whatever grids are said to be there."""

from __future__ import annotations

from dataclasses import fields
from math import prod

import numpy as np
import numpy.typing as npt
import pytest
from grid_masks import disc, natten
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, trapezoids
from oracles_plans import tile_bits, tile_columns
from strategies import shape

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, intersection, normalize, rectangle
from compilemask.plan import GridStructure, PackedPlan, PatchedGrid, plan_packed

BoolArray = npt.NDArray[np.bool_]


def decode(plan: PackedPlan) -> BoolArray:
    """The visible cells as a kernel would see them; asserts that the plan keeps its promises on the way."""
    visible = np.zeros((plan.q_len, plan.kv_len), np.bool_)
    slots = plan.row_index.reshape(plan.num_q_tiles, plan.block_m)
    assert sorted(plan.row_index[plan.row_index >= 0].tolist()) == list(range(plan.q_len))
    for t in range(plan.num_q_tiles):
        held = int(np.count_nonzero(slots[t] >= 0))
        assert held >= 1
        assert np.all(slots[t, :held] >= 0)
        used = np.zeros(plan.kv_len, np.int64)
        first, last = int(plan.kv_indptr[t]), int(plan.kv_indptr[t + 1])
        assert np.all(np.diff((plan.mask_id[first:last] >= 0).astype(int)) >= 0), "full tiles come first"
        for tile in range(first, last):
            keys = tile_columns(plan, tile)
            exists = keys >= 0
            np.add.at(used, keys[exists], 1)
            if plan.mask_id[tile] < 0:
                assert exists.all()
                visible[np.ix_(slots[t, :held], keys)] = True
                continue
            bits = tile_bits(plan, tile)
            assert not bits[held:].any()
            assert not bits[:, ~exists].any()
            visible[np.ix_(slots[t, :held], keys[exists])] |= bits[:held][:, exists]
        assert used.max(initial=0) <= 1, "a key lies in two chunks of a q tile"
    assert_arrays(plan)
    assert_order(plan)
    return visible


def assert_arrays(plan: PackedPlan) -> None:
    tiles = len(plan.mask_id)
    assert plan.masks.dtype == np.uint32
    assert plan.masks.shape == (plan.num_masks, plan.block_m, plan.block_n // 32)
    assert plan.chunk_start.shape == (tiles, plan.block_n // plan.chunk)
    assert plan.kv_indptr[0] == 0
    assert plan.kv_indptr[-1] == tiles
    for name in ("row_index", "tile_order", "kv_indptr", "chunk_start", "mask_id"):
        assert getattr(plan, name).dtype == np.int32, name
    for name in ("row_index", "tile_order", "kv_indptr", "chunk_start", "mask_id", "masks"):
        assert getattr(plan, name).flags.c_contiguous, name
    assert len({mask.tobytes() for mask in plan.masks}) == plan.num_masks, "a mask is stored twice"
    assert all(mask.any() for mask in plan.masks)
    assert set(plan.mask_id.tolist()) - {-1} == set(range(plan.num_masks)), "a mask is not used"


def assert_order(plan: PackedPlan) -> None:
    work = np.diff(plan.kv_indptr)
    assert sorted(plan.tile_order.tolist()) == list(range(plan.num_q_tiles))
    heavy, rest = plan.tile_order[: plan.num_heavy], plan.tile_order[plan.num_heavy :]
    assert np.all(np.diff(work[heavy]) <= 0)
    assert np.all(np.diff(rest) > 0)
    if plan.num_q_tiles:
        assert np.all(work[heavy] > 2 * np.median(work))
        assert np.all(work[rest] <= 2 * np.median(work))


def fewest_chunks(seen: BoolArray, chunk: int) -> int:
    """The least number of chunks that covers the columns, by dynamic programming over all positions."""
    length = len(seen)
    best = [0] * (length + chunk + 1)
    for k in range(length - 1, -1, -1):
        best[k] = 1 + best[k + chunk] if seen[k] else best[k + 1]
    return best[0]


def assert_laws(
    descriptor: MaskDescriptor, block_m: int, block_n: int, chunk: int, grids: tuple[PatchedGrid, ...] = ()
) -> PackedPlan:
    dense = descriptor.dense()
    plan = plan_packed(descriptor, block_m, block_n, chunk, grids)
    assert np.array_equal(decode(plan), dense)
    slots = plan.row_index.reshape(plan.num_q_tiles, block_m)
    per_tile = block_n // chunk
    for t in range(plan.num_q_tiles):
        rows = dense[slots[t][slots[t] >= 0]]
        tiles = range(int(plan.kv_indptr[t]), int(plan.kv_indptr[t + 1]))
        starts = plan.chunk_start[tiles.start : tiles.stop].ravel()
        starts = starts[starts >= 0]
        assert len(starts) == fewest_chunks(rows.any(axis=0), chunk)
        assert len(tiles) == -(-len(starts) // per_tile)
        always = np.append(rows.all(axis=0), np.zeros(chunk, np.bool_))
        full_chunks = sum(bool(always[start : start + chunk].all()) for start in starts.tolist())
        assert sum(plan.mask_id[tile] < 0 for tile in tiles) == full_chunks // per_tile
    return plan


@st.composite
def masks(draw: st.DrawFn) -> MaskDescriptor:
    """Masks wide enough for several kv tiles, with jumping ends, empty rows and odd lengths."""
    rows, columns = draw(st.integers(0, 50)), draw(st.integers(0, 110))
    drawn: list[Shape] = draw(st.lists(shape(rows=50, columns=110, steepest=4), max_size=9))
    return MaskDescriptor(rows, columns, intersection(normalize(trapezoids(drawn)), rectangle(0, rows, 0, columns)))


@st.composite
def hints(draw: st.DrawFn, block_m: int) -> tuple[PatchedGrid, ...]:
    """Grids that need not be there, may overlap and may lie outside of the mask."""
    grids = []
    for _ in range(draw(st.integers(0, 3))):
        rank = draw(st.integers(2, 3))
        sides = tuple(draw(st.integers(1, 9)) for _ in range(rank))
        patch = []
        rest = block_m
        for _ in range(rank - 1):
            patch.append(draw(st.sampled_from([side for side in range(1, rest + 1) if rest % side == 0])))
            rest //= patch[-1]
        grids.append(PatchedGrid(GridStructure(draw(st.integers(0, 60)), sides), (*patch, rest)))
    return tuple(grids)


@settings(max_examples=250, derandomize=True, deadline=None)
@given(st.data(), masks(), st.sampled_from([1, 4, 6, 8, 12, 16]), st.sampled_from([32, 64, 96]))
def test_random_masks_keep_the_laws_under_any_hints(
    data: st.DataObject, descriptor: MaskDescriptor, block_m: int, block_n: int
) -> None:
    chunk = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    assert_laws(descriptor, block_m, block_n, chunk, data.draw(hints(block_m)))


GRID_MASKS = {
    "disc": (disc(7, 9, 21, 4), GridStructure(7, (9, 21)), (4, 8)),
    "disc without text": (disc(0, 16, 16, 5), GridStructure(0, (16, 16)), (8, 4)),
    "window": (natten((10, 19), (5, 7)), GridStructure(0, (10, 19)), (4, 8)),
    "volume": (natten((3, 7, 10), (3, 3, 5), text=5), GridStructure(5, (3, 7, 10)), (2, 4, 4)),
}


@pytest.mark.parametrize("name", GRID_MASKS)
@pytest.mark.parametrize("chunk", [8, 16])
def test_masks_of_grids_keep_the_laws_in_patches(name: str, chunk: int) -> None:
    descriptor, grid, patch = GRID_MASKS[name]
    for structure in (grid, GridStructure(grid.start + 3, grid.shape), GridStructure(1, (5, *grid.shape[1:]))):
        assert_laws(descriptor, 32, 64, chunk, (PatchedGrid(structure, patch),))
    assert_laws(descriptor, 32, 64, chunk)


def test_patches_of_an_unbroken_grid_are_rectangles() -> None:
    descriptor, grid, patch = GRID_MASKS["disc"]
    plan = plan_packed(descriptor, 32, 64, 16, [PatchedGrid(grid, patch)])
    tiles = plan.row_index.reshape(-1, 32)
    assert tiles[0].tolist() == [*range(7), *[-1] * 25], "text has tiles of its own"
    y, x = np.divmod(tiles[1] - 7, 21)
    assert y.tolist() == np.repeat(np.arange(4), 8).tolist()
    assert x.tolist() == np.tile(np.arange(8), 4).tolist()


def test_tiles_that_look_alike_share_one_mask() -> None:
    """Interior patches of a window are translates of each other, so their masks are equal bit by bit."""
    plan = plan_packed(natten((64, 64), (13, 13)), 128, 64, 16, [PatchedGrid(GridStructure(0, (64, 64)), (8, 16))])
    assert plan.num_kv_tiles > 6 * plan.num_masks
    assert plan.nbytes == sum(
        array.nbytes
        for array in (
            plan.row_index, plan.tile_order, plan.kv_indptr, plan.chunk_start, plan.mask_id, plan.masks,
        )
    )  # fmt: skip
    assert plan.fill == natten((64, 64), (13, 13)).visible_pairs / plan.processed_pairs


def test_tiles_of_other_build_but_equal_bits_share_one_mask() -> None:
    """Four rows in a stretch and two times two rows see the same keys."""
    mask = MaskDescriptor.from_trapezoids(12, 10, Trapezoids.rectangle(0, 12, 0, 10))
    plan = assert_laws(mask, 4, 32, 16, (PatchedGrid(GridStructure(4, (2, 4)), (2, 2)),))
    assert plan.row_index.reshape(3, 4).tolist() == [[0, 1, 2, 3], [4, 5, 8, 9], [6, 7, 10, 11]]
    assert plan.mask_id.tolist() == [0, 0, 0]


def test_full_chunks_are_packed_first() -> None:
    """A rectangle of 100 keys and a diagonal: 6 whole chunks of 16, then what not all rows see."""
    shapes = Trapezoids.concat([Trapezoids.rectangle(0, 16, 0, 100), Trapezoids.of(0, 16, 1, 200, 1, 201)])
    plan = assert_laws(MaskDescriptor.from_trapezoids(16, 256, shapes), 16, 64, 16)
    assert plan.chunk_start.tolist() == [[0, 16, 32, 48], [64, 80, 96, 200]]
    assert plan.mask_id.tolist() == [-1, 0]
    assert plan.processed_pairs == 16 * 128


@pytest.mark.parametrize("length", [1, 15, 16, 17, 63, 64, 65, 130])
def test_a_chunk_may_hang_over_the_end_of_the_keys(length: int) -> None:
    everything = MaskDescriptor.from_trapezoids(length, length, Trapezoids.rectangle(0, length, 0, length))
    plan = assert_laws(everything, 16, 64, 16)
    assert plan.num_full == -(-length // 16) * (length // 64)


def test_no_cells_need_no_kv_tiles() -> None:
    for q_len, kv_len in ((0, 0), (0, 5), (5, 0), (5, 5)):
        plan = assert_laws(MaskDescriptor.from_trapezoids(q_len, kv_len, Trapezoids.empty()), 4, 32, 8)
        assert (plan.num_kv_tiles, plan.processed_pairs, plan.fill, plan.num_heavy) == (0, 0, 1.0, 0)


def test_what_does_not_fit_is_refused() -> None:
    mask = MaskDescriptor.from_trapezoids(8, 8, Trapezoids.rectangle(0, 8, 0, 8))
    with pytest.raises(ValueError, match="chunk must be one of 1, 2, 4, 8, 16, 32, got 12"):
        plan_packed(mask, 8, 64, 12)
    for chunk in (16.0, True, "16"):
        with pytest.raises(ValueError, match=f"chunk must be one of 1, 2, 4, 8, 16, 32, got {chunk!r}$"):
            plan_packed(mask, 8, 64, chunk)  # type: ignore[arg-type]
    assert type(plan_packed(mask, np.int64(8), np.int64(64), np.int64(16)).chunk) is int  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="block_n of a packed plan must be a multiple of 32, got 48"):
        plan_packed(mask, 8, 48, 16)
    with pytest.raises(ValueError, match="block_m must be an integer from 1 to 65536, got 0"):
        plan_packed(mask, 0, 64, 16)
    with pytest.raises(ValueError, match=r"a patch must have block_m = 8 queries, got \(2, 2\)"):
        plan_packed(mask, 8, 64, 16, [PatchedGrid(GridStructure(0, (2, 4)), (2, 2))])
    with pytest.raises(ValueError, match=r"a patch needs 2 sides of at least 1, as its grid has, got \(8,\)"):
        PatchedGrid(GridStructure(0, (2, 4)), (8,))
    for start, sides in ((-1, (2, 2)), (0, (2,)), (0, (2, 0))):
        with pytest.raises(ValueError, match="a grid needs a start of at least 0 and 2 or 3 sides of at least 1"):
            GridStructure(start, sides)


# ---------------------------------------------------------------- attention by way of the plan


def packed_attention(
    q: npt.NDArray[np.float64], k: npt.NDArray[np.float64], v: npt.NDArray[np.float64], plan: PackedPlan
) -> npt.NDArray[np.float64]:
    """Online softmax, tile by tile: gather the rows, gather the keys, mask by bits. Empty rows give 0."""
    out = np.full((plan.q_len, v.shape[1]), np.nan)
    slots = plan.row_index.reshape(plan.num_q_tiles, plan.block_m)
    for t in plan.tile_order:
        held = slots[t] >= 0
        rows = np.where(held[:, None], q[np.maximum(slots[t], 0)], 0.0)
        m_i, l_i = np.full(plan.block_m, -1e30), np.zeros(plan.block_m)
        acc = np.zeros((plan.block_m, v.shape[1]))
        for tile in range(plan.kv_indptr[t], plan.kv_indptr[t + 1]):
            keys = tile_columns(plan, tile)
            exists = (keys >= 0)[:, None]
            k_tile, v_tile = (np.where(exists, array[np.maximum(keys, 0)], 0.0) for array in (k, v))
            scores = rows @ k_tile.T
            if plan.mask_id[tile] >= 0:
                scores = np.where(tile_bits(plan, tile), scores, -np.inf)
            m_new = np.maximum(m_i, scores.max(axis=1))
            p = np.exp(scores - m_new[:, None])
            l_i = l_i * np.exp(m_i - m_new) + p.sum(axis=1)
            acc = acc * np.exp(m_i - m_new)[:, None] + p @ v_tile
            m_i = m_new
        out[slots[t][held]] = (acc / np.where(l_i > 0, l_i, 1.0)[:, None])[held]
    return out


def dense_attention(
    q: npt.NDArray[np.float64], k: npt.NDArray[np.float64], v: npt.NDArray[np.float64], visible: BoolArray
) -> npt.NDArray[np.float64]:
    weights = np.where(visible, np.exp(q @ k.T), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    result: npt.NDArray[np.float64] = weights @ v / np.where(total > 0, total, 1.0)
    return result


@pytest.mark.parametrize("chunk", [8, 16])
@pytest.mark.parametrize("name", [*GRID_MASKS, "rows without keys"])
def test_attention_over_the_plan_is_dense_attention(name: str, chunk: int) -> None:
    if name in GRID_MASKS:
        descriptor, grid, patch = GRID_MASKS[name]
        grids = [PatchedGrid(grid, patch)]
    else:
        descriptor = MaskDescriptor.from_trapezoids(70, 77, Trapezoids.of([3, 50], [40, 60], [1, -2], [0, 130], 0, 77))
        grids = []
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, 8)) for n in (descriptor.q_len, descriptor.kv_len, descriptor.kv_len))
    plan = plan_packed(descriptor, 32, 64, chunk, grids)
    expected = dense_attention(q, k, v, descriptor.dense())
    assert np.allclose(packed_attention(q, k, v, plan), expected, rtol=1e-10, atol=1e-12)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(masks())
@example(MaskDescriptor.from_trapezoids(50, 110, Trapezoids.of(0, 50, 2, 0, 2, 1)))
def test_masks_of_any_shape_fill_their_tiles_as_counted(descriptor: MaskDescriptor) -> None:
    plan = plan_packed(descriptor, 16, 32, 8)
    assert plan.visible_pairs == int(descriptor.dense().sum())
    assert plan.processed_pairs == len(plan.chunk_start) * prod((16, 32))
    assert plan.visible_pairs <= plan.processed_pairs


@pytest.mark.parametrize("name", GRID_MASKS)
def test_plans_made_in_parts_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor, grid, patch = GRID_MASKS[name]
    whole = plan_packed(descriptor, 32, 64, 8, [PatchedGrid(grid, patch)])
    monkeypatch.setattr("compilemask.plan.packing.MAX_PARTS", 100)
    monkeypatch.setattr("compilemask.plan.tile_bits.MAX_CELL_ROWS", 50)
    parted = plan_packed(descriptor, 32, 64, 8, [PatchedGrid(grid, patch)])
    for field in fields(PackedPlan):
        assert np.array_equal(getattr(parted, field.name), getattr(whole, field.name)), field.name
