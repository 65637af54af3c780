"""JSON of a descriptor: round trips, and texts that mean harm."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, trapezoids
from strategies import descriptors, shapes

from compilemask.descriptor import MaskBatch, MaskDescriptor, serial
from compilemask.geometry import Trapezoids
from compilemask.geometry.runs import SHAPE_ARRAYS

CAUSAL = MaskDescriptor.from_trapezoids(8, 8, Trapezoids.of(0, 8, 0, 0, 1, 1))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(descriptors())
def test_round_trip(descriptor: MaskDescriptor) -> None:
    text = descriptor.to_json()
    assert text.isascii()
    assert "\n" not in text
    assert MaskDescriptor.from_json(text) == descriptor
    assert MaskDescriptor.from_json(text).to_json() == text


def test_the_text_of_version_2_stays_as_it_is() -> None:
    assert CAUSAL.to_json() == (
        '{"format":"compilemask.descriptor","version":2,"q_len":8,"kv_len":8,"runs":[[0,8,0,0,1,1]]}'
    )
    steps = MaskDescriptor.from_trapezoids(8, 8, Trapezoids.rectangle([0, 2, 4, 6], [2, 4, 6, 8], 0, [2, 4, 6, 8]))
    assert steps.to_json() == (
        '{"format":"compilemask.descriptor","version":2,"q_len":8,"kv_len":8,"runs":[[0,2,0,0,0,2,4,2,2,0,2]]}'
    )


@settings(max_examples=100, derandomize=True, deadline=None)
@given(descriptors())
def test_texts_of_version_1_are_read(descriptor: MaskDescriptor) -> None:
    runs = descriptor.trapezoids()
    rows = [[int(getattr(runs, name)[i]) for name in SHAPE_ARRAYS] for i in range(len(runs))]
    read = MaskDescriptor.from_json(old_text(q_len=descriptor.q_len, kv_len=descriptor.kv_len, trapezoids=rows))
    assert read == descriptor
    assert read.hash == descriptor.hash


def test_repetitions_are_unfolded_in_any_nesting() -> None:
    read = MaskDescriptor.from_json(
        text(q_len=9, kv_len=20, runs=[[0, 1, 0, 0, 0, 2, 3, 1, 1, 0, 0, 2, 0, 0, 4, 4, 2, 5, 5, 0, 2]])
    )
    expected = np.zeros((9, 20), bool)
    for i, j, k in np.ndindex(3, 2, 2):
        expected[i + 5 * k, 4 * j : 4 * j + 2 + 2 * k] = True
    assert np.array_equal(read.dense(), expected)


def text(**changes: object) -> str:
    value = json.loads(CAUSAL.to_json()) | changes
    return json.dumps({key: item for key, item in value.items() if item != "left out"})


def old_text(**changes: object) -> str:
    return text(version=1, runs="left out", **changes)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(shapes(max_size=3), st.integers(1, 2))
def test_shapes_are_read_as_their_cells_exactly_when_a_writer_could_cut_a_mask_so(
    drawn: list[Shape], version: int
) -> None:
    rows = [list(shape) for shape in drawn]
    hostile = text(q_len=14, kv_len=20, runs=rows) if version == 2 else old_text(q_len=14, kv_len=20, trapezoids=rows)
    cells = [
        [(q, k) for q in range(start, stop) for k in range(lo_slope * q + lo, hi_slope * q + hi)]
        for start, stop, lo_slope, lo, hi_slope, hi in drawn
    ]
    written = all(
        start < stop and all(lo_slope * q + lo < hi_slope * q + hi for q in range(start, stop))
        for start, stop, lo_slope, lo, hi_slope, hi in drawn
    )
    seen = [cell for some in cells for cell in some]
    inside = all(0 <= q < 14 and 0 <= k < 20 for q, k in seen)
    if written and inside and len(set(seen)) == len(seen):
        read = MaskDescriptor.from_json(hostile)
        assert read == MaskDescriptor.from_trapezoids(14, 20, trapezoids(drawn))
    else:
        with pytest.raises(ValueError, match=r"must lie in|a run needs|runs must not overlap"):
            MaskDescriptor.from_json(hostile)


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        ("", "must be JSON"),
        ("{", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("9" * 10_000, "must be JSON"),
        ("[]", "must be a JSON object, got a list"),
        ("null", "must be a JSON object, got null"),
        (text(format="other"), '"format": "compilemask.descriptor", got "other"'),
        (text(format="left out"), '"format": "compilemask.descriptor", got null'),
        (text(version=3), "version 3, this program reads up to 2; upgrade"),
        (text(version=0), '"version" must be a positive integer, got 0'),
        (text(version=True), '"version" must be a positive integer, got true'),
        (text(version=1.0), '"version" must be a positive integer, got 1.0'),
        (text(q_len="left out"), '"q_len" is missing'),
        (text(extra=1), '"extra" is not a key of a descriptor'),
        (text(q_len=8.0), '"q_len" must be an integer from 0 to 2147483647, got 8.0'),
        (text(kv_len=True), '"kv_len" must be an integer from 0 to 2147483647, got true'),
        (text(kv_len=-1), '"kv_len" must be an integer from 0 to 2147483647, got -1'),
        (text(q_len=2**31), '"q_len" must be an integer from 0 to 2147483647, got 2147483648'),
        (text(runs={}), '"runs" must be a list, got an object'),
        (
            text(runs=[[0, 8, 0, 0, 1]]),
            "run 0 of .runs. must be a list of 6 or 11 or 16 or 21 integers, got \\[0, 8, 0, 0, 1\\]",
        ),
        (text(runs=["012345"]), 'run 0 of .runs. must be a list of 6 or 11 or 16 or 21 integers, got "012345"'),
        (text(runs=[[0, 8, 0, 0, 1, 1.0]]), "hi_offset of run 0 of .runs. must be an integer within .*, got 1.0"),
        (text(runs=[[0, 8, 0, 0, True, 1]]), "hi_slope of run 0 of .runs. must be an integer within .*, got true"),
        (text(runs=[[0, 8, 0, 0, None, 1]]), "hi_slope of run 0 of .runs. must be an integer within .*, got null"),
        (text(runs=[[0, 8, 0, 0, 1, 2**62]]), "hi_offset of run 0 of .runs. must be an integer within"),
        (text(runs=[[0, 8, 2**61, 0, 2**61, 1]]), r"ends must lie within 2\*\*61"),
        (text(runs=[[0, 9, 0, 0, 0, 1]]), r"rows must lie in \[0, 8\)"),
        (text(runs=[[0, 2**40, 0, 0, 0, 1]]), r"rows must lie within 2\*\*31 - 1"),
        (text(runs=[[0, 8, 0, 0, 1, 2]]), r"keys must lie in \[0, 8\)"),
        (text(runs=[[0, 8, 0, float("nan"), 1, 1]]), "lo_offset of run 0 of .runs. must be an integer"),
        (text(version=1, trapezoids=[]), '"runs" is not a key'),
        (old_text(), '"trapezoids" is missing'),
        (old_text(trapezoids={}), '"trapezoids" must be a list, got an object'),
        (old_text(trapezoids=[[0, 2, 0, 0, 0, 2, 4, 2, 2, 0, 2]]), "trapezoid 0 of .* must be a list of 6 integers"),
        (text(runs=[[0, 8, 0, 0, 1, 1, 0, 1, 1, 0, 0]]), "count 1 of run 0 of .* must be 1 or more, got 0"),
        (text(runs=[[0, 1, 0, 0, 0, 1, 2, 1, 1, 0, 0, -3, 0, 0, 1, 1]]), "count 2 of run 0 .* 1 or more, got -3"),
        (text(runs=[[0, 1, 0, 0, 0, 1, True, 1, 1, 0, 0]]), "count 1 of run 0 .* must be an integer"),
        (text(runs=[[0, 1, 0, 0, 0, 1, 2, 1, 1, 0, 0.5]]), "step of hi_offset 1 of run 0 .* must be an integer"),
        (text(runs=[[0, 1, 0, 0, 0, 1, 2**40, 1, 1, 0, 0]]), "stands for 1099511627776 runs, more than 4194304"),
        (text(runs=[[0, 1, 0, 0, 0, 1, 2**62 - 1, 1, 1, 0, 0]] * 9), "more than 4194304"),
        (text(runs=[[0, 1, 0, 0, 0, 1, 2**22, 0, 0, 0, 0]] * 2), "8388608 runs, more than 4194304"),
        (
            text(runs=[[0, 1, 0, 0, 0, 1, 2**22, 2**60, 0, 0, 0]]),
            "q_start of run 0 .* within 2.*62, and its repetitions",
        ),
        (text(runs=[[5, 3, 0, 0, 0, 1]]), "a run needs rows, got one that starts at row 5 and stops before row 3"),
        (text(runs=[[0, 3, 0, 4, 0, 4]]), r"a run needs keys in each row, got \[4, 4\) in row 0"),
        (text(runs=[[0, 3, 0, 2, -1, 4]]), r"a run needs keys in each row, got \[2, 2\) in row 2"),
        (
            text(runs=[[0, 3, 0, 0, 0, 4], [2, 4, 0, 3, 0, 5]]),
            "must not overlap, got 16 cells of which 15 are different",
        ),
        (text(runs=[[0, 2, 0, 0, 0, 4, 2, 1, 1, 0, 0]]), "must not overlap, got 16 cells of which 12 are different"),
        (
            text(q_len=2**31 - 1, kv_len=2**31 - 1, runs=[[0, 2**31 - 1, 0, 0, 0, 2**31 - 1, 9, 0, 0, 0, 0]]),
            f"must not overlap, got {9 * (2**31 - 1) ** 2} cells",
        ),
        (old_text(trapezoids=[[0, 3, 0, 0, 0, 4], [2, 4, 0, 3, 0, 5]]), "must not overlap, got 16 cells"),
        (
            CAUSAL.to_json().replace('"q_len":8', '"q_len":7,"q_len":8'),
            'a descriptor has the key "q_len" more than once',
        ),
        (CAUSAL.to_json().replace("[[", '[{"a":1,"a":2},['), 'a descriptor has the key "a" more than once'),
        (text(runs=[[0, 1, 0, 0, 0, 1, 9, 1, 1, 0, 0]]), r"rows must lie in \[0, 8\)"),
        (text(runs=[[0, 1, 0, 0, 0, 1, 8, 1, 1, 0, 2]]), r"keys must lie in \[0, 8\)"),
    ],
)
def test_hostile_texts_get_one_line_that_says_what_is_wrong(hostile: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        MaskDescriptor.from_json(hostile)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_bytes_are_not_text() -> None:
    with pytest.raises(ValueError, match="read from text, got bytes"):
        MaskDescriptor.from_json(CAUSAL.to_json().encode())  # type: ignore[arg-type]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.text(alphabet='{}[]",:0123456789eE.-ntrf compilemask.descriptorvq_', max_size=60))
def test_noise_is_refused_in_one_line(noise: str) -> None:
    with pytest.raises(ValueError) as caught:
        MaskDescriptor.from_json(noise)
    assert "\n" not in str(caught.value)


def test_shapes_that_cut_each_other_into_too_many_parts_are_refused() -> None:
    comb = [[i, 9000 - i, 0, 2 * i, 0, 2 * i + 1] for i in range(3000)]
    with pytest.raises(ValueError, match="interval ends, more than"):
        MaskDescriptor.from_json(text(q_len=9000, kv_len=9000, runs=comb))


def test_a_mask_of_more_runs_than_are_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = MaskDescriptor.from_trapezoids(
        18, 18, Trapezoids.rectangle(range(0, 18, 2), range(2, 19, 2), 0, range(2, 19, 2))
    )
    monkeypatch.setattr(serial, "MAX_RUNS", 8)
    with pytest.raises(ValueError, match="the text stands for 9 runs, more than 8; save parts of the mask, cut with"):
        steps.to_json()
    assert MaskDescriptor.from_json(steps.slice_queries(0, 16).to_json()) == steps.slice_queries(0, 16)
    with pytest.raises(ValueError, match="the text stands for 12 runs, more than 8"):
        MaskBatch.of([[steps.slice_queries(0, 12)], [steps.slice_queries(6, 18)]]).to_json()


def test_a_long_list_without_an_order_is_written_and_read_in_the_time_of_its_runs() -> None:
    rows = np.arange(0, 90_000, 3)
    lo = np.random.default_rng(0).integers(0, 99, len(rows))
    mask = MaskDescriptor.from_trapezoids(90_000, 100, Trapezoids.rectangle(rows, rows + 1, lo, lo + 1))
    start = time.thread_time()
    text = mask.to_json()
    assert MaskDescriptor.from_json(text) == mask
    assert time.thread_time() - start < 10  # ten times what a quiet machine needs, at most
