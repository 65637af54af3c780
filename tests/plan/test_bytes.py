"""format_bytes: what other formats can hold, found by writing each key and each query out by hand."""

from __future__ import annotations

import known_masks
import numpy as np
import numpy.typing as npt
import pytest
from grid_masks import descriptor_of, disc
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, intervals, trapezoids
from strategies import descriptors, shape

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, intersection, normalize, rectangle
from compilemask.plan import FormatBytes, choose_plan, format_bytes, plan_packed, plan_tiles

BoolArray = npt.NDArray[np.bool_]


def sizes(descriptor: MaskDescriptor) -> dict[str, FormatBytes]:
    return {one.name: one for one in format_bytes(descriptor)}


def flash_mask_columns(visible: BoolArray) -> int | None:
    """The least number of row numbers a key, by trying the four layouts on every key; None if none fits."""
    n = len(visible)
    fits = {"causal 1": True, "causal 2": True, "2": True, "4": True}
    for k in range(n):
        hidden = np.flatnonzero(~visible[:, k])
        below, above = intervals(hidden[hidden >= k].tolist()), intervals(hidden[hidden < k].tolist())
        one_each = len(below) <= 2 and len(above) <= 2
        to_the_end, from_the_start = below[1:] in ((), (n,)), above[:1] in ((), (0,))
        all_above = above == ((0, k) if k else ())
        fits["causal 1"] &= one_each and all_above and to_the_end
        fits["causal 2"] &= one_each and all_above
        fits["2"] &= one_each and to_the_end and from_the_start
        fits["4"] &= one_each
    numbers = [int(name[-1]) for name, fit in fits.items() if fit]
    return min(numbers) if numbers else None


def endpoints(visible: BoolArray) -> int:
    """Numbers a query: [0, f0), then pairs."""
    most = 1
    for row in visible:
        ends = intervals(np.flatnonzero(row).tolist())
        most = max(most, len(ends) - 1 if ends[:1] == (0,) else len(ends) + 1)
    return most


@st.composite
def squares(draw: st.DrawFn) -> MaskDescriptor:
    n = draw(st.integers(1, 12))
    drawn: list[Shape] = draw(st.lists(shape(rows=12, columns=12), max_size=4))
    runs = intersection(normalize(trapezoids(drawn)), rectangle(0, n, 0, n))
    below = intersection(runs, normalize(Trapezoids.of(0, n, 0, 0, 1, 1)))
    return MaskDescriptor(n, n, below if draw(st.booleans()) else runs)


@settings(max_examples=120, derandomize=True, deadline=None)
@given(squares())
def test_flash_mask_takes_as_few_numbers_as_will_do(descriptor: MaskDescriptor) -> None:
    columns = flash_mask_columns(descriptor.dense())
    found = sizes(descriptor)["FlashMask"]
    assert found.bytes == (None if columns is None else 4 * columns * descriptor.kv_len)
    assert (found.reason is None) == (columns is not None)


@settings(max_examples=120, derandomize=True, deadline=None)
@given(descriptors())
def test_endpoints_and_dense_cells(descriptor: MaskDescriptor) -> None:
    found = sizes(descriptor)
    assert found["row endpoints"].bytes == 4 * endpoints(descriptor.dense()) * descriptor.q_len
    assert found["dense bool"].bytes == descriptor.dense().nbytes
    assert found["dense bits"].bytes == len(np.packbits(descriptor.dense()))
    assert found["descriptor in memory"].bytes == descriptor.nbytes
    assert found["descriptor"].bytes == descriptor.families().nbytes
    assert f"{descriptor.num_families} famil" in found["descriptor"].note
    assert found["descriptor JSON"].bytes == len(descriptor.to_json().encode())


def test_known_masks_of_32k() -> None:
    n = 32768
    causal = sizes(MaskDescriptor.from_trapezoids(n, n, known_masks.causal(n)))
    assert causal["dense bool"].bytes == 2**30
    assert causal["dense bits"].bytes == 2**27
    assert causal["BlockMask 128"].bytes == 4 * (4 * 256 * 256 + 4 * 256)
    assert causal["FlashMask"].bytes == 4 * n
    assert causal["row endpoints"].bytes == 4 * n
    window = sizes(MaskDescriptor.from_trapezoids(n, n, known_masks.sliding_window(n, 1024)))
    assert (window["FlashMask"].bytes, window["row endpoints"].bytes) == (4 * n, 12 * n)
    hstu = sizes(MaskDescriptor.from_trapezoids(n, n, known_masks.hstu(n - 2048, 2048)))
    assert (hstu["FlashMask"].bytes, hstu["row endpoints"].bytes) == (4 * n, 12 * n)


def test_a_disc_has_too_many_stretches_for_flash_mask() -> None:
    descriptor = disc(512, 64, 64, 16)
    found = sizes(descriptor)
    assert found["FlashMask"].bytes is None
    assert found["FlashMask"].reason == "a key is seen by 32 stretches of rows; it holds at most three"
    assert found["row endpoints"].bytes == 4 * 63 * descriptor.q_len
    choice = choose_plan(descriptor)
    assert found["PackedPlan 128 x 64"].bytes == choice.plan.nbytes
    assert found["PackedPlan 128 x 64"].note == str(choice.chosen)


def test_a_key_hidden_once_on_either_side_of_the_diagonal_takes_four_numbers() -> None:
    cells = np.ones((12, 12), np.bool_)
    cells[[2, 3, 9, 10], 6] = False
    assert sizes(descriptor_of(cells))["FlashMask"].bytes == 4 * 4 * 12
    cells[11, 6], cells[8, 6], cells[9, 6] = False, False, True
    assert sizes(descriptor_of(cells))["FlashMask"].reason == (
        "a key is hidden from 2 stretches of rows on and below the diagonal; it holds one"
    )


def test_unequal_lengths_say_why_they_are_not_compared() -> None:
    found = sizes(MaskDescriptor.from_trapezoids(3, 5, Trapezoids.rectangle(0, 3, 0, 5)))["FlashMask"]
    assert found.bytes is None
    assert found.reason == "it is compared for as many queries as keys only, and there are 3 and 5"


@pytest.mark.parametrize("length", [1, 300])
def test_plans_are_counted_as_they_are_built(length: int) -> None:
    descriptor = MaskDescriptor.from_trapezoids(length, length, known_masks.causal(length))
    found = sizes(descriptor)
    plan = plan_tiles(descriptor, 128, 64)
    arrays = [value for name in type(plan).__annotations__ if isinstance(value := getattr(plan, name), np.ndarray)]
    assert found["TilePlan 128 x 64"].bytes == sum(array.nbytes for array in arrays)
    assert found["PackedPlan 128 x 64"].bytes in {plan_packed(descriptor, 128, 64, chunk).nbytes for chunk in (8, 16)}
