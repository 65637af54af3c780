"""infer_structure: the grids behind masks of known build, whatever stands before and behind them."""

from __future__ import annotations

import known_masks
import numpy as np
import numpy.typing as npt
import pytest
from grid_masks import descriptor_of, disc, disc_cells, natten
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import GridStructure, infer_structure

Ints = npt.NDArray[np.int64]


def differences(*shape: int) -> list[Ints]:
    """Query coordinate minus key coordinate, per axis, for all cells of a self attention over a grid."""
    return [at[:, None] - at for at in np.unravel_index(np.arange(int(np.prod(shape))), shape)]


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(0, 90), st.integers(6, 20), st.integers(20, 70), st.integers(2, 8))
def test_a_disc_shows_its_grid(text: int, height: int, width: int, radius: int) -> None:
    assert infer_structure(disc(text, height, width, radius)) == (GridStructure(text, (height, width)),)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(0, 50), st.integers(5, 20), st.integers(10, 60), st.integers(1, 2), st.integers(1, 4))
def test_windows_pushed_inside_show_their_grid(text: int, height: int, width: int, up: int, left: int) -> None:
    found = infer_structure(natten((height, width), (2 * up + 1, 2 * left + 1), text))
    assert found == (GridStructure(text, (height, width)),)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.integers(0, 50), st.integers(4, 6), st.integers(6, 12), st.integers(8, 20))
def test_windows_over_time_show_three_sides(text: int, depth: int, height: int, width: int) -> None:
    assert infer_structure(natten((depth, height, width), (3, 3, 5), text)) == (
        GridStructure(text, (depth, height, width)),
    )


def test_a_ball_and_causal_frames_show_three_sides() -> None:
    dz, dy, dx = differences(6, 12, 16)
    expected = (GridStructure(0, (6, 12, 16)),)
    assert infer_structure(descriptor_of(dz**2 + dy**2 + dx**2 < 12)) == expected
    frames = (dz >= 0) & (dz < 3) & (abs(dy) < 3) & (abs(dx) < 3)
    assert infer_structure(descriptor_of(frames)) == expected


def test_wrapped_and_dilated_windows_show_their_grid() -> None:
    dy, dx = differences(24, 32)
    wrapped = (np.minimum(abs(dy), 24 - abs(dy)) < 3) & (np.minimum(abs(dx), 32 - abs(dx)) < 4)
    dilated = (dy % 2 == 0) & (dx % 2 == 0) & (abs(dy) < 8) & (abs(dx) < 8)
    for cells in (wrapped, dilated):
        assert infer_structure(descriptor_of(cells)) == (GridStructure(0, (24, 32)),)


def test_two_pictures_between_text_are_two_grids() -> None:
    cells = np.zeros((900, 900), np.bool_)
    cells[:50] = cells[370:400] = cells[700:] = True
    cells[:, :50] = True
    cells[50:370, 50:370] |= disc_cells(0, 16, 20, 4)
    cells[400:700, 400:700] |= disc_cells(0, 10, 30, 3)
    assert infer_structure(descriptor_of(cells)) == (GridStructure(50, (16, 20)), GridStructure(400, (10, 30)))


def test_queries_are_found_where_they_are_not_where_the_keys_are() -> None:
    picture_only = descriptor_of(disc_cells(37, 20, 30, 5)[37:])
    assert infer_structure(picture_only) == (GridStructure(0, (20, 30)),)
    y, x = np.divmod(np.arange(24 * 32), 32)
    key_y, key_x = np.divmod(np.arange(12 * 16), 16)
    halved = (abs(y[:, None] // 2 - key_y) < 3) & (abs(x[:, None] // 2 - key_x) < 3)
    assert infer_structure(descriptor_of(halved)) == (GridStructure(0, (24, 32)),)


def test_strided_attention_is_a_grid_of_its_stride() -> None:
    i = np.arange(1024)
    back = i[:, None] - i
    (grid,) = infer_structure(descriptor_of((back >= 0) & ((back < 32) | (back % 32 == 0))))
    assert grid.shape[-1] == 32
    assert grid.start % 32 == 0


ONE_DIMENSIONAL = {
    "causal": (4096, known_masks.causal(4096)),
    "sliding window": (4096, known_masks.sliding_window(4096, 1024)),
    "hstu": (4096, known_masks.hstu(3072, 1024)),
    "shared prompt": (4096, known_masks.shared_prompt(1024, 12, 256)),
    "documents": (4096, known_masks.documents(4096, 16)),
    "none": (4096, Trapezoids.empty()),
    "no queries": (0, Trapezoids.empty()),
}


@pytest.mark.parametrize("name", ONE_DIMENSIONAL)
def test_masks_of_one_dimension_have_no_grid(name: str) -> None:
    n, shapes = ONE_DIMENSIONAL[name]
    assert infer_structure(MaskDescriptor.from_trapezoids(n, n, shapes)) == ()
