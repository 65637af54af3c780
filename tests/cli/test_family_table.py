"""The lines of the compact form: read back by another reader, they are the mask."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from strategies import descriptors

from compilemask.cli import main
from compilemask.cli.family_table import MAX_LINES, family_lines
from compilemask.compiler import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.presets import preset_source

NUMBER = r"([+-]?[\d,]+)"
RANGE = re.compile(rf"(?:queries|keys) (?:{NUMBER}|\[{NUMBER}, {NUMBER}\))$")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def value(formula: str, q: int) -> int:
    return int(eval(formula.replace(",", ""), {"q": q}))


def moved(words: str) -> tuple[int, int]:
    found = RANGE.match(words)
    assert found, words
    both, start, stop = found.groups()
    return (number(both), number(both)) if both else (number(start), number(stop))


def draw(line: str, visible: np.ndarray) -> None:
    """Shows the cells of one line; asserts that none of them is shown already."""
    rows, keys, *rest = re.split(r"  +", line)
    single = re.match(r"query ([\d,]+)$", rows)
    start, stop = (number(single[1]), number(single[1]) + 1) if single else moved(rows)
    lo, hi = re.match(r"keys \[(.*), (.*)\)$", keys).groups()  # type: ignore[union-attr]
    members = [(start, stop, value(lo, start), value(hi, start))]
    slopes = value(lo, 1) - value(lo, 0), value(hi, 1) - value(hi, 0)
    for level in rest[0].split("; ") if rest else []:
        count, queries, ends = re.match(r"([\d,]+) times, (queries .*), (keys .*)$", level).groups()  # type: ignore[union-attr]
        step = (*moved(queries), *moved(ends))
        members = [
            tuple(a + i * b for a, b in zip(m, step, strict=True)) for i in range(number(count)) for m in members
        ]  # type: ignore[misc]
    for first, last, left, right in members:
        for q in range(first, last):
            cells = visible[q, left + slopes[0] * (q - first) : right + slopes[1] * (q - first)]
            assert len(cells) and not cells.any()
            cells[:] = True


def small(name: str, **values: object) -> MaskDescriptor:
    mask = compile(preset_source(name)).bind(**values)
    assert isinstance(mask, MaskDescriptor)
    return mask


@settings(max_examples=150, derandomize=True, deadline=None)
@given(descriptors())
@example(small("strided", n=96, stride=8))
@example(small("video", chunks=9, tokens_per_chunk=5, window=3))
@example(small("document_sliding", lengths=[9] * 5, window=4))
@example(small("natten_2d", height=10, width=12, kernel=[5, 5]))
@example(small("sliding_tile", **dict(compile(preset_source("sliding_tile")).example())))
def test_the_lines_say_which_cells_are_visible(mask: MaskDescriptor) -> None:
    if mask.num_families > MAX_LINES:
        return
    visible = np.zeros((mask.q_len, mask.kv_len), bool)
    for line in family_lines(mask.families()):
        draw(line, visible)
    assert np.array_equal(visible, mask.dense())


def test_show_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "llama4_chunked", "--set", "n=100000", "chunk=20", "--families"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n\nqueries [0, 20)  keys [0, q + 1)  5,000 times, queries +20, keys +20\n"
    )


def test_long_lists_end_with_a_count() -> None:
    rows = np.arange(0, 300, 3)
    lo = np.random.default_rng(0).integers(0, 9999, len(rows))
    mask = MaskDescriptor.from_trapezoids(300, 10_000, Trapezoids.rectangle(rows, rows + 1, lo, lo + 1))
    lines = family_lines(mask.families())
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == f"and {mask.num_families - MAX_LINES} more"
    assert family_lines(MaskDescriptor.from_trapezoids(3, 3, Trapezoids.empty()).families()) == []
