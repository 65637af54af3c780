"""What is wrong with the numbers of a mask: one clear message each, before memory is taken."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import MaskError
from compilemask.lowering import limits, lower
from compilemask.lowering.binding import Binding
from compilemask.lowering.codes import BIND_CODES

HUGE = 2**31 - 1


def plain(parameters: str, condition: str) -> str:
    return f"mask m({parameters})\ntokens {{ S: n }}\nS sees S where {condition}\n"


class TensorOfOneBool:
    """As tensors do, it says that it is an integer."""

    dtype = "bool"
    shape = ()

    def __index__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "tensor(True)"


CASES: list[tuple[str, str, dict[str, Any], str, str]] = [
    # code, text, values, message, the text under the carets
    ("CM401", plain("n: int, a: int[]", "a[0] < k"), {"n": 3}, "parameter `a` has no value", "a: int[]"),
    ("CM402", plain("n: int", "k < 3"), {"n": 3, "m": 1}, "mask `m` has no parameter `m`", "mask m"),
    ("CM403", plain("n: int", "k < 3"), {"n": True}, "`n` got True, but the parameter is int: it wants one integer", "n: int"),
    ("CM403", plain("n: int", "k < 3"), {"n": 3.0}, "`n` got 3.0", "n: int"),
    ("CM403", plain("n: int", "k < 3"), {"n": None}, "`n` got None", "n: int"),
    ("CM403", plain("n: int", "k < 3"), {"n": np.True_}, "`n` got True, but the parameter is int", "n: int"),
    ("CM403", plain("n: int", "k < 3"), {"n": TensorOfOneBool()}, "`n` got tensor(True), but the parameter is int", "n: int"),
    ("CM403", plain("n: int, a: int[]", "a[0] < k"), {"n": 3, "a": [4, np.False_]}, "`a[1]` got False", "a: int[]"),
    ("CM403", plain("n: int, b: bool", "b"), {"n": 3, "b": 1}, "it wants true or false", "b: bool"),
    ("CM403", plain("n: int, a: int[]", "a[0] < k"), {"n": 3, "a": "12"}, "it wants a list of integers", "a: int[]"),
    ("CM403", plain("n: int, a: int[]", "a[0] < k"), {"n": 3, "a": [1, 2.0]}, "`a[1]` got 2.0", "a: int[]"),
    ("CM403", plain("n: int, a: int[]", "a[0] < k"), {"n": 3, "a": np.ones(3)}, "`a` got ndarray", "a: int[]"),
    ("CM404", plain("n: int", "k < 3"), {"n": -1}, "the length of `S` is -1, but no size is negative", "n"),
    (
        "CM404",
        "mask m(a: int[])\ntokens { D[i]: a[i] - 2 }\nD[i] sees D[i]\n",
        {"a": [2, 5, 1]},
        "the length of `D` is -1 for i = 2, but no size is negative",
        "a[i] - 2",
    ),
    ("CM404", "mask m(n: int)\ntokens { D[i < n]: 1 }\nD[i] sees D[i]\n", {"n": -2}, "the number of instances of `D` is -2", "n"),
    ("CM405", plain("n: int", "k < 3"), {"n": HUGE + 1}, "the length of `S` is 2,147,483,648; the limit is 2,147,483,647", "n"),
    ("CM405", "mask m(n: int)\ntokens { S: n x n }\nS sees S\n", {"n": 2**20}, "`S` has 1,099,511,627,776 tokens", "S: n x n"),
    ("CM405", "mask m(n: int)\ntokens { S: n; T: n }\nS sees T\n", {"n": HUGE}, "this axis has 4,294,967,294 tokens", "tokens { S: n; T: n }"),
    ("CM406", "mask m(n: int)\ntokens { S[i < n]: 1 }\nS[i] sees S[i]\n", {"n": 2**21}, "`S` has 2,097,152 instances", "S[i < n]: 1"),
    ("CM406", "mask m(n: int)\ntokens { S: n x 2 }\nS sees S where dy == 1\n", {"n": 2**29}, "cuts this grid into more than 16,777,216 lines", "S sees S where dy == 1"),
    (
        "CM420",
        "mask m(a: int[], b: int[])\ntokens { D[i]: a[i] + b[i] }\nD[i] sees D[i]\n",
        {"a": [1, 2, 3], "b": [4]},
        "are the items of `a` and of `b`, but `a` has 3 items and `b` has 1 item",
        "b[i]",
    ),
    (
        "CM420",
        "mask m(a: int[], b: int[])\ntokens { D[i]: a[i] + b[i] }\nD[i] sees D[i]\n",
        {"a": [1], "b": [1, 2]},
        "but `a` has 1 item and `b` has 2 items",
        "b[i]",
    ),
    (
        "CM420",
        "mask m(a: int[][], b: int[][])\ntokens { D[i] { E[j]: a[i][j] + b[i][j] } }\nD[i] sees D[i]\n",
        {"a": [[1], [1, 2]], "b": [[1], [2, 2, 2]]},
        "but `a[1]` has 2 items and `b[1]` has 3 items",
        "b[i][j]",
    ),
    (
        "CM407",
        "mask m(n: int, a: int[])\ntokens { D[i < n]: a[i] }\nD[i] sees D[i]\n",
        {"n": 3, "a": [4]},
        "`a[1]` does not exist for i = 1: the list has 1 element",
        "a[i]",
    ),
    ("CM407", plain("n: int, t: int[][]", "t[q][k] < 3"), {"n": 2, "t": [[1, 2], [3]]}, "`t[1][1]` does not exist for q = 1, k = 1: row 1 has 1 element", "t[q][k]"),
    ("CM407", plain("n: int, t: int[][]", "t[q][0] < k"), {"n": 2, "t": [[1, 2]]}, "`t[1]` does not exist for q = 1: the table has 1 row", "t[q][0]"),
    ("CM407", plain("n: int, t: int[][]", "t[2][0] < k"), {"n": 2, "t": [[1, 2]]}, "`t[2]` does not exist: the table has 1 row", "t[2][0]"),
    ("CM407", plain("n: int, t: int[][]", "max(t[q]) < k"), {"n": 2, "t": [[1, 2], []]}, "max(t[1]) needs an element", "max(t[q])"),
    ("CM403", plain("n: int, t: int[][]", "t[0][0] < k"), {"n": 2, "t": [[1], 2]}, "`t[1]` got 2", "t: int[][]"),
    ("CM403", plain("n: int, t: int[][]", "t[0][0] < k"), {"n": 2, "t": [[1], [2.5]]}, "`t[1][0]` got 2.5", "t: int[][]"),
    ("CM421", plain("n: int, w: int", "near(pos, w)"), {"n": 5, "w": 6}, "a window of 6 places does not fit into 5", "near(pos, w)"),
    ("CM421", plain("n: int, w: int", "near(pos, w, dilation = 2)"), {"n": 7, "w": 4}, "a window of 4 places with 2 from one to the next does not fit into 7", "near(pos, w, dilation = 2)"),
    ("CM421", plain("n: int, w: int", "near(pos, 2, dilation = w)"), {"n": 7, "w": 0}, "the dilation of this window is 0", "near(pos, 2, dilation = w)"),
    ("CM421", plain("n: int, w: int", "near(pos, 2, stride = w)"), {"n": 7, "w": 3}, "the stride of this window is 3, more than its 2 places", "near(pos, 2, stride = w)"),
    ("CM421", "mask m(h: int[])\ntokens { D[i]: h[i] x 4 }\nD[i] sees D[j] near(y, 2)\n", {"h": [3, 4]}, "different sizes along its axis, from 3 to 4", "near(y, 2)"),
    ("CM422", "mask m(p: int[])\ntokens { N: len(p) }\nN sees N where k is ancestor of q in p\n", {"p": [-1, 2, 1]}, "`p[1]` is 2, but the parent of node 1 is a node before it, or -1", "k is ancestor of q in p"),
    ("CM423", "mask m(n: int)\ntokens { S: n stored zigzag(4) }\nS sees S\n", {"n": 9}, "9 tokens cannot be cut into 8 equal chunks", "stored zigzag(4)"),
    ("CM422", "mask m(p: int[])\ntokens { N: len(p) }\nN sees N where k is ancestor of q in p\n", {"p": [-2]}, "`p[0]` is -2", "k is ancestor of q in p"),
    ("CM407", "mask m(n: int, p: int[])\ntokens { N: n }\nN sees N where k is ancestor of q in p\n", {"n": 3, "p": [-1, 0]}, "node 2 does not exist for k = 2: `p` has 2 elements", "k is ancestor of q in p"),
    ("CM403", plain("n: int, t: bool[]", "t[k]"), {"n": 2, "t": [1, 0]}, "`t[0]` got 1, but the parameter is bool[]: it wants a list of true and false", "t: bool[]"),
    ("CM407", plain("n: int, a: int[]", "a[k - 1] < 3"), {"n": 2, "a": [1]}, "`a[-1]` does not exist for k = 0", "a[k - 1]"),
    ("CM407", plain("n: int, a: int[]", "max(a) < 3"), {"n": 2, "a": []}, "max(a) needs an element", "max(a)"),
    ("CM440", plain("n: int in 1..4", "k < 3"), {"n": 5}, "`n` got 5, which is more than 4", "n: int in 1..4"),
    ("CM440", plain("n: int in 1..", "k < 3"), {"n": 0}, "`n` got 0, which is less than 1", "n: int in 1.."),
    ("CM440", plain("n: int, a: int[] in ..9", "a[0] < k"), {"n": 3, "a": [1, 9, 10]}, "`a[2]` got 10, which is more than 9", "a: int[] in ..9"),
    ("CM440", plain("n: int, a: int[] in 0..", "a[0] < k"), {"n": 3, "a": [*range(500), -1]}, "`a[500]` got -1, which is less than 0", "a: int[] in 0.."),
    ("CM440", plain("n: int, a: int[][] in 0..", "a[0][0] < k"), {"n": 3, "a": [[1], [2, -7]]}, "`a[1][1]` got -7, which is less than 0", "a: int[][] in 0.."),
    ("CM440", plain("n: int, w: int per head in 1..", "k < w"), {"n": 3, "w": [2, 0]}, "`w[1]` got 0, which is less than 1", "w: int per head in 1.."),
    ("CM441", plain("n: int per item, w: int per item", "k < w"), {"n": [3, 4, 5], "w": [1, 2]}, "`n` has values for 3 items, but `w` has values for 2 items", "w: int per item"),
    ("CM441", plain("n: int, w: int per head", "k < w"), {"n": 3, "w": []}, "`w` is an empty list, but a batch has one head or more", "w: int per head"),
    ("CM403", plain("n: int, w: int per head", "k < w"), {"n": 3, "w": [1, "2"]}, "`w[1]` got '2', but the parameter is int: it wants one integer", "w: int per head"),
    ("CM403", plain("n: int, a: int[] per item", "k < a[0]"), {"n": 3, "a": [[1], 2]}, "`a[1]` got 2, but the parameter is int[]", "a: int[] per item"),
    ("CM403", plain("n: int, w: int", "k < w"), {"n": 3, "w": [1, 2]}, "`w` got [1, 2], but the parameter is int", "w: int"),
    ("CM405", plain("n: int, w: int per head", "k < w"), {"n": 3, "w": range(2**20 + 1)}, "`w` has 1,048,577 elements; the limit is 1,048,576", "w: int per head"),
    ("CM405", plain("n: int per item, w: int per head", "k < w"), {"n": [3] * 1025, "w": [1] * 1024}, "1,025 items with 1,024 heads are more than 1,048,576 masks", "mask m"),
    ("CM408", plain("n: int, s: int", "q % s == 0"), {"n": 2, "s": 0}, "the divisor of `%` is 0 for these numbers", "q % s"),
    ("CM408", plain("n: int", "n // (q - 3) == 0"), {"n": 9}, "the divisor of `//` is 0 for q = 3", "n // (q - 3)"),
    ("CM409", plain("n: int", "q * q * q < k"), {"n": HUGE // 256}, "may leave the range of exact arithmetic", "q * q * q"),
    ("CM409", plain("n: int, a: int", "a * a * k < q"), {"n": 2, "a": 2**40}, "leaves the range of exact arithmetic", "a * a"),
    ("CM409", plain("n: int, a: int", "a < q"), {"n": 2, "a": 2**60}, "`a` got 1152921504606846976; numbers stay below 2^60", "a: int"),
    ("CM409", plain("n: int, a: int", "a < q"), {"n": 2, "a": 10**5000}, "`a` got a number of 16610 bits", "a: int"),
    ("CM410", plain("n: int", "(q + k) % 2 == 0"), {"n": 2**17}, "too many runs", "S sees S where (q + k) % 2 == 0"),
    ("CM410", "mask m(n: int)\ntokens { D[i < n] { A: 1; B: 1 } }\nD[i].A sees D[j].A\n", {"n": 2**16}, "needs 4,294,967,296 pieces", "D[i].A sees D[j].A"),
    ("CM411", plain("n: int", "q % 3 == 0"), {"n": HUGE}, "its region has 2,147,483,647 tokens", "q % 3 == 0"),
    ("CM411", plain("n: int", "q * k < 99 and k >= 0"), {"n": 2**14}, "tried on 268,435,456 pairs; the limit is 67,108,864", "q * k < 99"),
    ("CM411", plain("n: int", "(q - k) % 3 == 0"), {"n": 2**30}, "would be tried on 2,147,483,647", "(q - k) % 3 == 0"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "source", "values", "words", "place"), CASES)
def test_a_wrong_number_has_one_message(code: str, source: str, values: dict[str, Any], words: str, place: str):
    program = compile(source)
    start = time.perf_counter()
    with pytest.raises(MaskError) as caught:
        program.bind(**values)
    assert time.perf_counter() - start < 20
    (message,) = caught.value.diagnostics
    assert (message.code, message.severity) == (code, "error")
    assert words in message.message
    assert source[message.span.start : message.span.stop] == place
    assert message.hint
    if code != "CM401":  # tools guess what is missing
        assert analyse(source, values).diagnostics[-1] == message


def test_too_much_work_is_stopped(monkeypatch: pytest.MonkeyPatch):
    rules = "".join(f"S sees S where q * k % {divisor} == 3\n" for divisor in range(5, 25))
    program = compile(f"mask m(n: int)\ntokens {{ S: n }}\n{rules}")
    assert program.bind(n=200).visible_pairs > 0
    monkeypatch.setattr(limits, "MAX_WORK", 300_000)
    with pytest.raises(MaskError) as caught:
        program.bind(n=200)
    (message,) = caught.value.diagnostics
    assert message.code == "CM412"
    assert "needs more than 300,000 steps" in message.message


def test_too_many_pairs_of_regions_are_refused():
    regions = "; ".join(f"S{i}: n" for i in range(64))
    names = ", ".join(f"S{i}" for i in range(64))
    text = (
        f"mask m(n: int)\ntokens {{ {regions} }}\n"
        + f"{names} sees {names}\n{names} sees {names} causal\n{names} sees {names} where k < 3\n"
    )
    with pytest.raises(MaskError, match="more than 8,192 pairs of regions"):
        compile(text).bind(n=3)


def test_all_wrong_values_are_named_at_once():
    with pytest.raises(MaskError) as caught:
        compile(plain("n: int, a: int[], b: bool", "b and a[0] < k")).bind(n="3", b=0, c=1)
    assert sorted(message.code for message in caught.value.diagnostics) == ["CM401", "CM402", "CM403", "CM403"]


def test_the_tables_of_limits_do_not_take_memory_first():
    program = compile(plain("n: int", "(q - k) % 3 == 0"))
    tracemalloc.start()
    with pytest.raises(MaskError):
        program.bind(n=2**30)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_integers_of_all_kinds_are_taken():
    program = compile("mask m(n: int, a: int[])\ntokens { D[i]: a[i] * n }\nD[i] sees D[i] causal\n")
    expected = program.bind(n=2, a=[1, 2, 3])
    for n in (np.int64(2), np.uint8(2)):
        for a in ((1, 2, 3), np.array([1, 2, 3]), np.array([1, 2, 3], np.uint16), [np.int32(1), 2, 3], range(1, 4)):
            assert program.bind(n=n, a=a) == expected


@pytest.mark.parametrize(
    ("source", "values", "code", "words", "place"),
    [
        ("mask m(a: int, b: int)\ntokens { S: a; pad: b }\nS sees S\n", {"a": 3, "b": 2}, "CM511", "2 queries see no key; the first is q = 3, in pad", "pad: b"),
        ("mask m(a: int, b: int)\ntokens { S: a; pad: b }\nS sees S\n", {"a": 3, "b": 1}, "CM512", "no query sees 1 key; the first is k = 3, in pad", "pad: b"),
        ("mask m(a: int)\ntokens { S: a }\nS sees S\nS sees S where k > 9\n", {"a": 3}, "CM513", "this rule matches no cell with these numbers", "S sees S where k > 9"),
        ("mask m(a: int[], b: int[])\nqueries { Q[i]: a[i] }\nkeys { K[j]: b[j] }\nQ[i] sees K[i]\n", {"a": [2, 2], "b": [1, 1, 1]}, "CM520", "`Q` has 2 instances and `K` has 3: 1 of them has no partner; the first is i = 2, which `K` has and `Q` has not", "Q[i] sees K[i]"),
        ("mask m(l: int[][])\ntokens { G[i] { R[j]: l[i][j] } }\nG[i].R[j] sees G[j].R[i]\n", {"l": [[1, 1, 1], [1, 1]]}, "CM520", "`G[i].R[j]` has 5 instances and `G[j].R[i]` has 5: 2 of them have no partner; the first is i = 0, j = 2, which `G[i].R[j]` has and `G[j].R[i]` has not", "G[i].R[j] sees G[j].R[i]"),
    ],
)  # fmt: skip
def test_what_is_seldom_meant_is_a_warning(source: str, values: dict[str, Any], code: str, words: str, place: str):
    analysis = analyse(source, values)
    assert analysis.lowered is not None
    (message,) = [message for message in analysis.diagnostics if message.code == code]
    assert message.severity == "warning"
    assert message.message == words
    assert source[message.span.start : message.span.stop] == place


def test_a_region_with_itself_has_all_its_partners():
    head = "mask m(l: int[][])\ntokens { G[i] { R[j]: l[i][j] } }\n"
    for rule in (
        "G[i].R[j] sees G[i].R[j]",
        "G[i].R[j] sees G[i].R[c]",
        "G[i].R sees G[i]",
        "G[i].R[j] sees G[c].R[j]",
    ):
        assert analyse(f"{head}{rule}\nallow unseen keys\n", {"l": [[1, 1, 1], [1, 1]]}).diagnostics == ()
    square = analyse(f"{head}G[i].R[j] sees G[j].R[i]\n", {"l": [[1, 2], [3, 1]]})
    assert square.diagnostics == ()


def test_a_region_without_tokens_is_no_warning():
    analysis = analyse("mask m(a: int, b: int)\ntokens { A: a; B: b }\nA sees A\nB sees B\n", {"a": 3, "b": 0})
    assert analysis.diagnostics == ()


def test_every_code_about_numbers_is_tried_here():
    tried = {case[0] for case in CASES} | {
        "CM412",
        "CM430",
        "CM511",
        "CM512",
        "CM513",
        "CM514",
        "CM515",
        "CM520",
        "CM540",
    }
    assert {code.code for code in BIND_CODES if code.code < "CM6"} == tried
    assert limits.MAX_AXIS == HUGE


@pytest.mark.parametrize(
    ("parameter", "given", "hint"),
    [
        ("n: int", [[1]], "for example n = 64; for a list, declare `n: int[]`"),
        ("n: int per item", [[1]], "give one value for all items, n = 64, or one for each item, n = [64, 64]"),
        ("n: int per head", ["a"], "give one value for all heads, n = 64, or one for each head, n = [64, 64]"),
    ],
)
def test_what_a_parameter_takes_is_said_in_full(parameter: str, given: object, hint: str):
    with pytest.raises(MaskError) as caught:
        compile(plain(parameter, "k < 3")).bind(n=given)
    assert [message.hint for message in caught.value.diagnostics] == [hint]


def test_the_place_in_a_batch_is_an_integer():
    program = compile(plain("n: int per item", "k < 3"))
    with pytest.raises(ValueError, match="the item must be an integer, got True"):
        program.values_of(True, 0, n=[2, 3])
    assert program.values_of(np.int64(1), 0, n=[2, 3]) == {"n": 3}


def test_the_help_about_ranks_can_be_followed():
    program = compile("mask m(n: int, r: int)\ntokens { S: n stored zigzag(r) }\nS sees S causal\n")
    for n, numbers in ((10, (8, 12)), (3, (4, 8))):
        with pytest.raises(MaskError) as caught:
            program.bind(n=n, r=2)
        hint = caught.value.diagnostics[0].hint
        assert hint is not None and f"such as {numbers[0]} or {numbers[1]}" in hint
        for number in numbers:
            program.bind(n=number, r=2)


def test_too_much_work_names_the_condition_that_takes_most_of_it(monkeypatch: pytest.MonkeyPatch):
    costly = "mask m(n: int)\ntokens { S: n; T: 20 }\nS sees S where q * k % 7 == 3\n"
    both = f"{costly}T sees T where q * k % 5 == 1\n"
    binding = Binding({"n": 200})
    lower(compile(costly)._checked, {"n": 200}, caller=binding)
    monkeypatch.setattr(limits, "MAX_WORK", limits.MAX_WORK - binding.work_left)
    with pytest.raises(MaskError) as caught:
        compile(both).bind(n=200)
    (message,) = caught.value.diagnostics
    assert message.code == "CM412" and "by regions with indices" in (message.hint or "")
    assert "q * k % 5" in both[message.span.start : message.span.stop]
    assert [(both[x.span.start : x.span.stop], x.message) for x in message.labels] == [
        ("q * k % 7 == 3", "most of the steps are for this")
    ]
