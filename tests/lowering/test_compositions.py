"""Masks made of masks: exactly set algebra, never reordered, and the same descriptor as one written with rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from random_compositions import Composition, compositions

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import MaskError
from compilemask.presets import preset_source
from compilemask.syntax import format

ROWS = "mask near(n: int, w: int)\ntokens { S: n }\nS sees S abs(q - k) < w\n"
IMAGE = "mask image(n: int, a: int, b: int)\ntokens { S: n }\nS sees S where a <= q < b and a <= k < b\n"


def cells(source: str, **values: object) -> np.ndarray:
    return compile(source).bind(**values).dense()


def counts(source: str, **values: object) -> list[int]:
    """Visible keys of each query."""
    return cells(source, **values).sum(axis=1).tolist()


@settings(max_examples=120, deadline=None, derandomize=True)
@given(compositions())
def test_a_composition_has_the_cells_of_its_expression(case: Composition):
    found = compile(case.source).bind(**case.values)
    np.testing.assert_array_equal(found.dense(), case.cells, err_msg=f"{case.expression} {case.values}")
    assert compile(format(case.source)).bind(**case.values) == found


@settings(max_examples=25, deadline=None, derandomize=True)
@given(compositions())
def test_an_explanation_agrees_with_the_cells_of_every_operand(case: Composition):
    program = compile(case.source)
    lowered = program.lower(**case.values)
    parts = [operand.lowered.descriptor.dense() for operand in lowered.operands]
    for q, k in np.ndindex(*case.cells.shape):
        if (q + 2 * k) % 5 == 0:
            answer = program.explain_lowered(lowered, q, k)
            assert answer.visible == case.cells[q, k]
            assert any(operand.decides for operand in answer.operands)
            for operand, part in zip(answer.operands, parts, strict=True):
                assert operand.visible == operand.inside.visible == part[q, k]
            assert len(answer.matches) + len(answer.misses) == len(answer.operands)


def test_the_order_of_union_and_intersection_is_the_written_one():
    """An image joined before the window is another mask than one joined after it."""
    values = {"n": 8, "a": 2, "b": 6, "w": 2}
    text = ROWS + IMAGE + "mask m(n: int, a: int, b: int, w: int) = "
    before = text + "(causal(n) or image(n, a, b)) and near(n, w)\n"
    after = text + "causal(n) and near(n, w) or image(n, a, b)\n"
    assert counts(before, **values) == [1, 2, 3, 3, 3, 2, 2, 2]
    assert counts(after, **values) == [1, 2, 5, 4, 4, 4, 2, 2]
    assert counts(after.replace("= causal(n) and near(n, w)", "= (causal(n) and near(n, w))"), **values) == counts(
        after, **values
    )


PACKED = """\
mask packed(of: int[], to: int[])
queries { Q[i]: of[i] }
keys { K[i]: to[i] }
"""


def test_causal_in_each_document_and_causal_on_the_whole_are_two_masks():
    inside = PACKED + "Q[i] sees K[i] causal aligned start\n"
    blocks = PACKED + "Q[i] sees K[i]\n"
    whole = blocks + "mask diagonal(q: int[], k: int[])".replace("q:", "of:").replace("k:", "to:")
    whole += "\nqueries { A: sum(of) }\nkeys { B: sum(to) }\nA sees B causal aligned start\n"
    whole += "mask both(of: int[], to: int[]) = packed(of, to) and diagonal(of, to)\n"
    values = {"of": [2, 2], "to": [3, 2]}
    assert counts(inside, **values) == [1, 2, 1, 2]
    assert counts(whole, **values) == [1, 2, 0, 1]
    warnings = [m for m in analyse(whole, values).diagnostics if m.code == "CM511"]
    assert [m.message for m in warnings] == ["1 query sees no key; the first is q = 2, in Q[1]"]


def test_complements():
    assert counts("mask m(n: int) = not causal(n)\n", n=4) == [3, 2, 1, 0]
    twice = compile("mask m(n: int) = not not causal(n)\n").bind(n=9)
    assert twice == compile("mask m(n: int)\ntokens { S: n }\nS sees S causal\n").bind(n=9)
    near = ROWS + "mask m(n: int, w: int) = "
    sides = [
        ("not (near(n, w) and causal(n))", "not near(n, w) or not causal(n)"),
        ("not (near(n, w) or causal(n))", "not near(n, w) and not causal(n)"),
        ("near(n, w) except causal(n)", "near(n, w) and not causal(n)"),
    ]
    for left, right in sides:
        hashes = {compile(f"{near}{text}\n").bind(n=11, w=3).hash for text in (left, right)}
        assert len(hashes) == 1
    full = compile(f"{near}near(n, w) or not near(n, w)\n").bind(n=7, w=2)
    assert full.visible_pairs == 49


@pytest.mark.parametrize(
    ("composed", "written", "values"),
    [
        (
            "mask m(l: int[], w: int) = documents(l) and sliding_window(sum(l), w)\n",
            "mask m(l: int[], w: int)\ntokens { D[i]: l[i] }\nD[i] sees D[i] causal and q - k < w\n",
            {"l": [5, 9, 3], "w": 4},
        ),
        (
            "mask m(n: int, s: int, w: int) = sliding_window(n, w) or (causal(n) and not sliding_window(n, n)"
            " or causal(n) except streaming(n, 0, n)) or streaming(n, s, w)\n",
            "mask m(n: int, s: int, w: int)\ntokens { S: n }\nS sees S causal and (k < s or q - k < w)\n",
            {"n": 40, "s": 3, "w": 7},
        ),
        (
            "mask m(n: int, m: int) = decode(n, m)\n",
            "mask m(n: int, m: int)\nqueries { Q: n }\nkeys { K: m }\nQ sees K causal aligned end\n",
            {"n": 5, "m": 12},
        ),
    ],
)
def test_a_composition_equals_the_mask_written_with_rules(composed: str, written: str, values: dict[str, object]):
    assert compile(composed).bind(**values).hash == compile(written).bind(**values).hash


def test_rulers_show_the_regions_of_the_first_operand():
    lowered = compile("mask m(l: int[]) = not documents(l) or causal(sum(l))\n").lower(l=[2, 3])
    assert [span.label for span in lowered.queries] == ["D[0]", "D[1]"]
    assert [operand.call.mask.name for operand in lowered.operands] == ["documents", "causal"]
    assert lowered.rule_shapes == ()


def test_an_explanation_names_the_operand_and_the_rule_inside():
    source = "mask m(l: int[], w: int) = documents(l) and sliding_window(sum(l), w)\n"
    program = compile(source)
    answer = program.explain(4, 3, l=[3, 4], w=2)
    assert [operand.decides for operand in answer.operands] == [True, True]
    assert "documents(l)" in str(answer) and "D[i] sees D[i] causal" in str(answer)
    hidden = program.explain(3, 2, l=[3, 4], w=2)
    assert [operand.decides for operand in hidden.operands] == [True, False]
    assert str(hidden).splitlines()[0] == "query 3 (D[1]) and key 2 (D[0]): hidden"
    assert "i = 1 for the query, but i = 0 for the key" in str(hidden)
    assert hidden.misses[0].text == "documents(l)"
    assert hidden.misses[0].reason is not None and "hidden in it, line" in hidden.misses[0].reason


def test_an_explanation_says_which_text_its_lines_are_of():
    helper = "mask near(n: int)\ntokens { S: n }\nS sees S where q - k < 2\n\n"
    source = helper + "mask whole(n: int) = sliding_window(n, 3) and near(n)\n"
    preset = preset_source("sliding_window").split("\n").index("S sees S causal and q - k < window") + 1
    answer = compile(source).explain(4, 0, n=6)
    assert str(answer).split("\n") == [
        "query 4 (S) and key 0 (S): hidden",
        "  line 5: sliding_window(n, 3): hidden in it",
        f"    line {preset} of `sliding_window`: S sees S causal and q - k < window",
        "      `q - k < window` is false: 4 and 3",
        "  line 5: near(n): hidden in it",
        "    line 3: S sees S where q - k < 2",
        "      `q - k < 2` is false: 4 and 2",
    ]
    assert answer.misses[0].reason is not None and f"line {preset} of `sliding_window`" in answer.misses[0].reason


def test_operands_of_different_sizes_are_named():
    source = "mask m(l: int[], n: int) = documents(l) and causal(n)\n"
    with pytest.raises(MaskError) as caught:
        compile(source).bind(l=[3, 4], n=8)
    (message,) = caught.value.diagnostics
    assert message.code == "CM430"
    assert "`documents(l)` has 7 queries and 7 keys, and `causal(n)` has 8 queries and 8 keys" in message.message
    assert source[message.span.start : message.span.stop] == "causal(n)"
    shown = [(source[label.span.start : label.span.stop], label.message) for label in message.labels]
    assert shown == [
        ("causal(n)", "8 queries and 8 keys, with `n` = 8"),
        ("documents(l)", "7 queries and 7 keys, with `lengths` = [3, 4]"),
    ]


def test_masks_of_different_sizes_say_which_parameter_got_which_value():
    source = "mask m(n: int, w: int) = causal(n) and sliding_window(w, n)\n"
    with pytest.raises(MaskError) as caught:
        compile(source).bind(n=8, w=3)
    (message,) = caught.value.diagnostics
    assert message.labels[0].message == "3 queries and 3 keys, with `n` = 3 and `window` = 8"
    assert message.hint is not None and "in another order" in message.hint
    assert compile(source).bind(n=8, w=8).visible_pairs == 36


def test_what_is_wrong_inside_a_preset_points_at_the_call():
    source = "mask m(n: int) = causal(n) and causal(n - 4)\n"
    with pytest.raises(MaskError) as caught:
        compile(source, filename="mine.mask").bind(n=2)
    (message,) = caught.value.diagnostics
    assert message.code == "CM404" and message.message.startswith("in `causal`: the length of `S` is -2")
    assert source[message.span.start : message.span.stop] == "causal(n - 4)"
    assert "tokens { S: n }" in message.labels[0].message
    assert "mine.mask:1:32" in str(caught.value)


def test_what_is_wrong_inside_a_helper_stays_there_and_names_the_call():
    source = "mask part(n: int)\ntokens { S: n - 4 }\nS sees S\nmask m(n: int) = part(n)\n"
    with pytest.raises(MaskError) as caught:
        compile(source).bind(n=2)
    (message,) = caught.value.diagnostics
    assert source[message.span.start : message.span.stop] == "n - 4"
    assert [source[label.span.start : label.span.stop] for label in message.labels] == ["part(n)"]


def test_all_calls_together_are_bounded_in_work(monkeypatch: pytest.MonkeyPatch):
    source = "mask p(n: int)\ntokens { S: n }\nS sees S where q * k % 7 == 3\n"
    calls = " or ".join(f"p(n + {i} - {i})" for i in range(12))
    program = compile(f"{source}mask m(n: int) = {calls}\n")
    assert program.bind(n=60).visible_pairs > 0
    monkeypatch.setattr("compilemask.lowering.limits.MAX_WORK", 20_000)
    with pytest.raises(MaskError, match="CM412"):
        program.bind(n=60)
    assert compile(source).bind(n=60).visible_pairs > 0
