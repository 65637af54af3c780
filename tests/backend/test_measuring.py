"""From the launch to the stored numbers with the real worker, and the command that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from compilemask_studio.main import create_app
from compilemask_studio.schemas import LaunchCreate, Shape
from compilemask_studio.services.bench_command import bench_command
from compilemask_studio.services.compile_service import CompileService
from fastapi.testclient import TestClient

from compilemask.presets import preset_source

WINDOW = "mask window(n: int, w: int)\ntokens { S: n }\nS sees S causal where q - k < w\n"
SHAPE = {"batch": 1, "num_q_heads": 2, "num_kv_heads": 1, "head_dim": 16}


@pytest.fixture
def real_client(settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.mark.timeout(120)
def test_a_launch_is_verified_and_measured_by_the_real_worker(real_client: TestClient, wait_until) -> None:
    body = {"source": WINDOW, "values": {"n": 40, "w": 5}, "providers": ["torch"], "shape": SHAPE}
    launch_id = real_client.post("/api/launches", json=body).json()["id"]
    path = f"/api/launches/{launch_id}"
    wait_until(lambda: real_client.get(path).json()["state"] not in ("queued", "running"), timeout_s=90)
    launch = real_client.get(path).json()
    assert launch["state"] == "done", launch
    for run in launch["runs"]:
        assert run["verdict"] == "passed", run
        assert 0 <= run["max_error"] <= run["tolerance"]
        assert run["rows_checked"] == run["rows_total"] == 40
        assert 0 < run["min_ms"] <= run["p20_ms"] <= run["median_ms"] <= run["p80_ms"]
        assert run["tflops"] > 0 and len(run["samples_ms"]) >= 10
        assert run["device"] and run["environment"]["torch"] and run["impl_detail"]
    ids = str(launch["runs"][0]["id"])
    comparison = real_client.get(f"/api/compare?ids={ids}").json()
    flags = comparison["runs"][0]["run"]["flags"]
    assert comparison["warnings"] == [f"Run {ids} (torch): {flag}." for flag in flags]
    assert comparison["runs"][0]["ratio"] == 1.0


def test_the_command_of_a_preset_names_it_and_quotes_its_numbers() -> None:
    mask = CompileService().bind(preset_source("documents"), {"lengths": [3, 4]})
    body = LaunchCreate(source=mask.source, providers=["torch"], shape=Shape(**SHAPE), dtype="bfloat16", seed=7)
    assert bench_command(mask, "torch", body) == (
        "compilemask bench documents --set 'lengths=[3,4]' --impl torch --batch 1 --heads 2 --kv-heads 1 --head-dim 16 "
        "--dtype bfloat16 --seed 7"
    )


def test_the_command_of_another_text_says_which_file_it_needs_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from compilemask.bench import command

    mask = CompileService().bind(WINDOW, {"n": 12, "w": 3})
    body = LaunchCreate(source=WINDOW, providers=["reference"], shape=Shape(**SHAPE), dtype="float16", seed=7)
    comment, line = bench_command(mask, "reference", body).splitlines()
    assert comment == "# save the mask text as window.mask first"
    (tmp_path / "window.mask").write_text(WINDOW)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    assert words[:3] == ["compilemask", "bench", "window.mask"]
    assert command.main([*words[2:], "--seconds", "0.05"]) == 0
    shown = capsys.readouterr().out
    assert "12 x 12" in shown and "1 x 2/1 heads x 16, float16" in shown and "reference" in shown
