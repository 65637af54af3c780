"""What normalising, planning and drawing cost: goals for one quiet core, with room for a busy one.

Times are processor times, the best of a few.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import known_masks
import numpy as np
import pytest

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids, normalize, transpose, union
from compilemask.plan import grid_counts, plan_tiles
from compilemask.preview import density_tile, levels

ROOM = 5
N = 32768
MILLION = 2**20


def milliseconds(work: Callable[[], object], repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1000 * best


KNOWN = {
    "causal": (N, known_masks.causal(N), 2.0, 5.0),
    "sliding window": (N, known_masks.sliding_window(N, 1024), 2.0, 5.0),
    "hstu": (N, known_masks.hstu(24576, 8192), 2.0, 5.0),
    "shared prompt": (N, known_masks.shared_prompt(8192, 12, 2048), 2.0, 5.0),
    "clear": (33280, known_masks.clear(512, 128, 256, 16), 100.0, 100.0),
    "documents": (MILLION, known_masks.documents(MILLION, 3000), 40.0, 100.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_normalize_and_plan(name: str) -> None:
    n, shapes, normalize_goal, plan_goal = KNOWN[name]
    assert milliseconds(lambda: normalize(shapes)) < ROOM * normalize_goal
    assert milliseconds(lambda: plan_tiles(MaskDescriptor.from_trapezoids(n, n, shapes), 128, 128)) < ROOM * plan_goal
    descriptor = MaskDescriptor.from_trapezoids(n, n, shapes)
    assert milliseconds(lambda: grid_counts(descriptor, 128, 128)) < ROOM * plan_goal


@pytest.mark.parametrize("name", KNOWN)
def test_any_tile_of_the_picture(name: str) -> None:
    n, shapes, _, _ = KNOWN[name]
    descriptor = MaskDescriptor.from_trapezoids(n, n, shapes)
    descriptor.trapezoids()
    for level in range(levels(descriptor)):
        tiles = -(-n // (256 << level))
        for tile_y, tile_x in {(0, 0), (tiles // 2, tiles // 2), (tiles - 1, 0)}:
            assert milliseconds(lambda z=level, y=tile_y, x=tile_x: density_tile(descriptor, z, y, x), 1) < ROOM * 10


def test_length_costs_nothing() -> None:
    short, long = (known_masks.sliding_window(n, 1024) for n in (4096, 2**31 - 1))
    for work in (
        normalize,
        lambda shapes: union(normalize(shapes), normalize(shapes)),
        lambda s: transpose(normalize(s)),
    ):
        assert milliseconds(lambda work=work: work(long), 9) < ROOM * milliseconds(lambda work=work: work(short), 9)


def test_a_million_tokens_of_documents_need_little_memory() -> None:
    shapes = known_masks.documents(MILLION, 3000)
    tracemalloc.start()
    plan = plan_tiles(MaskDescriptor.from_trapezoids(MILLION, MILLION, shapes), 128, 128)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64e6
    assert plan.num_q_tiles == 8192


def test_clear_keeps_few_trapezoids() -> None:
    shapes = known_masks.clear(512, 128, 256, 16)
    descriptor = MaskDescriptor.from_trapezoids(33280, 33280, shapes)
    assert descriptor.num_runs <= len(shapes)
    assert (~~descriptor).visible_pairs == descriptor.visible_pairs


def test_many_lines_that_cross_are_cut_in_reasonable_time() -> None:
    slopes = np.arange(-40, 41)
    shapes = Trapezoids.of(0, 4000, slopes, 400_000 - 1999 * slopes, slopes, 400_003 - 1999 * slopes + slopes % 7)
    assert milliseconds(lambda: normalize(shapes), 1) < 5000
