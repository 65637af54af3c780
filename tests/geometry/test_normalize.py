"""normalize: the cells are kept, and equal cells give equal arrays."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, canonical, cells_of_runs, cells_of_shapes, pieces_of, trapezoids
from strategies import shapes

from compilemask.geometry import RunSet, Trapezoids, normalize, recut, sweep


@settings(max_examples=400, derandomize=True, deadline=None)
@given(shapes())
def test_normalize_keeps_exactly_the_cells_in_the_canonical_cut(drawn: list[Shape]) -> None:
    cells = cells_of_shapes(drawn)
    runs = normalize(trapezoids(drawn))
    assert cells_of_runs(runs) == cells
    assert pieces_of(runs) == canonical(cells)
    assert runs.num_cells == len(cells)


def rewrite(drawn: list[Shape], rng: random.Random) -> list[Shape]:
    """The same cells in other shapes: rows split, columns split, shapes repeated and shuffled."""
    result: list[Shape] = []
    for q0, q1, a, b, c, d in drawn:
        cut = rng.randint(q0, q1)
        for start, stop in ((q0, cut), (cut, q1)):
            match rng.randrange(4):
                case 0:
                    result.append((start, stop, a, b, c, d))
                case 1:  # at a column of its own, one shape on each side
                    middle = rng.randint(-5, 25)
                    for q in range(start, stop):
                        lo, hi = a * q + b, c * q + d
                        at = min(max(middle, lo), max(hi, lo))
                        result += [(q, q + 1, 0, lo, 0, at), (q, q + 1, 0, at, 0, hi)]
                case 2:
                    result += [(start, stop, a, b, c, d), (start, stop, a, b, c, d)]
                case _:
                    result += [(q, q + 1, 7, a * q + b - 7 * q, -5, c * q + d + 5 * q) for q in range(start, stop)]
    rng.shuffle(result)
    return result


@settings(max_examples=300, derandomize=True, deadline=None)
@given(shapes(), st.integers(0, 2**32))
def test_equal_cells_give_equal_arrays_however_they_were_written(drawn: list[Shape], seed: int) -> None:
    assert normalize(trapezoids(rewrite(drawn, random.Random(seed)))).equal(normalize(trapezoids(drawn)))


@settings(max_examples=100, derandomize=True, deadline=None)
@given(shapes())
def test_the_canonical_form_is_a_fixed_point(drawn: list[Shape]) -> None:
    runs = normalize(trapezoids(drawn))
    assert normalize(runs.trapezoids()).equal(runs)
    assert recut(runs).equal(runs)


def test_causal_is_one_run_at_any_length() -> None:
    for n in (1, 2, 32768, 2**31 - 1):
        runs = normalize(Trapezoids.of(0, n, 0, 0, 1, 1))
        assert (runs.num_pieces, runs.num_runs) == (1, 1)
        assert runs.num_cells == n * (n + 1) // 2


def test_a_window_as_long_as_the_sequence_is_causal() -> None:
    causal = normalize(Trapezoids.of(0, 100, 0, 0, 1, 1))
    for window in (100, 101, 1000):
        parts = Trapezoids.of([0, window - 1], [min(window, 100), 100], [0, 1], [0, 1 - window], [1, 1], [1, 1])
        assert normalize(parts).equal(causal)


def test_a_sliding_window_is_two_pieces_with_the_shared_row_in_the_longer() -> None:
    runs = normalize(Trapezoids.of([0, 16], [16, 100], [0, 1], [0, -15], [1, 1], [1, 1]))
    assert runs.piece_start.tolist() == [0, 15]
    assert runs.piece_stop.tolist() == [15, 100]


def test_lines_that_all_cross_each_other_in_one_slab() -> None:
    drawn: list[Shape] = [(0, 14, s, 10 - 6 * s + s % 2, -s, 14 + 5 * s) for s in range(-6, 7)]
    cells = cells_of_shapes(drawn)
    assert pieces_of(normalize(trapezoids(drawn))) == canonical(cells)


def test_a_line_that_crosses_many_others_is_cut_at_each_of_them() -> None:
    columns = range(0, 120, 2)
    drawn: list[Shape] = [(0, 120, 0, 0, 1, 1), *((0, 120, 0, k, 0, k + 1) for k in columns)]
    cells = cells_of_shapes(drawn)
    assert pieces_of(normalize(trapezoids(drawn))) == canonical(cells)


def test_a_line_that_crosses_too_many_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MAX_ENDS", 2**16)
    columns = np.arange(2**9)
    none = np.zeros(len(columns), np.int64)
    apart = Trapezoids(none, none + 2**10, none, 2 * columns, none, 2 * columns + 1)
    assert normalize(apart).num_runs == len(columns)
    with pytest.raises(ValueError, match="interval ends"):
        normalize(Trapezoids.concat([apart, Trapezoids.of(0, 2**10, 0, 0, 1, 1)]))


def test_nothing_is_the_empty_set() -> None:
    assert normalize(Trapezoids.empty()).equal(RunSet.empty())
    assert normalize(Trapezoids.rectangle(3, 3, 0, 9)).equal(RunSet.empty())
    assert normalize(Trapezoids.of(0, 9, 1, 0, 0, -3)).equal(RunSet.empty())


def test_arrays_are_read_only() -> None:
    runs = normalize(Trapezoids.rectangle(0, 4, 1, 3))
    with pytest.raises(ValueError, match="read-only"):
        runs.lo_offset[0] = 2


def test_numbers_that_int64_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*31 - 1, got row 2147483648"):
        normalize(Trapezoids.rectangle(0, 2**31, 0, 1))
    with pytest.raises(ValueError, match=r"2\*\*61, got slope 2147483648"):
        normalize(Trapezoids.of(0, 2**31 - 1, 2**31, 0, 2**31, 1))
    with pytest.raises(ValueError, match="interval ends"):
        half = list(range(3000))
        normalize(
            Trapezoids.rectangle(half, [9000 - i for i in half], [2 * i for i in half], [2 * i + 1 for i in half])
        )


def test_values_near_the_limit_are_exact() -> None:
    n = 2**31 - 1
    runs = normalize(Trapezoids.of([0, 0], [n, n], [0, 0], [0, 0], [1, -1], [1, n]))
    middle = n // 2
    assert runs.num_cells == n * (n + 1) - sum_min(n)
    assert runs.piece_stop[0] in (middle, middle + 1)


def sum_min(n: int) -> int:
    """sum over q < n of min(q + 1, n - q)."""
    half = n // 2
    return half * (half + 1) + (half + 1) * (n % 2)


def test_shapes_must_be_int64_arrays_of_one_length() -> None:
    with pytest.raises(ValueError, match="q_stop must hold integers, got float64"):
        Trapezoids.rectangle(0, 1.5, 0, 1)  # type: ignore[arg-type]
    one, two = Trapezoids.rectangle(0, 1, 0, 1), Trapezoids.rectangle([0, 0], 1, 0, 1)
    with pytest.raises(ValueError, match="one length, got 1 q_start, 2 q_stop"):
        Trapezoids(one.q_start, two.q_stop, one.lo_slope, one.lo_offset, one.hi_slope, one.hi_offset)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(0, 5),
            st.integers(-2, 2),
            st.integers(-9, 9),
            st.integers(-2, 2),
            st.integers(-9, 9),
        ),
        max_size=6,
    )
)
def test_shapes_in_rows_of_their_own_need_no_sweep_and_give_the_same(drawn: list[tuple[int, ...]]) -> None:
    stacked, row = [], 0
    for gap, rows, *ends in drawn:
        stacked.append((row + gap, row + gap + rows, *ends))
        row += gap + rows
    shapes = trapezoids(stacked)  # type: ignore[arg-type]
    assert pieces_of(normalize(shapes)) == canonical(cells_of_shapes(stacked))  # type: ignore[arg-type]
    backwards = np.arange(len(shapes))[::-1]
    assert normalize(shapes.take(backwards)).equal(normalize(shapes))
