"""The worker process, end to end over its file descriptor."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
import torch
from oracles_attention import causal, descriptor_of

from compilemask.bench.catalog import PROVIDER_NAMES
from compilemask.bench.protocol import CaseResult, CaseSpec, JobSpec, MeasureOptions
from compilemask.bench.worker import Events, job_from_json, run_job

QUICK = MeasureOptions(min_samples=2, target_seconds=0.0, warmup_seconds=0.05)
MASK = descriptor_of(causal(33, 33))


def case(case_id: str, provider: str, **changes: Any) -> CaseSpec:
    spec = CaseSpec(case_id, provider, MASK.to_json(), 1, 2, 1, 16, "float32")
    return dataclasses.replace(spec, **changes)


def start(text: str) -> tuple[subprocess.Popen[bytes], io.TextIOWrapper]:
    read, write = os.pipe()
    command = [sys.executable, "-m", "compilemask.bench.worker", "--events-fd", str(write)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(write,)
    )
    os.close(write)
    assert process.stdin is not None
    process.stdin.write(text.encode())
    process.stdin.close()
    process.stdin = None  # `communicate` would flush it
    return process, os.fdopen(read)


def events_of(job: JobSpec) -> list[dict[str, Any]]:
    process, stream = start(json.dumps(dataclasses.asdict(job)))
    with stream:
        events = [json.loads(line) for line in stream]
    assert process.wait(60) == 0
    return events


def test_a_job_gives_results_and_errors_in_order_and_goes_on_after_an_error() -> None:
    cases = (
        case("a", "torch"),
        case("b", "no such"),
        case("c", "flex_attention"),
        case("d", "torch", num_q_heads=3, num_kv_heads=2),
        case("e", "torch", num_q_heads=1 << 40),
        case("f", "sdpa", direction="forward+backward"),
    )
    events = events_of(JobSpec(cases, QUICK))
    assert events[-1] == {"event": "finished"}
    assert [event["case_id"] for event in events if event["event"] == "started"] == list("abcdef")
    results = {event["case_id"]: event["result"] for event in events if event["event"] == "result"}
    # FlexAttention needs a GPU; without one its case is an error like the others.
    assert list(results) == (["a", "c", "f"] if torch.cuda.is_available() else ["a", "f"])
    fields = {field.name for field in dataclasses.fields(CaseResult)}
    for case_id, result in results.items():
        assert set(result) == fields
        assert result["verdict"] == "passed"
        assert len(result["samples_ms"]) >= 2
        assert result["median_ms"] > 0
        flops = (14 if case_id == "f" else 4) * 16 * MASK.visible_pairs * 2
        assert math.isclose(result["tflops"], flops / result["median_ms"] / 1e9)
    quantities = {case_id: [error["quantity"] for error in result["errors"]] for case_id, result in results.items()}
    assert (quantities["a"], quantities["f"]) == (["o", "lse"], ["o", "dq", "dk", "dv"])
    reasons = {event["case_id"]: event["reason"] for event in events if event["event"] == "error"}
    assert reasons["b"].startswith(
        "no provider is named 'no such'; there are triton, hopper, hopper_deterministic, torch, reference"
    )
    assert reasons["d"] == "num_q_heads must be a multiple of num_kv_heads, got 3 and 2"
    assert "GiB on" in reasons["e"]
    assert all("\n" not in reason for reason in reasons.values())
    stages = [event["stage"] for event in events if event["event"] == "progress" and event["case_id"] == "a"]
    assert stages[0] == "inputs"
    assert stages[-1] == "measure"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"version": 1}',
        '{"version": 1, "cases": [{"case_id": "a", "provider": "torch", "mask": "", "batch": 1, "num_q_heads": 1, "num_kv_heads": 1, "head_dim": 1, "dtype": "float32", "direction": "up"}]}',
        '{"version": 2, "cases": []}',
        '{"version": 1, "cases": [{"x": 1}]}',
    ],
)
def test_a_job_that_cannot_be_read_is_refused_in_one_line(text: str) -> None:
    process, stream = start(text)
    _, errors = process.communicate(timeout=60)
    with stream:
        assert stream.read() == ""
    assert process.returncode == 2
    assert errors.decode().startswith("the job cannot be read: ")
    assert len(errors.decode().splitlines()) == 1


def test_the_job_survives_its_json() -> None:
    job = JobSpec((case("a", "torch", seed=7, direction="backward"),), MeasureOptions(cold_l2=True, cuda_graph=True))
    assert job_from_json(json.dumps(dataclasses.asdict(job))) == job


def test_jobs_and_results_of_before_directions_can_be_read() -> None:
    old_case = {
        "case_id": "a", "provider": "torch", "mask": MASK.to_json(), "batch": 1, "num_q_heads": 2, "num_kv_heads": 1,
        "head_dim": 16, "dtype": "float32", "seed": 4,
    }  # fmt: skip
    job = job_from_json(json.dumps({"version": 1, "cases": [old_case], "options": {"cold_l2": True}}))
    assert job == JobSpec((case("a", "torch", seed=4),), MeasureOptions(cold_l2=True))
    old_names = [field.name for field in dataclasses.fields(CaseResult)][:23]
    assert old_names[-1] == "rows_total"
    result = CaseResult(**dict.fromkeys(old_names))  # type: ignore[arg-type]
    assert (result.direction, result.errors, result.seed, result.notes) == ("forward", (), None, ())


def test_a_terminated_worker_ends_at_once() -> None:
    job = JobSpec((case("a", "torch"),), MeasureOptions(target_seconds=600.0))
    process, stream = start(json.dumps(dataclasses.asdict(job)))
    with stream:
        for line in stream:
            if json.loads(line).get("stage") == "measure":
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()


def test_numbers_that_json_lacks_are_sent_as_words() -> None:
    stream = io.StringIO()
    Events(stream).send("result", numbers=[math.nan, math.inf, -math.inf, 1.5], nested={"x": (math.inf,)})
    assert json.loads(stream.getvalue()) == {
        "event": "result", "numbers": ["NaN", "Infinity", "-Infinity", 1.5], "nested": {"x": ["Infinity"]},
    }  # fmt: skip


def test_progress_too_small_to_be_seen_is_left_out() -> None:
    stream = io.StringIO()
    events = Events(stream)
    for fraction in (0.0, 0.001, 0.5, 0.501, 1.0):
        events.progress("a", "measure", fraction)
    events.progress("a", "verify", 1.0)
    assert [json.loads(line)["fraction"] for line in stream.getvalue().splitlines()] == [0.0, 0.5, 1.0, 1.0]


def test_the_probe_tells_what_can_be_measured_here() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "compilemask.bench.worker", "--probe"], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert [provider["name"] for provider in answer["providers"]] == list(PROVIDER_NAMES)
    assert all(provider["usable"] == (provider["reason"] is None) for provider in answer["providers"])
    assert {provider["kind"] for provider in answer["providers"]} == {"impl", "peer"}
    assert set(answer["devices"][0]) == {"name", "kind", "memory_bytes", "detail"}
    assert {"torch", "python", "compilemask", "device"} <= set(answer["versions"])
    assert all(isinstance(value, str) for value in answer["versions"].values())


def test_a_case_that_breaks_the_device_leaves_the_rest_to_a_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compilemask.bench.worker._device_answers", lambda: False)
    stream = io.StringIO()
    assert not run_job(JobSpec((case("a", "no such"), case("b", "torch")), QUICK), Events(stream))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["started", "error"]
