"""Conditions and numbers keep their order and brackets, and bind as the manual says."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_programs import checked, condition_of, show, with_rules

from compilemask.semantics.program import All, AnyOf, Compare, Condition, Flag, Not

FLAGS = "n: int, a: bool, b: bool, c: bool, d: bool"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("", "always"),
        ("causal", "causal"),
        ("where causal", "causal"),
        ("same position", "same"),
        ("causal aligned start", "causal-start"),
        ("same position aligned end", "same-end"),
        ("flag", "flag"),
        ("not flag", "not{flag}"),
        ("true", "True"),
        ("except false", "not{False}"),
        ("causal where k < 4", "all{causal, (k < 4)}"),
        ("causal and k < 4", "all{causal, (k < 4)}"),
        ("causal or k < 4 and flag", "any{causal, all{(k < 4), flag}}"),
        ("(causal or k < 4) and flag", "all{any{causal, (k < 4)}, flag}"),
        ("not causal and flag", "all{not{causal}, flag}"),
        ("not not k < 4", "not{not{(k < 4)}}"),
        ("causal or flag except k == 2", "all{any{causal, flag}, not{(k == 2)}}"),
        ("causal except k < 4 or flag", "all{causal, not{any{(k < 4), flag}}}"),
        ("causal except flag where k < 4", "all{all{causal, not{flag}}, (k < 4)}"),
        ("causal except (flag where k < 4)", "all{causal, not{all{flag, (k < 4)}}}"),
        ("0 <= q - k < w", "all{(0 <= (q - k)), ((q - k) < w)}"),
        ("k < 1 < 2 == 3", "all{(k < 1), (1 < 2), (2 == 3)}"),
        ("q - k - 1 < w", "(((q - k) - 1) < w)"),
        ("q - (k - 1) < w", "((q - (k - 1)) < w)"),
        ("q + k * 2 // 3 % 4 > -1", "((q + (((k * 2) // 3) % 4)) > (-1))"),
        ("-q * 2 < 0", "(((-q) * 2) < 0)"),
        ("q.pos != k.pos", "(q.pos != k.pos)"),
        ("min(q, k, 3) >= max(w, n)", "(min(q, k, 3) >= max(w, n))"),
        ("abs(q - k) <= len(lengths)", "(abs((q - k)) <= len(lengths))"),
        ("sum(lengths) > min(lengths) + max(lengths)", "(sum(lengths) > (min(lengths) + max(lengths)))"),
        ("lengths[k % 3] < lengths[0]", "(lengths[(k % 3)] < lengths[0])"),
        ("(((causal)))", "causal"),
        ("((q - k)) < (w)", "((q - k) < w)"),
    ],
)
def test_meaning_of_conditions(text: str, meaning: str) -> None:
    assert show(condition_of(text)) == meaning


@pytest.mark.parametrize(
    "layout",
    [
        "S sees S causal and (k < 4\n or flag)",
        "S sees S causal and\n  (k < 4 or flag)",
        "S sees S causal\n  and (k < 4 or flag)",
        "S sees S causal\n\n  and (\n k\n <\n 4\n or\n flag\n)",
        "S sees S causal and (k <\n# why\n4 or flag)",
        "S sees\n  S causal and (k < 4 or flag)",
        "S sees S where causal\n  and (k < 4 or flag)  # the end",
    ],
)
def test_a_rule_goes_on_over_lines(layout: str) -> None:
    mask = checked(with_rules(layout, "S sees S same position"))
    assert [show(rule.condition) for rule in mask.rules] == ["all{causal, any{(k < 4), flag}}", "same"]


def test_relations_go_on_behind_aligned_on_the_next_line() -> None:
    assert show(condition_of("causal\n  aligned end")) == "causal-end"


def test_regions_of_a_rule_go_on_behind_a_comma() -> None:
    mask = checked(with_rules("S,\n T sees S,\n  T causal", "T sees T", regions="S: n; T: n"))
    assert [(len(r.queries), len(r.keys)) for r in mask.rules] == [(2, 2), (1, 1)]


# ---------------------------------------------------------------- precedence against an oracle


@dataclass(frozen=True)
class Tree:
    """A random condition over four flags: its text, and the same for Python."""

    text: str
    python: str


@st.composite
def conditions(draw: st.DrawFn, depth: int = 4) -> Tree:
    if depth == 0 or draw(st.booleans()):
        return Tree(*[draw(st.sampled_from("abcd"))] * 2)
    match draw(st.sampled_from(["and", "or", "not", "brackets"])):
        case "not":
            inner = draw(conditions(depth=depth - 1))
            return Tree(f"not ({inner.text})", f"(not ({inner.python}))")
        case "brackets":
            inner = draw(conditions(depth=depth - 1))
            return Tree(f"({inner.text})", f"({inner.python})")
        case word:
            left, right = draw(conditions(depth=depth - 1)), draw(conditions(depth=depth - 1))
            return Tree(f"{left.text} {word} {right.text}", f"{left.python} {word} {right.python}")


def truth(condition: Condition | None, values: dict[str, bool]) -> bool:
    match condition:
        case Flag(value, _):
            return values[value] if isinstance(value, str) else value
        case All(items, _):
            return all(truth(item, values) for item in items)
        case AnyOf(items, _):
            return any(truth(item, values) for item in items)
        case Not(item, _):
            return not truth(item, values)
    raise AssertionError(condition)


@settings(max_examples=120, derandomize=True, deadline=None)
@given(conditions())
def test_and_or_not_bind_as_in_python(tree: Tree) -> None:
    condition = condition_of(tree.text, parameters=FLAGS)
    for bits in itertools.product([False, True], repeat=4):
        values = dict(zip("abcd", bits, strict=True))
        assert truth(condition, values) == eval(tree.python, {}, values)


@st.composite
def sums(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.booleans()):
        return str(draw(st.integers(0, 9)))
    match draw(st.sampled_from(["+", "-", "*", "//", "%", "minus", "brackets"])):
        case "minus":
            return f"-{draw(sums(depth=depth - 1))}"
        case "brackets":
            return f"({draw(sums(depth=depth - 1))})"
        case sign:
            return f"{draw(sums(depth=depth - 1))} {sign} {draw(sums(depth=depth - 1))}"


@settings(max_examples=200, derandomize=True, deadline=None)
@given(sums())
def test_arithmetic_binds_as_in_python(text: str) -> None:
    try:
        expected = eval(text)
    except ZeroDivisionError:
        return
    condition = condition_of(f"{text} == k")
    assert isinstance(condition, Compare)
    assert eval(show(condition.left)) == expected
