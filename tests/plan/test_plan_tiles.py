"""plan_tiles: the laws of a TilePlan, against the dense mask and an exhaustive search."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, trapezoids
from oracles_plans import run_cells
from strategies import shapes

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, intersection, normalize, rectangle
from compilemask.plan import TilePlan, plan_tiles

BoolArray = npt.NDArray[np.bool_]


def decode(plan: TilePlan) -> BoolArray:
    """The visible cells as a kernel would see them; asserts that the plan keeps its promises on the way."""
    visible = np.zeros((plan.q_len, plan.kv_len), np.bool_)
    assert sorted(plan.tile_order.tolist()) == list(range(-(-plan.q_len // plan.block_m)))
    work = []
    for t in range(plan.num_q_tiles):
        rows = np.arange(t * plan.block_m, min((t + 1) * plan.block_m, plan.q_len))
        used = np.zeros(plan.kv_len, np.int64)
        tiles = 0
        for r in range(plan.full_indptr[t], plan.full_indptr[t + 1]):
            start, count = int(plan.full_start[r]), int(plan.full_count[r])
            assert count >= 1
            stop = start + count * plan.block_n
            assert 0 <= start < stop <= plan.kv_len
            used[start:stop] += 1
            visible[rows, start:stop] = True
            tiles += count
        for p in range(plan.partial_indptr[t], plan.partial_indptr[t + 1]):
            start, stop = int(plan.partial_start[p]), int(plan.partial_stop[p])
            assert 0 <= start < stop <= min(plan.kv_len, start + plan.block_n)
            used[start:stop] += 1
            columns = np.arange(start, stop)
            runs = plan.partial_run[plan.partial_run_indptr[p] : plan.partial_run_indptr[p + 1]]
            assert len(runs) >= 1
            assert np.all(np.diff(runs) > 0)
            for run in runs:
                cells = run_cells(plan, int(run), rows, columns)
                assert cells.any(), "a run is listed in a tile that it does not cross"
                assert not (visible[np.ix_(rows, columns)] & cells).any(), "a cell is listed twice"
                visible[np.ix_(rows, columns)] |= cells
            tiles += 1
        assert used.max(initial=0) <= 1, "a column lies in two tiles"
        work.append(tiles)
    ordered = [work[t] for t in plan.tile_order]
    assert ordered == sorted(work, reverse=True)
    return visible


def fewest_tiles(seen: BoolArray, block_n: int) -> int:
    """The least number of tiles that covers the columns, by dynamic programming over all positions."""
    length = len(seen)
    best = [0] * (length + block_n + 1)
    for k in range(length - 1, -1, -1):
        best[k] = 1 + best[k + block_n] if seen[k] else best[k + 1]
    return best[0]


def most_full(seen: BoolArray, always: BoolArray, block_n: int) -> int:
    """The most full tiles that any layout with the fewest tiles has, by exhaustive search."""
    length = len(seen)
    score = length + 1

    @cache
    def best(k: int) -> int:
        """Least of score * tiles - full tiles, for the columns from k on."""
        while k < length and not seen[k]:
            k += 1
        if k == length:
            return 0
        options = [score + best(min(k + width, length)) for width in range(1, block_n + 1)]
        if k + block_n <= length and always[k : k + block_n].all():
            options.append(score - 1 + best(k + block_n))
        return min(options)

    value = best(0)
    return -(value % -score)


def assert_laws(descriptor: MaskDescriptor, block_m: int, block_n: int) -> TilePlan:
    dense = descriptor.dense()
    plan = plan_tiles(descriptor, block_m, block_n)
    assert np.array_equal(decode(plan), dense)
    for t in range(plan.num_q_tiles):
        rows = dense[t * block_m : (t + 1) * block_m]
        partial = int(plan.partial_indptr[t + 1] - plan.partial_indptr[t])
        full = int(plan.full_count[plan.full_indptr[t] : plan.full_indptr[t + 1]].sum())
        assert full + partial == fewest_tiles(rows.any(axis=0), block_n)
    return plan


@settings(max_examples=300, derandomize=True, deadline=None)
@given(shapes(), st.integers(0, 14), st.integers(0, 20), st.integers(1, 6), st.integers(1, 6))
def test_random_masks_keep_the_laws(drawn: list[Shape], q_len: int, kv_len: int, block_m: int, block_n: int) -> None:
    runs = intersection(normalize(trapezoids(drawn)), rectangle(0, q_len, 0, kv_len))
    assert_laws(MaskDescriptor(q_len, kv_len, runs), block_m, block_n)


def causal(n: int, m: int) -> MaskDescriptor:
    """Aligned at the ends; rows before the first key are empty when n > m."""
    whole = normalize(Trapezoids.of(0, n, 0, 0, 1, m - n + 1))
    return MaskDescriptor(n, m, intersection(whole, rectangle(0, n, 0, m)))


def window(n: int, m: int, width: int) -> MaskDescriptor:
    whole = normalize(Trapezoids.of(0, n, 1, 1 - width, 1, 1))
    return MaskDescriptor(n, m, intersection(whole, rectangle(0, n, 0, m)))


def documents(lengths: list[int]) -> MaskDescriptor:
    ends = np.cumsum(lengths)
    starts = ends - lengths
    return MaskDescriptor.from_trapezoids(int(ends[-1]), int(ends[-1]), Trapezoids.of(starts, ends, 0, starts, 1, 1))


LENGTHS = (1, 2, 15, 16, 17, 127, 128, 129, 200, 1025)
BLOCKS = ((16, 16), (128, 128), (64, 32), (32, 128), (128, 16), (16, 48))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("block_m", "block_n"), BLOCKS)
def test_known_masks_of_edge_lengths_keep_the_laws(length: int, block_m: int, block_n: int) -> None:
    for other in (length, max(1, length // 2), length + 100):
        assert_laws(causal(length, other), block_m, block_n)
    assert_laws(window(length, length, 33), block_m, block_n)
    assert_laws(documents([length, 3, 1, 50]), block_m, block_n)
    comb = Trapezoids.of(0, length, 2, 0, 2, 1)
    assert_laws(MaskDescriptor.from_trapezoids(length, 2 * length + 1, comb), block_m, block_n)


def test_causal_has_one_partial_tile_on_the_diagonal() -> None:
    plan = plan_tiles(causal(1024, 1024), 128, 128)
    assert plan.num_partial == 8
    assert plan.num_full == 28
    assert plan.full_count.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert plan.tile_order.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert len(plan.run_q_start) == 1
    assert plan.processed_pairs == 36 * 128 * 128


def test_tiles_of_a_window_start_at_its_first_column() -> None:
    plan = plan_tiles(window(4096, 4096, 1024), 128, 128)
    t = 20
    first = int(plan.partial_start[plan.partial_indptr[t]])
    assert first == 20 * 128 - 1023
    assert plan.full_count[plan.full_indptr[t]] == 7


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 30), st.integers(0, 30))
def test_bands_get_the_most_full_tiles_that_the_fewest_tiles_allow(m: int, n: int, left: int, right: int) -> None:
    whole = normalize(Trapezoids.of(0, 60, 1, -left, 1, right + 1))
    band = MaskDescriptor(60, 60, intersection(whole, rectangle(0, 60, 0, 60)))
    plan, dense = assert_laws(band, m, n), band.dense()
    for t in range(plan.num_q_tiles):
        rows = dense[t * m : (t + 1) * m]
        full = int(plan.full_count[plan.full_indptr[t] : plan.full_indptr[t + 1]].sum())
        assert full == most_full(rows.any(axis=0), rows.all(axis=0), n)


def test_a_length_without_cells_has_an_empty_plan() -> None:
    for q_len, kv_len in ((0, 0), (0, 5), (5, 0), (5, 5)):
        plan = assert_laws(MaskDescriptor.from_trapezoids(q_len, kv_len, Trapezoids.empty()), 4, 4)
        assert (plan.num_full, plan.num_partial, plan.processed_pairs) == (0, 0, 0)


def test_arrays_are_contiguous_int32() -> None:
    plan = plan_tiles(causal(300, 300), 64, 32)
    for name in TilePlan.__annotations__:
        array = getattr(plan, name)
        if isinstance(array, np.ndarray):
            assert array.dtype == np.int32, name
            assert array.flags.c_contiguous, name


def test_blocks_may_be_integers_of_numpy() -> None:
    plan = plan_tiles(causal(100, 100), np.int64(16), np.uint8(32))  # type: ignore[arg-type]
    same = plan_tiles(causal(100, 100), 16, 32)
    for name in TilePlan.__annotations__:
        assert np.array_equal(getattr(plan, name), getattr(same, name)), name
    assert type(plan.block_m) is int and type(plan.block_n) is int


def test_only_a_descriptor_is_planned() -> None:
    with pytest.raises(TypeError, match=r"plan_tiles takes a MaskDescriptor, got 5$"):
        plan_tiles(5, 4, 4)  # type: ignore[arg-type]


def test_blocks_and_lengths_that_do_not_fit_are_refused() -> None:
    for block in (0, -1, 2**16 + 1, 10**5000, True, 16.0, np.float32(16)):
        with pytest.raises(ValueError, match="block_m must be an integer from 1 to 65536"):
            plan_tiles(causal(4, 4), block, 16)  # type: ignore[arg-type]
    long = 2**31 - 1
    with pytest.raises(ValueError, match="beyond int32"):
        plan_tiles(MaskDescriptor.from_trapezoids(long, long, Trapezoids.of(long - 9, long, 0, 0, 1, 1)), 128, 128)
