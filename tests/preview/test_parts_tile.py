"""Pictures of which part of a mask has a pixel's cells, against counting them one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.preview import MAX_PARTS, levels, parts_tile

SIZE = 4


def dense_mask(cells: npt.NDArray[np.bool_]) -> MaskDescriptor:
    q, k = np.nonzero(cells)
    zeros = np.zeros(len(q), np.int64)
    return MaskDescriptor.from_trapezoids(*cells.shape, Trapezoids(q, q + 1, zeros, k, zeros, k + 1))


def counted(parts: npt.NDArray[np.bool_], level: int, tile_y: int, tile_x: int) -> npt.NDArray[np.uint8]:
    """The same tile, pixel by pixel. parts: bool [part, q, k]."""
    side, out = 1 << level, np.zeros((SIZE, SIZE), np.uint8)
    for y in range(SIZE):
        for x in range(SIZE):
            top, left = (tile_y * SIZE + y) * side, (tile_x * SIZE + x) * side
            block = parts[:, top : top + side, left : left + side]
            seen = block.any(axis=0)
            if seen.any():
                totals = block.sum(axis=(1, 2))
                out[y, x] = (1 if seen.all() else 128) + int(np.argmax(totals))
    return out


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_pixel_names_the_part_with_most_cells(data: st.DataObject) -> None:
    number, q_len, kv_len = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 11), st.integers(1, 11)))
    bits = data.draw(st.lists(st.booleans(), min_size=number * q_len * kv_len, max_size=number * q_len * kv_len))
    parts = np.array(bits).reshape(number, q_len, kv_len)
    mask, masks = dense_mask(parts.any(axis=0)), [dense_mask(part) for part in parts]
    for level in range(levels(mask, SIZE)):
        for tile_y in range(-(-q_len // (SIZE << level))):
            for tile_x in range(-(-kv_len // (SIZE << level))):
                tile = parts_tile(mask, masks, level, tile_y, tile_x, SIZE)
                assert np.array_equal(tile, counted(parts, level, tile_y, tile_x))


def test_parts_without_a_number_of_their_own_share_the_last_one() -> None:
    cells = np.eye(MAX_PARTS + 5, dtype=np.bool_)
    parts = [dense_mask(np.diag(row)) for row in cells]
    tile = parts_tile(dense_mask(cells), parts, 0, 0, 0)
    assert [int(tile[i, i]) for i in (0, 1, 125, 126, 127, 131)] == [1, 2, 126, 127, 127, 127]


def test_a_part_of_another_size_and_no_part_are_refused() -> None:
    mask = dense_mask(np.ones((3, 4), np.bool_))
    with pytest.raises(ValueError, match="part 0 is 3 x 5, the mask 3 x 4"):
        parts_tile(mask, [dense_mask(np.ones((3, 5), np.bool_))], 0, 0, 0)
    with pytest.raises(ValueError, match="at least one part"):
        parts_tile(mask, [], 0, 0, 0)
    with pytest.raises(ValueError, match="level must be from 0 to 0, got 1"):
        parts_tile(mask, [mask], 1, 0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mask m(n: int)\ntokens { S: n }\nS sees S causal\nS sees S k < 2\n", [("S sees S causal", 36), ("S sees S k < 2", 16)]),
        ("mask m(n: int)\ntokens { S: n }\nS sees S causal except q - k > 2\n", [("S sees S causal except q - k > 2", 21)]),
        ("mask m(n: int) = causal(n) and not sliding_window(n, 3)\n", [("causal(n)", 15), ("sliding_window(n, 3)", 15)]),
        ("mask m(n: int) = causal(n) or not causal(n)\n", [("causal(n)", 36), ("causal(n)", 28)]),
    ],
)  # fmt: skip
def test_the_parts_of_a_text_are_its_rules_or_its_calls(text: str, expected: list[tuple[str, int]]) -> None:
    program = compile(text)
    lowered = program.lower(n=8)
    parts = program.rule_parts(lowered)
    assert [(part.text, part.cells.visible_pairs) for part in parts] == expected
    together = np.any([part.cells.dense() for part in parts], axis=0)
    assert np.array_equal(together, lowered.descriptor.dense())
    assert [part.number for part in parts] == list(range(len(parts)))
    assert all(text[part.span.start : part.span.stop].split() == part.text.split() for part in parts)
