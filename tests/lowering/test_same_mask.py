"""The same mask, written differently, is the same descriptor, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import Names, Program, axes, conditions, type_of

from compilemask.compiler import compile

ONE = "mask m(n: int, a: int, b: int)\ntokens { S: n }\n"
NUMBERS = {"n": 61, "a": 7, "b": 13}


def hashes(texts: list[str], values: dict[str, Any]) -> set[str]:
    return {compile(text).bind(**values).hash for text in texts}


@pytest.mark.parametrize(
    "conditions",
    [
        ["causal", "k <= q", "not k > q", "q - k >= 0", "q.pos >= k.pos", "causal and q - k < n", "max(q, k) == q", "2 * k <= 2 * q + 1", "k // 1 < q + 1"],
        ["causal and q - k < a", "q - k < a and causal", "0 <= q - k < a", "causal except q - k >= a", "(q - k) // a == 0", "not (k > q or q - k >= a)"],
        ["causal and (k < a or q - k < b)", "causal and k < a or causal and q - k < b", "not (k > q or k >= a and q - k >= b)", "causal except k >= a and q - k >= b"],
        ["abs(q - k) <= a", "abs(k - q) < a + 1", "-a <= q - k <= a", "max(q - k, k - q) <= a", "q - k <= a and k - q <= a", "(q - k) * (q - k) <= a * a"],
        ["q % a == k % a", "(q - k) % a == 0", "(k - q) % a == 0", "not q % a != k % a", "(q - k) // a * a == q - k"],
        ["q == k", "same position", "causal and k >= q", "abs(q - k) < 1", "not (q < k or q > k)", "min(q, k) == max(q, k)"],
        ["k >= 0", "true", "not false", "causal or not causal", "q < n", "q < n or k < a"],
        ["k < 0", "false", "causal and not causal", "not true", "q < k and k < q"],
        ["q // a == k // a", "q - q % a == k - k % a", "k // a <= q // a and q // a <= k // a", "k - k % a <= q < k - k % a + a"],
        ["(causal and q - k < b) or (a <= q < 2 * a and a <= k < 2 * a)", "a <= q < 2 * a and a <= k < 2 * a or q - k < b and causal"],
    ],
)  # fmt: skip
def test_conditions_that_mean_the_same(conditions: list[str]):
    texts = [f"{ONE}S sees S where {condition}\n" for condition in conditions if "causal" not in condition.split()[0]]
    texts += [f"{ONE}S sees S {condition}\n" for condition in conditions if "causal" in condition.split()[0]]
    assert len(texts) == len(conditions)
    assert len(hashes(texts, NUMBERS)) == 1


SPLIT = [
    ("tokens { S: a + b }", "S sees S causal"),
    ("tokens { A: a; B: b }", "A sees A causal\nB sees A\nB sees B causal"),
    ("tokens { A: a; B: b }", "A, B sees A, B causal"),
    ("tokens { X { A: a; B: b } }", "X sees X causal"),
    ("tokens { X { A: a; B: b } }", "X.B sees X causal\nX.A sees X.A causal"),
    ("tokens { T[i < a + b]: 1 }", "T[i] sees T[j] where j <= i"),
    ("tokens { T[i < a + b]: 1 }", "T sees T where k <= q"),
    ("tokens { G: 1 x (a + b) }", "G sees G where q.x >= k.x"),
    ("tokens { G: (a + b) x 1 }", "G sees G where q.y >= k.y"),
    ("tokens { G: (a + b) x 1 x 1 }", "G sees G where dz <= 0"),
    ("queries { Q: a + b }\nkeys { K: a + b }", "Q sees K causal aligned start"),
    ("queries { Q: a + b }\nkeys { K: a; L: b }", "Q sees K where k <= q\nQ sees L where k <= q"),
    ("tokens { S: a + b; none: 0 }", "S sees S causal\nnone sees S\nS sees none"),
]


def test_a_split_axis_is_the_same_axis():
    texts = [f"mask m(a: int, b: int)\n{axis}\n{rules}\n" for axis, rules in SPLIT]
    for a, b in ((5, 9), (1, 0), (64, 65)):
        assert len(hashes(texts, {"a": a, "b": b})) == 1


def test_the_order_of_rules_and_repeated_rules_do_not_matter():
    rules = ["P sees P causal", "R[i] sees P", "R[i] sees R[i] causal"]
    orders = [
        rules,
        rules[::-1],
        [rules[1], rules[0], rules[2]],
        [*rules, "R[j] sees P where k < 3", "P sees P where q == k"],
    ]
    texts = ["mask m(p: int, r: int[])\ntokens { P: p; R[i]: r[i] }\n" + "\n".join(order) + "\n" for order in orders]
    assert len(hashes(texts, {"p": 20, "r": [3, 0, 9]})) == 1


@st.composite
def condition_pairs(draw: st.DrawFn) -> tuple[Program, str, str]:
    values: dict[str, Any] = {}
    text, kinds = draw(axes("A", values))
    values["table"] = (1, 4, -2, 0, 3)
    values["ragged"] = ((1, 2), (3, -1, 4), (0, 5))
    values["chosen"] = ((True, False, False), (False, True, True))
    values["flag"] = True
    values["parent"] = (-1, 0, 0, 2, -1, 4)
    q, k = draw(st.sampled_from(kinds)), draw(st.sampled_from(kinds))
    q_names, k_names = ("a", "b")[: q.indices], ("c", "b")[: k.indices]
    header = ", ".join(f"{name}: {type_of(value)}" for name, value in values.items())
    rule = f"{q.reference.format(*q_names)} sees {k.reference.format(*k_names)} where "
    scope = Names(q, k, tuple(dict.fromkeys([*q_names, *k_names])), False)
    program = Program(f"mask m({header})\ntokens {{ {text} }}\n{rule}", values)
    return program, draw(conditions(scope, 1)), draw(conditions(scope, 1))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(condition_pairs())
def test_set_algebra_holds(pair: tuple[Program, str, str]):
    program, a, b = pair
    laws = [
        [f"not (({a}) and ({b}))", f"not ({a}) or not ({b})"],
        [f"({a}) and ({b})", f"({b}) and ({a})", f"not (not ({a}) or not ({b}))", f"({a}) and not (not ({b}))"],
        [f"({a}) or ({b})", f"({b}) or ({a})", f"({a}) or (({b}) and not ({a}))"],
        [f"({a}) and (({a}) or ({b}))", f"({a})"],
    ]
    for law in laws:
        assert len(hashes([program.source + condition + "\n" for condition in law], program.values)) == 1, law
