"""Masks whose parameters differ between items and heads: each as if it were bound alone."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import analyse, compile
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import MaskError

TEXT = """mask m(n: int per item, window: int per head in 1.. = 3, lengths: int[] per item, first: bool per head = false)
tokens { S: n; D[i]: lengths[i] }
S sees S causal and q - k < window
D[i] sees D[i] causal
D sees S where first and k.pos == 0
"""
PROGRAM = compile(TEXT)


def bind(program: Any, **values: object) -> MaskBatch:
    batch = program.bind(**values)
    assert isinstance(batch, MaskBatch)
    return batch


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.data())
def test_each_item_and_head_is_bound_as_if_it_were_alone(data: st.DataObject) -> None:
    items, heads = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))

    def draw(values: st.SearchStrategy[Any], count: int) -> Any:
        """One value for all, or one for each."""
        return data.draw(st.one_of(values.map(lambda value: ("all", value)), st.lists(values, min_size=count, max_size=count).map(lambda each: ("each", each))))  # fmt: skip

    drawn = {
        "n": draw(st.integers(1, 6), items),
        "lengths": draw(st.lists(st.integers(0, 4), min_size=1, max_size=3), items),
        "window": draw(st.integers(1, 3), heads),
        "first": draw(st.booleans(), heads),
    }
    batch = bind(PROGRAM, **{name: value for name, (_, value) in drawn.items()})
    by_item = any(drawn[name][0] == "each" for name in ("n", "lengths"))
    by_head = any(drawn[name][0] == "each" for name in ("window", "first"))
    assert batch.index.shape == (items if by_item else 1, heads if by_head else 1)
    for b in range(items):
        for h in range(heads):
            own = {
                name: value if kind == "all" else value[b if name in ("n", "lengths") else h]
                for name, (kind, value) in drawn.items()
            }
            alone = bind(PROGRAM, **own)
            assert alone.index.shape == (1, 1)
            assert batch.mask(b, h) == alone.mask(0, 0).pad_to(batch.q_len, batch.kv_len)
            assert PROGRAM.values_of(b, h, **{name: value for name, (_, value) in drawn.items()}) == {
                name: tuple(value) if isinstance(value, list) else value for name, value in own.items()
            }
    assert len(batch.masks) == len(set(batch.masks))


def test_a_mask_without_such_parameters_is_one_mask_as_before() -> None:
    program = compile("mask m(n: int)\ntokens { S: n }\nS sees S causal\n")
    assert not program.is_batch
    assert isinstance(program.bind(n=3), MaskDescriptor)
    assert PROGRAM.is_batch


def test_arrays_are_lists_too() -> None:
    expected = bind(PROGRAM, n=[2, 3], lengths=[[1, 2], [3, 4]], window=[1, 2], first=[True, False])
    arrays = {
        "n": np.array([2, 3]),
        "lengths": np.array([[1, 2], [3, 4]]),
        "window": np.array([1, 2], np.int32),
        "first": np.array([True, False]),
    }
    assert bind(PROGRAM, **arrays) == expected
    assert (
        bind(PROGRAM, n=(2, np.int64(3)), lengths=[np.array([1, 2]), (3, 4)], window=range(1, 3), first=[True, False])
        == expected
    )


def test_one_row_for_all_is_not_one_row_for_each() -> None:
    assert bind(PROGRAM, n=1, lengths=[2, 3]).index.shape == (1, 1)
    assert bind(PROGRAM, n=1, lengths=[[2, 3]]).index.shape == (1, 1)
    assert bind(PROGRAM, n=1, lengths=[[2, 3], []]).index.tolist() == [[0], [1]]


def test_values_of_an_item_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"the item must lie in \[0, 2\), got 2"):
        PROGRAM.values_of(2, 0, n=[1, 2], lengths=[1])
    assert PROGRAM.values_of(7, 5, n=1, lengths=[1])["n"] == 1


def test_one_mask_is_asked_for_where_a_cell_is_explained() -> None:
    values = {"n": [2, 3], "lengths": [1]}
    with pytest.raises(MaskError, match="this is about one mask: give one value, that of one item"):
        PROGRAM.explain(0, 0, **values)
    assert PROGRAM.explain(2, 2, **PROGRAM.values_of(1, 0, **values)).q_region == "S"


def test_tools_show_the_first_mask_and_say_so() -> None:
    values = {"n": [2, 5], "lengths": [1], "window": [3, 1, 2]}
    analysis = analyse(TEXT, values)
    assert analysis.lowered is not None and analysis.lowered.descriptor.q_len == 3
    (warning,) = [message for message in analysis.diagnostics if message.code == "CM540"]
    assert warning.message == "these values give a batch of 2 items and 3 heads; this is the mask of item 0, head 0"
    assert analysis.values == {"n": (2, 5), "lengths": (1,), "window": (3, 1, 2), "first": False}
    assert [m.code for m in analyse(TEXT, {"n": 2, "lengths": [1], "first": True}).diagnostics] == []
    assert [m.code for m in analyse(TEXT, {"n": [2], "lengths": [1], "first": True}).diagnostics] == []


def test_guesses_are_in_the_range() -> None:
    text = "mask m(n: int in 1..9, w: int[] in 20.., t: int[][] in ..10)\ntokens { S: n; W[i]: w[i]; T[j]: t[0][j] }\nS sees S\nW sees T\n"
    assert analyse(text).values == {"n": 9, "w": (20, 24, 20), "t": ((10, 10), (8,))}


def test_ranges_hold_in_called_masks_too() -> None:
    text = """mask window(n: int, w: int in 1..4)
