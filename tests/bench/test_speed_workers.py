"""Cases compiled side by side are measured one by one, in order; a process that breaks takes one group with it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest
import torch

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
    found = workers.measured(cases("causal", "sliding"), lambda: began_at.append(time.monotonic()))
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
