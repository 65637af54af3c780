"""Set algebra, slices, shifts and transposes against Python sets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, canonical, cells_of_runs, cells_of_shapes, pieces_of, trapezoids
from strategies import shapes

from compilemask.geometry import (
    RunSet,
    Trapezoids,
    algebra,
    combine,
    complement,
    difference,
    intersection,
    normalize,
    rectangle,
    shift,
    slice_columns,
    slice_rows,
    transpose,
    union,
)
from compilemask.geometry.ragged import BoolArray
from compilemask.geometry.verdicts import surely_apart, surely_within

law = settings(max_examples=200, derandomize=True, deadline=None)
sets = shapes(max_size=4)


def runs_of(drawn: list[Shape]) -> RunSet:
    return normalize(trapezoids(drawn))


@law
@given(sets, sets, sets, st.integers(1, 40))
def test_sets_taken_in_parts_give_the_same(a: list[Shape], b: list[Shape], c: list[Shape], at_once: int) -> None:
    def two_of_three(inside: BoolArray) -> BoolArray:
        chosen: BoolArray = inside.sum(axis=0) == 2
        return chosen

    parts = [trapezoids(a), runs_of(b), trapezoids(c)]
    whole = combine(parts, two_of_three)
    with pytest.MonkeyPatch.context() as smaller:
        smaller.setattr(algebra, "MEMBERSHIPS_AT_ONCE", at_once)
        assert combine(parts, two_of_three).equal(whole)
    cells = [cells_of_shapes(drawn) for drawn in (a, b, c)]
    assert cells_of_runs(whole) == {cell for cell in set().union(*cells) if sum(cell in one for one in cells) == 2}


@law
@given(sets, sets)
def test_union_intersection_and_difference_are_those_of_the_cells(a: list[Shape], b: list[Shape]) -> None:
    cells_a, cells_b = cells_of_shapes(a), cells_of_shapes(b)
    for function, cells in (
        (union, cells_a | cells_b),
        (intersection, cells_a & cells_b),
        (difference, cells_a - cells_b),
    ):
        assert pieces_of(function(runs_of(a), runs_of(b))) == canonical(cells)


@law
@given(sets, sets)
def test_shapes_that_overlap_are_sets_too(a: list[Shape], b: list[Shape]) -> None:
    cells_a, cells_b = cells_of_shapes(a), cells_of_shapes(b)
    raw_a, raw_b = trapezoids(a), trapezoids(b)
    assert pieces_of(intersection(raw_a, runs_of(b))) == canonical(cells_a & cells_b)
    assert pieces_of(difference(runs_of(a), raw_b)) == canonical(cells_a - cells_b)
    assert pieces_of(combine([raw_a, raw_b], lambda inside: inside[0] ^ inside[1])) == canonical(cells_a ^ cells_b)


def test_hundreds_of_shapes_may_lie_on_one_cell() -> None:
    heap = Trapezoids.concat([Trapezoids.rectangle(0, 9, 0, 9)] * 300)
    assert intersection(heap, rectangle(4, 20, 4, 20)).equal(rectangle(4, 9, 4, 9))
    assert difference(rectangle(0, 10, 0, 9), heap).equal(rectangle(9, 10, 0, 9))


@settings(max_examples=400, derandomize=True, deadline=None)
@given(sets, sets)
def test_what_pairs_of_shapes_tell_is_true(a: list[Shape], b: list[Shape]) -> None:
    cells_a, cells_b = cells_of_shapes(a), cells_of_shapes(b)
    if surely_apart(trapezoids(a), trapezoids(b)):
        assert not cells_a & cells_b
    if surely_within(trapezoids(a), trapezoids(b)):
        assert cells_a <= cells_b


def test_pairs_of_shapes_tell_what_assertions_ask() -> None:
    causal = Trapezoids.of(0, 99, 0, 0, 1, 1)
    above, below, diagonal = (
        Trapezoids.of(0, 99, 1, 1, 0, 99), Trapezoids.of(0, 99, 0, 0, 1, 0), Trapezoids.of(0, 99, 1, 0, 1, 1),
    )  # fmt: skip
    assert surely_apart(causal, above) and surely_apart(Trapezoids.concat([above, below]), diagonal)
    assert surely_apart(Trapezoids.rectangle(0, 5, 0, 9), Trapezoids.rectangle(5, 9, 0, 9))
    assert surely_within(Trapezoids.concat([below, diagonal]), causal) and surely_within(Trapezoids.empty(), causal)
    assert not surely_apart(causal, diagonal) and not surely_within(causal, diagonal)
    assert not surely_within(Trapezoids.rectangle(0, 100, 0, 1), causal)


@law
@given(sets)
def test_complement_is_the_rest_of_the_rectangle(a: list[Shape]) -> None:
    cells = cells_of_shapes(a)
    rest = frozenset((q, k) for q in range(11) for k in range(17)) - cells
    assert pieces_of(complement(runs_of(a), 11, 17)) == canonical(rest)


@law
@given(sets, sets)
def test_de_morgan_and_double_complement(a: list[Shape], b: list[Shape]) -> None:
    left, right = (intersection(runs_of(x), rectangle(0, 14, 0, 20)) for x in (a, b))
    outside = complement(union(left, right), 14, 20)
    assert outside.equal(intersection(complement(left, 14, 20), complement(right, 14, 20)))
    assert complement(complement(left, 14, 20), 14, 20).equal(left)


@law
@given(st.lists(sets, min_size=3, max_size=5))
def test_combine_takes_any_function_of_the_memberships(drawn: list[list[Shape]]) -> None:
    cells = [cells_of_shapes(shapes) for shapes in drawn]
    odd = frozenset(c for c in frozenset().union(*cells) if sum(c in part for part in cells) % 2)
    assert pieces_of(combine([runs_of(x) for x in drawn], lambda inside: inside.sum(axis=0) % 2 == 1)) == canonical(odd)


def test_combine_refuses_to_keep_the_infinite_outside() -> None:
    with pytest.raises(ValueError, match="bounding rectangle"):
        combine([rectangle(0, 2, 0, 2)], lambda inside: ~inside[0])


def test_combining_nothing_is_the_empty_set() -> None:
    assert combine([], lambda inside: inside.any(axis=0)).equal(RunSet.empty())
    assert combine([RunSet.empty()], lambda inside: inside[0]).equal(RunSet.empty())


@law
@given(sets)
def test_transpose_swaps_rows_and_columns(a: list[Shape]) -> None:
    inside = intersection(runs_of(a), rectangle(0, 14, 0, 20))
    swapped = frozenset((k, q) for q, k in cells_of_runs(inside))
    assert pieces_of(transpose(inside)) == canonical(swapped)
    assert transpose(transpose(inside)).equal(inside)


@law
@given(shapes(max_size=4, steepest=1))
def test_transpose_of_unit_slopes(a: list[Shape]) -> None:
    inside = intersection(runs_of(a), rectangle(0, 14, 0, 20))
    swapped = frozenset((k, q) for q, k in cells_of_runs(inside))
    assert pieces_of(transpose(inside)) == canonical(swapped)


def test_transpose_of_unit_slopes_does_not_depend_on_the_length() -> None:
    n = 2**31 - 1
    window = normalize(Trapezoids.of([0, 99], [99, n], [0, 1], [0, -99], [1, 1], [1, 1]))
    turned = transpose(window)
    assert turned.num_cells == window.num_cells
    assert transpose(turned).equal(window)
    with pytest.raises(ValueError, match="slopes other than -1, 0 and 1"):
        transpose(normalize(Trapezoids.of(0, n // 2, 2, 0, 2, 1)))


@law
@given(sets, st.integers(-3, 17), st.integers(-3, 22), st.integers(0, 9))
def test_slices_and_shifts(a: list[Shape], row: int, column: int, length: int) -> None:
    cells, runs = cells_of_shapes(a), runs_of(a)
    rows = frozenset((q, k) for q, k in cells if row <= q < row + length)
    columns = frozenset((q, k) for q, k in cells if column <= k < column + length)
    assert pieces_of(slice_rows(runs, row, row + length)) == canonical(rows)
    assert pieces_of(slice_columns(runs, column, column + length)) == canonical(columns)
    moved = frozenset((q + row, k + column) for q, k in cells)
    assert pieces_of(shift(runs, row, column)) == canonical(moved)
