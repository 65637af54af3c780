"""No text raises or hangs; every span lies in its text; the same text gives the same messages."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from language_programs import COMPOSED, CORE

from compilemask.compiler import compile
from compilemask.diagnostics import Diagnostic, Span, line_column, render
from compilemask.presets import preset_names, preset_source
from compilemask.semantics import CheckedMask, check
from compilemask.semantics.program import Region
from compilemask.syntax import parse, words
from compilemask.syntax.lexer import lex
from compilemask.syntax.limits import MAX_DIAGNOSTICS, MAX_SOURCE_BYTES
from compilemask.syntax.tree import MaskTree, RegionNode
from compilemask.syntax.words import FOREIGN

PRESETS = [*(preset_source(name) for name in preset_names()), *COMPOSED.values()]
PIECES = sorted(
    {
        *(t.text for s in PRESETS for t in lex(s).tokens),
        *(w.name for w in words()),
        *FOREIGN,
        "\n",
        "$",
        "ä",
        "9" * 20,
        "0x1F",
        "\u00a0",
        "1.5e3",
        "\ud800",
    }
)


BODY = "mask m(n: int)\ntokens { S: n }\n"


def spans(node: object) -> Iterator[Span]:
    if isinstance(node, Span):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from spans(item)
    elif is_dataclass(node):
        for field in fields(node):
            yield from spans(getattr(node, field.name))


def sizes(tree: MaskTree) -> tuple[int, ...]:
    """How many rules, assertions, allowances, examples and regions a text has."""

    def inside(nodes: tuple[RegionNode, ...]) -> int:
        return sum(1 + inside(node.children or ()) for node in nodes)

    counts = (len(part) for part in (tree.rules, tree.assertions, tree.allowances, tree.examples))
    return (*counts, sum(inside(axis.regions) for axis in tree.axes))


def regions(mask: CheckedMask) -> int:
    def inside(nodes: tuple[Region, ...]) -> int:
        return sum(1 + inside(node.children) for node in nodes)

    return inside(mask.queries.regions) + (0 if mask.keys is None else inside(mask.keys.regions))


def all_messages(source: str) -> tuple[Diagnostic, ...]:
    """Parse and check, with every law that holds for any text."""
    tree, syntax = parse(source)
    mask, semantic = check(tree, source)
    found = syntax + semantic
    assert (mask is None) == any(m.severity == "error" for m in found)
    assert len(syntax) <= MAX_DIAGNOSTICS and len(semantic) <= MAX_DIAGNOSTICS
    if mask is not None:
        assert sizes(tree) == (
            len(mask.rules),
            len(mask.assertions),
            len(mask.allowances),
            len(mask.examples),
            regions(mask),
        )
    for span in (*spans(tree), *spans(found), *spans(mask)):
        assert span.stop <= len(source)
    for m in found[:5]:
        assert m.message and m.message[0] != " "
        render(m, source)
    assert parse(source) == (tree, syntax)
    assert check(tree, source) == (mask, semantic)
    return found


@settings(max_examples=200, derandomize=True, deadline=2000)
@given(st.text(max_size=200))
@example("\ufeffmask m()")
@example("\r\n\x00\x1b")
def test_any_text(source: str) -> None:
    all_messages(source)


@settings(max_examples=300, derandomize=True, deadline=2000)
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from([" ", "", "\n"]))
def test_any_order_of_words(pieces: list[str], between: str) -> None:
    all_messages(between.join(pieces))


@settings(max_examples=300, derandomize=True, deadline=2000)
@given(st.sampled_from(PRESETS), st.integers(0, 2**31), st.integers(1, 4))
def test_presets_with_words_lost_doubled_and_swapped(source: str, seed: int, slips: int) -> None:
    dice = random.Random(seed)
    tokens = [source[t.span.start : t.span.stop] for t in lex(source).tokens[:-1]]
    for _ in range(slips):
        at = dice.randrange(len(tokens))
        match dice.randrange(4):
            case 0:
                tokens.pop(at)
            case 1:
                tokens.insert(at, dice.choice(PIECES))
            case 2:
                tokens[at] = dice.choice(PIECES)
            case _:
                other = dice.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
    all_messages("".join(token + dice.choice(" \n ") for token in tokens))


@settings(max_examples=150, derandomize=True, deadline=2000)
@given(st.sampled_from(PRESETS), st.integers(0, 2**31))
def test_presets_with_characters_changed(source: str, seed: int) -> None:
    dice = random.Random(seed)
    characters = list(source)
    for _ in range(dice.randrange(1, 8)):
        characters[dice.randrange(len(characters))] = chr(
            dice.choice([dice.randrange(128), dice.randrange(0x3000), ord("\n")])
        )
    all_messages("".join(characters))


@pytest.mark.parametrize(
    "source",
    [
        BODY + "(" * 19_000,
        "mask m(" + "[" * 19_000,
        "mask m(n: int)\ntokens { S: n }\nS sees S " + "not " * 15_000,
        "mask m(n: int)\ntokens { S: n }\nS sees S k < " + "-" * 19_000 + "1",
        "mask m(n: int)\ntokens { S: n }\nS sees S " + "k < 1 or " * 4_500,
        "mask m(n: int)\ntokens { " + "a { " * 9_500,
        "mask m(n: int)\ntokens { " + "S: n;" * 4_500 + " }\nS sees S",
        "mask m(n: int)\ntokens { S: n }\n" + "S sees T\n" * 5_500,
        "mask m(n: int)\ntokens { S: n }\n" + "S sees S zz < yy\n" * 3_000,
        "mask m(" + ", ".join(f"p{i}: int" for i in range(4_000)) + ")\ntokens { S: p }\nS sees S",
        "mask m(n: int)\ntokens { S: n }\nS sees S\n" + "example e(n = 1)\n" * 2_700,
        "mask m(n: int[] = [" + "1," * 9_000 + "1])\ntokens { S: len(n) }\nS sees S",
        "mask m(n: int)\ntokens { S: n }\n" + ",\n".join(["S"] * 9_000) + " sees S",
        "9" * 60_000,
        "a" * 60_000,
        "$" * 60_000,
        "& " * 19_000,
        "\u00a0x" * 15_000,
        BODY + "a,\n" * 9_500,
        "mask m(n: int)\ntokens { S: n }\nS sees S causal\n" * 1_000,
        BODY + "S sees S\nmask m2(n: int) = " + "m(n) or " * 4_500,
        BODY + "S sees S\nmask m2(n: int) = " + "not (" * 9_000,
        BODY + "S sees S\n" + "mask m2(n: int) = m(n)\n" * 1_800,
        BODY + "S sees S\n" + "assert S never sees S causal\n" * 2_000,
        BODY + "S sees S\nassert equals " + "m(" * 9_000,
        "".join(f"mask a{i}(n: int) = a{(i + 1) % 60}(n) or a{(i + 7) % 60}(n)\n" for i in range(60)),
        BODY + "S sees S\n" + "".join(f"mask a{i}(n: int) = {'m' if i == 0 else f'a{i - 1}'}(n)\n" for i in range(60)),
        BODY
        + "S sees S\n"
        + "".join(
            f"mask a{i}(n: int) = not {'m' if i == 0 else f'a{i - 1}'}(n)"
            + f" or {'m' if i == 0 else f'a{i - 1}'}(n)\n"
            for i in range(60)
        ),
        BODY + "S sees S " + "min(" * 9_500,
        BODY + "a[" * 9_500,
        BODY + "a." * 9_500,
        BODY + "S sees S min(" + "a,\n" * 9_000,
        BODY + "S sees S " + "(" + "a\n" * 9_000,
        "mask m(" + "a,\n" * 9_000,
        BODY + "S sees S\nexample e(" + "a,\n" * 9_000,
        BODY + "S sees S\nexample e(n = [" + "-1,\n" * 6_000,
        BODY.replace(" }", "") + "a,\n" * 9_000,
        BODY + "S sees S\n" + "allow empty queries in " + "a,\n" * 9_000,
        BODY + "S sees S\n" + "allow unseen keys\n" * 3_000,
        BODY + "S sees S\n" + "allow\n" * 9_000,
        BODY + "S sees S k in " + "a[" * 9_000,
        BODY + "S sees S " + "k in " * 9_000,
        "mask m(n: int)\ntokens { " + "S: n unused;" * 4_000 + " }\nS sees S",
        "\n" * MAX_SOURCE_BYTES,
        "é" * MAX_SOURCE_BYTES,
    ],
    ids=range(45),
)
def test_hostile_texts_are_answered_soon(source: str) -> None:
    start = time.perf_counter()
    tree, syntax = parse(source)
    mask, semantic = check(tree, source)
    elapsed = time.perf_counter() - start
    assert mask is None and syntax + semantic
    assert elapsed < 5, f"{elapsed:.1f} s"


def test_losing_any_word_of_a_preset_is_noticed_where_it_happened() -> None:
    """A text that is still valid has lost a word that may be left out, or means something else that can be meant."""
    unnoticed = []
    total = 0
    for name, source in {**{name: preset_source(name) for name in preset_names()}, **COMPOSED}.items():
        for token in lex(source).tokens[:-1]:
            total += 1
            damaged = source[: token.span.start] + source[token.span.stop :]
            tree, syntax = parse(damaged)
            found = syntax + check(tree, damaged)[1]
            if not found:
                unnoticed.append((name, token.text))
                continue
            line = line_column(source, token.span.start)[0]
            nearest = min(abs(line_column(damaged, m.span.start)[0] - line) for m in found)
            assert nearest <= 1, (token, [m.message for m in found])
    assert {word for name, word in unnoticed if name in CORE} <= {"where", "causal", "unused"}
    assert len(unnoticed) < 0.02 * total, unnoticed


def test_one_lost_word_makes_few_messages() -> None:
    counts = []
    for source in map(preset_source, CORE):
        for token in lex(source).tokens[:-1]:
            damaged = source[: token.span.start] + source[token.span.stop :]
            tree, syntax = parse(damaged)
            counts.append(len(syntax + check(tree, damaged)[1]))
    assert sum(counts) / len(counts) < 1.5
    assert max(counts) <= 9


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 60 + "k" + " + 1)" * 60 + " + 1" * 60 + " < 3",
        "not " * 60 + "((((k < 3))))",
        "min(" * 60 + "k" + ", 1)" * 60 + " < 2",
        "-" * 63 + "k < 4",
        "(" * 60 + "k < 1" + " and q < 2 or q < 1)" * 31 + ")" * 29,
        "k" + " - q" * 126 + " < 4",
    ],
    ids=range(6),
)
def test_the_deepest_texts_allowed_need_little_stack(condition: str) -> None:
    """A server calls the compiler from some depth of its own."""

    def below(frames: int) -> None:
        if frames:
            below(frames - 1)
        else:
            compile(f"{BODY}S sees S {condition}\n").bind(n=9)

    below(250)
