"""docs/performance.md says what the rows say, and what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import performance
from benchmarks.performance_charts import chart_names, draw_charts
from benchmarks.performance_parts import binding_lines, gpu_test_lines
from benchmarks.result_files import ResultFile, speed_files

ROOT = Path(__file__).parents[2]
DEVICE = {"device": "NVIDIA H200", "torch": "2.11", "triton": "3.6", "driver": "5"}


def row(provider: str, ms: float | None, **more: Any) -> dict[str, Any]:
    made = {
        "mask": "causal", "preset": "causal", "length": 8192, "head_dim": 128, "num_q_heads": 16, "num_kv_heads": 16,
        "dtype": "bfloat16", "direction": "forward+backward", "provider": provider, "verdict": "passed", "median_ms": ms,
        "tflops": None if ms is None else 100 / ms, "plan_ms": 0.5, "plan_cold_ms": 4.0, "reason": None, "run": "2",
        "environment": DEVICE, "device": "NVIDIA H200",
    }  # fmt: skip
    return made | more


def page_of(*rows: dict[str, Any]) -> str:
    return performance.page([ResultFile("speed_table_h200.json", DEVICE, "2026-12-01", "python3 x", "how", rows)])


def test_the_committed_page_is_made_of_the_committed_rows() -> None:
    committed = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert committed == performance.page(speed_files()), (
        "run `python3 benchmarks/performance.py` and commit what it writes"
    )


def test_every_picture_of_the_page_is_there_and_no_other() -> None:
    page = performance.PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"\(images/performance/([^)]+)\)", page))
    assert shown == {path.name for path in performance.IMAGES.glob("*")}
    assert shown


def test_a_peer_has_its_ratio_and_the_target_its_verdict() -> None:
    page = page_of(row("triton", 2.0), row("flex_attention", 2.1), row("sdpa_cudnn", 1.0))
    assert "| flex_attention | 2.100 | 47.6 TFLOP/s | 1.05x | 1.1x: missed | 4.0, 0.5 |" in page
    assert "| sdpa_cudnn | 1.000 | 100.0 TFLOP/s | 0.50x |  | 4.0, 0.5 |" in page
    assert "Not measured here yet: forward." in page
    assert "| causal | - | triton 8; flex_attention 8; sdpa_cudnn 8 |" in page


def test_what_failed_has_no_speed_and_says_why() -> None:
    page = page_of(row("triton", 2.0), row("fa4", None, verdict="unsupported", reason="is not installed"))
    assert "| fa4 | unsupported: is not installed | | | | |" in page
    failed = page_of(row("triton", None, verdict="failed", reason="error 9 exceeds 1"), row("sdpa_cudnn", 1.0))
    assert "| triton | failed: error 9 exceeds 1 |" in failed
    assert "x |" not in next(line for line in failed.splitlines() if "sdpa_cudnn | 1.000" in line).split("TFLOP/s")[1]


def test_rows_of_an_earlier_run_give_way_to_the_last() -> None:
    old, new = row("triton", 9.0, run="1"), row("triton", 2.0)
    page = page_of(old, row("flex_attention", 18.0, run="1"), new)
    assert "9.000" not in page
    assert "flex_attention | 18" not in page
    assert "| triton | 2.000 |" in page


def test_equal_rows_give_equal_pictures_and_old_ones_go(tmp_path: Path) -> None:
    rows = [row(name, ms, length=length) for name, ms in (("triton", 1.0), ("fa4", 2.0)) for length in (1024, 2048)]
    draw_charts([*rows, row("triton", 1.0, dtype="float16")], tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(first) == {
        "nvidia-h200-forward-backward-128-bfloat16.svg",
        "nvidia-h200-forward-backward-128-float16.svg",
    }
    draw_charts(rows, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "nvidia-h200-forward-backward-128-bfloat16.svg": first["nvidia-h200-forward-backward-128-bfloat16.svg"]
    }
    picture = first["nvidia-h200-forward-backward-128-bfloat16.svg"].decode()
    assert {">triton<", ">fa4<", ">2K<"} <= set(re.findall(r">[^<>]+<", picture))


def test_many_masks_make_several_pictures() -> None:
    names = chart_names([row("triton", 1.0, mask=f"m{i:02}") for i in range(40)])
    assert names == [f"nvidia-h200-forward-backward-128-bfloat16-{i}.svg" for i in (1, 2, 3)]


def test_what_was_never_measured_says_how(tmp_path: Path) -> None:
    assert "python3 benchmarks/compile_cost.py" in "\n".join(binding_lines(tmp_path))
    assert "python3 benchmarks/gpu_tests.py" in "\n".join(gpu_test_lines(tmp_path))


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks" / "results").glob("*.json")), ids=lambda path: path.name)
def test_every_file_of_results_says_its_conditions(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert {"environment", "date", "command", "rows"} <= set(content)
    assert content["rows"]
