"""Faults of alignment, windows and lengths that other libraries had: what each query sees, counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import MaskProgram, analyse, compile
from compilemask.descriptor import MaskDescriptor
from compilemask.diagnostics import MaskError

law = settings(max_examples=60, derandomize=True, deadline=None)
TWO_AXES = "mask m(a: int, b: int)\nqueries { Q: a }\nkeys { K: b }\nQ sees K "
ONE_AXIS = "mask m(n: int, w: int)\ntokens { S: n }\nS sees S "
END = compile(TWO_AXES + "causal aligned end\n")
START = compile(TWO_AXES + "causal aligned start\n")
COUNTING_SELF = compile(ONE_AXIS + "causal and q - k < w\n")
KEYS_BACK = compile(ONE_AXIS + "causal and q - k <= w\n")


def bound(program: MaskProgram | str, **values: object) -> MaskDescriptor:
    mask = (compile(program) if isinstance(program, str) else program).bind(**values)
    assert isinstance(mask, MaskDescriptor)
    return mask


def seen(mask: MaskDescriptor) -> list[int]:
    """Keys that each query sees, from its intervals."""
    indptr, lo, hi = mask.row_intervals()
    ends = np.append(0, np.cumsum(hi - lo))
    return np.diff(ends[indptr]).tolist()


def test_causal_of_unequal_lengths_says_from_which_corner() -> None:
    assert seen(bound(END, a=2, b=5)) == [4, 5]
    assert seen(bound(START, a=2, b=5)) == [1, 2]
    assert seen(bound(END, a=3, b=128)) == [126, 127, 128]
    assert seen(bound(START, a=3, b=128)) == [1, 2, 3]
    with pytest.raises(
        MaskError, match="`causal` needs an alignment here, because queries and keys may differ in number"
    ):
        compile(TWO_AXES + "causal\n")


@law
@given(st.integers(0, 40), st.integers(0, 40))
def test_causal_of_any_two_lengths(a: int, b: int) -> None:
    q = np.arange(a)
    assert seen(bound(END, a=a, b=b)) == np.clip(q + 1 + b - a, 0, b).tolist()
    assert seen(bound(START, a=a, b=b)) == np.minimum(q + 1, b).tolist()
    assert bound(END, a=a, b=b).empty_rows == (max(a - b, 0) if b else a)


def test_more_queries_than_keys_leave_the_first_queries_empty_and_a_warning() -> None:
    assert seen(bound(END, a=5, b=2)) == [0, 0, 0, 1, 2]
    long = bound(END, a=2048, b=1024)
    assert (long.empty_rows, long.first_empty_row, long.visible_pairs) == (1024, 0, 1024 * 1025 // 2)
    assert seen(long)[1023:1026] == [0, 1, 2]
    analysis = analyse(END.source, {"a": 2048, "b": 1024})
    assert [m.message for m in analysis.diagnostics if m.code == "CM511"] == [
        "1,024 queries see no key; the first is q = 0, in Q"
    ]


def test_a_window_counts_the_query_itself_or_not_as_written() -> None:
    _, lo, hi = bound(COUNTING_SELF, n=16, w=4).row_intervals(10, 11)
    assert (lo.tolist(), hi.tolist()) == ([7], [11])
    _, lo, hi = bound(KEYS_BACK, n=16, w=4).row_intervals(10, 11)
    assert (lo.tolist(), hi.tolist()) == ([6], [11])


@law
@given(st.integers(1, 30), st.integers(1, 40))
def test_both_ways_of_counting_differ_by_one_key(n: int, w: int) -> None:
    assert bound(KEYS_BACK, n=n, w=w - 1) == bound(COUNTING_SELF, n=n, w=w)
    assert seen(bound(COUNTING_SELF, n=n, w=w)) == np.minimum(np.arange(n) + 1, w).tolist()


@pytest.mark.parametrize("n", [1, 200, 16384])
def test_a_window_as_long_as_the_sequence_is_plain_causal(n: int) -> None:
    causal = bound("mask m(n: int)\ntokens { S: n }\nS sees S causal\n", n=n)
    for program, width in ((KEYS_BACK, n - 1), (KEYS_BACK, n), (COUNTING_SELF, n), (COUNTING_SELF, 2**40)):
        window = bound(program, n=n, w=width)
        assert window == causal
        assert (window.hash, window.to_json()) == (causal.hash, causal.to_json())


def test_a_window_to_both_sides_of_unequal_lengths_names_its_empty_queries() -> None:
    text = TWO_AXES + "where k - q >= b - a - 32 and k - q <= b - a + 64\n"
    mask = bound(text, a=129, b=32)
    rows = seen(mask)
    assert mask.visible_pairs == sum(rows) == 2576
    assert (mask.empty_rows, rows[:33], rows[33]) == (33, [0] * 33, 1)
    messages = [m.message for m in analyse(text, {"a": 129, "b": 32}).diagnostics]
    assert "33 queries see no key; the first is q = 0, in Q" in messages


def test_a_mask_of_a_longer_sequence_is_cut_or_bound_anew_to_the_same() -> None:
    text = "mask m(n: int)\ntokens { S: n }\nS sees S (causal and q - k <= 256) or (q >= 4 and k <= 4)\n"
    short = bound(text, n=1024)
    assert bound(text, n=8192).slice_queries(0, 1024).slice_keys(0, 1024) == short
    assert (short.visible_pairs, seen(short)[1023]) == (234_097, 262)


SQUARES = [1, 4, 9, 16, 25, 36, 49, 100]
BY_ID = "mask m(id: int[])\ntokens { S: len(id) }\nS sees S causal and id[q] == id[k]\n"


@pytest.mark.parametrize("lengths", [[10, 10, 20, 20, 20, 20], SQUARES], ids=str)
def test_documents_by_length_and_by_a_table_of_ids_are_one_mask(lengths: list[int]) -> None:
    ids = np.repeat(np.arange(len(lengths)), lengths)
    by_length = bound("mask m(l: int[])\ntokens { D[i]: l[i] }\nD[i] sees D[i] causal\n", l=lengths)
    assert bound(BY_ID, id=ids) == by_length
    assert by_length.visible_pairs == sum(n * (n + 1) // 2 for n in lengths)
    assert len(ids) != 100 or by_length.visible_pairs == 950


def test_a_table_of_ids_that_is_too_short_names_the_element_that_it_lacks() -> None:
    text = BY_ID.replace("m(id", "m(n: int, id").replace("len(id)", "n")
    assert bound(text, n=3, id=[0, 0, 1]).visible_pairs == 4
    with pytest.raises(MaskError) as caught:
        bound(text, n=100, id=[0] * 99)
    (problem,) = caught.value.diagnostics
    assert "99" in problem.message and "id" in problem.message


def test_padding_on_the_left_and_on_the_right_hides_the_same_tokens_from_each_other() -> None:
    text = "mask m(n: int, left: int, right: int)\ntokens { A: left; S: n; B: right }\nS sees S causal\n"
    left, right, bare = (bound(text, n=3, left=a, right=b) for a, b in ((2, 0), (0, 2), (0, 0)))
    assert seen(left) == [0, 0, 1, 2, 3]
    assert seen(right) == [1, 2, 3, 0, 0]
    assert left.slice_queries(2, 5).slice_keys(2, 5) == right.slice_queries(0, 3).slice_keys(0, 3) == bare
    shown = "mask m(n: int, right: int)\ntokens { S: n; B: right }\nS, B sees S causal\n"
    assert seen(bound(shown, n=3, right=2)) == [1, 2, 3, 3, 3]
