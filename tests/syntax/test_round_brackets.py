"""Two slips that come from other notations: indices in round brackets, and shares in percent."""

from __future__ import annotations

import pytest
from language_programs import apply_fix

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import Diagnostic


def only(source: str) -> Diagnostic:
    found = analyse(source).diagnostics
    assert len(found) == 1, [(message.code, message.message) for message in found]
    return found[0]


ROUND = [
    "mask m(docs: int[])\ntokens { D(i): docs(i) }\nD(i) sees D(i) causal\nexample e(docs = [3])\n",
    "mask m(docs: int[])\ntokens { D[i]: docs(i) }\nD[i] sees D[i]\n",
    "mask m(n: int)\ntokens { B(i < n): 4; S: n }\nB(i), S sees B(j), S where q < k\nassert B(i) sees all B(i)\n",
    "mask m(t: int[][])\ntokens { c(i) { A(j): t(i)(j); P: 1 } }\nc(i).P sees c(i).A(j), c(i).P\n",
    "mask m(t: int[][], chosen: bool[])\ntokens { S: 2 }\nS sees S where chosen(k) or q < t(0)(k) + len(t(0))\n",
]


@pytest.mark.parametrize("source", ROUND)
def test_round_brackets_make_one_message_whose_fix_is_the_whole_text(source: str) -> None:
    message = only(source)
    assert message.code == "CM202" and "square brackets" in message.message
    square = apply_fix(source, message.fixes[0])
    assert compile(square).warnings == ()
    head = source.split("\n", 1)[0]
    assert square.startswith(f"{head}\n") and "(i" not in square.removeprefix(head)


def test_an_example_is_still_an_example() -> None:
    source = "mask m(n: int)\ntokens { S: n }\nS sees S\nexampel e(n = 3)\n"
    assert only(source).code == "CM208"
    assert only(source.replace("exampel ", "")).message == "expected `example` or a rule, found `e`"


def test_an_unknown_function_is_no_index() -> None:
    assert only("mask m(n: int)\ntokens { S: n }\nS sees S windowed(n)\n").message == "there is no function `windowed`"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("50%", "0.5"), ("12.5%", "0.125"), ("100%", "1.0"), ("0.5 %", "0.005"), ("1_000%", "10.0"), ("0%", "0.0")],
)
def test_percent_is_written_as_a_share(written: str, meant: str) -> None:
    source = f"mask m(n: int)\ntokens {{ S: n }}\nS sees S\nassert density < {written}\nallow unseen keys\n"
    message = only(source)
    assert message.hint is not None and message.hint.startswith(f"write `{meant}`")
    assert apply_fix(source, message.fixes[0]) == source.replace(written, meant)
    compile(apply_fix(source, message.fixes[0]))


def test_a_remainder_is_no_percent_sign() -> None:
    source = "mask m(n: int)\ntokens { S: n }\nS sees S\nassert visible < 50 % 7\n"
    compile(source)
    assert "to compare a share, write `density`" in (only(source.replace("50 % 7", "50%")).hint or "")
