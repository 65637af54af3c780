"""The estimate of a case's memory: never below what its tensors take, and not far above."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import weakref
from typing import Any

import pytest
import torch
from oracles_attention import BoolArray, causal, descriptor_of, neighbourhood
from torch.utils._python_dispatch import TorchDispatchMode

from compilemask.bench import memory
from compilemask.bench.case import results_of, run_case
from compilemask.bench.impls import build_impl
from compilemask.bench.memory import check_memory, free_host_bytes, needed_bytes
from compilemask.bench.problem import problem_of
from compilemask.bench.protocol import CaseSpec, Direction, MeasureOptions
from compilemask.descriptor import MaskDescriptor

MASK = descriptor_of(causal(160, 160))
CPU = torch.device("cpu")


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of the tensors that are alive, as operations make them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, list | tuple) else (result,):
            if isinstance(tensor, torch.Tensor):
                self._add(tensor.untyped_storage())
        return result

    def _add(self, storage: Any) -> None:
        key = storage._cdata
        if key in self._known:
            return
        self._known.add(key)
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._remove, key, storage.nbytes())

    def _remove(self, key: int, nbytes: int) -> None:
        self._known.discard(key)
        self.now -= nbytes


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of chunks in the proportion to these small cases that the real ones have to large cases."""
    monkeypatch.setitem(memory.CELLS_PER_CHUNK, "cpu", 1 << 15)


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
@pytest.mark.parametrize("provider", ["torch", "reference", "dense", "sdpa"])
def test_the_estimate_covers_what_is_alive_and_little_more(provider: str, direction: Direction, kv_heads: int) -> None:
    mask = descriptor_of(neighbourhood(12, 16, 5))
    spec = CaseSpec("x", provider, mask.to_json(), 1, 4, kv_heads, 32, "float32", direction=direction)
    with LiveBytes() as live:
        run_case(spec, MeasureOptions(measure=False), device=CPU)
    needed = needed_bytes(spec, mask, "cpu")
    assert live.peak > 4 * 192 * 32 * 4
    assert live.peak <= needed <= 4 * live.peak


@pytest.mark.skipif(torch.cuda.is_available(), reason="counts what kernels in the interpreter allocate")
@pytest.mark.parametrize(("kv_heads", "direction"), [(4, "forward"), (4, "forward+backward"), (2, "forward+backward")])
@pytest.mark.parametrize("visible", [causal(300, 300), neighbourhood(12, 24, 5)], ids=["causal", "neighbourhood"])
def test_what_our_kernels_allocate_is_covered(visible: BoolArray, kv_heads: int, direction: Direction) -> None:
    mask = descriptor_of(visible)
    spec = CaseSpec("x", "triton", mask.to_json(), 1, 4, kv_heads, 32, "float32", direction=direction)
    with LiveBytes() as live:
        problem = problem_of(spec, mask, CPU)
        built = build_impl(problem, "triton")
        results_of(built, problem.do)
    sizes = memory._Sizes.of(spec, mask)
    counted = sizes.tensors + memory._provider(spec, mask, sizes)
    assert live.peak <= counted <= 4 * live.peak


def test_the_sums_of_the_fused_backward_and_copies_in_another_order_count() -> None:
    def own(provider: str, mask: MaskDescriptor, direction: Direction = "forward+backward", kv_heads: int = 4) -> int:
        spec = CaseSpec("x", provider, "", 1, 4, kv_heads, 64, "bfloat16", direction=direction)
        return memory._provider(spec, mask, memory._Sizes.of(spec, mask))

    sums = 4 * 160 * 64 * 4
    assert own("hopper", MASK) - own("hopper_deterministic", MASK) == sums
    assert own("hopper", MASK, "forward") == own("triton", MASK, "forward") >= 4 * 160 * 4
    assert own("triton", MASK) - own("triton", MASK, "forward") >= 2 * 4 * 4 * 160 * 4
    assert own("triton", MASK, kv_heads=2) - own("triton", MASK) == 4 * 2 * (4 + 2) * 160 * 64
    image = descriptor_of(neighbourhood(10, 16, 3))
    assert own("triton", image) - own("triton", MASK) >= 4 * 160 * 64 * (2 * 3 + 1) * 2


def test_every_size_counts() -> None:
    spec = CaseSpec("x", "dense", "", 1, 4, 4, 32, "bfloat16")
    least = needed_bytes(spec, MASK, "cpu")
    changes: tuple[dict[str, Any], ...] = (
        {"batch": 2}, {"num_q_heads": 8}, {"head_dim": 64}, {"dtype": "float32"}, {"direction": "backward"},
        {"v_head_dim": 64}, {"num_kv_heads": 2, "num_q_heads": 8},
    )  # fmt: skip
    for change in changes:
        assert needed_bytes(dataclasses.replace(spec, **change), MASK, "cpu") > least, change
    assert needed_bytes(spec, descriptor_of(causal(320, 320)), "cpu") > least


def test_dense_peers_need_memory_for_the_square_and_ours_do_not() -> None:
    mask = descriptor_of(causal(3000, 3000))
    spec = CaseSpec("x", "torch", "", 2, 4, 2, 16, "bfloat16")
    dense = needed_bytes(dataclasses.replace(spec, provider="sdpa_math"), mask, "cpu")
    assert dense >= 3000 * 3000 * 2 * 4 * 4
    assert needed_bytes(spec, mask, "cpu") < dense / 10


def test_a_case_that_does_not_fit_says_both_numbers_and_what_to_do() -> None:
    spec = CaseSpec("x", "torch", "", 1, 4, 4, 32, "bfloat16")
    check_memory(spec, MASK, "cuda", 1 << 40)
    with pytest.raises(ValueError, match=r"needs about 0\.0 GiB on cuda, 0\.0 GiB are free; use fewer heads"):
        check_memory(spec, MASK, "cuda", 1000)


def test_what_the_studio_asks_needs_no_torch() -> None:
    modules = ", ".join(f"compilemask.bench.{name}" for name in ("memory", "catalog", "flops", "protocol", "arguments"))
    code = f"import {modules}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_free_memory_is_part_of_what_is_installed() -> None:
    free = free_host_bytes()
    if free is not None:
        assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
