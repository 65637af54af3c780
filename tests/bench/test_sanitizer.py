"""The runs under compute-sanitizer: every kernel is in one, what a tool finds is told, and silence counts only where it was shown to speak."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import torch
from triton.runtime.interpreter import InterpretedFunction

from benchmarks import every_kernel, sanitizer
from benchmarks.every_kernel import GROUPS, LARGEST_ERROR, group_errors
from benchmarks.sanitizer import Row, checker_lines, exit_code, outcome_of
from compilemask.bench.case import default_device

MEMORY, RACES = (
    "========= ERROR SUMMARY: {} errors\n",
    "========= RACECHECK SUMMARY: {} hazards displayed (0 errors, 0 warnings)\n",
)
CHECKER = """#!{python}
import pathlib, subprocess, sys
if sys.argv[1] == "--help": print("--kernel-regex --padding"); sys.exit()
if sys.argv[1] == "--version": print("NVIDIA"); print("Version 1"); sys.exit()
tool, words = sys.argv[2], " ".join(sys.argv[3:])
bad = "planted" in words and "silent" not in {mode!r} or "triton_packed" in words
if "hopper_packed" in words: import time; time.sleep(60)
print("checked", words)
print(f"ERROR SUMMARY: {{int(bad)}} errors" if tool == "memcheck" else f"RACECHECK SUMMARY: {{int(bad)}} hazards displayed")
"""
SCRIPT = "import sys; sys.exit(sys.argv[1] == 'replan')"


def test_every_kernel_is_in_a_group() -> None:
    named = {kernel for group in GROUPS.values() for kernel in group.kernels}
    assert named == set(every_kernel.kernels())
    homes = {group.impl for group in GROUPS.values() if "attention_backward_kernel" in group.kernels}
    assert homes == {"triton", "hopper"}


@pytest.mark.parametrize("name", ["triton_forward", "triton_packed", "triton_backward_float32", "replan"])
def test_a_group_runs_its_kernels_and_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = default_device()
    launched = set()
    if device.type == "cpu":
        take = InterpretedFunction.__getitem__

        def spy(self: InterpretedFunction, grid: object) -> object:
            launched.add(self.__name__)
            return take(self, grid)

        monkeypatch.setattr(InterpretedFunction, "__getitem__", spy)
    errors = [error for _, error in group_errors(GROUPS[name], device)]
    assert errors
    assert max(errors) < LARGEST_ERROR
    if device.type == "cuda":
        assert every_kernel.not_run(GROUPS[name], device) == []
    else:
        # Without a GPU masks are planned anew by torch operations.
        assert set(GROUPS[name].kernels) - {"sides_kernel", "fill_kernel"} <= launched


def test_outcomes() -> None:
    assert outcome_of("none", False, 0, "") == ("clean", -1)
    assert outcome_of("none", False, 1, "") == ("failed", -1)
    assert outcome_of("memcheck", False, 0, MEMORY.format(0)) == ("clean", 0)
    assert outcome_of("memcheck", False, 9, MEMORY.format(3)) == ("errors", 3)
    assert outcome_of("racecheck", False, 0, RACES.format(2)) == ("errors", 2)
    assert outcome_of("racecheck", False, 0, RACES.format(0)) == ("clean", 0)
    # Wrong results under a silent checker, a checker that said nothing, one that had no time.
    assert outcome_of("memcheck", False, 1, MEMORY.format(0)) == ("failed", 0)
    assert outcome_of("memcheck", False, 0, "") == ("failed", -1)
    assert outcome_of("racecheck", False, None, RACES.format(0)) == ("time up", -1)
    assert outcome_of("racecheck", True, 0, RACES.format(1)) == ("found", 1)
    assert outcome_of("memcheck", True, 0, MEMORY.format(0)) == ("not found", 0)


def test_a_race_is_triton_s_own_only_where_all_its_accesses_are() -> None:
    path = every_kernel.ROOM / "hopper" / "forward.py"
    lines = path.read_text().splitlines()
    begins = next(i for i, line in enumerate(lines, 1) if line.startswith("def hopper_forward_kernel("))
    splits = next(i for i, line in enumerate(lines, 1) if "warp_specialize(" in line)
    other = next(i for i, line in enumerate(lines, 1) if "staged.reshape" in line)

    def report(*places: tuple[str, int], kernel: str = "hopper_forward_kernel") -> str:
        first, *rest = (f"{kind} access at {kernel}+0x130 in forward.py:{line}" for kind, line in places)
        return f"Error: Race reported between {first}\n" + "".join(f"===   and {one} [27 hazards]\n" for one in rest)

    own = report(("Read", begins), ("Write", begins), ("Write", splits))
    summary = RACES.format(1)
    assert outcome_of("racecheck", False, 0, own + summary) == ("dispatch", 1)
    assert outcome_of("racecheck", False, 1, own + summary) == ("errors", 1)
    assert outcome_of("memcheck", False, 0, own + MEMORY.format(1)) == ("errors", 1)
    for other_race in (
        report(("Read", begins), ("Write", other)),
        report(("Read", begins), ("Write", splits), kernel="attention_forward_kernel"),
        "Error: Race reported between Read access at hopper_forward_kernel+0x130\n",
    ):
        assert outcome_of("racecheck", False, 0, own + other_race + RACES.format(2)) == ("errors", 2)
    assert outcome_of("racecheck", False, 0, summary) == ("errors", 1)


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["clean", "dispatch", "found"], 0),
        (["clean", "errors"], 1),
        (["not found", "time up"], 1),
        (["clean", "time up"], 3),
    ],
)
def test_the_exit_code_tells_the_worst(outcomes: list[sanitizer.Outcome], code: int) -> None:
    assert exit_code([Row("g", ("k",), "memcheck", outcome, 0, 1.0, "") for outcome in outcomes]) == code


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    for name in ("every_kernel.py", "planted_errors.py"):
        (tmp_path / name).write_text(SCRIPT)
    monkeypatch.setattr(sanitizer, "FOLDER", tmp_path)
    monkeypatch.setattr(sanitizer, "LEAST_SECONDS", 0.1)
    monkeypatch.setattr(sanitizer, "default_device", lambda: torch.device("cuda"))
    monkeypatch.setattr(sanitizer, "conditions", lambda _device: {"environment": {}, "date": "2026-11-30T00:00:00"})
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def call(mode: str, *words: str) -> tuple[int, dict[str, object]]:
        checker = tmp_path / "compute-sanitizer"
        checker.write_text(CHECKER.format(python=sys.executable, mode=mode))
        checker.chmod(0o755)
        monkeypatch.setattr(sys, "argv", ["sanitizer.py", "--out", str(tmp_path / "out"), *words])
        code = sanitizer.main()
        return code, json.loads((tmp_path / "out" / "sanitizer.json").read_text())

    return call


def test_each_group_is_checked_apart_and_the_page_tells_it(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, record = run(
        "", "--groups", "triton_forward", "triton_packed", "replan", "hopper_packed", "--time-limit", "4", "--jobs", "8"
    )
    assert code == 1
    found = {(row["group"], row["tool"]): row["outcome"] for row in record["rows"]}
    assert found == {
        ("planted", "memcheck"): "found", ("planted", "racecheck"): "found",
        ("triton_forward", "none"): "clean", ("triton_forward", "memcheck"): "clean", ("triton_forward", "racecheck"): "clean",
        ("triton_packed", "none"): "clean", ("triton_packed", "memcheck"): "errors", ("triton_packed", "racecheck"): "errors",
        ("hopper_packed", "none"): "clean", ("hopper_packed", "memcheck"): "time up", ("hopper_packed", "racecheck"): "time up",
        ("replan", "none"): "failed",
    }  # fmt: skip
    assert record["sanitizer"] == "Version 1"
    log = (tmp_path / "out" / "sanitizer_triton_forward_memcheck.log").read_text()
    assert "--kernel-regex kns=attention_forward_kernel --padding 512" in log
    lines = "\n".join(checker_lines(tmp_path / "out"))
    assert "| triton_packed | `packed_forward_kernel` | 1 error | 1 error |" in lines
    assert "| hopper_forward | `hopper_forward_kernel` | not run | not run | |" in lines
    assert "| triton_forward | `attention_forward_kernel` | clean | clean |" in lines
    assert "| hopper_packed | `hopper_forward_kernel` | time up | time up |" in lines
    assert "| replan | `sides_kernel`, `fill_kernel`, `attention_forward_kernel` | failed | failed |" in lines


def test_groups_that_are_checked_later_join_the_others(run) -> None:  # type: ignore[no-untyped-def]
    run("", "--groups", "triton_forward")
    code, record = run("", "--groups", "triton_backward")
    assert code == 0
    found = [(row["group"], row["tool"]) for row in record["rows"]]
    groups = ("triton_forward", "triton_backward")
    wanted = [(group, tool) for group in groups for tool in ("none", "memcheck", "racecheck")]
    assert sorted(found) == sorted([*wanted, ("planted", "memcheck"), ("planted", "racecheck")])


def test_a_checker_that_finds_nothing_has_checked_nothing(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, _ = run("silent", "--groups", "triton_forward")
    assert code == 1
    assert "did not find" in "\n".join(checker_lines(tmp_path / "out"))
