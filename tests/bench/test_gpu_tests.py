"""The run of the tests on a GPU: files that crash or take too long lose no other, and the summary counts them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import gpu_tests
from benchmarks.performance_parts import gpu_test_lines

FILES = {
    "test_mixed.py": "import pytest\ndef test_good(): pass\ndef test_bad(): assert 0\n@pytest.mark.skip\ndef test_out(): pass\n",
    "test_crash.py": "import os\ndef test_dies(): os.abort()\n",
    "test_slow.py": "import time\ndef test_waits(): time.sleep(600)\n",
    "test_good.py": "def test_good(): pass\n",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(gpu_tests, "ROOT", tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def call(*words: str) -> tuple[int, dict[str, dict], dict]:  # type: ignore[type-arg]
        out = tmp_path / "out"
        monkeypatch.setattr(sys, "argv", ["gpu_tests.py", "--out", str(out), "--any-device", *words])
        code = gpu_tests.main()
        written = json.loads((out / "gpu_tests.json").read_text())
        return code, {row["name"]: row for row in written["rows"]}, written

    return call


def test_every_file_has_its_outcome_and_the_page_tells_them(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("test_slow.py", "--slice-limit", "1")
    code, rows, written = run("test_mixed.py", "test_crash.py", "test_good.py", "--resume")
    assert code == 1
    outcomes = {name: row["outcome"] for name, row in rows.items()}
    assert outcomes == {
        "test_slow.py": "time up", "test_mixed.py": "failed", "test_crash.py": "ended with code -6", "test_good.py": "passed",
    }  # fmt: skip
    mixed = rows["test_mixed.py"]
    assert (mixed["passed"], mixed["failed"], mixed["skipped"]) == (1, 1, 1)
    assert mixed["failures"] == ["test_mixed::test_bad"]
    assert "test_bad" in (tmp_path / "out" / "test_mixed.log").read_text()
    assert {name: written["total"][name] for name in ("passed", "failed", "skipped", "not_run")} == {
        "passed": 2, "failed": 1, "skipped": 1, "not_run": 2,
    }  # fmt: skip
    page = "\n".join(gpu_test_lines(tmp_path / "out"))
    assert "2 passed, 1 failed, 1 skipped" in page
    assert "| test_crash.py | ended with code -6 | 0 | 0 | 0 |" in page


def test_files_run_at_once(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Each of the two waits for the other one's sign."""
    for own, other in ("ab", "ba"):
        (tmp_path / f"test_{own}.py").write_text(
            "import pathlib, time\ndef test_both():\n"
            f"    pathlib.Path('{own}').touch()\n"
            f"    while not pathlib.Path('{other}').exists(): time.sleep(0.01)\n"
        )
    code, rows, _ = run("test_a.py", "test_b.py", "--jobs", "2", "--slice-limit", "60")
    assert (code, {row["outcome"] for row in rows.values()}) == (0, {"passed"})


def test_what_did_not_end_is_taken_up_again(run) -> None:  # type: ignore[no-untyped-def]
    code, rows, _ = run("test_good.py", "test_mixed.py", "--time-limit", "0")
    assert code == gpu_tests.INCOMPLETE
    assert {row["outcome"] for row in rows.values()} == {"not run"}
    code, rows, _ = run("test_good.py", "--resume")
    assert (rows["test_good.py"]["outcome"], rows["test_mixed.py"]["outcome"]) == ("passed", "not run")
    first = rows["test_good.py"]
    code, rows, _ = run("test_good.py", "test_mixed.py", "--resume", "-k", "good")
    assert (code, rows["test_good.py"], rows["test_mixed.py"]["passed"]) == (0, first, 1)


def test_files_run_under_another_program(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    checker = tmp_path / "checker"
    checker.write_text('#!/bin/sh\n"$@"\nexit 9\n')
    checker.chmod(0o755)
    code, rows, _ = run("test_good.py", "--under", str(checker))
    assert (code, rows["test_good.py"]["outcome"], rows["test_good.py"]["passed"]) == (1, "ended with code 9", 1)


def test_without_a_gpu_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr(sys, "argv", ["gpu_tests.py", "--out", str(tmp_path)])
    assert gpu_tests.main() == 2
    assert "--any-device runs the same tests on the CPU" in capsys.readouterr().err
