"""Runs the tests that use a GPU on all cores under a time limit, and keeps a summary.

    python3 benchmarks/gpu_tests.py --out benchmarks/results --time-limit 480 --workers 16

Compiling kernels takes most of the time, so the tests of all files share the workers. Each test is noted in NAME.jsonl when it ends: a
process that crashes, or the end of the time, loses no other. Started again with --resume it goes on with the tests that have not passed. Writes
NAME.json, a row for each file, and the log of pytest beside it. Exit code 0 when all ran and passed, 1 when one failed, 3 when the time was up first.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


from benchmarks import pytest_journal
from benchmarks.conditions import conditions
from compilemask.bench.case import default_device
from compilemask.bench.rows import write_rows

ROOT = Path(__file__).parents[1]
INCOMPLETE = 3
ROOMS = ("tests/attention", "tests/bench")
"""Whose tests run on the GPU where there is one; the other rooms never see a tensor."""


def main() -> int:
    arguments = _parser().parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    device = default_device()
    if device.type != "cuda" and not arguments.any_device:
        print("no CUDA device here; --any-device runs the same tests on the CPU", file=sys.stderr)
        return 2
    journal = (arguments.out / f"{arguments.name}.jsonl").absolute()
    if not arguments.resume:
        journal.unlink(missing_ok=True)
    began = time.monotonic()
    code = _run(journal, arguments)
    rows = [summary(name, entries) for name, entries in pytest_journal.entries_by_file(journal)]
    sums = total(rows) | {"wall_seconds": round(time.monotonic() - began, 1), "workers": arguments.workers}
    path = arguments.out / f"{arguments.name}.json"
    write_rows(path, {**conditions(device), "total": sums}, rows)
    print("\n".join(_line(row) for row in rows))
    print(f"wrote {path}: {', '.join(f'{name} {count}' for name, count in sums.items())}")
    if sums["failed"] or code not in (None, 0, 1, 5):
        return 1
    return INCOMPLETE if sums["left"] or code is None else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "files", nargs="*", default=list(ROOMS), help="test files or folders in place of all that use a GPU"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the summary and the log")
    parser.add_argument("--name", default="gpu_tests", help="of the summary's file")
    parser.add_argument("--time-limit", type=float, default=480.0, help="seconds for all")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that share the tests")
    parser.add_argument("--resume", action="store_true", help="go on with the tests that did not pass")
    parser.add_argument("--any-device", action="store_true", help="run without a GPU, too")
    parser.add_argument("-m", dest="marks", metavar="MARKS", help="as pytest's -m, such as gpu")
    parser.add_argument("-k", dest="words", metavar="WORDS", help="as pytest's -k")
    return parser


def _run(journal: Path, arguments: argparse.Namespace) -> int | None:
    """Pytest's exit code, None where its time was up; it is ended with every process it has started."""
    command = [sys.executable, "-m", "pytest", *arguments.files, "-q", "-rfE", "-p", "benchmarks.pytest_journal"]
    command += ["-p", "no:cacheprovider"]
    command += ["-n", str(arguments.workers), "--dist", "worksteal"] if arguments.workers > 1 else []
    command += ["-m", arguments.marks] if arguments.marks else []
    command += ["-k", arguments.words] if arguments.words else []
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | {pytest_journal.VARIABLE: str(journal), "PYTHONPATH": paths}
    with (arguments.out / f"{arguments.name}.log").open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=stream, stderr=stream, start_new_session=True
        )
        try:
            return process.wait(arguments.time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def summary(name: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of one file. seconds: of its tests, added up over the workers."""
    counts = {
        word: sum(entry["outcome"] == word for entry in entries) for word in ("passed", "failed", "skipped", "left")
    }
    outcome = "failed" if counts["failed"] else "not ended" if counts["left"] else "passed"
    failures = [
        {"test": entry["test"], "text": reason(entry.get("text", ""))}
        for entry in entries
        if entry["outcome"] == "failed"
    ]
    seconds = round(sum(entry["seconds"] for entry in entries), 1)
    return {"name": name, "outcome": outcome, **counts, "seconds": seconds, "failures": failures}


def reason(text: str) -> str:
    """What pytest marks as the error in the text of a failure, its first line; else the last line of the text."""
    lines = text.strip().splitlines() or [""]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (marked or lines[-1:])[0]


def total(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Sums over all files."""
    return {
        name: round(sum(row[name] for row in rows), 1) for name in ("passed", "failed", "skipped", "left", "seconds")
    }


def _line(row: dict[str, Any]) -> str:
    counts = f"{row['passed']} passed, {row['failed']} failed, {row['skipped']} skipped, {row['left']} left"
    return f"{row['name']}: {row['outcome']}, {counts}, {row['seconds']:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
