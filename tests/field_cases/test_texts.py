"""Faults of masks seen elsewhere, as texts of the language: what they must say, and what they must refuse to guess."""

from __future__ import annotations

import numpy as np
import pytest

from compilemask.compiler import analyse, compile
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import MaskError


def rows(mask: MaskDescriptor | MaskBatch) -> list[int]:
    """Visible keys of each query."""
    assert isinstance(mask, MaskDescriptor)
    return mask.dense().sum(axis=1).tolist()


CROSS = "mask m(q_len: int, kv_len: int)\nqueries { Q: q_len }\nkeys { K: kv_len }\nQ sees K causal"


def test_causal_over_two_lengths_is_refused_until_its_alignment_is_said():
    (message,) = analyse(CROSS + "\n").diagnostics
    assert message.code == "CM310"
    assert [fix.edits[0].text for fix in message.fixes] == [" aligned start", " aligned end"]
    start, end = compile(CROSS + " aligned start\n"), compile(CROSS + " aligned end\n")
    assert rows(start.bind(q_len=2, kv_len=5)) == [1, 2]
    assert rows(end.bind(q_len=2, kv_len=5)) == [4, 5]


def test_more_queries_than_keys_leave_the_first_queries_empty_and_are_counted():
    source = CROSS + " aligned end\n"
    assert rows(compile(source).bind(q_len=5, kv_len=2)) == [0, 0, 0, 1, 2]
    (message,) = analyse(source, {"q_len": 2048, "kv_len": 1024}).diagnostics
    assert message.code == "CM511" and message.message.startswith("1,024 queries see no key; the first is q = 0")


def test_one_program_serves_any_lengths():
    program = compile(CROSS + " aligned end\n")
    assert rows(program.bind(q_len=8, kv_len=16)) == list(range(9, 17))
    assert rows(program.bind(q_len=4, kv_len=32)) == list(range(29, 33))
    assert rows(program.bind(q_len=16, kv_len=8)) == [0] * 8 + list(range(1, 9))


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("causal and q - k < 4", [7, 8, 9, 10]),
        ("causal and q - k <= 4", [6, 7, 8, 9, 10]),
        ("near(pos, 4, causal)", [7, 8, 9, 10]),
    ],
)
def test_a_window_counts_what_is_written(condition: str, keys: list[int]):
    mask = compile(f"mask m(n: int)\ntokens {{ S: n }}\nS sees S {condition}\n").bind(n=16)
    assert isinstance(mask, MaskDescriptor)
    assert np.flatnonzero(mask.dense()[10]).tolist() == keys


def test_a_two_sided_window_says_how_many_rows_it_leaves_empty():
    source = (
        "mask m(q_len: int, kv_len: int, left: int, right: int)\nqueries { Q: q_len }\nkeys { K: kv_len }\n"
        "Q sees K where -left <= k - (q + kv_len - q_len) <= right\n"
    )
    values = {"q_len": 129, "kv_len": 32, "left": 32, "right": 64}
    counts = rows(compile(source).bind(**values))
    assert counts[:34] == [0] * 33 + [1] and sum(counts) == 2576
    assert [m.message.split(";")[0] for m in analyse(source, values).diagnostics] == ["33 queries see no key"]


def test_padding_left_and_right_leaves_the_same_text():
    source = "mask m(left: int per item, n: int per item, right: int per item)\ntokens { l: left unused; S: n; r: right unused }\nS sees S causal\n"
    batch = compile(source).bind(left=[0, 2, 0], n=[5, 3, 3], right=[0, 0, 2])
    assert isinstance(batch, MaskBatch)
    masks = [batch.mask(item, 0).dense() for item in range(3)]
    assert [mask.sum(axis=1).tolist() for mask in masks] == [[1, 2, 3, 4, 5], [0, 0, 1, 2, 3], [1, 2, 3, 0, 0]]
    np.testing.assert_array_equal(masks[1][2:, 2:], masks[2][:3, :3])
    assert [m.code for m in analyse(source, {"left": [0, 2], "n": [5, 3], "right": 0}).diagnostics] == ["CM540"]


def test_documents_of_unequal_lengths_have_two_diagonals_and_both_can_be_said():
    head = (
        "mask m(a: int[], b: int[])\nqueries { Q[i]: a[i] }\nkeys { K[i]: b[i] }\nQ[i] sees K[i] causal aligned start"
    )
    values = {"a": [2, 2], "b": [3, 2]}
    assert rows(compile(head + "\n").bind(**values)) == [1, 2, 1, 2]
    whole = head + " and k <= q\n"
    assert rows(compile(whole).bind(**values)) == [1, 2, 0, 1]
    assert "1 query sees no key" in [m.message.split(";")[0] for m in analyse(whole, values).diagnostics]


def test_masks_that_differ_per_item_are_declared_and_a_smaller_batch_is_another_batch():
    program = compile(
        "mask m(counter: int per item)\nqueries { Q: 1 }\nkeys { K: 16 }\nQ sees K where k <= counter\nallow unseen keys\n"
    )
    both, last = program.bind(counter=[3, 7]), program.bind(counter=[7])
    assert isinstance(both, MaskBatch) and isinstance(last, MaskBatch)
    assert [rows(both.mask(item, 0)) for item in range(2)] == [[4], [8]]
    assert last.num_items == 1 and rows(last.mask(0, 0)) == [8]


def test_items_that_differ_in_number_are_named_with_both_numbers():
    program = compile("mask m(a: int per item, b: int per item)\ntokens { S: a + b }\nS sees S causal\n")
    with pytest.raises(MaskError, match="`a` has values for 2 items, but `b` has values for 3 items"):
        program.bind(a=[1, 2], b=[1, 2, 3])


@pytest.mark.parametrize("sign", ["~", "!", "&", "|"])
def test_operators_of_python_and_c_are_told_the_word(sign: str):
    condition = f"{sign}causal" if sign in "~!" else f"causal {sign} k < 2"
    (message,) = analyse(f"mask m(n: int)\ntokens {{ S: n }}\nS sees S {condition}\n").diagnostics
    word = {"~": "not", "!": "not", "&": "and", "|": "or"}[sign]
    assert message.code == "CM102" and f"here it is `{word}`" in message.message
    assert message.fixes[0].edits[0].text.strip() == word


def test_a_prefix_for_each_item_in_one_call():
    program = compile(
        "mask m(n: int, prefix: int per item)\ntokens { S: n }\nS sees S where causal or k < prefix and q < prefix\n"
    )
    batch = program.bind(n=6, prefix=[3, 0, 6])
    assert isinstance(batch, MaskBatch)
    assert [rows(batch.mask(item, 0)) for item in range(3)] == [[3, 3, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [6] * 6]


def test_rows_in_small_chunks_are_one_region_however_many_there_are():
    source = "mask m(rows: int, start: int, c: int)\nqueries { Q: rows }\nkeys { K: start + rows }\nQ sees K where k < start + (q // c + 1) * c\n"
    chunked = compile(source)
    small = chunked.bind(rows=100, start=100, c=2)
    assert isinstance(small, MaskDescriptor) and small.visible_pairs == 15_100
    large = chunked.bind(rows=100_000, start=0, c=2)
    assert isinstance(large, MaskDescriptor)
    assert len(small.families()) == len(large.families()) == 1


@pytest.mark.parametrize("lengths", [[3, -1, 4], [3, 2.0], [3, True], "34", np.array([[3, 4]])])
def test_lengths_that_are_none_are_refused_by_name(lengths: object):
    with pytest.raises(MaskError, match="lengths"):
        compile("mask m(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n").bind(lengths=lengths)
