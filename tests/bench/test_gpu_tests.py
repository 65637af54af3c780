"""The run of the tests on a GPU: tests that crash or take too long lose no other, and the summary counts them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import gpu_tests, pytest_journal
from benchmarks.performance_parts import gpu_test_lines

FILES = {
    "test_mixed.py": "import pytest\ndef test_good(): pass\ndef test_bad(): assert 0, 'the reason'\n@pytest.mark.skip\ndef test_out(): pass\n",
    "test_crash.py": "import os\ndef test_dies(): os.abort()\ndef test_lives(): pass\n",
    "test_slow.py": "import time\ndef test_first(): pass\ndef test_waits(): time.sleep(600)\n",
    "test_good.py": "def test_good(): pass\n",
    "test_late.py": "import time\ndef test_waits(): time.sleep(600)\ndef test_last(): pass\n",
    "test_setup.py": "import pytest\n@pytest.fixture\ndef broken(): raise ValueError\ndef test_never(broken): pass\n",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setattr(gpu_tests, "ROOT", tmp_path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def call(*words: str) -> tuple[int, dict[str, dict], dict]:  # type: ignore[type-arg]
        out = tmp_path / "out"
        monkeypatch.setattr(sys, "argv", ["gpu_tests.py", "--out", str(out), "--any-device", *words])
        code = gpu_tests.main()
        written = json.loads((out / "gpu_tests.json").read_text())
        return code, {row["name"]: row for row in written["rows"]}, written

    return call


def counts(row: dict) -> tuple[int, ...]:  # type: ignore[type-arg]
    return tuple(row[name] for name in ("passed", "failed", "skipped", "left"))


def test_a_crash_loses_no_other_test_and_the_page_tells_all(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, rows, written = run("test_mixed.py", "test_crash.py", "test_good.py", "test_setup.py", "--workers", "2")
    assert code == 1
    assert {name: counts(row) for name, row in rows.items()} == {
        "test_mixed.py": (1, 1, 1, 0), "test_crash.py": (1, 1, 0, 0), "test_good.py": (1, 0, 0, 0), "test_setup.py": (0, 1, 0, 0),
    }  # fmt: skip
    assert rows["test_mixed.py"]["failures"] == [
        {"test": "test_mixed.py::test_bad", "text": "AssertionError: the reason"}
    ]
    assert written["total"]["failed"] == 3
    lines = list(gpu_test_lines(tmp_path / "out"))
    assert "3 passed, 3 failed, 1 skipped" in lines[0]
    assert "- failed: `test_bad`: AssertionError: the reason" in lines
    assert any(line.startswith("| test_mixed.py | failed | 1 | 1 | 1 | 0 |") for line in lines)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_did_not_end_is_taken_up_again(run, tmp_path: Path, workers: int) -> None:  # type: ignore[no-untyped-def]
    code, rows, _ = run("test_slow.py", "test_late.py", "--workers", str(workers), "--time-limit", "10")
    assert code == gpu_tests.INCOMPLETE
    assert (counts(rows["test_slow.py"]), rows["test_slow.py"]["outcome"]) == ((1, 0, 0, 1), "not ended")
    # Two workers wait in both files, one never comes to the second.
    assert counts(rows["test_late.py"]) == (0, 0, 0, 2)
    (tmp_path / "test_slow.py").write_text("def test_first(): assert 0, 'not again'\ndef test_waits(): pass\n")
    (tmp_path / "test_late.py").write_text("def test_waits(): pass\ndef test_last(): pass\n")
    code, rows, _ = run("test_slow.py", "test_late.py", "--workers", "1", "--resume")
    assert code == 0
    assert {row["outcome"] for row in rows.values()} == {"passed"}
    assert run("test_good.py", "--workers", "1")[1].keys() == {"test_good.py"}


def test_all_passed_by_several_workers(run) -> None:  # type: ignore[no-untyped-def]
    code, rows, _ = run("test_good.py", "test_mixed.py", "--workers", "2", "-k", "good")
    assert code == 0
    assert {name: counts(row) for name, row in rows.items()} == {
        "test_good.py": (1, 0, 0, 0),
        "test_mixed.py": (1, 0, 0, 0),
    }


def test_a_line_that_was_cut_off_is_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"test": "a", "outcome": "passed", "seconds": 1.0}\n{"test": "b", "outc')
    assert list(pytest_journal.read(path)) == ["a"]
    assert pytest_journal.read(tmp_path / "none.jsonl") == {}


def test_without_a_gpu_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr(sys, "argv", ["gpu_tests.py", "--out", str(tmp_path)])
    assert gpu_tests.main() == 2
    assert "--any-device runs the same tests on the CPU" in capsys.readouterr().err
