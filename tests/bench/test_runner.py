"""Cases in processes of their own: a crash takes one case with it and no other."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from oracles_attention import causal, descriptor_of

from compilemask.bench import runner
from compilemask.bench.protocol import CaseResult, CaseSpec, MeasureOptions
from compilemask.bench.runner import outcomes

SPEC = CaseSpec("0", "torch", descriptor_of(causal(9, 9)).to_json(), 1, 1, 1, 16, "float32")
QUICK = MeasureOptions(min_samples=2, target_seconds=0.0, warmup_seconds=0.0)

# Speaks the protocol; a provider's name says what happens to its case. Leaves a mark for each process.
WORKER = """
import json, os, signal, sys
fd = int(sys.argv[sys.argv.index("--events-fd") + 1])
events = os.fdopen(fd, "w", buffering=1)
open(os.environ["MARKS"], "a").write("x")
for case in json.load(sys.stdin)["cases"]:
    def send(event, **more):
        print(json.dumps({"event": event, "case_id": case["case_id"], **more}), file=events)
    send("started")
    match case["provider"]:
        case "dies": os.kill(os.getpid(), signal.SIGKILL)
        case "leaves": sys.exit(5)
        case "breaks":
            send("error", reason="the device is gone")
            sys.exit(3)
        case _: send("error", reason="answered")
send("finished")
"""


def cases(*providers: str) -> list[CaseSpec]:
    return [dataclasses.replace(SPEC, case_id=str(i), provider=name) for i, name in enumerate(providers)]


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs WORKER in place of the real one; the file has a letter for each process."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift 2\nexec {sys.executable} {script} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(runner.sys, "executable", str(python))
    monkeypatch.setenv("MARKS", str(tmp_path / "marks"))
    return tmp_path / "marks"


def test_a_process_that_ends_loses_its_case_and_no_other(marks: Path) -> None:
    asked = cases("a", "dies", "b", "leaves", "breaks", "c")
    began: list[str] = []
    answers = list(outcomes(asked, QUICK, started=lambda case: began.append(case.case_id)))
    assert [case.case_id for case, _ in answers] == began == list("012345")
    assert [outcome for _, outcome in answers] == [
        "answered",
        "the process that measured ended: SIGKILL, as when memory runs out",
        "answered",
        "the process that measured ended: exit code 5",
        "the device is gone",
        "answered",
    ]
    assert marks.read_text() == "xxxx"


def test_stopping_early_ends_the_process(marks: Path) -> None:
    coming = outcomes(cases("a", "b", "c"), QUICK)
    assert next(coming)[1] == "answered"
    coming.close()
    assert marks.read_text() == "x"


def test_the_real_worker_answers() -> None:
    asked = [SPEC, dataclasses.replace(SPEC, case_id="1", provider="no such")]
    (_, result), (_, error) = outcomes(asked, QUICK)
    assert isinstance(result, CaseResult)
    assert (result.verdict, [error.quantity for error in result.errors]) == ("passed", ["o", "lse"])
    assert len(result.samples_ms) >= 2
    assert str(error).startswith("no provider is named 'no such'")
