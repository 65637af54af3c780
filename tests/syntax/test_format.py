"""Formatting keeps the meaning and the comments, and formatting twice changes nothing."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_programs import COMPOSED, CORE, with_rules

from compilemask.diagnostics import MaskError, Span
from compilemask.presets import preset_names, preset_source
from compilemask.syntax import format, parse
from compilemask.syntax.lexer import lex

SOURCES = [*CORE.values(), *COMPOSED.values(), *map(preset_source, preset_names())]


def meaning(node: object) -> object:
    """A tree without places and documentation."""
    if isinstance(node, Span):
        return None
    if isinstance(node, tuple):
        return tuple(meaning(item) for item in node)
    if is_dataclass(node):
        return (type(node).__name__, *(meaning(getattr(node, f.name)) for f in fields(node) if f.name != "doc"))
    return node


def documentation(node: object) -> object:
    if isinstance(node, tuple):
        return [documentation(item) for item in node]
    if is_dataclass(node) and not isinstance(node, Span):
        return [getattr(node, "doc", ""), *(documentation(getattr(node, f.name)) for f in fields(node))]
    return None


def comments(source: str) -> list[str]:
    return [comment.text.rstrip() for comment in lex(source).comments]


def assert_formatted(source: str) -> str:
    formatted = format(source)
    before, after = parse(source)[0], parse(formatted)[0]
    assert after.complete
    assert meaning(after) == meaning(before)
    assert sorted(comments(formatted)) == sorted(comments(source))
    assert format(formatted) == formatted
    assert formatted.endswith("\n") and not formatted.endswith("\n\n")
    assert all(line == line.rstrip() for line in formatted.split("\n"))
    return formatted


@pytest.mark.parametrize("name", preset_names())
def test_the_presets_are_formatted(name: str) -> None:
    assert format(preset_source(name)) == preset_source(name)


@pytest.mark.parametrize("name", sorted({*CORE} - {"clear", "shared_prompt"}))
def test_core_programs_on_single_lines_are_formatted(name: str) -> None:
    assert format(CORE[name]) == CORE[name]


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_programs_are_formatted(name: str) -> None:
    assert format(COMPOSED[name]) == COMPOSED[name]


def test_the_canonical_layout_of_masks_made_of_masks() -> None:
    source = (
        "mask a( n:int )\ntokens{S:n}\nS sees S\nassert   density<  .5e0\n"
        "mask b(n:int)=a( n=n )and(not a(n)or a(n  +1))# why\n"
        "mask c(n:int)\n=a(n)  # first\nand a(n)except a(  n)\nassert S   never sees S where k<q"
    ).replace(".5e0", "0.5")
    assert assert_formatted(source) == (
        "mask a(n: int)\n"
        "tokens { S: n }\n"
        "S sees S\n"
        "assert density < 0.5\n"
        "\n"
        "mask b(n: int) = a(n = n) and (not a(n) or a(n + 1))  # why\n"
        "\n"
        "mask c(n: int)\n"
        "# first\n".replace("# first", "    # first")
        + "    = a(n)\n"
        "    and a(n) except a(n)\n"
        "assert S never sees S where k < q\n"
    )
    calls = " or ".join(f"a(n + {i})" for i in range(12))
    broken = assert_formatted(f"mask a(n: int)\ntokens {{ S: n }}\nS sees S\nmask b(n: int) = {calls}\n")
    assert "mask b(n: int) = a(n + 0)\n    or a(n + 1)\n" in broken


def test_the_canonical_layout() -> None:
    source = (
        "mask   m( n:int,w : int=4 , # width\n l:int[]=[1,2]   )\ntokens{S:n;doc[i<w]{P :n ;T: n*2+w\n}\n img:n x w}\n"
        "S sees S,doc[i] .P causal and(k<w or dx*dx+dx // 2<3)# why\n\n\n\ndoc[ i ].T sees S where not   causal\n"
        "  and k<-1\nexample e(n=1_000,l=[ - 3,4])"
    ).replace("dx*dx+dx // 2", "q*q+k // 2")
    assert assert_formatted(source) == (
        "mask m(\n"
        "    n: int,\n"
        "    w: int = 4,  # width\n"
        "    l: int[] = [1, 2]\n"
        ")\n"
        "tokens {\n"
        "    S: n\n"
        "    doc[i < w] {\n"
        "        P: n\n"
        "        T: n*2 + w\n"
        "    }\n"
        "    img: n x w\n"
        "}\n"
        "S sees S, doc[i].P causal and (k < w or q*q + k // 2 < 3)  # why\n"
        "\n"
        "doc[i].T sees S where not causal\n"
        "    and k < -1\n"
        "example e(n = 1_000, l = [-3, 4])\n"
    )


def test_neighbouring_rules_are_aligned_unless_one_is_very_long() -> None:
    assert "S    sees S\nS, T sees S causal\n" in assert_formatted(
        with_rules("S sees S", "S,T   sees S causal", regions="S: n; T: n")
    )
    long = ", ".join(["S", "T"] * 10)
    assert "\nS sees S\n" in assert_formatted(with_rules("S   sees S", f"{long} sees S", regions="S: n; T: n"))


def test_a_rule_that_is_too_long_is_broken_before_its_joining_words() -> None:
    rule = "S sees S causal " + " ".join(f"or q - k == {i}{i}" for i in range(12))
    formatted = assert_formatted(with_rules(rule))
    assert "S sees S causal\n    or q - k == 00\n    or q - k == 11\n" in formatted
    names = ", ".join(["S"] * 50)
    assert max(map(len, assert_formatted(with_rules(f"{names} sees {names} causal")).split("\n"))) <= 110


def test_long_lists_are_broken() -> None:
    numbers = ", ".join(str(n) for n in range(200))
    formatted = assert_formatted(with_rules("S sees S", f"example e(n = 1, w = 2, flag = true, lengths = [{numbers}])"))
    assert max(map(len, formatted.split("\n"))) <= 100


def test_a_text_with_an_error_is_refused() -> None:
    with pytest.raises(MaskError, match="CM205"):
        format("mask m(n: int)\ntokens { S: n }\nS sees S and k <\n")


@settings(max_examples=120, derandomize=True, deadline=None)
@given(st.sampled_from(SOURCES), st.integers(0, 2**31))
def test_space_and_line_breaks_do_not_matter(source: str, seed: int) -> None:
    """Noise between the words, where it keeps the meaning, does not survive, and documentation stays where it was."""
    dice = random.Random(seed)
    tokens = lex(source).tokens
    noisy = source
    for token in reversed(tokens[:-1]):
        rest_of_line = source[token.span.stop :].split("\n")[0]
        if (
            token.text in ("and", "or", ",", "+", "-", "<", "sees", "not")
            and "#" not in rest_of_line
            and dice.random() < 0.2
        ):
            noisy = noisy[: token.span.stop] + dice.choice(["  ", "\n", " \n   ", "\t"]) + noisy[token.span.stop :]
        elif dice.random() < 0.1:
            noisy = noisy[: token.span.start] + dice.choice([" ", "  ", "\t"]) + noisy[token.span.start :]
    formatted = assert_formatted(noisy)
    assert documentation(parse(formatted)[0]) == documentation(parse(source)[0])


@settings(max_examples=120, derandomize=True, deadline=None)
@given(st.sampled_from(SOURCES), st.integers(0, 2**31))
def test_comments_anywhere_survive(source: str, seed: int) -> None:
    dice = random.Random(seed)
    noisy = source
    for number, token in enumerate(reversed(lex(source).tokens)):
        if dice.random() < 0.15:
            at = token.span.start
            noisy = (
                noisy[:at]
                + dice.choice(["# c{}\n", "## d{}\n", "\n# e{}\n\n", "\n\n## f{}\n"]).format(number)
                + noisy[at:]
            )
    if parse(noisy)[0].complete:
        assert_formatted(noisy)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 24), st.booleans()), min_size=1, max_size=7),
    st.lists(st.tuples(st.integers(1, 24), st.booleans()), min_size=1, max_size=7),
)
def test_axes_on_long_lines_are_formatted_once_and_for_all(
    queries: list[tuple[int, bool]], keys: list[tuple[int, bool]]
) -> None:
    def block(letter: str, regions: list[tuple[int, bool]]) -> str:
        names = [f"{letter}{number}" + "o" * length for number, (length, _) in enumerate(regions)]
        return "; ".join(
            f"{name} {{ A: n; B: 2 }}" if nested else f"{name}: n"
            for name, (_, nested) in zip(names, regions, strict=True)
        )

    assert_formatted(f"mask m(n: int)\nqueries {{ {block('Q', queries)} }}\nkeys {{ {block('K', keys)} }}\n")


@pytest.mark.parametrize("width", range(90, 106))
def test_keys_are_padded_only_when_both_axes_stay_on_one_line(width: int) -> None:
    line = f"keys {{ {'R' * 50}: n; {'S' * (width - 67)}: n }}"
    assert len(line) == width
    formatted = assert_formatted(f"mask m(n: int)\nqueries {{ Q: n }}\n{line}\n")
    assert ("\nkeys    {" in formatted) == (width + 3 <= 100)
