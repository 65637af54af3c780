"""Faults of mask descriptors that other libraries had: blow-ups, stale copies, sparsity, saving, slicing, wrong kinds."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import descriptors

from compilemask.compiler import compile
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import choose_plan, grid_counts, plan_packed, plan_tiles
from compilemask.preview import density_tile

law = settings(max_examples=60, derandomize=True, deadline=None)
CHUNKS = "mask m(n: int, first: int, c: int)\ntokens { S: n }\nS sees S where q >= first and k < (q // c + 1) * c\n"


def bound(source: str, **values: object) -> MaskDescriptor:
    mask = compile(source).bind(**values)
    assert isinstance(mask, MaskDescriptor)
    return mask


def causal(n: int) -> MaskDescriptor:
    return MaskDescriptor.from_trapezoids(n, n, Trapezoids.of(0, n, 0, 0, 1, 1))


# ---------------------------------------------------------------- thousands of tiny ranges


def test_chunks_of_two_are_one_compact_region() -> None:
    mask = bound(CHUNKS, n=200, first=100, c=2)
    assert (mask.visible_pairs, mask.empty_rows) == (15_100, 100)
    assert (mask.num_runs, mask.num_families) == (50, 1)
    assert json.loads(mask.to_json())["runs"] == [[100, 102, 0, 0, 0, 102, 50, 2, 2, 0, 2]]


@pytest.mark.parametrize("c", [2, 3, 16, 1000])
def test_chunks_of_a_long_prompt_are_one_region_and_no_more_tiles_than_causal(c: int) -> None:
    n = 100_000 // c * c
    mask = bound(CHUNKS, n=n, first=0, c=c)
    assert mask.num_families == 1
    assert mask.families().nbytes == 88
    assert len(mask.to_json()) < 150
    chunked, plain = plan_tiles(mask, 128, 128), plan_tiles(causal(n), 128, 128)
    tiles = chunked.num_full + chunked.num_partial
    assert tiles <= 1.3 * (plain.num_full + plain.num_partial)


# ---------------------------------------------------------------- tables of q_len x kv_len


def test_a_million_tokens_take_no_table_from_text_to_plan() -> None:
    text = (
        "mask m(lengths: int[], window: int)\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal and q - k < window\n"
    )
    program = compile(text)
    lengths = np.random.default_rng(7).multinomial(1_000_000, np.ones(3000) / 3000)
    tracemalloc.start()
    mask = program.bind(lengths=lengths, window=256)
    assert isinstance(mask, MaskDescriptor)
    plan = plan_tiles(mask, 128, 128)
    density_tile(mask, 5, 0, 0)
    text = mask.to_json()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6
    assert plan.num_q_tiles == 7813
    assert MaskDescriptor.from_json(text) == mask


def test_time_follows_what_is_visible() -> None:
    text = "mask m(n: int, prefix: int)\ntokens { S: n }\nS sees S causal or k < prefix\n"
    for prefix in (0, 256, 1024, 4096, 8192):
        mask = bound(text, n=8192, prefix=prefix)
        assert mask.visible_pairs == 8192 * 8193 // 2 + prefix * (prefix - 1) // 2
        processed = plan_tiles(mask, 128, 128).processed_pairs
        assert mask.visible_pairs <= processed <= mask.visible_pairs + 64 * 128 * 128


# ---------------------------------------------------------------- sparsity


def test_sparsity_of_a_mask_shorter_than_a_tile_is_exact_and_said_of_what() -> None:
    documents = "mask m(l: int[])\ntokens { D[i]: l[i] }\nD[i] sees D[i] causal\n"
    mask = bound(documents, l=[10, 10, 20, 20, 20, 20])
    assert (mask.visible_pairs, round(1 - mask.density, 4)) == (950, 0.905)
    counts = grid_counts(mask, 128, 128)
    assert (counts.full, counts.partial, counts.empty) == (0, 1, 0)


@law
@given(descriptors(), st.sampled_from([1, 3, 8, 128]), st.sampled_from([1, 5, 16, 128]))
def test_shares_lie_between_none_and_all(mask: MaskDescriptor, block_m: int, block_n: int) -> None:
    assert 0 <= mask.density <= 1
    counts = grid_counts(mask, block_m, block_n)
    tiles = -(-mask.q_len // block_m) * -(-mask.kv_len // block_n)
    assert min(counts.full, counts.partial, counts.empty) >= 0
    assert counts.full + counts.partial + counts.empty == tiles
    plan = plan_tiles(mask, block_m, block_n)
    assert mask.visible_pairs <= plan.processed_pairs
    assert plan.num_full + plan.num_partial <= counts.full + counts.partial


# ---------------------------------------------------------------- saved, and read elsewhere

SAVED = """mask m(lengths: int[], window: int, sink: int)
tokens { D[i]: lengths[i] }
D[i] sees D[i] causal and (q - k < window or k.pos < sink)
"""
READER = (
    "import sys, compilemask as c; m = c.MaskDescriptor.from_json(sys.stdin.read()); print(m.hash, m.visible_pairs)"
)


def test_a_saved_mask_is_the_same_in_another_process() -> None:
    mask = bound(SAVED, lengths=[300, 20, 411], window=32, sink=4)
    done = subprocess.run(
        [sys.executable, "-c", READER], input=mask.to_json(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [mask.hash, str(mask.visible_pairs)]
    assert pickle.loads(pickle.dumps(mask)) == mask
    batch = MaskBatch.of([[mask], [mask.slice_keys(0, 700)]])
    assert pickle.loads(pickle.dumps(batch)) == batch == MaskBatch.from_json(batch.to_json())


# ---------------------------------------------------------------- queries spread over devices


def test_each_rank_has_exactly_its_rows() -> None:
    whole = MaskDescriptor.concatenate([causal(4), causal(4)])
    halves = [whole.slice_queries(0, 4), whole.slice_queries(4, 8)]
    assert [rank.dense().sum(1).tolist() for rank in halves] == [[1, 2, 3, 4], [1, 2, 3, 4]]
    assert halves[1].slice_keys(0, 4).visible_pairs == 0
    zigzag = [(0, 6), (2, 4)]  # pairs of rows from both ends
    rows = [np.concatenate([whole.slice_queries(a, a + 2).dense() for a in starts]) for starts in zigzag]
    assert [part.sum(1).tolist() for part in rows] == [[1, 2, 3, 4], [3, 4, 1, 2]]


@law
@given(descriptors(), st.data())
def test_slices_put_together_are_the_whole(mask: MaskDescriptor, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, mask.q_len))
    edge = data.draw(st.integers(0, mask.kv_len))
    parts = [
        [mask.slice_queries(a, b).slice_keys(c, d) for c, d in ((0, edge), (edge, mask.kv_len))]
        for a, b in ((0, cut), (cut, mask.q_len))
    ]
    assert np.array_equal(np.block([[part.dense() for part in row] for row in parts]), mask.dense())
    assert sum(part.visible_pairs for row in parts for part in row) == mask.visible_pairs


# ---------------------------------------------------------------- the wrong kind of mask

MASK = causal(10)
TABLE = np.ones((32, 10, 10), bool)
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a function to compile": (
        lambda: compile(lambda q, k: q >= k),  # type: ignore[arg-type]
        "compile takes the text of a mask, got function; write its rule as text, for example `S sees S causal`",
    ),
    "a table to compile": (
        lambda: compile(TABLE),  # type: ignore[arg-type]
        "compile takes the text of a mask, got ndarray; write its rule as text, for example `S sees S causal`",
    ),
    "a function to read": (
        lambda: MaskDescriptor.from_json(lambda q, k: q >= k),  # type: ignore[arg-type]
        "a descriptor is read from text, got function",
    ),
    "a table to plan": (lambda: plan_tiles(TABLE, 128, 128), "plan_tiles takes a MaskDescriptor, got ndarray"),  # type: ignore[arg-type]
    "a function to plan": (
        lambda: choose_plan(lambda q, k: q >= k),  # type: ignore[arg-type]
        "choose_plan takes a MaskDescriptor, got function",
    ),
    "a function to count": (
        lambda: grid_counts(lambda q, k: q >= k, 128, 128),  # type: ignore[arg-type]
        "grid_counts takes a MaskDescriptor, got function",
    ),
    "a batch to pack": (
        lambda: plan_packed(MaskBatch.of([[MASK]]), 128, 64),  # type: ignore[arg-type]
        "plan_packed takes a MaskDescriptor, got MaskBatch; give one of its masks",
    ),
    "a table to combine with": (lambda: MASK & TABLE, "& needs a MaskDescriptor on both sides, got ndarray"),
    "a number to combine with": (lambda: MASK | 1, "| needs a MaskDescriptor on both sides, got int"),  # type: ignore[operator]
    "the word and": (
        lambda: MASK and MASK,
        "a mask is neither true nor false; use & for and, | for or, ~ for not, == to compare",
    ),
    "the word not": (
        lambda: not MASK,
        "a mask is neither true nor false; use & for and, | for or, ~ for not, == to compare",
    ),
    "a table in a batch": (
        lambda: MaskBatch.of([[TABLE]]),  # type: ignore[list-item]
        "a batch is made of MaskDescriptors, got ndarray",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_mask_is_answered_in_one_line(name: str) -> None:
    call, words = WRONG[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == words