tokens { S: n }
S sees S causal and q - k < w
mask both(n: int, w: int) = window(n, w) and causal(n)
"""
    assert compile(text).bind(n=6, w=4).visible_pairs == 18
    with pytest.raises(MaskError) as caught:
        compile(text).bind(n=6, w=5)
    (message,) = caught.value.diagnostics
    assert message.code == "CM440" and message.message == "`w` got 5, which is more than 4"


def test_assertions_hold_for_every_item() -> None:
    program = compile("mask m(n: int per item)\ntokens { S: n }\nS sees S k < 4\nassert every key is seen\n")
    assert bind(program, n=[3, 4]).num_items == 2
    with pytest.raises(MaskError) as caught:
        program.bind(n=[3, 5, 4])
    (message,) = caught.value.diagnostics
    assert message.code == "CM603" and message.message.endswith("(item 1)")


def test_a_message_names_the_item_and_the_head() -> None:
    program = compile(
        "mask m(a: int[] per item, w: int per head)\ntokens { D[i]: a[i] }\nD[i] sees D[i] where k % w == 0\n"
    )
    for values, code, words in [
        ({"a": [[2], [2, -3]], "w": 1}, "CM404", "the length of `D` is -3 for i = 1, but no size is negative (item 1)"),
        ({"a": [[2], [4]], "w": [2, 0]}, "CM408", "(item 0, head 1)"),
        ({"a": [1], "w": range(1, 5000)}, "CM405", "a batch has up to 4,096 different masks, and this has more"),
    ]:
        with pytest.raises(MaskError) as caught:
            program.bind(**values)
        (message,) = caught.value.diagnostics
        assert message.code == code and message.message.endswith(words) and message.hint


# ---------------------------------------------------------------- faults seen elsewhere


def test_a_counter_of_each_item_is_never_that_of_another() -> None:
    program = compile(
        "mask m(length: int, counter: int per item)\nqueries { Q: 1 }\nkeys { K: length }\nQ sees K k <= counter\n"
    )
    assert [bind(program, length=16, counter=[3, 7]).mask(b, 0).visible_pairs for b in (0, 1)] == [4, 8]
    assert bind(program, length=16, counter=[5]).mask(0, 0).visible_pairs == 6


def test_one_program_bound_to_three_shapes_has_three_right_answers() -> None:
    program = compile(
        "mask m(q_len: int, kv_len: int)\nqueries { Q: q_len }\nkeys { K: kv_len }\nQ sees K causal aligned end\n"
    )
    for q_len, kv_len, counts in [(8, 16, range(9, 17)), (4, 32, range(29, 33)), (16, 8, [*[0] * 8, *range(1, 9)])]:
        assert program.bind(q_len=q_len, kv_len=kv_len).dense().sum(1).tolist() == list(counts)


def test_a_mask_for_another_length_is_bound_anew_and_exact() -> None:
    program = compile("mask m(n: int)\ntokens { S: n }\nS sees S (causal and q - k <= 256) or (q >= 4 and k <= 4)\n")
    assert program.bind(n=8192).q_len == 8192
    short = program.bind(n=1024)
    assert short.visible_pairs == 234_097
    assert int(short.slice_queries(1023, 1024).visible_pairs) == 262


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ((0, 200, 150, 300), "the length of `D` is -50 for i = 1"),
        ((5, 100, -300), "the length of `D` is -400 for i = 1"),
    ],
)
def test_offsets_that_go_back_are_refused(offsets: tuple[int, ...], words: str) -> None:
    program = compile("mask m(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n")
    with pytest.raises(MaskError, match=words):
        program.bind(lengths=np.diff(offsets))
    for wrong in (np.diff(offsets).astype(float), np.array(offsets)[None], "0,100", None):
        with pytest.raises(MaskError, match="it wants a list of integers"):
            program.bind(lengths=wrong)


def test_a_prefix_of_each_item_in_one_call() -> None:
    program = compile("mask m(n: int, prefix: int per item)\ntokens { S: n }\nS sees S causal or k < prefix\n")
    assert bind(program, n=6, prefix=3).mask(0, 0).dense().sum(1).tolist() == [3, 3, 3, 4, 5, 6]
    batch = bind(program, n=8192, prefix=[256, 4096, 1024, 256])
    assert batch.index.ravel().tolist() == [0, 1, 2, 0]
    assert [mask.visible_pairs for mask in batch.masks] == [
        8192 * 8193 // 2 + p * (p - 1) // 2 for p in (256, 4096, 1024)
    ]


def test_sparsity_is_exact_where_a_length_is_no_multiple_of_a_tile() -> None:
    program = compile("mask m(lengths: int[] per item)\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n")
    batch = bind(program, lengths=[[10, 10, 20, 20, 20, 20], [1, 3, 5, 7, 9, 11, 13, 51]])
    assert batch.q_len == 100
    assert batch.mask(0, 0).visible_pairs == 950 and batch.mask(0, 0).density == 0.095


def test_heads_that_are_alike_cost_one_mask_and_no_table() -> None:
    program = compile(
        "mask m(n: int, window: int per head, lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal and q - k < window\n"
    )
    tracemalloc.start()
    batch = bind(program, n=1, window=[1024] * 24, lengths=[1_000] * 96)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert batch.num_heads == 24 and len(batch.masks) == 1 and batch.q_len == 96_000
    assert peak < 64 * 2**20
    assert bind(program, n=1, window=[1024] * 24, lengths=[10_000] * 100).q_len == 1_000_000


def test_new_documents_each_step_are_bound_quickly() -> None:
    program = compile("mask m(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n")
    rng = np.random.default_rng(0)
    times = []
    for lengths in [*(rng.integers(16_000, 33_000, 32) for _ in range(3)), np.full(3000, 1024)]:
        start = time.perf_counter()
        mask = program.bind(lengths=lengths)
        times.append(time.perf_counter() - start)
        assert mask.visible_pairs == int((lengths * (lengths + 1) // 2).sum())
    assert min(times[:3]) < 0.5 and times[3] < 2


def test_messages_are_about_every_mask_of_a_batch() -> None:
    text = "mask m(n: int per item, w: int per head)\ntokens { S: n }\nS sees S where k >= w and k <= q\nassert density < 0.6\n"
    analysis = analyse(text, {"n": [9, 2, 9, 5], "w": [0, 3, 3]})
    assert (analysis.num_items, analysis.num_heads, analysis.num_masks) == (4, 3, 6)
    found = [(message.code, message.message) for message in analysis.diagnostics if message.code != "CM540"]
    assert found == [
        ("CM511", "3 queries see no key; the first is q = 0, in S (item 0, head 1, and 2 others)"),
        ("CM512", "no query sees 3 keys; the first is k = 0, in S (item 0, head 1, and 2 others)"),
        (
            "CM606",
            "`density < 0.6` does not hold: the density is 0.75: 3 of 4 cells are visible (item 1, head 0, and 1 other)",
        ),
    ]


def test_a_fault_of_a_later_item_is_an_error_of_the_analysis() -> None:
    text = "mask m(n: int per item, a: int[])\ntokens { S: n }\nS sees S where a[q] > 0\n"
    analysis = analyse(text, {"n": [2, 3], "a": [1, 1]})
    assert analysis.lowered is not None and analysis.failed
    (error,) = [message for message in analysis.diagnostics if message.severity == "error"]
    assert error.code == "CM407" and error.message.endswith("(item 1)")


def test_tools_look_at_some_of_very_many_masks() -> None:
    text = "mask m(n: int per item)\ntokens { S: n }\nS sees S where k < 200\nassert every key is seen\n"
    analysis = analyse(text, {"n": list(range(1, 300))})
    assert analysis.num_masks == 299 and not analysis.failed
    (warning,) = [message for message in analysis.diagnostics if message.code == "CM540"]
    assert warning.message.endswith("this is the mask of item 0; messages are about the first 64 different masks")
    assert analyse(text, {"n": list(range(1, 300))}, item=250).failed


USES = [
    ("S sees S where k < a and q < a", {"a": [1, 3]}, []),
    ("S sees S where k < a and q < a", {"a": [3, 1]}, []),
    ("S sees S where k < a and q < a", {"a": [1, 0]}, ["CM514"]),
    ("S sees S where k < a and q < a", {"a": [0, 1]}, ["CM513"]),
    ("S sees S where k < a and q < a", {"a": [0, 0]}, ["CM513"]),
    ("S sees S where f and causal", {"f": [False, True], "w": [2, 2]}, []),
    ("S sees S where f and causal", {"f": [True, False], "w": [2, 2]}, []),
    ("S sees S where f and causal", {"f": [True, False], "w": [6, 6]}, ["CM514"]),
    ("S sees S where f and causal", {"f": [False, False], "a": [1, 1]}, ["CM513"]),
    ("S sees S where f and k < a", {"f": [True, False], "a": [0, 9]}, []),
    ("S sees S where f and k < a and causal", {"f": [True, False], "a": [0, 2], "w": [6, 2]}, ["CM513"]),
]


@pytest.mark.parametrize(("rule", "values", "codes"), USES)
def test_a_rule_is_without_use_only_if_no_mask_of_the_batch_needs_it(
    rule: str, values: dict[str, object], codes: list[str]
) -> None:
    head = "mask m(n: int, a: int per item, w: int per head, f: bool per head)\ntokens { S: n }\n"
    source = f"{head}S sees S causal and q - k < w\n{rule}\n"
    bound = {"n": 6, "a": 1, "w": 3, "f": True, **values}
    batch = bind(compile(source), **bound)
    without = bind(compile(source.replace(f"{rule}\n", "")), **bound)
    for item in range(batch.num_items):
        for head_number in range(batch.num_heads):
            analysis = analyse(source, bound, item=item, head=head_number)
            found = [m for m in analysis.diagnostics if m.code in ("CM513", "CM514")]
            assert len(found) == len(codes) and all("(" not in m.message for m in found)
            assert all(source[m.span.start : m.span.stop] == rule for m in found)
    same = all((one.dense() == other.dense()).all() for one, other in zip(batch.masks, without.masks, strict=False))
    assert bool(codes) == (same and len(batch.masks) == len(without.masks))
    found = [m.code for m in analyse(source, bound).diagnostics if m.code in ("CM513", "CM514")]
    assert found == codes


def test_masks_that_are_bound_one_by_one_are_joined_as_the_manual_says() -> None:
    program = compile("mask m(answers: int[][])\ntokens { c[i] { A[j]: answers[i][j] } }\nc[i].A sees c[i].A causal\n")
    items = [[[2, 1], [1]], [[1]]]
    batch = MaskBatch.of([[program.bind(answers=rows)] for rows in items])
    assert (batch.num_items, batch.num_heads, batch.q_len) == (2, 1, 4)
    assert batch.mask(0, 0).visible_pairs == 7 and batch.mask(1, 0).dense().sum() == 1
