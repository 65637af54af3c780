"""Runs the tests that use a GPU, file by file under a time limit, and keeps a summary.

    python3 benchmarks/gpu_tests.py --out benchmarks/results --time-limit 480 --jobs 8
    python3 benchmarks/gpu_tests.py --out benchmarks/results --name memcheck --under "compute-sanitizer --error-exitcode 9" FILE ...

A file that crashes the process or runs out of its time loses no other. Writes NAME.json after each file and, beside it, one log
a file. --under runs each file under another program, such as compute-sanitizer with memcheck or racecheck. Started again with --resume it goes on with the files that have not come to an end. Exit code 0 when all ran and passed, 1 when one
failed, 3 when the time was up first.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks.conditions import conditions
from compilemask.bench.case import default_device
from compilemask.bench.rows import write_rows

ROOT = Path(__file__).parents[1]
INCOMPLETE = 3
LEAST_SECONDS = 5.0
ROOMS = ("tests/attention", "tests/bench")
"""Whose tests run on the GPU where there is one; the other rooms never see a tensor."""


def main() -> int:
    arguments = _parser().parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    device = default_device()
    if device.type != "cuda" and not arguments.any_device:
        print("no CUDA device here; --any-device runs the same tests on the CPU", file=sys.stderr)
        return 2
    path = arguments.out / f"{arguments.name}.json"
    files = arguments.files or _files()
    slices = _earlier(path) if arguments.resume else {}
    deadline = time.monotonic() + arguments.time_limit
    left = [name for name in files if slices.get(name, {}).get("outcome") not in ("passed", "failed")]
    slices |= {name: _not_run(name) for name in left}
    with ThreadPoolExecutor(arguments.jobs) as jobs:
        running = [jobs.submit(_run_in_time, name, deadline, arguments) for name in left]
        for number, done in enumerate(as_completed(running)):
            one = done.result()
            slices[one["name"]] = one
            print(f"[{number + 1}/{len(left)}] {_line(one)}", flush=True)
            _write(path, slices, device)
    outcomes = {one["outcome"] for one in slices.values()}
    print(f"wrote {path}: {', '.join(f'{name} {count}' for name, count in total(list(slices.values())).items())}")
    if "not run" in outcomes:
        return INCOMPLETE
    return 0 if outcomes <= {"passed"} else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="test files in place of all of the rooms that use a GPU")
    parser.add_argument("--out", type=Path, required=True, help="folder for the summary and the logs")
    parser.add_argument("--name", default="gpu_tests", help="of the summary's file")
    parser.add_argument("--under", default="", metavar="COMMAND", help="a program that runs the tests' process")
    parser.add_argument("--time-limit", type=float, default=480.0, help="seconds for all")
    parser.add_argument("--slice-limit", type=float, default=240.0, help="seconds for one file")
    parser.add_argument("--jobs", type=int, default=1, help="files that run at once, each in its own process")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the tests of a file")
    parser.add_argument("--resume", action="store_true", help="go on with the files that did not end")
    parser.add_argument("--any-device", action="store_true", help="run without a GPU, too")
    parser.add_argument("-m", dest="marks", metavar="MARKS", help="as pytest's -m, such as gpu")
    parser.add_argument("-k", dest="words", metavar="WORDS", help="as pytest's -k")
    return parser


def _files() -> list[str]:
    return [str(path.relative_to(ROOT)) for room in ROOMS for path in sorted((ROOT / room).glob("test_*.py"))]


def _run_in_time(name: str, deadline: float, arguments: argparse.Namespace) -> dict[str, Any]:
    """One file in what is left of the time; not run where that is too short."""
    left = deadline - time.monotonic()
    return _run(name, min(left, arguments.slice_limit), arguments) if left >= LEAST_SECONDS else _not_run(name)


def _run(name: str, seconds: float, arguments: argparse.Namespace) -> dict[str, Any]:
    """One file in a process of its own."""
    word = Path(name).stem
    report, log = arguments.out / f"{word}.xml", arguments.out / f"{word}.log"
    command = [
        *shlex.split(arguments.under),
        sys.executable,
        "-m",
        "pytest",
        name,
        "-q",
        "-rfE",
        f"--junitxml={report}",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-n", str(arguments.workers)] if arguments.workers > 1 else []
    command += ["-m", arguments.marks] if arguments.marks else []
    command += ["-k", arguments.words] if arguments.words else []
    report.unlink(missing_ok=True)
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        try:
            code = subprocess.run(command, cwd=ROOT, stdout=stream, stderr=stream, timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            code = None
    found = _counted(report)
    found |= {"name": name, "seconds": time.monotonic() - began, "outcome": _outcome(code), "log": log.name}
    report.unlink(missing_ok=True)
    return found


def _outcome(code: int | None) -> str:
    """5 is pytest's word for no tests: all of them were deselected."""
    match code:
        case None:
            return "time up"
        case 0 | 5:
            return "passed"
        case 1:
            return "failed"
        case _:
            return f"ended with code {code}"


def _counted(report: Path) -> dict[str, Any]:
    """Numbers of tests and the names of those that failed; zeros where the process wrote no report."""
    if not report.is_file():
        return {"passed": 0, "failed": 0, "skipped": 0, "failures": []}
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failures = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    names = [f"{case.get('classname')}::{case.get('name')}" for case in failures]
    passed = len(cases) - len(failures) - skipped
    return {"passed": passed, "failed": len(failures), "skipped": skipped, "failures": names}


def _not_run(name: str) -> dict[str, Any]:
    return {"name": name, "seconds": 0.0, "outcome": "not run", "passed": 0, "failed": 0, "skipped": 0, "failures": []}


def total(slices: list[dict[str, Any]]) -> dict[str, int | float]:
    """Sums over all files; not_run: files that did not come to an end."""
    sums: dict[str, int | float] = {name: sum(one[name] for one in slices) for name in ("passed", "failed", "skipped")}
    sums["not_run"] = sum(one["outcome"] not in ("passed", "failed") for one in slices)
    sums["seconds"] = round(sum(one["seconds"] for one in slices), 1)
    return sums


def _earlier(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    return {one["name"]: one for one in json.loads(path.read_text(encoding="utf-8"))["rows"]}


def _write(path: Path, slices: dict[str, dict[str, Any]], device: torch.device) -> None:
    rows = list(slices.values())
    write_rows(path, {**conditions(device), "total": total(rows)}, rows)


def _line(one: dict[str, Any]) -> str:
    counts = f"{one['passed']} passed, {one['failed']} failed, {one['skipped']} skipped"
    return f"{one['name']}: {one['outcome']}, {counts}, {one['seconds']:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
