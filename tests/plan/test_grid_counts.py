"""grid_counts against the tiles of the dense mask."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_cells import Shape, trapezoids
from strategies import shapes

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, intersection, normalize, rectangle
from compilemask.plan import GridCounts, grid_counts


def brute_force(descriptor: MaskDescriptor, block_m: int, block_n: int) -> GridCounts:
    dense = descriptor.dense()
    kinds = [
        (bool(tile.any()), bool(tile.all()))
        for q in range(0, descriptor.q_len, block_m)
        for k in range(0, descriptor.kv_len, block_n)
        for tile in [dense[q : q + block_m, k : k + block_n]]
    ]
    full = sum(every for _, every in kinds)
    some = sum(visible for visible, _ in kinds)
    return GridCounts(full, some - full, len(kinds) - some)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(shapes(), st.integers(0, 14), st.integers(0, 20), st.integers(1, 6), st.integers(1, 6))
def test_counts_are_those_of_the_dense_grid(drawn: list[Shape], q_len: int, kv_len: int, m: int, n: int) -> None:
    runs = intersection(normalize(trapezoids(drawn)), rectangle(0, q_len, 0, kv_len))
    descriptor = MaskDescriptor(q_len, kv_len, runs)
    assert grid_counts(descriptor, m, n) == brute_force(descriptor, m, n)


@pytest.mark.parametrize("length", [1, 127, 128, 129, 1000])
def test_the_edge_counts_by_the_cells_that_exist(length: int) -> None:
    everything = MaskDescriptor.from_trapezoids(length, length, Trapezoids.rectangle(0, length, 0, length))
    tiles = (-(-length // 128)) ** 2
    assert grid_counts(everything, 128, 128) == GridCounts(tiles, 0, 0)


def test_two_billion_tokens_take_no_grid() -> None:
    n = 2**31 - 1
    causal = MaskDescriptor.from_trapezoids(n, n, Trapezoids.of(0, n, 0, 0, 1, 1))
    rows = -(-n // 2**16)
    assert grid_counts(causal, 2**16, 2**16) == GridCounts(rows * (rows - 1) // 2, rows, rows * (rows - 1) // 2)
