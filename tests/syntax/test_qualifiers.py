"""Ranges, `per item` and `per head`: read in either order, written in one, and told apart from slips."""

from __future__ import annotations

import pytest

from compilemask.compiler import compile
from compilemask.diagnostics import MaskError
from compilemask.semantics import check
from compilemask.semantics.program import Parameter
from compilemask.syntax import format, parse
from compilemask.syntax.lexer import lex

BODY = "\ntokens { S: 8 }\nS sees S causal where {}\n"
USES = {"int": "k < n", "bool": "n", "int[]": "k < n[0]", "bool[]": "n[0]"}


def parameter(declared: str) -> Parameter:
    kind = next(kind for kind in ("int[]", "bool[]", "int", "bool") if kind in declared)
    program = compile(f"mask m({declared}){BODY.replace('{}', USES[kind])}")
    return program.parameters[0]


@pytest.mark.parametrize(
    ("declared", "minimum", "maximum", "per"),
    [
        ("n: int", None, None, None),
        ("n: int in 1..4096", 1, 4096, None),
        ("n: int in 1.. = 7", 1, None, None),
        ("n: int in ..8", None, 8, None),
        ("n: int in -3..-1 = -2", -3, -1, None),
        ("n: int in 5..5", 5, 5, None),
        ("n: int per item", None, None, "item"),
        ("n: int per head in 1..9 = 3", 1, 9, "head"),
        ("n: int in 1..9 per head = 3", 1, 9, "head"),
        ("n: int[] per item in 0..", 0, None, "item"),
        ("n: bool per head = true", None, None, "head"),
        ("n: bool[] per item", None, None, "item"),
        ("n: int per item # in 1..2\n", None, None, "item"),
    ],
)
def test_the_range_and_the_axis_of_a_parameter(
    declared: str, minimum: int | None, maximum: int | None, per: str | None
) -> None:
    found = parameter(declared)
    assert (found.minimum, found.maximum, found.per) == (minimum, maximum, per)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("n:int in 1..4_096=7", "n: int in 1..4_096 = 7"),
        ("n: int in 1  ..  9 per head", "n: int per head in 1..9"),
        ("n: int in - 3..", "n: int in -3.."),
        ("n: int in ..8 per item = 3", "n: int per item in ..8 = 3"),
        ("n: int[]   per  item", "n: int[] per item"),
    ],
)
def test_there_is_one_layout(written: str, shown: str) -> None:
    text = format(f"mask m({written})" + BODY.replace("{}", "true"))
    assert text.startswith(f"mask m({shown})\n")
    assert format(text) == text


@pytest.mark.parametrize("name", ["per", "item", "head", "in"])
def test_the_words_are_free_as_names(name: str) -> None:
    program = compile(f"mask m({name}: int per item in 1..9, n: int)\ntokens {{ S: n }}\nS sees S k < {name}\n")
    assert program.parameters[0].name == name
    assert parse(f"mask m(n: int\n {name}: int)\ntokens {{ S: n }}\nS sees S k < {name}\n")[1][0].message == (
        f"expected `,` before `{name}`"
    )


@pytest.mark.parametrize(
    ("declared", "code", "message", "under"),
    [
        ("n: int per", "CM202", "expected `item` or `head` behind `per`, but found `)`", ")"),
        ("n: int per batch", "CM202", "expected `item` or `head` behind `per`, found `batch`", "batch"),
        ("n: int per item per head", "CM202", "`per` stands twice behind one type", "per"),
        ("n: int in 1", "CM202", "expected `..` in a range, but found `)`", ")"),
        ("n: int in 1 to 9", "CM202", "expected `..` in a range, but found `to`", "to"),
        ("n: int in ..", "CM205", "expected a number in the range, but found `)`", ")"),
        ("n: int in 9..1", "CM341", "no number is in 9..1", "in 9..1"),
        ("n: bool in 0..1", "CM341", "`n` is true or false, and has no range", "in 0..1"),
        ("n: int in 1..4 = 5", "CM341", "the default of `n` is 5, and its range is 1..4", "5"),
        ("n: int[] in ..4 = [1, 5, 9]", "CM341", "the default of `n` is 5, and its range is ..4", "[1, 5, 9]"),
        ("n: int = 4 in 1..9", "CM202", "`in` stands before the default", "in"),
        ("n: int per item = [3, 4]", "CM311", "`n` has the type `int`, and this is a list", "[3, 4]"),
        ("n: int[][] per item", "CM342", "`n` is a list of lists, and cannot differ per item", "n: int[][] per item"),
    ],
)
def test_a_slip_is_told_where_it_is(declared: str, code: str, message: str, under: str) -> None:
    use = (
        "k < n[0][0]"
        if "[][]" in declared
        else "k < n[0]"
        if "[]" in declared
        else "n"
        if "bool" in declared
        else "k < n"
    )
    source = f"mask m({declared})" + BODY.replace("{}", use)
    with pytest.raises(MaskError) as caught:
        compile(source)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.message.startswith(message)
    assert source[found.span.start : found.span.stop] == under
    for fix in found.fixes:
        for edit in fix.edits:
            assert 0 <= edit.span.start <= edit.span.stop <= len(source)


def test_examples_give_one_value_or_one_for_each() -> None:
    head = "mask m(n: int in 1..9 per item, a: int[] per item, b: bool per head)\ntokens { S: n }\nS sees S k < a[0] and b\n"
    program = compile(
        head + "example all(n = 3, a = [4], b = true)\nexample each(n = [3, 4], a = [[4], [5, 6]], b = [true, false])\n"
    )
    assert dict(program.examples[0].values) == {"n": 3, "a": (4,), "b": True}
    assert dict(program.examples[1].values) == {"n": (3, 4), "a": ((4,), (5, 6)), "b": (True, False)}
    for values, message in [
        ("n = [3, 10], a = [4], b = true", "this value of `n` is 10, and its range is 1..9"),
        ("n = [[3]], a = [4], b = true", "`n` has the type `int[]`, and this is a list of lists"),
        ("n = 3, a = 4, b = true", "`a` has the type `int[]`, and this is a number"),
    ]:
        with pytest.raises(MaskError) as caught:
            compile(head + f"example wrong({values})\n")
        assert caught.value.diagnostics[0].message.startswith(message)


SERVED = """mask served(
    n: int in 1..65_536,              ## tokens
    prefix: int per item in 0.. = 0,  # seen by all
    window: int per head in ..4096,
    lengths: int[] per item
)
tokens { S: n; D[i]: lengths[i] }
S    sees S k < prefix or (causal and q - k < window)
D[i] sees D[i] causal
example both(n = 8, prefix = [2, 0], window = [3, 4_096], lengths = [[1, 2], [3]])
"""


def test_comments_and_documentation_stay_in_a_header_with_qualifiers() -> None:
    assert format(SERVED) == SERVED
    assert compile(SERVED).parameters[0].doc == "tokens"


def test_a_lost_word_makes_few_messages_and_never_a_crash() -> None:
    counts = []
    for token in lex(SERVED).tokens[:-1]:
        damaged = SERVED[: token.span.start] + SERVED[token.span.stop :]
        tree, syntax = parse(damaged)
        counts.append(len(syntax + check(tree, damaged)[1]))
    assert sum(counts) / len(counts) < 1.6
    assert max(counts) <= 9
