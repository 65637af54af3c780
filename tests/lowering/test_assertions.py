"""Assertions hold exactly when no cell breaks them, and one that does not hold names the first such cell."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from brute_force import visible_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import Program, programs

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import MaskError
from compilemask.lowering import AssertionResult
from compilemask.presets import preset_names, preset_source

TWO = "mask m(a: int, b: int)\ntokens { A: a; B: b }\n"
DOCS = "mask m(l: int[])\ntokens { D[i]: l[i] }\n"


def results(source: str, **values: object) -> tuple[AssertionResult, ...]:
    return compile(source).lower(**values).assertions


def only(source: str, **values: object) -> AssertionResult:
    (result,) = results(source, **values)
    return result


CASES: list[tuple[str, dict[str, Any], str, tuple[int | None, int | None] | None, int]] = [
    # text, values, the claim, the first cell that breaks it, how many do
    (TWO + "A, B sees A, B causal\n", {"a": 3, "b": 2}, "causal", None, 0),
    (TWO + "A, B sees A, B q - k > -2\n", {"a": 3, "b": 2}, "causal", (0, 1), 4),
    (TWO + "A sees A\n", {"a": 3, "b": 2}, "every query sees a key", (3, None), 2),
    (TWO + "A sees A\nB sees B\n", {"a": 3, "b": 2}, "every query sees a key", None, 0),
    (TWO + "A, B sees B\n", {"a": 3, "b": 2}, "every key is seen", (None, 0), 3),
    (TWO + "A, B sees B\n", {"a": 0, "b": 2}, "every key is seen", None, 0),
    (TWO + "A sees B\nB sees A where k < 1\n", {"a": 3, "b": 2}, "B never sees A", (3, 0), 2),
    (TWO + "A sees B\n", {"a": 3, "b": 2}, "B never sees A, B", None, 0),
    (TWO + "A sees B where k < 4\n", {"a": 3, "b": 2}, "A sees all B", (0, 4), 3),
    (TWO + "A sees B where k < 4\n", {"a": 3, "b": 2}, "A sees all B where k.pos < 1", None, 0),
    (DOCS + "D sees D causal\n", {"l": [2, 0, 3]}, "D[i] never sees D[j] where i != j", (2, 0), 6),
    (DOCS + "D[i] sees D[i]\n", {"l": [2, 0, 3]}, "D[i] never sees D[j] where i != j", None, 0),
    (DOCS + "D[i] sees D[i]\n", {"l": [2, 3]}, "D[i] never sees D[i] where not same position", (0, 1), 8),
    (DOCS + "D[i] sees D[i]\n", {"l": [2, 3]}, "visible == l[0] * l[0] + l[1] * l[1]", None, 0),
    (DOCS + "D[i] sees D[i]\n", {"l": [2, 3]}, "density <= 0.52", None, 0),
    (DOCS + "D[i] sees D[i] causal\n", {"l": [2, 3]}, "equals documents(l)", None, 0),
    (DOCS + "D[i] sees D[i]\n", {"l": [2, 3]}, "equals documents(l) and not causal(sum(l))", (0, 0), 13),
]  # fmt: skip


@pytest.mark.parametrize(("source", "values", "claim", "first", "failing"), CASES)
def test_a_claim(source, values, claim, first, failing):
    result = only(f"{source}assert {claim}\n", **values)
    assert (result.text, result.holds) == (claim, failing == 0)
    assert (result.counter_example, result.failing_cells) == (first, failing)


@pytest.mark.parametrize(("q_len", "kv_len"), [(3, 5), (5, 3), (4, 4)])
@pytest.mark.parametrize("align", ["start", "end"])
def test_causal_on_two_axes_is_aligned(q_len: int, kv_len: int, align: str):
    source = (
        "mask m(n: int, m: int)\nqueries { Q: n }\nkeys { K: m }\nQ sees K causal aligned end\n"
        f"assert causal aligned {align}\n"
    )
    result = only(source, n=q_len, m=kv_len)
    q, k = np.ogrid[:q_len, :kv_len]
    broken = (k - kv_len <= q - q_len) & (k > q + (kv_len - q_len if align == "end" else 0))
    assert result.failing_cells == broken.sum()
    assert result.counter_example == (None if not broken.any() else tuple(np.argwhere(broken)[0].tolist()))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(programs(max_rules=2), st.data())
def test_regions_see_all_or_nothing_as_counted_cell_by_cell(program: Program, data: st.DataObject):
    """The cells of the last rule of a random text, as a claim about the rules before it."""
    *head, last = program.source.rstrip("\n").split("\n")
    if sum(" sees " in line for line in head) == 0:
        return
    verb = data.draw(st.sampled_from(["never sees", "sees all"]))
    source = "\n".join([*head, f"assert {last.replace(' sees ', f' {verb} ', 1)}"]) + "\n"
    checked = compile("\n".join(head) + "\n")._checked
    visible = visible_cells(checked, program.values)
    meant = visible_cells(
        compile("\n".join([*[h for h in head if " sees " not in h], last]) + "\n")._checked, program.values
    )
    broken = meant & (visible if verb == "never sees" else ~visible)
    result = only(source, **program.values)
    assert result.failing_cells == broken.sum()
    assert result.counter_example == (tuple(np.argwhere(broken)[0].tolist()) if broken.any() else None)


@pytest.mark.parametrize("sign", ["<", "<=", "==", "!=", ">=", ">"])
def test_measures_compare_exactly(sign: str):
    source = f"{TWO}A sees A\nassert visible {sign} 9\nassert density {sign} 0.36\nassert density {sign} 1\n"
    python = {"<": False, "<=": True, "==": True, "!=": False, ">=": True, ">": False}[sign]
    visible, density, whole = results(source, a=3, b=2)
    assert (visible.holds, density.holds) == (python, python)
    assert whole.holds == (sign in ("<", "<=", "!="))
    assert only(f"{TWO}A sees A\nassert density == 0\n", a=0, b=0).holds


# ---------------------------------------------------------------- what a failure does


LEAK = DOCS + "D sees D causal\nassert D[i] never sees D[j] where i != j\nexample small(l = [2, 3])\n"


def test_a_failed_assertion_refuses_the_mask_and_leaves_the_picture():
    with pytest.raises(MaskError) as caught:
        compile(LEAK, filename="leak.mask").bind(l=[2, 3])
    (message,) = caught.value.diagnostics
    assert message.code == "CM604"
    assert message.message == (
        "`D[i] never sees D[j] where i != j` does not hold: query 2 (D[1]) sees key 0 (D[0]); 6 cells break it"
    )
    assert LEAK[message.span.start : message.span.stop] == "assert D[i] never sees D[j] where i != j"
    assert [LEAK[label.span.start : label.span.stop] for label in message.labels] == ["D sees D causal"]
    analysis = analyse(LEAK)
    assert analysis.failed and analysis.lowered is not None
    assert analysis.lowered.descriptor.visible_pairs == 15
    assert message in analysis.diagnostics
    assert compile(LEAK).bind(l=[5]).visible_pairs == 15


@pytest.mark.parametrize(
    ("claim", "code"), [("S sees all S causal", "CM605"), ("equals causal(n)", "CM607")], ids=["sees all", "equals"]
)
def test_a_cell_that_is_excepted_is_said_to_be(claim: str, code: str):
    text = "mask m(n: int)\ntokens { S: n }\nS sees S causal except k == 3\n"
    with pytest.raises(MaskError) as caught:
        compile(f"{text}assert {claim}\n").bind(n=4)
    (failure,) = caught.value.diagnostics
    assert failure.code == code
    assert [label.message for label in failure.labels] == ["nearest rule: `k == 3` is true, and excepted"]


def test_all_failed_assertions_come_at_once():
    source = (
        f"{TWO}A sees B\nassert causal\nassert every query sees a key\nassert every key is seen\nassert density > 0.9\n"
    )
    with pytest.raises(MaskError) as caught:
        compile(source).bind(a=2, b=2)
    assert [message.code for message in caught.value.diagnostics] == ["CM601", "CM602", "CM603", "CM606"]
    warnings = [m.code for m in analyse(source, {"a": 2, "b": 2}).diagnostics if m.severity == "warning"]
    assert warnings == [], "the failed assertions say the same"


def test_an_assertion_of_a_called_mask_is_reported_at_the_call():
    source = f"{LEAK.replace('mask m', 'mask packed')}\nmask whole(l: int[], n: int) = packed(l) or causal(n)\n"
    with pytest.raises(MaskError) as caught:
        compile(source).bind(l=[2, 3], n=5)
    (message,) = caught.value.diagnostics
    assert message.code == "CM604"
    assert [source[label.span.start : label.span.stop] for label in message.labels] == ["D sees D causal", "packed(l)"]


def test_the_operand_that_leaks_is_named():
    source = "mask m(l: int[]) = documents(l) or streaming(sum(l), 1, 2)\nassert D[i] never sees D[j] where i != j\n"
    with pytest.raises(MaskError) as caught:
        compile(source).bind(l=[3, 3])
    (message,) = caught.value.diagnostics
    assert "query 3 (D[1]) sees key 0 (D[0])" in message.message
    assert source[message.labels[0].span.start : message.labels[0].span.stop] == "streaming(sum(l), 1, 2)"


def test_what_an_assertion_costs_is_bounded():
    with pytest.raises(MaskError, match="CM412"):
        regions = "; ".join(f"S{i}: n" for i in range(64))
        names = ", ".join(f"S{i}" for i in range(64))
        claims = f"assert {names} never sees {names}\n" * 3
        compile(f"mask m(n: int)\ntokens {{ {regions} }}\nS0 sees S0\n{claims}").bind(n=2)
    big = "mask m(n: int)\ntokens { S: n }\nS sees S causal\nassert S never sees S where (q + k) % 2 == 0 and k > q\n"
    with pytest.raises(MaskError, match=r"CM410|CM411|CM412"):
        compile(big).bind(n=2**17)


@pytest.mark.parametrize("name", preset_names())
def test_the_assertions_of_the_presets_hold(name: str):
    program = compile(preset_source(name))
    for example in program.examples:
        assert all(result.holds for result in program.lower(**dict(example.values)).assertions)
    assert len(re.findall(r"^assert ", preset_source(name), re.MULTILINE)) == len(program._checked.assertions)


def test_presets_that_keep_things_apart_or_causal_assert_it():
    asserted = {name for name in preset_names() if "\nassert " in preset_source(name)}
    assert {"causal", "documents", "shared_prompt", "prefix_lm", "hstu", "bd3lm", "decode", "in_context"} <= asserted


@pytest.mark.parametrize("align", ["start", "end"])
@pytest.mark.parametrize("free", ["{}", "U: 2 unused; {}", "{}; U: 3 unused", "U: 1 unused; {}; V: 2 unused; E: 0"])
@pytest.mark.parametrize("taken", ["{}", "U: 3 unused; {}", "{}; P: 1 unused", "Z: 0; {}; P: 1 unused"])
def test_a_rule_and_the_claim_of_its_own_words_agree_beside_unused_places(align: str, free: str, taken: str):
    head = f"mask m(a: int, b: int)\nqueries {{ {taken.format('S: a')} }}\nkeys {{ {free.format('K: b')} }}\n"
    head += "allow empty queries\nallow unseen keys\n"
    for a, b in ((3, 3), (2, 5), (4, 2)):
        own = f"{head}S sees K causal aligned {align}\nassert causal aligned {align}\n"
        assert only(own, a=a, b=b).holds
        kept = compile(own).bind(a=a, b=b).dense()
        every = only(f"{head}S sees K\nassert causal aligned {align}\n", a=a, b=b)
        assert every.failing_cells == a * b - int(kept.sum())


def test_one_cell_is_told_as_one():
    one = "mask m(n: int)\ntokens { A: n }\nA sees A same position\n"
    assert only(f"{one}assert visible > 9\n", n=1).found.startswith("1 cell is visible")
    assert only(f"{one}assert visible > 9\n", n=2).found.startswith("2 cells are visible")
    assert only(f"{one}assert density < 0.5\n", n=1).found == "the density is 1: 1 of 1 cell is visible"
