"""What a reader of a speed is told: unsettled times, launches that take all of it, rates that no device has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compilemask.bench.environment import driver_of_kernel
from compilemask.bench.measure import Timing
from compilemask.bench.notes import notes_on, peak_tflops


def timing(**changes: Any) -> Timing:
    fields: dict[str, Any] = {
        "samples_ms": (1.0, 1.0, 1.1), "warmup_runs": 5, "steady": True, "cache_state": "warm", "launch_ms": 0.1,
    }  # fmt: skip
    return Timing(**fields | changes)


def test_a_plain_case_needs_no_words() -> None:
    assert notes_on("bfloat16", 600.0, timing(), "NVIDIA H200") == ()
    assert notes_on("bfloat16", 0.1, timing(launch_ms=None), "CPU AMD EPYC") == ()


def test_times_that_did_not_settle_are_said_to() -> None:
    (note,) = notes_on("bfloat16", 600.0, timing(steady=False), "NVIDIA H200")
    assert note == "times had not settled when the warm-up ended"


def test_a_case_that_measures_the_host_is_flagged() -> None:
    (note,) = notes_on("bfloat16", 5.0, timing(launch_ms=0.9), "NVIDIA H200")
    assert note.startswith("launching takes 0.900 ms of 1.000: this measures the host")


def test_causal_credited_with_the_square_is_above_the_peak_and_flagged() -> None:
    # 16,384 causal tokens at 650 TFLOP/s of visible pairs, credited with every pair.
    (note,) = notes_on("bfloat16", 1300.0, timing(), "NVIDIA H200")
    assert note == "1300 TFLOP/s are more than the 989 that this device can do: do not trust this row"
    (note,) = notes_on("float32", 70.0, timing(), "NVIDIA H200")
    assert "more than the 67" in note


@pytest.mark.parametrize(
    ("device", "half"),
    [
        ("NVIDIA H200", 989.4),
        ("NVIDIA H100 80GB HBM3", 989.4),
        ("NVIDIA H100 PCIe", 756.4),
        ("NVIDIA A100-SXM4-80GB", 311.8),
        ("NVIDIA L4", 121.0),
        ("NVIDIA L40S", 362.1),
        ("NVIDIA GeForce RTX 4090", 165.2),
        ("CPU AMD EPYC", None),
        ("NVIDIA GeForce RTX 5090", None),
    ],
)
def test_peaks_are_known_by_the_name_of_the_product(device: str, half: float | None) -> None:
    assert peak_tflops(device, "bfloat16") == half


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023",
            {"driver": "535.104.05"},
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build",
            {"driver": "580.159.04"},
        ),
        ("something else", {}),
    ],
)
def test_the_driver_is_read_from_the_kernel(text: str, driver: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "version").write_text(text)
    assert driver_of_kernel(tmp_path / "version") == driver
    assert driver_of_kernel(tmp_path / "none") == {}
