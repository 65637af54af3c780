"""Plans made on the device equal the masks of the presets, cell by cell, and ask the host nothing."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import compilemask
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.device_plan import DeviceTiles, plan_intervals
from compilemask.attention.length_masks import FAMILIES
from compilemask.attention.triton.device_plan import rewrite
from compilemask.descriptor import MaskDescriptor

PRESET_NAMES = {"length": "n"}
"""Where a family's name of a number is not the preset's."""


@functools.cache
def program(family: str) -> compilemask.MaskProgram:
    return compilemask.compile(compilemask.preset_source(family))


def expected(family: str, total: int, numbers: dict[str, object], *, beyond: bool = False) -> MaskDescriptor:
    """The preset's mask in total x total, or with so many tokens of padding beyond its own."""
    bound = program(family).bind(**{PRESET_NAMES.get(name, name): value for name, value in numbers.items()})
    total += bound.q_len if beyond else 0
    return bound.pad_to(total, total)


def lengths_of(numbers: dict[str, object], dtype: torch.dtype = torch.int64, device: str = "cpu") -> dict[str, Tensor]:
    return {name: torch.tensor(value, dtype=dtype, device=device) for name, value in numbers.items()}


def times_covered(tiles: DeviceTiles) -> np.ndarray:
    """How many visits of tiles show each cell."""
    plan = tiles.plan
    count = np.zeros((plan.q_len, plan.kv_len), np.int64)
    full_indptr, full_start, full_count, interval_indptr, interval_start, interval_ends, ends = (
        getattr(tiles, name).cpu().numpy()
        for name in (
            "full_indptr", "full_start", "full_count", "interval_indptr", "interval_start", "interval_ends", "ends",
        )
    )  # fmt: skip
    lo, length = ends & 0xFFFF, ends >> 16
    for t in range(plan.num_q_tiles):
        rows = range(t * plan.block_m, min((t + 1) * plan.block_m, plan.q_len))
        for r in range(full_indptr[t], full_indptr[t + 1]):
            start = int(full_start[r])
            count[rows.start : rows.stop, start : start + int(full_count[r]) * plan.block_n] += 1
        for p in range(interval_indptr[t], interval_indptr[t + 1]):
            start, vector = int(interval_start[p]), int(interval_ends[p])
            for i, row in enumerate(rows):
                count[row, start + lo[vector, i] : start + lo[vector, i] + length[vector, i]] += 1
    return count


small = st.integers(0, 40)
NUMBERS = st.one_of(
    st.tuples(st.just("causal"), st.fixed_dictionaries({"length": st.integers(0, 90)})),
    st.tuples(st.just("documents"), st.fixed_dictionaries({"lengths": st.lists(small, max_size=6)})),
    st.tuples(st.just("shared_prompt"), st.fixed_dictionaries({"prompt": small, "responses": st.lists(small, max_size=4)})),
    st.tuples(
        st.just("hstu_jagged"),
        st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30), st.integers(0, 12)), max_size=4).map(
            lambda users: dict(zip(("context", "history", "targets"), [list(x) for x in zip(*users, strict=True)] or [[]] * 3, strict=True))
        ),
    ),
)  # fmt: skip


@settings(max_examples=40, derandomize=True, deadline=None)
@given(NUMBERS, st.integers(0, 20), st.sampled_from([(16, 8), (8, 16), (16, 16), (64, 64)]))
def test_every_visible_cell_is_visited_once_and_no_other(
    mask: tuple[str, dict[str, object]], padding: int, blocks: tuple[int, int]
) -> None:
    family, numbers = mask
    bound = expected(family, padding, numbers, beyond=True)
    lengths = lengths_of(numbers)
    found = FAMILIES[family].visibility(bound.q_len, *(lengths[name] for name in FAMILIES[family].parameters))
    for rows, wanted in ((found.queries, bound.dense()), (found.keys, bound.dense().T)):
        tiles = plan_intervals(rows, bound.q_len, *blocks, None)
        assert np.array_equal(times_covered(tiles), wanted)
        assert sorted(tiles.tile_order.tolist()) == list(range(max(1, tiles.plan.num_q_tiles)))


EXAMPLES = [
    ("causal", {"length": 300}, {"length": 70}),
    ("documents", {"lengths": [100, 60, 0, 140]}, {"lengths": [1, 200, 30, 50]}),
    ("shared_prompt", {"prompt": 90, "responses": [60, 70, 40]}, {"prompt": 10, "responses": [0, 150, 100]}),
    ("hstu_jagged", {"context": [3, 4], "history": [120, 80], "targets": [10, 20]}, {"context": [9, 0], "history": [10, 200], "targets": [0, 30]}),
]  # fmt: skip


