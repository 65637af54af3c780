"""Compiles what a table will run, in several processes at once, so that its one measuring process finds it in the caches on disk."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
from collections.abc import Sequence

import torch

from benchmarks.speed_cases import Case, build
from compilemask.bench.case import default_device, time_first_call
from compilemask.bench.inputs import TORCH_DTYPE
from compilemask.bench.problem import Problem


def compile_ahead(cases: Sequence[Case], processes: int, *, seconds: float) -> None:
    """Every provider of every case once, on zeros; what is not done after `seconds` is left to the measuring process."""
    work = [(case, provider) for case in cases for provider in case.providers]
    context = multiprocessing.get_context("spawn")
    began = time.monotonic()
    slices = [work[start::processes] for start in range(min(processes, len(work)))]
    running = [context.Process(target=_compile, args=(part,), daemon=True) for part in slices]
    # Each would start as many compiling processes as there are cores.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "2"
    for process in running:
        process.start()
    del os.environ["TORCHINDUCTOR_COMPILE_THREADS"]
    for process in running:
        process.join(max(0.0, seconds - (time.monotonic() - began)))
    late = [process for process in running if process.is_alive()]
    for process in late:
        process.terminate()
        process.join()
    spent = time.monotonic() - began
    print(
        f"compiled ahead in {spent:.0f} s, {len(running) - len(late)} of {len(running)} processes came to the end",
        flush=True,
    )


def _compile(work: Sequence[tuple[Case, str]]) -> None:
    """What fails here fails again where it is measured, and is told there."""
    for case, provider in work:
        try:
            problem = _zeros(case)
            built = build(case, provider, problem)
            if built.first_call_ms is None:
                time_first_call(built, problem)
        except Exception as found:
            print(
                f"compile ahead: {case.name} {case.length} {provider}: {str(found).strip().splitlines()[:1]}",
                flush=True,
            )
        torch.compiler.reset()


def _zeros(case: Case) -> Problem:
    """The shapes and dtypes of the case, which decide what is compiled."""
    mask, device = case.mask.descriptor(case.length), default_device()
    backward = case.direction != "forward"

    def zeros(heads: int, length: int) -> torch.Tensor:
        return torch.zeros(1, heads, length, case.head_dim, dtype=TORCH_DTYPE[case.dtype], device=device)

    leaves = itertools.starmap(
        zeros, ((case.heads, mask.q_len), (case.kv_heads, mask.kv_len), (case.kv_heads, mask.kv_len))
    )
    q, k, v = (x.requires_grad_(backward) for x in leaves)
    do = zeros(case.heads, mask.q_len) if backward else None
    return Problem(q, k, v, mask, case.head_dim**-0.5, do, case.mask.activation)
