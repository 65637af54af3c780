"""Cases compiled side by side are measured one by one, in order; a process that breaks takes one group with it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import torch

from benchmarks.ceiling import alone
from benchmarks.speed_cases import Case, HowToMeasure
from benchmarks.speed_workers import Workers, our_kernels

HOW = HowToMeasure(seconds=0.0, verified_cells=1 << 18, heat=0.0)


def cases(*names: str) -> list[Case]:
    return [
        Case(name, False, 64, 16, 1, 1, "float32", direction, ("torch", "sdpa_flash"))
        for name in names
        for direction in ("forward", "forward+backward")
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="of a machine without a CUDA device")
def test_a_broken_process_loses_its_case_and_the_others_are_measured_in_order(tmp_path: Path) -> None:
    workers = Workers(1, HOW, 300, tmp_path)
    began_at: list[float] = []

    def roof_of() -> float:
        began_at.append(time.monotonic())
        return 1.0

    found = workers.measured(cases("causal", "sliding"), roof_of)
    pid = workers._processes[0].process.pid
    assert pid is not None
    Timer(1.0, os.kill, (pid, signal.SIGKILL)).start()
    began = time.monotonic()
    pause = tmp_path / "pause"
    Timer(2.0, pause.touch).start()
    Timer(3.0, pause.unlink).start()
    Timer(4.0, (tmp_path / "measure").touch).start()
    rows = list(found)
    assert len(began_at) == 1
    assert began_at[0] - began > 4
    assert [(own[0]["mask"], own[0]["direction"], own[0]["verdict"]) for own in rows] == [
        ("causal", "forward", "error"), ("causal", "forward+backward", "passed"),
        ("sliding", "forward", "passed"), ("sliding", "forward+backward", "passed"),
    ]  # fmt: skip
    assert [row["reason"] for row in rows[0]] == ["the process that it was in ended with code -9"] * 2
    assert [row["verdict"] for row in rows[1]] == ["passed", "unsupported"]
    assert rows[1][0]["num_samples"] >= 9
    assert len(rows[1][0]["round_medians_ms"]) == 3
    assert not any(process.process.is_alive() for process in workers._processes)


def test_our_kernels_are_compiled_once_before_all_others() -> None:
    first = Case("clear", False, 64, 16, 1, 1, "float32", "forward", ("flex_attention", "triton", "hopper"))
    asked = [first, replace(first, name="hstu"), replace(first, name="causal", providers=("triton",))]
    ahead = [(case.name, case.direction, case.providers) for case in our_kernels(asked, 9)]
    assert ahead == [
        (name, "forward+backward", (provider,)) for name in ("causal", "clear") for provider in ("hopper", "triton")
    ]
    assert len(our_kernels(asked, 4)) == 3
    assert our_kernels(asked, 1) == []
    assert our_kernels([], 9) == []


GPU = torch.device("cuda")
ROW = {"verdict": "passed", "reason": None, "median_ms": 1.0, "tflops": 5.0}


def rates(*values: float) -> Callable[[torch.device], float]:
    left = iter(values)
    return lambda _device: next(left)


def test_rows_of_a_gpu_that_was_shared_are_measured_again_and_thrown_away_when_it_stays_so() -> None:
    asked: list[int] = []

    def rows() -> list[dict[str, Any]]:
        asked.append(1)
        return [dict(ROW)]

    (row,) = alone(rows, GPU, 700.0, rates(690, 650))
    assert row == ROW | {"gemm_before_tflops": 690, "gemm_after_tflops": 650}
    (row,) = alone(rows, GPU, 700.0, rates(690, 80, 300, 690, 640))
    assert (len(asked), row["verdict"]) == (3, "passed")
    (row,) = alone(rows, GPU, 700.0, rates(90, 80, 70, 690, 690, 90, 90, 90, 90, 80))
    assert (row["verdict"], row["median_ms"], row["tflops"]) == ("error", None, None)
    assert row["reason"] == (
        "something else used the GPU: a product reached 90 TFLOP/s before and 80 after, 700 when the run began"
    )
    assert alone(rows, torch.device("cpu"), 700.0, rates()) == [ROW]
