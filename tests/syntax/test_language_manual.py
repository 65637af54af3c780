"""docs/language.md tells the truth: its texts compile, its drawings are their cells, and no word is left out."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from compilemask.compiler import compile
from compilemask.descriptor import MaskBatch
from compilemask.lowering import limits as bind_limits
from compilemask.lowering.windows import MAX_KERNEL
from compilemask.semantics.masks import MAX_DEPTH
from compilemask.syntax import limits, words
from compilemask.syntax.words import RESERVED

MANUAL = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", MANUAL, flags=re.MULTILINE | re.DOTALL)
PROGRAMS = [text for kind, text in FENCES if kind == "mask"]


def drawing(source: str) -> str:
    """The cells of a text at its first example."""
    program = compile(source)
    bound = program.bind(**program.example())
    cells = (bound.mask(0, 0) if isinstance(bound, MaskBatch) else bound).dense()
    return "".join("".join("■" if cell else "·" for cell in row) + "\n" for row in cells)


def test_every_fence_is_of_a_kind_that_is_tested() -> None:
    assert {kind for kind, _ in FENCES} == {"mask", "drawing", "grammar"}
    assert len(PROGRAMS) >= 10


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: re.search(r"mask (\w+)\(", source)[1])
def test_a_text_of_the_manual_compiles_without_a_message(source: str) -> None:
    program = compile(source)
    assert program.warnings == ()
    for example in program.examples:
        assert program.bind(**dict(example.values)).visible_pairs > 0


def test_every_drawing_shows_the_cells_of_the_text_above_it() -> None:
    pairs = [(above, below) for above, below in pairwise(FENCES) if below[0] == "drawing"]
    assert len(pairs) >= 8
    for (kind, source), (_, picture) in pairs:
        assert kind == "mask"
        assert picture == drawing(source), source


@pytest.mark.parametrize("word", words(), ids=lambda word: word.name)
def test_every_word_is_in_the_manual(word) -> None:
    shown = word.name.split() if word.kind == "symbol" else [word.name]
    for part in shown:
        # `aligned start` stands there as `causal aligned start`; signs stand in the grammar
        assert re.search(rf"(?<![\w.]){re.escape(part)}(?!\w)", MANUAL) or f'"{part}"' in MANUAL, part


def test_every_grammar_word_is_a_word_of_the_table() -> None:
    (grammar,) = [text for kind, text in FENCES if kind == "grammar"]
    known = {part for word in words() for part in re.split(r"[ .]", word.name)} | set("[](){}") | {".", ".."}
    assert set(re.findall(r'"([^"]+)"', grammar)) <= known | {"pos"}


def test_the_list_of_reserved_words_is_complete() -> None:
    section = MANUAL.split("## Words that cannot be names")[1].split("Upper and lower case")[0]
    assert set(re.findall(r"`(\w+)`", section)) == RESERVED


def test_the_limits_are_those_of_the_code() -> None:
    section = MANUAL.split("## Limits")[1].split("##")[0]
    for name in dir(limits):
        if name.startswith("MAX_") and name != "MAX_DIAGNOSTICS":
            assert f"{getattr(limits, name):,}" in section, name
    of_numbers = {name: getattr(bind_limits, name) for name in dir(bind_limits) if name.startswith("MAX_")}
    assert len(of_numbers) >= 12
    for name, limit in of_numbers.items():
        assert ("below 2^60" if name == "MAX_NUMBER" else f"| {limit:,} |") in section, name
    assert f"| {MAX_KERNEL:,} |" in section
    assert f"{MAX_DEPTH} calls above each other" in section


def test_documentation_of_words_has_a_first_line_and_known_kinds() -> None:
    assert {word.kind for word in words()} == {"keyword", "relation", "type", "function", "symbol"}
    assert len({word.name for word in words()}) == len(words())
    for word in words():
        assert word.doc.split("\n")[0].endswith((".", ")", "`", "5 keys."))
    windows = {word.name: word.doc for word in words()}
    for name in ("q", "k", "-", "<"):
        assert "the last 4 keys counting the query itself" in windows[name]
