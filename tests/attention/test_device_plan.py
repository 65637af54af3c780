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
from compilemask.attention.device_plan import TILE_ARRAYS, DeviceTiles, plan_intervals
from compilemask.attention.length_masks import FAMILIES
from compilemask.attention.triton import device_plan as triton_plan
from compilemask.attention.triton.device_plan import Replan
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
    # A tile past the end shows nothing there.
    count = np.zeros((plan.q_len, plan.kv_len + plan.block_n), np.int64)
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
    assert not count[:, plan.kv_len :].any()
    return count[:, : plan.kv_len]


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
        for tested in (False, True):
            tiles = plan_intervals(rows, bound.q_len, *blocks, None, tested=tested)
            assert np.array_equal(times_covered(tiles), wanted)
            assert sorted(tiles.tile_order.tolist()) == list(range(max(1, tiles.plan.num_q_tiles)))
            layers = len(tiles.full_start) // len(tiles.full_total)
            assert torch.equal(tiles.full_total, tiles.full_count.view(-1, layers).sum(1, dtype=torch.int32))
            assert not tested or bool((torch.diff(tiles.interval_indptr) > 0).all())


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
    for lengths in ([60, 41], [-1, 5], [2**62, 2**62], [2**63 - 1, 2**63 - 1]):
        with pytest.raises(RuntimeError, match="lengths must be 0 or more and fit the mask's total"):
            mask.replan(**lengths_of({"lengths": lengths}))
    users = DeviceMask.from_lengths("hstu_jagged", 100, **lengths_of({"context": [1], "history": [50], "targets": [3]}))
    users.tiles(16, 16)
    with pytest.raises(RuntimeError, match="lengths must be 0 or more and fit the mask's total"):
        users.replan(**lengths_of({"context": [-1], "history": [50], "targets": [3]}))
    full = DeviceMask.from_lengths("documents", 100, padded=False, **lengths_of({"lengths": [50, 50]}))
    assert full.tiles(16, 16).seen is None
    with pytest.raises(RuntimeError, match="lengths leave padding, and the DeviceMask was made with padded=False"):
        full.replan(**lengths_of({"lengths": [50, 49]}))


TILINGS = ((32, 16, False), (32, 16, True), (64, 32, True))
"""block_m, block_n, whether transposed; two of them share a launch."""


def tiles_for(
    family: str, total: int, lengths: dict[str, Tensor]
) -> tuple[dict[tuple[int, int, bool], DeviceTiles], Tensor]:
    """The definition's, and which tokens there are."""
    found = FAMILIES[family].visibility(total, *lengths.values())
    seen = (found.keys.lo < found.keys.hi).any(0).to(torch.uint8)
    assert torch.equal(seen, (found.queries.lo < found.queries.hi).any(0).to(torch.uint8))
    planned = {
        key: plan_intervals(found.keys if key[2] else found.queries, total, *key[:2], seen, tested=not key[2])
        for key in TILINGS
    }
    return planned, seen


def check_replan(family: str, total: int, first: dict[str, object], then: dict[str, object], device: str) -> None:
    """Tiles for the first lengths, rewritten for others of another type and back, equal the definition's in every array."""
    own = lengths_of({name: first[name] for name in FAMILIES[family].parameters}, device=device)
    tiles, seen = tiles_for(family, total, own)
    of_each = {transposed: [x for key, x in tiles.items() if key[2] == transposed] for transposed in (False, True)}
    replan = Replan(family, total, own, seen, of_each)
    for numbers, dtype in ((then, torch.int32), (first, torch.int64)):
        given = lengths_of({name: numbers[name] for name in own}, dtype, device)
        replan(list(given.values()))
        wanted, tokens = tiles_for(family, total, {name: x.long() for name, x in given.items()})
        assert all(torch.equal(own[name], given[name].long()) for name in own)
        assert torch.equal(seen, tokens)
        for key, found in tiles.items():
            used = {name: int(wanted[key].interval_indptr[-1]) for name in ("interval_start", "ends")}
            for name in TILE_ARRAYS:
                a, b = (getattr(x, name)[: used.get(name)] for x in (found, wanted[key]))
                assert torch.equal(a, b), (key, name)


REPLANNED = [
    ("causal", 0, {"length": 0}, {"length": 0}),
    ("causal", 64, {"length": 64}, {"length": 0}),
    ("documents", 70, {"lengths": [1] * 70}, {"lengths": [0] * 69 + [70]}),
    ("documents", 64, {"lengths": [20, 0, 30, 1]}, {"lengths": [64, 0, 0, 0]}),
    ("shared_prompt", 70, {"prompt": 40, "responses": [10, 0, 20]}, {"prompt": 0, "responses": [5, 33, 1]}),
    ("hstu_jagged", 70, {"context": [3, 4], "history": [30, 0], "targets": [10, 20]}, {"context": [0, 9], "history": [1, 50], "targets": [0, 3]}),
]  # fmt: skip


@pytest.mark.parametrize(("family", "total", "first", "then"), REPLANNED)
def test_two_launches_give_what_the_definition_gives(
    family: str, total: int, first: dict[str, object], then: dict[str, object], device: str
) -> None:
    check_replan(family, total, first, then, device)


def test_kernels_are_not_compiled_in_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    own = lengths_of({"lengths": [20, 44]})
    tiles, seen = tiles_for("documents", 64, own)
    replan = Replan("documents", 64, own, seen, {True: [tiles[TILINGS[1]]]})
    replan(list(own.values()))
    monkeypatch.setattr(triton_plan, "captured", lambda _device: True)
    replan(list(own.values()))
    with pytest.raises(RuntimeError, match=r"a replan of lengths of torch\.int32, which this DeviceMask has not met"):
        replan(list(lengths_of({"lengths": [20, 44]}, torch.int32).values()))


@pytest.mark.gpu
@settings(max_examples=60, derandomize=True, deadline=None)
@given(NUMBERS, st.integers(0, 200), st.data())
def test_two_launches_give_what_the_definition_gives_of_any_lengths(
    mask: tuple[str, dict[str, object]], padding: int, data: st.DataObject
) -> None:
    family, then = mask
    sizes = {name: value for name, value in then.items() if isinstance(value, list)}
    first = {name: data.draw(st.permutations(value)) for name, value in sizes.items()}
    total = sum(sum(x) if isinstance(x, list) else x for x in then.values()) + padding  # type: ignore[arg-type, misc]
    check_replan(family, total, then | first, then, "cuda")


@pytest.mark.gpu
def test_hundreds_of_spans_and_long_rows_of_counts() -> None:
    """More spans and more tiles than are looked at at a time."""
    random = np.random.default_rng(1)
    first, then = (
        {"lengths": random.multinomial(15000, random.dirichlet(np.full(700, 0.3))).tolist()} for _ in range(2)
    )
    check_replan("documents", 16400, first, then, "cuda")
