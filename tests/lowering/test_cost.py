"""Binding costs by runs, not by cells: long masks are bound quickly and in little memory."""

from __future__ import annotations

import sys
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from compilemask.compiler import compile
from compilemask.plan import plan_tiles
from compilemask.presets import preset_source

SELF = "mask m(n: int)\ntokens { S: n }\nS sees S "
LENGTHS = np.random.default_rng(0).integers(1, 666, 3000)
PREFIXES = np.random.default_rng(1).integers(0, 99, 3000)


CASES: list[tuple[str, str, dict[str, Any], int]] = [
    ("causal", preset_source("causal"), {"n": 10**9}, 1),
    ("streaming", preset_source("streaming"), {"n": 10**9, "window": 10**6}, 3),
    ("hstu", preset_source("hstu"), {"context": 6, "history": 10**8, "targets": 10**6}, 4),
    ("shared_prompt", preset_source("shared_prompt"), {"prompt": 8192, "responses": [4096] * 6}, 11),
    ("documents", preset_source("documents"), {"lengths": LENGTHS}, 3100),
    ("prefix_lm", preset_source("prefix_lm"), {"prefix": PREFIXES, "rest": LENGTHS}, 6000),
    ("clear", preset_source("clear"), {"text": 512, "height": 128, "width": 256}, 70_000),
    ("bd3lm", preset_source("bd3lm"), {"blocks": 4096, "size": 4}, 12_286),
    ("blocks", "mask m(b: int)\ntokens { N[i < b]: 4 }\nN[i] sees N[j] where j < i\n", {"b": 2**16}, 2**16),
    ("long_window", SELF + "causal and q - k < 4096 and q // 8192 == k // 8192\n", {"n": 2**20}, 1024),
    ("congruence", SELF + "causal and q - k < 2048 and q % 128 == k % 128\n", {"n": 2**20}, 32_000),
    ("positions", "mask m(a: int[])\ntokens { D[i]: a[i] }\nD[i] sees D[i] where q.pos - k.pos < 64 and causal\n", {"a": LENGTHS}, 6000),
    ("neighbours", "mask m(a: int[])\ntokens { D[i]: a[i] }\nD[i] sees D[j] where j == i + 1 and k.pos < 5\n", {"a": LENGTHS}, 3000),
    ("ball", "mask m(n: int)\ntokens { S: n x n x n }\nS sees S where dz*dz + dy*dy + dx*dx < 9\n", {"n": 64}, 500_000),
    ("square", "mask m(h: int)\ntokens { S: h x h }\nS sees S where abs(dy) <= 8 and abs(dx) <= 8\n", {"h": 512}, 60_000),
]  # fmt: skip


@pytest.mark.parametrize(("name", "source", "values", "runs"), CASES, ids=[case[0] for case in CASES])
def test_a_long_mask_is_bound_in_time_and_memory_of_its_runs(name: str, source: str, values: dict[str, Any], runs: int):
    program = compile(source)
    tracemalloc.start()
    start = time.perf_counter()
    descriptor = program.bind(**values)
    seconds = time.perf_counter() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert descriptor.num_runs <= runs
    # ten times what a quiet machine needs, and far below what touching every cell would take
    assert seconds < 5
    assert peak < 400 * 2**20
    assert descriptor.visible_pairs > 0


SMALL: dict[str, tuple[dict[str, Any], int]] = {
    "causal": ({"n": 32768}, 3_900),
    "hstu": ({"context": 0, "history": 30720, "targets": 2048}, 10_000),
    "shared_prompt": ({"prompt": 8192, "responses": [2048] * 12, "padding": 0}, 10_800),
}
"""Numbers of 32K tokens, and how many calls of functions one bind and plan may make, a quarter more than it does."""


@pytest.mark.parametrize("name", SMALL)
def test_the_work_of_small_masks_is_a_few_thousand_calls(name: str):
    """Small masks cost what their NumPy calls cost, and calls can be counted on a busy machine, unlike milliseconds."""
    values, most = SMALL[name]
    program = compile(preset_source(name))
    plan_tiles(program.bind(**values), 128, 128)
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        plan_tiles(program.bind(**values), 128, 128)
    finally:
        sys.setprofile(None)
    assert counted <= most


@pytest.mark.parametrize("name", SMALL)
def test_the_time_of_small_masks_is_milliseconds(name: str):
    values, _ = SMALL[name]
    program = compile(preset_source(name))
    times = []
    for _ in range(20):
        start = time.thread_time()
        plan_tiles(program.bind(**values), 128, 128)
        times.append(time.thread_time() - start)
    assert min(times) < 0.02
