"""density_tile: bytes of a pixel against its cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import descriptors

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.preview import cell_counts, density_tile, levels, text_preview


def brute_force(descriptor: MaskDescriptor, level: int, tile_y: int, tile_x: int, size: int) -> list[list[int]]:
    dense, pixel = descriptor.dense(), 2**level
    picture = []
    for y in range(tile_y * size, (tile_y + 1) * size):
        line = []
        for x in range(tile_x * size, (tile_x + 1) * size):
            cells = dense[y * pixel : (y + 1) * pixel, x * pixel : (x + 1) * pixel]
            count = int(cells.sum())
            if count == 0:
                line.append(0)
            elif cells.all():
                line.append(255)
            else:
                line.append(min(max((count * 255 + pixel**2 // 2) // pixel**2, 1), 254))
        picture.append(line)
    return picture


@settings(max_examples=300, derandomize=True, deadline=None)
@given(descriptors(), st.integers(1, 5))
def test_every_pixel_of_every_level_is_exact(descriptor: MaskDescriptor, size: int) -> None:
    for level in range(levels(descriptor, size)):
        for tile_y in range(max(-(-descriptor.q_len // (size << level)), 1)):
            for tile_x in range(max(-(-descriptor.kv_len // (size << level)), 1)):
                tile = density_tile(descriptor, level, tile_y, tile_x, size)
                assert tile.dtype == np.uint8
                assert tile.tolist() == brute_force(descriptor, level, tile_y, tile_x, size)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(descriptors(), st.tuples(*[st.integers(0, 6)] * 2), st.tuples(*[st.integers(1, 5)] * 2))
def test_pixels_of_any_origin_and_size_count_their_cells(
    descriptor: MaskDescriptor, origin: tuple[int, int], pixel: tuple[int, int]
) -> None:
    dense = descriptor.dense()
    counts = cell_counts(descriptor, origin, pixel, (4, 3))
    for y in range(4):
        for x in range(3):
            q, k = origin[0] + y * pixel[0], origin[1] + x * pixel[1]
            assert counts[y, x] == dense[q : q + pixel[0], k : k + pixel[1]].sum()


def test_the_last_level_fits_one_tile() -> None:
    for length, expected in ((0, 1), (1, 1), (256, 1), (257, 2), (512, 2), (513, 3), (2**20, 13), (2**31 - 1, 24)):
        assert levels(MaskDescriptor.from_trapezoids(1, length, Trapezoids.empty())) == expected
        assert levels(MaskDescriptor.from_trapezoids(length, 1, Trapezoids.empty())) == expected


def test_counts_of_the_largest_mask_are_exact() -> None:
    n = 2**31 - 1
    causal = MaskDescriptor.from_trapezoids(n, n, Trapezoids.of(0, n, 0, 0, 1, 1))
    pixel = 2**23
    counts = cell_counts(causal, (0, 0), (pixel, pixel), (256, 256))
    assert int(counts.sum()) == n * (n + 1) // 2
    assert counts[7, 7] == pixel * (pixel + 1) // 2
    assert counts[255, 0] == pixel * (pixel - 1)
    tile = density_tile(causal, 23, 0, 0)
    assert (tile[3, 3], tile[3, 2], tile[2, 3], tile[255, 0]) == (128, 255, 0, 255)


def test_tiles_that_do_not_exist_are_refused() -> None:
    causal = MaskDescriptor.from_trapezoids(1000, 600, Trapezoids.of(0, 600, 0, 0, 1, 1))
    with pytest.raises(ValueError, match="level must be from 0 to 2, got 3"):
        density_tile(causal, 3, 0, 0)
    with pytest.raises(ValueError, match="tile_y must be from 0 to 3 at level 0, got 4"):
        density_tile(causal, 0, 4, 0)
    with pytest.raises(ValueError, match="tile_x must be from 0 to 1 at level 1, got -1"):
        density_tile(causal, 1, 0, -1)


def test_text_shows_cells_when_they_fit_and_shares_when_not() -> None:
    small = MaskDescriptor.from_trapezoids(4, 5, Trapezoids.of(0, 4, 0, 0, 1, 1))
    assert text_preview(small, 10).split("\n") == ["█····", "██···", "███··", "████·"]
    large = MaskDescriptor.from_trapezoids(4096, 4096, Trapezoids.of(0, 4096, 0, 0, 1, 1))
    assert text_preview(large, 8).split("\n") == ["▓░······", "██▓░····", "████▓░··", "██████▓░"]
    assert text_preview(MaskDescriptor.from_trapezoids(0, 5, Trapezoids.empty()), 8) == ""
    with pytest.raises(ValueError, match="width must be at least 2, got 1"):
        text_preview(small, 1)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(descriptors(), st.integers(2, 24))
def test_text_is_blank_where_nothing_and_full_where_everything_is_visible(
    descriptor: MaskDescriptor, width: int
) -> None:
    lines = text_preview(descriptor, width).split("\n")
    dense = descriptor.dense()
    if dense.size == 0:
        assert lines == [""]
        return
    longest = max(dense.shape)
    columns = -(-longest // width)
    pixel = (1, 1) if longest <= width // 2 else (2 * columns, columns)
    assert len(lines) == -(-descriptor.q_len // pixel[0])
    for y, line in enumerate(lines):
        assert len(line) == -(-descriptor.kv_len // pixel[1]) <= width
        for x, character in enumerate(line):
            cells = dense[y * pixel[0] : (y + 1) * pixel[0], x * pixel[1] : (x + 1) * pixel[1]]
            assert (character == "·") == (not cells.any())
            assert (character == "█") == bool(cells.all())
