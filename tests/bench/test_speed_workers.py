"""Cases compiled side by side are measured one by one, in order; a process that breaks takes one group with it."""

from __future__ import annotations

import os
import signal
import time

import pytest
import torch

from benchmarks.speed_cases import Case, HowToMeasure
from benchmarks.speed_workers import Workers

HOW = HowToMeasure(seconds=0.0, verified_cells=1 << 18, heat=0.0)


def cases(*names: str) -> list[Case]:
    return [
        Case(name, False, 64, 16, 1, 1, "float32", direction, ("torch", "sdpa_flash"))
        for name in names
        for direction in ("forward", "forward+backward")
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="of a machine without a CUDA device")
def test_a_broken_process_loses_its_group_and_the_others_are_measured_in_order() -> None:
    rests: list[int] = []
    workers = Workers(1, HOW, time.monotonic() + 300)
    pid = workers._workers[0].process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    found = list(workers.measured(cases("causal", "sliding", "full"), lambda: rests.append(1)))
    assert [(rows[0]["mask"], rows[0]["direction"], rows[0]["verdict"]) for rows in found] == [
        ("causal", "forward", "error"), ("causal", "forward+backward", "error"),
        ("sliding", "forward", "passed"), ("sliding", "forward+backward", "passed"),
        ("full", "forward", "passed"), ("full", "forward+backward", "passed"),
    ]  # fmt: skip
    assert [row["reason"] for row in found[0]] == ["the process that compiled it ended with code -9"] * 2
    assert [row["verdict"] for row in found[2]] == ["passed", "unsupported"]
    assert found[3][0]["num_samples"] >= 9
    assert len(found[3][0]["round_medians_ms"]) == 3
    assert rests
    assert not any(worker.process.is_alive() for worker in workers._workers)


@pytest.mark.skipif(torch.cuda.is_available(), reason="of a machine without a CUDA device")
def test_nothing_is_begun_when_the_time_is_up() -> None:
    workers = Workers(1, HOW, time.monotonic())
    assert list(workers.measured(cases("causal"), lambda: None)) == []
