"""Completion, hover and symbols: right in whole texts, and answered without a crash in broken ones."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_programs import COMPOSED, CORE

from compilemask.compiler import compile
from compilemask.diagnostics import Span
from compilemask.presets import preset_names, preset_source
from compilemask.syntax import words
from compilemask.syntax.lexer import lex
from compilemask.tools import complete, hover, symbols

TEXT = """\
## Title
mask m(
    n: int,             ## tokens of it
    lengths: int[] = [3],
    wide: bool = false
)
tokens { S: n; doc[i] { P: lengths[i]; T: 2 } }
S sees S causal and q - k < n  # why
doc[i].P sees doc[j].T where wide or i != j and k.pos < lengths[i]
assert doc[i] never sees S where i == 3
example small(n = 4)
"""
SOURCES = [TEXT, *CORE.values(), *COMPOSED.values(), *map(preset_source, preset_names())]


def labels(text: str) -> list[str]:
    """What is offered at the `|` of a text."""
    return [item.label for item in complete(text.replace("|", ""), text.index("|"))]


def at(mark: str, text: str = TEXT) -> str:
    """The hover over the first character behind `|` in `mark`, a piece of the text."""
    offset = text.index(mark.replace("|", "")) + mark.index("|")
    found = hover(text, offset)
    assert found is not None and found.span.start <= offset < found.span.stop
    return found.markdown


HEAD = "mask m(n: int, l: int[], on: bool)\ntokens { S: n; doc[i] { P: l[i]; T: 2 } }\n"


@pytest.mark.parametrize(
    ("text", "offered", "hidden"),
    [
        ("|", ["mask"], ["sees"]),
        ("ma|", ["mask"], ["max"]),
        ("mask m(n: |", ["int", "bool", "int[]"], ["mask"]),
        ("mask m(n: bool = |", ["true", "false"], ["n"]),
        ("mask m(n: int)\n|", ["tokens", "queries", "assert", "allow", "example"], ["causal"]),
        ("mask m(n: int)\ntokens { S: n |", ["x", "stored", "unused"], ["causal"]),
        (HEAD + "S sees S\nallow |", ["empty queries", "unseen keys"], ["S", "n"]),
        (HEAD + "S sees S\nallow unseen keys |", ["in"], ["S", "sees"]),
        (HEAD + "S sees S\nallow unseen keys in |", ["S", "doc[i].T"], ["n", "causal"]),
        (HEAD + "S sees S where k in |", ["l"], ["n", "on", "causal"]),
        (HEAD + "S sees S where k |", ["and", "in"], ["S"]),
        ("mask m(n: int, l: int[])\ntokens { S: |", ["n", "l", "sum", "len"], ["causal", "q"]),
        ("mask m(n: int)\ntokens { S: n x |", ["n"], ["x"]),
        ("mask m(n: int)\ntokens { |", [], ["n", "S"]),
        (HEAD + "|", ["S", "doc[i]", "doc[i].P", "assert"], ["causal"]),
        (HEAD + "S |", ["sees"], ["causal"]),
        (HEAD + "S sees |", ["S", "doc[i]", "doc[i].T"], ["causal", "n"]),
        (HEAD + "S sees S |", ["causal", "same position", "where", "except", "q", "n", "on"], ["S"]),
        (HEAD + "S sees S, |", ["S", "doc[i].P"], ["causal"]),
        (HEAD + "S sees S causal |", ["and", "or", "where", "except", "aligned"], ["S", "n"]),
        (HEAD + "S sees S causal aligned |", ["start", "end"], ["and"]),
        (HEAD + "S sees S same |", ["position"], ["and"]),
        (HEAD + "S sees S where k.|", ["pos", "x", "y", "z"], ["n"]),
        (HEAD + "S sees S where q - k < |", ["n", "l", "min", "q"], ["causal"]),
        (HEAD + "S sees doc[a].|", ["P", "T"], ["S", "n"]),
        (HEAD + "S sees doc[a].P where a|", ["a", "abs"], ["n"]),
        (HEAD + "S sees S where (k < 3 or |", ["causal", "q.pos", "on"], ["S"]),
        (HEAD + "assert |", ["causal", "every query sees a key", "density", "equals", "S"], ["sees"]),
        (HEAD + "assert S |", ["never sees", "sees all"], ["causal"]),
        (HEAD + "assert S never sees |", ["S", "doc[i]"], ["all"]),
        (HEAD + "assert S sees |", ["all"], ["causal"]),
        (HEAD + "assert visible == |", ["n", "sum"], ["causal"]),
        (HEAD + "assert equals |", ["documents", "causal", "not"], ["m", "n"]),
        (HEAD + "example e(|", ["n", "l", "on"], ["S"]),
        (HEAD + "example e(n = 3, |", ["l", "on"], ["n"]),
        (HEAD + "S sees S\nmask w(k2: int, ls: int[]) = |", ["m", "documents", "not"], ["w"]),
        ("mask w(ls: int[]) = documents(|", ["lengths", "ls", "sum"], ["mask"]),
        ("mask w(ls: int[]) = documents(ls) |", ["and", "or", "except"], ["ls"]),
        ("mask w(ls: int[])\n    = documents(ls) and |", ["causal", "documents", "not"], ["ls"]),
        ("mask w(ls: int[]) = documents(ls)\nassert D[i] never sees |", ["D[i]"], ["causal"]),
        (HEAD + "S sees S  # c|", [], ["causal"]),
        (HEAD + "S sees S where k < 3|", [], ["n"]),
    ],
)
def test_what_is_offered(text: str, offered: list[str], hidden: list[str]) -> None:
    found = labels(text)
    assert [label for label in offered if label not in found] == [], found
    assert [label for label in hidden if label in found] == []
    assert len(found) == len(set(found))


def test_an_offer_says_what_it_is_and_what_it_writes() -> None:
    source = "mask w(ls: int[]) = doc"
    (item,) = [item for item in complete(source, len(source)) if item.label == "documents"]
    assert (item.kind, item.insert) == ("mask", "documents(")
    assert item.detail == "documents(lengths: int[])"
    (item,) = [item for item in complete(HEAD + "S sees S where k < ", len(HEAD) + 19) if item.label == "l"]
    assert (item.kind, item.insert, item.detail) == ("parameter", "l[", "l: int[]")


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("k < |n  #", "n: int"),
        ("k < |n  #", "tokens of it"),
        ("|lengths[i]\nassert", "lengths: int[] = [3]"),
        ("|S sees S causal", "S: n"),
        ("doc[j].|T where", "T: 2"),
        ("doc[j].T where wide or |i", "numbers the instances"),
        ("example small(|n", "n: int"),
        ("mask |m(", "Title"),
        ("|sees S causal", "The verb of a rule"),
        ("|causal and", "No key later"),
        ("k.|pos", "inside its region"),
        ("doc[i] |never", "no cell between these regions"),
        ("never |sees S", "no cell between these regions"),
        ("S: n|; doc", "Separates regions"),
        ("tokens |{ S", "Around regions"),
        ("and |q - k", "last 4 keys counting the query itself"),
        ("|int[] =", "A list of whole numbers"),
    ],
)
def test_hover(mark: str, words: str) -> None:
    assert words in at(mark)


def test_hover_over_a_called_preset_and_its_parameters() -> None:
    text = "mask w(ls: int[]) = documents(ls) and streaming(n = sum(ls), window = 3)\nassert density < 1\n"
    assert "Packed documents" in at("|documents(", text) and "documents(lengths: int[])" in at("|documents(", text)
    assert "last tokens that are visible" in at("|window =", text)
    assert "visible share" in at("|density", text)
    assert hover(text, text.index("3)")) is None
    assert hover(text, len(text) + 5) is None


def test_every_word_is_explained_somewhere() -> None:
    for word in words():
        if word.kind == "keyword" and word.name not in ("x",):
            text = f"mask m(n: int)\ntokens {{ S: n }}\nassert {word.name}"
            assert hover(text, len(text) - 1) is not None, word.name


def test_symbols_of_a_text() -> None:
    found = {(s.kind, s.name): s for s in symbols(TEXT) if s.kind != "index"}
    assert set(found) == {
        ("mask", "m"),
        *(("parameter", name) for name in ("n", "lengths", "wide")),
        *(("region", name) for name in ("S", "doc", "P", "T")),
        ("example", "small"),
    }
    for (_, name), symbol in found.items():
        for span in (symbol.span, *symbol.references):
            assert TEXT[span.start : span.stop] == name
    assert len(found["parameter", "n"].references) == 3
    assert len(found["parameter", "lengths"].references) == 2
    assert len(found["region", "S"].references) == 3
    assert len(found["region", "doc"].references) == 3
    assert found["parameter", "n"].doc == "tokens of it"
    indices = [s for s in symbols(TEXT) if s.kind == "index"]
    assert [(s.name, len(s.references)) for s in indices] == [("i", 1), ("i", 2), ("j", 1), ("i", 1)]


def test_symbols_reach_over_the_masks_of_a_text() -> None:
    text = COMPOSED["image"]
    found = {(s.kind, s.name, text[: s.span.start].count("mask ")): s for s in symbols(text)}
    assert len(found["mask", "image", 2].references) == 3
    stop = found["parameter", "stop", 2]
    assert any(text[span.start :].startswith("stop = stop") for span in stop.references)
    assert all(text[span.start : span.stop] == "stop" for span in stop.references)


@pytest.mark.parametrize("source", SOURCES, ids=range(len(SOURCES)))
def test_renaming_every_symbol_keeps_a_text_right(source: str) -> None:
    """The references are all of them: a text in which every name is another one is still a text without errors."""
    places: dict[Span, str] = {}
    for number, symbol in enumerate(symbols(source)):
        if symbol.kind != "mask":
            for span in (symbol.span, *symbol.references):
                assert places.setdefault(span, f"name_{number}") == f"name_{number}"
    renamed = source
    for span, name in sorted(places.items(), reverse=True):
        renamed = renamed[: span.start] + name + renamed[span.stop :]
    before, after = compile(source), compile(renamed)
    for example in before.examples[:1]:
        values = dict(zip([p.name for p in before.parameters], [p.name for p in after.parameters], strict=True))
        assert after.bind(**{values[name]: value for name, value in example.values}) == before.bind(
            **dict(example.values)
        )


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.sampled_from(SOURCES), st.integers(0, 2**31))
def test_no_text_and_no_place_raises(source: str, seed: int) -> None:
    dice = random.Random(seed)
    tokens = lex(source).tokens
    start, stop = sorted(dice.randrange(len(source) + 1) for _ in range(2))
    broken = dice.choice(
        [
            source[:stop],
            source[start:],
            source[:start] + source[stop:],
            source.replace(tokens[dice.randrange(len(tokens))].text or "x", ""),
        ]
    )
    symbols(broken)
    for _ in range(5):
        offset = dice.randrange(len(broken) + 2)
        for item in complete(broken, offset):
            assert item.label and item.insert and not re.search(r"\n", item.detail)
        found = hover(broken, offset)
        assert found is None or found.span.stop <= len(broken)


def test_words_of_idle_places_are_explained_and_their_regions_are_found() -> None:
    text = "mask m(n: int, kept: int[])\ntokens { S: n; pad: 3 unused }\nS sees S where k in kept\nallow unseen keys in S\n"
    assert "hold no token" in at("3 |unused", text)
    assert "one of a list" in at("k |in kept", text)
    assert "keys that no query sees" in at("allow |unseen", text)
    places = {symbol.name: [text[span.start : span.stop] for span in symbol.references] for symbol in symbols(text)}
    assert places["S"] == ["S", "S", "S"] and places["kept"] == ["kept"]