@pytest.mark.parametrize(("family", "first", "then"), EXAMPLES)
def test_new_lengths_keep_the_memory_and_the_descriptor_follows(
    family: str, first: dict[str, object], then: dict[str, object]
) -> None:
    mask = DeviceMask.from_lengths(family, 320, **lengths_of(first, torch.int32))
    own = [mask.tiles(64, 32), mask.tiles(32, 64, transposed=True)]
    places = [[x.data_ptr() for x in (tiles.ends, tiles.interval_start, tiles.full_count, tiles.seen)] for tiles in own]
    for numbers in (first, then):
        mask.replan(**lengths_of(numbers, torch.int32))
        wanted = expected(family, 320, numbers)
        assert mask.descriptor() == wanted
        for tiles, dense in zip(own, (wanted.dense(), wanted.dense().T), strict=True):
            assert np.array_equal(times_covered(tiles), dense)
            assert np.array_equal(tiles.seen.numpy().astype(bool), dense.any(0))
    assert places == [[x.data_ptr() for x in (t.ends, t.interval_start, t.full_count, t.seen)] for t in own]
    assert [mask.tiles(64, 32), mask.tiles(32, 64, transposed=True)] == own


@pytest.mark.parametrize(("family", "first", "then"), EXAMPLES)
def test_planning_needs_no_number_on_the_host(family: str, first: dict[str, object], then: dict[str, object]) -> None:
    """One graph without a break, and all of it on tensors that hold no data."""

    def plan(*lengths: Tensor) -> tuple[Tensor, ...]:
        found = FAMILIES[family].visibility(320, *lengths)
        tiles = plan_intervals(found.queries, 320, 64, 32, (found.keys.lo < found.keys.hi).any(0))
        return tiles.full_count, tiles.interval_indptr, tiles.interval_start, tiles.ends, tiles.tile_order

    compiled = torch.compile(plan, fullgraph=True, backend="eager")
    for numbers in (first, then):
        lengths = lengths_of(numbers).values()
        assert all(torch.equal(a, b) for a, b in zip(compiled(*lengths), plan(*lengths), strict=True))
    with torch.device("meta"):
        shapes = [x.shape for x in plan(*(x.to("meta") for x in lengths_of(first).values()))]
    assert shapes == [x.shape for x in plan(*lengths_of(first).values())]


def test_lengths_that_do_not_fit_fail_where_they_are() -> None:
    mask = DeviceMask.from_lengths("documents", 100, **lengths_of({"lengths": [50, 50]}))
    mask.tiles(16, 16)
    for lengths in ([60, 41], [-1, 5]):
        with pytest.raises(RuntimeError, match="lengths must be 0 or more and fit the mask's total"):
            mask.replan(**lengths_of({"lengths": lengths}))
    full = DeviceMask.from_lengths("documents", 100, padded=False, **lengths_of({"lengths": [50, 50]}))
    assert full.tiles(16, 16).seen is None
    with pytest.raises(RuntimeError, match="lengths leave padding, and the DeviceMask was made with padded=False"):
        full.replan(**lengths_of({"lengths": [50, 49]}))


@pytest.mark.parametrize("blocks", [(32, 64), (64, 16)])
@pytest.mark.parametrize(("family", "first", "then"), EXAMPLES)
def test_kernels_that_write_in_place_give_the_same_cells(
    family: str, first: dict[str, object], then: dict[str, object], blocks: tuple[int, int], device: str
) -> None:
    """Tiles of one mask, rewritten for another one of its family and back."""
    found = [
        FAMILIES[family].visibility(
            320, *(lengths_of(numbers, device=device)[name] for name in FAMILIES[family].parameters)
        )
        for numbers in (first, then)
    ]
    tiles = plan_intervals(found[0].queries, 320, *blocks, torch.zeros(320, dtype=torch.bool, device=device))
    for numbers, rows in ((then, found[1].queries), (first, found[0].queries)):
        dense = expected(family, 320, numbers).dense()
        rewrite(tiles, rows, torch.from_numpy(dense.any(0)).to(device))
        again = plan_intervals(rows, 320, *blocks, None)
        assert np.array_equal(times_covered(tiles), dense)
        assert np.array_equal(tiles.seen.cpu().numpy().astype(bool), dense.any(0))
        for name in ("full_start", "full_count", "interval_indptr", "tile_order"):
            assert torch.equal(getattr(tiles, name), getattr(again, name))
