"""A text is checked as a whole: what cannot be understood makes an error, and is never left out in silence."""

from __future__ import annotations

import pytest
from brute_force import visible_cells
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import PRESETS, analyse, compile
from compilemask.diagnostics import MaskError
from compilemask.semantics import assertions, check, compositions, regions, rules
from compilemask.syntax import parse
from compilemask.syntax.limits import MAX_DIAGNOSTICS

HEAD = "mask m(n: int, f: bool, L: int[], B: bool[], T: int[][], W: bool[][])\n"
ARGUMENTS = (
    *("n", "f", "L", "B", "T", "W", "i", "q", "3", "true", "S", "nothing", "n + 1"),
    *(f"{name}[0]" for name in "LBTWn"),
    *(f"{name}[0][0]" for name in "LBTW"),
)
CALLS = [f"{function}({argument})" for function in ("len", "sum", "min", "max", "abs") for argument in ARGUMENTS]
PLACES = {
    "condition": "tokens {{ S: n }}\nS sees S where q - k < {}\n",
    "condition alone": "tokens {{ S: n }}\nS sees S where {}\n",
    "size": "tokens {{ S: {} }}\nS sees S\n",
    "argument": "= causal({})\n",
    "claim": "tokens {{ S: n }}\nS sees S\nassert visible == {}\nassert S never sees S where k < {} - 9\n",
    "compared mask": "tokens {{ S: n }}\nS sees S\nassert equals causal({})\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_every_function_of_every_type_is_kept_or_refused(place: str) -> None:
    for call in CALLS:
        kept_or_refused(call, place)


def kept_or_refused(call: str, place: str) -> None:
    source = HEAD + PLACES[place].replace("{}", call).replace("{{", "{").replace("}}", "}")
    tree, syntax = parse(source)
    mask, semantic = check(tree, source, PRESETS)
    failed = any(message.severity == "error" for message in (*syntax, *semantic))
    assert failed == (mask is None), source
    assert all("no message says why" not in message.message for message in semantic)
    if mask is not None:
        assert len(mask.rules) == len(tree.rules) and len(mask.assertions) == len(tree.assertions)
        assert (mask.composition is None) == (tree.body is None)


TABLES = st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=3)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(TABLES)
def test_the_sum_of_a_table_is_the_sum_of_its_numbers(table: list[list[int]]) -> None:
    source = (
        "mask m(T: int[][])\ntokens { S: sum(T) + 1; E: 2 }\nS, E sees S, E where q - k < sum(T) and k * sum(T) <= 9\n"
    )
    program = compile(source)
    bound = program.bind(T=table)
    assert bound.q_len == sum(map(sum, table)) + 3
    assert (bound.dense() == visible_cells(program._checked, {"T": tuple(map(tuple, table))})).all()
    assert (compile("mask m(T: int[][]) = causal(sum(T))\n").bind(T=table).q_len) == sum(map(sum, table))


def test_explain_knows_the_sum_of_a_table() -> None:
    program = compile("mask m(T: int[][])\ntokens { S: 9 }\nS sees S where k < sum(T)\n")
    assert "`k < sum(T)` is false: 8 and 6" in str(program.explain(0, 8, T=[[1, 2], [], [3]]))


@pytest.mark.parametrize(("name", "counts"), [("B", "items"), ("W", "rows")])
def test_the_sum_of_bools_says_what_counts_them(name: str, counts: str) -> None:
    source = f"{HEAD}tokens {{ S: n }}\nS sees S where k < sum({name})\n"
    (found,) = [message for message in analyse(source).diagnostics if message.severity == "error"]
    assert found.code == "CM317" and source[found.span.start : found.span.stop] == f"sum({name})"
    assert found.message == f"`sum` takes a list of numbers, and `{name}` is one of true and false"
    assert found.hint == f"`len({name})` counts its {counts}"


@pytest.mark.parametrize(
    ("room", "function", "source"),
    [
        (rules, "condition", "mask m(n: int)\ntokens { S: n }\nS sees S causal\n"),
        (assertions, "number", "mask m(n: int)\ntokens { S: n }\nS sees S\nassert visible == n\n"),
        (regions, "number", "mask m(n: int)\ntokens { S: n; T: 1 }\nT sees T\n"),
        (compositions, "number", "mask m(n: int) = causal(n)\n"),
        (compositions, "number", "mask a(n: int) = causal(n)\nmask m(n: int) = a(n)\n"),
    ],
)
def test_a_part_without_meaning_is_an_error_even_if_the_checker_has_no_words(
    monkeypatch: pytest.MonkeyPatch, room: object, function: str, source: str
) -> None:
    monkeypatch.setattr(room, function, lambda *_: None)
    with pytest.raises(MaskError) as caught:
        compile(source)
    assert [message.code for message in caught.value.diagnostics] == ["CM303"]
    assert "no message says why" in caught.value.diagnostics[0].message


def test_warnings_never_hide_an_error_or_a_rule() -> None:
    many = "S sees S\n" * (MAX_DIAGNOSTICS + 20)
    head = "mask m(n: int)\ntokens { S: n }\n"
    program = compile(f"{head}{many}S sees S where k < 3\n")
    assert len(program._checked.rules) == MAX_DIAGNOSTICS + 21 and len(program.warnings) == MAX_DIAGNOSTICS
    with pytest.raises(MaskError) as caught:
        compile(f"{head}{many}S sees S where k < nothing\n")
    assert [message.code for message in caught.value.diagnostics] == ["CM301"]
