"""What Nsight Compute prints becomes one row of numbers for each of our kernels."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import ncu_summary

TEXT = """\
==PROF== Connected to process 1
  hopper_forward_kernel (132, 1, 1)x(384, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    SM Frequency                    Mhz     1,650.00
    Memory Throughput                 %        50.97
    Duration                         us       401.34
    L1/TEX Cache Throughput           %        52.24
    ----------------------- ----------- ------------

    OPT   Tensor is the highest-utilized pipeline (78.3%) based on elapsed cycles in the workload, taking into account

    Local Memory Spilling Requests                           12,816
    Memory Throughput                          Gbyte/s       363.22
    Dynamic Shared Memory Per Block      Kbyte/block            197.06
  void at::vectorized_elementwise_kernel<8, at::FillFunctor<float>>(int, T2) (16384, 1, 1)x(128, 1, 1), Context 1, Stream 7
    Duration                         us        11.84
  convert_kernel (16384, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Duration                         ms         1.49
    Dynamic Shared Memory Per Block       byte/block             128
"""


def test_each_of_our_kernels_has_its_numbers_in_one_unit() -> None:
    forward, convert = ncu_summary.kernels(TEXT)
    assert forward == {
        "kernel": "hopper_forward_kernel", "grid": "132, 1, 1", "block": "384, 1, 1", "sm_clock": pytest.approx(1.65),
        "memory_percent": 50.97, "duration": pytest.approx(0.40134), "l1_percent": 52.24, "busiest_pipeline": "Tensor",
        "pipeline_percent": 78.3, "spill_requests": 12816.0, "shared_kbytes": 197.06,
    }  # fmt: skip
    assert convert == {
        "kernel": "convert_kernel", "grid": "16384, 1, 1", "block": "128, 1, 1", "duration": 1.49,
        "shared_kbytes": pytest.approx(0.128),
    }  # fmt: skip


def test_the_file_says_where_and_of_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile, like = tmp_path / "p.txt", tmp_path / "like.json"
    profile.write_text(TEXT)
    like.write_text(json.dumps({"environment": {"device": "G", "source": "a", "commit": "b"}, "rows": []}))
    words = ["x", str(profile), "--out", str(tmp_path), "--work", "causal", "--like", str(like)]
    monkeypatch.setattr(sys, "argv", words)
    assert ncu_summary.main() == 0
    found = json.loads((tmp_path / "ncu.json").read_text())
    assert (found["environment"], found["work"], len(found["rows"])) == ({"device": "G"}, "causal", 2)
    assert found["command"].startswith("ncu ")
    profile.write_text("nothing")
    assert ncu_summary.main() == 1
