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
from benchmarks.performance_steps import ncu_lines, replan_lines, step_lines
from benchmarks.readme_table import README, step_sentence, table_lines, written
from benchmarks.result_files import ResultFile, speed_files
from benchmarks.roofline_chart import draw_roofline, intensity, roofline_name

ROOT = Path(__file__).parents[2]
DEVICE = {"device": "NVIDIA H200", "torch": "2.11", "triton": "3.6", "driver": "5", "source": "abc"}


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


def test_the_readme_has_the_table_that_the_committed_rows_make() -> None:
    readme = README.read_text(encoding="utf-8")
    assert written(readme, speed_files()) == readme, "run `python3 benchmarks/performance.py` and commit what it writes"


def test_the_table_of_the_readme_compares_within_a_run() -> None:
    shape = {"length": 32768, "direction": "forward", "steady": True}
    rows = (
        row("hopper", 1.0, **shape), row("triton", 1.5, **shape), row("flex_attention", 2.0, **shape | {"steady": False}),
        row("hopper", 1.2, run="3", **shape), row("fa4", 1.8, run="3", **shape), row("sdpa_cudnn", 3.0, **shape),
    )  # fmt: skip
    lines = list(table_lines([ResultFile("speed_table_h200.json", DEVICE, "2026-12-01", "python3 x", "how", rows)]))
    assert lines[-1] == "| causal | 1.00 ms, 100 TFLOP/s | 1.50 ms | 2.00 ms (2.00x) | FA4, 1.80 ms (1.50x) |"
    assert "Of these 6 times 1 still changed when their warm-up ended." in lines[0]
    assert "code abc (a digest" in lines[0]
    assert lines[0].endswith("(docs/performance.md).")
    assert lines[2].startswith("    python3 benchmarks/speed_table.py")
    steps = [
        {"family": "hstu_jagged", "tokens": 4096, "direction": "forward+backward", "way": way, "median_ms": ms, "verdict": "passed"}
        for way, ms in (("device", 1.0), ("bound", 9.0), ("flex", 1.5))
    ]  # fmt: skip
    only_flex = [ResultFile("speed_table_h200.json", DEVICE, "2026-12-01", "python3 x", "how", rows[:3])]
    assert list(table_lines(only_flex))[-1] == "| causal | 1.00 ms, 100 TFLOP/s | 1.50 ms | 2.00 ms (2.00x) |"
    assert "create_block_mask): HSTU 1.00 ms beside 1.50 (1.50x). " in step_sentence(steps)
    assert step_sentence(steps[:2]) == ""
    with pytest.raises(ValueError, match="must have the lines"):
        written("# x", [])


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


def test_each_provider_has_its_last_row_and_a_ratio_of_the_run_it_is_of() -> None:
    old, new = row("triton", 9.0, run="1"), row("triton", 2.0)
    page = page_of(old, row("flex_attention", 18.0, run="1"), new, row("fa4", 3.0), row("fa4", 1.0, run="1"))
    assert "bfloat16 | triton | 9.000" not in page
    assert "fa4 | 1.000" not in page
    assert "| triton | 2.000 |" in page
    assert "| flex_attention | 18.000 | 5.6 TFLOP/s | 2.00x |" in page
    assert "| fa4 | 3.000 | 33.3 TFLOP/s | 1.50x |" in page
    unsupported = row("fa4", None, verdict="unsupported", reason="is not installed", run="3")
    assert "is not installed" not in page_of(row("fa4", 3.0), unsupported)


def test_what_only_a_gpu_shows_is_there_for_a_gpu(tmp_path: Path) -> None:
    more = {"gemm_tflops": 700.0, "q_len": 8192, "kv_len": 8192, "flops": 3e12}
    rows = [row("hopper", 2.0, **more), row("flex_attention", 3.0, **more)]
    page = page_of(*rows)
    for title in ("Targets", "Where peers are faster", "Roofline", "Presets by length"):
        assert f"### {title}, NVIDIA H200" in page
    assert "reached 700 to 700 TFLOP/s" in page
    assert roofline_name("NVIDIA H200") == "nvidia-h200-roofline.svg"
    draw_roofline(rows, tmp_path / "a.svg")
    draw_roofline(rows, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert intensity(rows[0]) == pytest.approx(3e12 / (2 * 4 * 16 * 8192 * 128 * 2))
    on_cpu = page_of(row("torch", 2.0, device="CPU x"))
    assert "### Targets" not in on_cpu


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
    assert "python3 benchmarks/step_table.py" in "\n".join(step_lines(tmp_path))
    assert "python3 benchmarks/replan.py" in "\n".join(replan_lines(tmp_path))
    assert "benchmarks/ncu_summary.py" in "\n".join(ncu_lines(tmp_path))


def test_steps_plans_and_counters_are_told_with_their_ratios(tmp_path: Path) -> None:
    head = {"environment": DEVICE, "date": "2026-12-01", "command": "python3 x --out /elsewhere"}

    def step(way: str, ms: float, **more: Any) -> dict[str, Any]:
        place = {"family": "shared_prompt", "tokens": 4096, "direction": "forward", "way": way}
        return {**place, "median_ms": ms, "p90_ms": 2 * ms, "verdict": "passed", **more}

    steps = [step("device", 1.0), step("flex", 2.5), step("flex_flash", 2.0), step("bound", 4.0, tokens=8192)]
    plan = {
        "family": "causal", "tokens": 32768, "replan_ms": 0.1, "replan_graph_ms": 0.05, "create_block_mask_ms": 0.4,
        "create_block_mask_graph_ms": None, "ratio": 4.0, "graph_ratio": None,
    }  # fmt: skip
    for name, rows in (("step_table", steps), ("replan", [plan])):
        (tmp_path / f"{name}.json").write_text(json.dumps({**head, "rows": rows}))
    found = list(step_lines(tmp_path))
    assert "`python3 x --out benchmarks/results`" in found[0]
    assert found[-2:] == [
        "| shared_prompt | 4,096 | forward | device | 1.000 | 2.000 | flex_flash | 2.000 | 2.00x | 2.13x: missed |",
        "| shared_prompt | 8,192 | forward | bound | 4.000 | 8.000 | | | | |",
    ]
    assert list(replan_lines(tmp_path))[-1] == "| causal | 32,768 | 0.100 | 0.400 | 4.00x | 0.050 | - | - |"


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks" / "results").glob("*.json")), ids=lambda path: path.name)
def test_every_file_of_results_says_its_conditions(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert {"environment", "date", "command", "rows"} <= set(content)
    assert content["rows"]
