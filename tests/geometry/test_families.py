"""Runs that repeat at equal steps: folded without loss, the same for equal masks, and no more of them for longer masks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import descriptors

from compilemask.compiler import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, fold
from compilemask.geometry.families import LEVELS, MIN_REPEATS, MOVING
from compilemask.geometry.runs import SHAPE_ARRAYS
from compilemask.presets import preset_source

law = settings(max_examples=200, derandomize=True, deadline=None)


def rows_of(shapes: Trapezoids) -> list[tuple[int, ...]]:
    return sorted(zip(*(getattr(shapes, name).tolist() for name in SHAPE_ARRAYS), strict=True))


def bound(source: str, **values: object) -> MaskDescriptor:
    mask = compile(source if "mask " in source else preset_source(source)).bind(**values)
    assert isinstance(mask, MaskDescriptor)
    return mask


@law
@given(descriptors())
def test_families_unfold_to_the_very_runs_of_the_mask(descriptor: MaskDescriptor) -> None:
    families = descriptor.families()
    assert rows_of(families.unfold()) == rows_of(descriptor.trapezoids())
    assert families.num_runs == descriptor.num_runs
    assert len(families) == descriptor.num_families <= descriptor.num_runs
    repeats = families.counts > 1
    assert np.all(families.counts[repeats] >= MIN_REPEATS)
    assert np.all(repeats == families.steps.any(axis=2))
    assert families.nbytes == 8 * (6 * len(families) + 5 * int(repeats.sum()))
    first = families.first
    assert np.all(np.diff(first.q_start * 1000 + first.lo(first.q_start)) > 0)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=9))
def test_any_group_of_documents_folds_however_often_it_repeats(documents: list[tuple[int, bool]]) -> None:
    """Each document is causal or sees all of itself; documents of one token next to each other are one run."""
    length = np.array([n for n, _ in documents])
    slope = np.array([int(causal) for _, causal in documents])
    group = int(length.sum())

    def repeated(times: int) -> MaskDescriptor:
        start = (np.arange(times)[:, None] * group + np.cumsum(length) - length).ravel()
        rows, steep = np.tile(length, times), np.tile(slope, times)
        hi = np.where(steep == 1, 1, start + rows)
        shapes = Trapezoids.of(start, start + rows, 0, start, steep, hi)
        return MaskDescriptor.from_trapezoids(times * group, times * group, shapes)

    often = repeated(40)
    assert often.num_families == repeated(20).num_families <= repeated(1).num_runs + 2


@law
@given(
    st.lists(st.integers(3, 5), min_size=LEVELS, max_size=LEVELS),
    st.tuples(st.integers(1, 3), st.integers(-1, 1), st.integers(1, 4)),
    st.permutations(range(LEVELS)),
)
def test_a_grid_of_three_dimensions_is_one_family(
    counts: list[int], look: tuple[int, int, int], order: list[int]
) -> None:
    """Windows along lines, lines in planes and planes, with gaps: every level at steps of its own."""
    rows, slope, width = look
    pitch = rows + width + 7
    step = [pitch, pitch * counts[0] + 5, 0]
    step[2] = step[1] * counts[1] + 11
    index = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, LEVELS)
    start = index @ np.array(step)
    shapes = Trapezoids.of(
        start, start + rows, slope, start * (1 - slope) + 3, slope, start * (1 - slope) + 3 + width
    )  # fmt: skip
    places = np.lexsort(index.T[order])
    n = int(start[-1]) + pitch
    mask = MaskDescriptor.from_trapezoids(n, n, shapes.take(places))
    assert mask.num_runs == prod(counts)
    assert mask.num_families == 1
    assert sorted(mask.families().counts[0].tolist()) == sorted(counts)


GROWING: dict[str, tuple[Callable[[int], MaskDescriptor], int]] = {
    "steps": (lambda n: bound("mask m(n: int)\ntokens { S: n }\nS sees S k < (q // 4 + 1) * 4\n", n=4 * n), 1),
    "chunks": (lambda n: bound("llama4_chunked", n=8 * n, chunk=8), 1),
    "blocks that see those before": (
        lambda n: bound("mask m(b: int)\ntokens { N[i < b]: 4 }\nN[i] sees N[j] where j < i\n", b=n), 1,
    ),
    "equal documents with windows": (lambda n: bound("document_sliding", lengths=[90] * n, window=16), 2),
    "lines of an image": (lambda n: bound("clear", text=16, height=n, width=64, radius=5), 170),
    "windows pushed inside": (lambda n: bound("natten_2d", height=n, width=24, kernel=[5, 5]), 80),
    "tiles of a grid": (
        lambda n: bound("natten_tiled", height=2 * n, width=24, kernel=5, tile=[4, 4]),
        320,
    ),
    "every so many keys": (lambda n: bound("strided", n=16 * n, stride=16), 3),
    "a dilated window": (lambda n: bound("dilated_window", n=64 * n, window=64 * n, dilation=32), 10),
    "blocks of diffusion": (lambda n: bound("bd3lm", blocks=n, size=4), 4),
    "frames": (lambda n: bound("video", chunks=n, tokens_per_chunk=16, window=4), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_what_repeats_more_often_has_no_more_families(name: str) -> None:
    make, most = GROWING[name]
    short, long = make(24), make(96)
    assert long.num_runs >= 3 * short.num_runs
    assert short.num_families == long.num_families <= most


def test_families_depend_on_the_cells_alone() -> None:
    steps = bound("mask m(n: int)\ntokens { S: n }\nS sees S k < (q // 4 + 1) * 4\n", n=4000)
    blocks = bound("mask m(b: int)\ntokens { N[i < b]: 4 }\nN[i] sees N[j] where j <= i\n", b=1000)
    assert steps.to_json() == blocks.to_json()
    assert len(steps.to_json()) < 200


def test_numbers_without_an_order_stay_single_and_cost_little() -> None:
    lengths = np.random.default_rng(0).integers(1, 10**6, 2000)
    mask = bound("documents", lengths=lengths.tolist())
    assert mask.num_runs - mask.num_families <= 20
    assert mask.families().nbytes <= 8 * 6 * mask.num_runs


def test_no_shape_makes_no_family() -> None:
    families = fold(Trapezoids.empty())
    assert (len(families), families.num_runs, families.nbytes, len(families.unfold())) == (0, 0, 0, 0)
    assert families.steps.shape == (0, LEVELS, len(MOVING))
