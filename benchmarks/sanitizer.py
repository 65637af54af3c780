"""Runs every kernel under compute-sanitizer's memcheck and racecheck, each group of kernels in a process of its own.

    python3 benchmarks/sanitizer.py --out benchmarks/results --jobs 12 --time-limit 110

First without a checker, which compiles: a checker would watch the compiler, too. Then under each tool, with torch giving every tensor an
allocation of its own, so that memcheck knows where it ends. Each tool must find the error of benchmarks/planted_errors.py, or its silence means nothing.
Writes sanitizer.json after each process, and one log a process beside it; docs/support.md tells of it. --groups keeps the rows of the others. Exit code 0 when all
is clean, 1 when not, 2 where nothing can be checked, 3 when the time was up first.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.conditions import conditions
from benchmarks.every_kernel import GROUPS, ROOM
from compilemask.bench.case import default_device
from compilemask.bench.rows import write_rows

FOLDER = Path(__file__).parent
INCOMPLETE = 3
LEAST_SECONDS = 5.0
PLANTED = {"memcheck": "write", "racecheck": "race"}
"""The error of planted_errors.py that each tool must find."""
SUMMARY = {
    "memcheck": re.compile(r"ERROR SUMMARY: (\d+) error"),
    "racecheck": re.compile(r"RACECHECK SUMMARY: (\d+) hazard"),
}
CHECKERS = """\
## Memory and race checkers

Kernels at small sizes under the two tools of compute-sanitizer that watch memory (`python3 benchmarks/sanitizer.py --out benchmarks/results`), their results compared with
float64 as well; `not run` are those that the tools have not seen yet, and `time up` those that they did not come to the end of. memcheck finds reads and writes outside of an allocation: every tensor has one of its own. racecheck finds threads of a
block that meet in shared memory without a barrier between them. `dispatch` stands for one finding of racecheck in every kernel that splits its warps:
the bytes by which Triton tells warps their part, read behind a barrier of all warps and written before one, which racecheck does not count as that (where
the accesses are is checked for every race that it reports). It follows loads, stores and barriers of threads; copies by tensor maps and the barriers in
memory that they arrive at are not all known to it, so for kernels that load in that way (all of `hopper`, those of `triton` with tensor descriptors) a clean run
speaks for the rest of them alone, and what speaks for the copies is that results are right and repeat bit for bit.
"""
Outcome = Literal["clean", "errors", "dispatch", "found", "not found", "failed", "time up", "not run"]


@dataclass(frozen=True, slots=True)
class Row:
    """tool: "none" for the run that compiles. errors: as the tool counts them, -1 where it did not say.

    outcome: found, not found: of a planted error; dispatch: every race is one of Triton's own, see dispatch_only.
    """

    group: str
    kernels: tuple[str, ...]
    tool: str
    outcome: Outcome
    errors: int
    seconds: float
    log: str


@dataclass(frozen=True, slots=True)
class _Run:
    """A process to be: of a group of kernels or of a planted error, under a tool or none."""

    group: str
    tool: str

    @property
    def planted(self) -> bool:
        return self.group not in GROUPS

    @property
    def kernels(self) -> tuple[str, ...]:
        return (f"planted_{PLANTED[self.tool]}_kernel",) if self.planted else GROUPS[self.group].kernels

    @property
    def log(self) -> str:
        return f"sanitizer_{self.group}_{self.tool}.log"

    def command(self, known_options: str) -> list[str]:
        script = ["planted_errors.py", PLANTED[self.tool]] if self.planted else ["every_kernel.py", self.group]
        python = [sys.executable, str(FOLDER / script[0]), script[1]]
        if self.tool == "none":
            return python
        wanted = [("--kernel-regex", f"kns={kernel}") for kernel in self.kernels]
        wanted += [("--padding", "512")] if self.tool == "memcheck" else []
        options = [word for option in wanted if option[0] in known_options for word in option]
        return ["compute-sanitizer", "--tool", self.tool, *options, *python]


def main() -> int:
    arguments = _parser().parse_args()
    device = default_device()
    if device.type != "cuda" or shutil.which("compute-sanitizer") is None:
        print("a CUDA device and compute-sanitizer are needed, and one of them is not here", file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    head = {**conditions(device), "sanitizer": _said_by("--version").strip().splitlines()[-1]}
    rows = _kept(arguments.out / "sanitizer.json", arguments.groups)
    for row in _rows(arguments, _said_by("--help")):
        rows.append(row)
        print(f"{row.tool} {row.group}: {row.outcome}, {row.errors} errors, {row.seconds:.0f} s", flush=True)
        write_rows(arguments.out / "sanitizer.json", head, [asdict(row) for row in rows])
    return exit_code(rows)


def exit_code(rows: list[Row]) -> int:
    """Of a run that came to these rows; see above."""
    outcomes = {row.outcome for row in rows}
    if outcomes & {"errors", "not found", "failed"}:
        return 1
    return INCOMPLETE if outcomes & {"time up", "not run"} else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the rows and the logs")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), help="groups of kernels")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that run at once")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds for all")
    return parser


def _kept(path: Path, groups: list[str]) -> list[Row]:
    """Rows of an earlier run that this one does not make again."""
    if not path.is_file():
        return []
    earlier = [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    return [row for row in earlier if row.group in GROUPS and row.group not in groups]


def _said_by(option: str) -> str:
    return subprocess.run(["compute-sanitizer", option], capture_output=True, text=True, check=False).stdout


def _rows(arguments: argparse.Namespace, known_options: str) -> Iterator[Row]:
    """Each as soon as it is there. A group that is wrong without a checker is not checked."""
    deadline = time.monotonic() + arguments.time_limit
    with ThreadPoolExecutor(arguments.jobs) as jobs:

        def begin(run: _Run) -> Future[Row]:
            return jobs.submit(_row, run, deadline, known_options, arguments.out)

        running = {begin(_Run(group, "none")) for group in arguments.groups}
        running |= {begin(_Run("planted", tool)) for tool in PLANTED}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for row in (future.result() for future in done):
                yield row
                if row.tool == "none" and row.outcome == "clean":
                    running |= {begin(_Run(row.group, tool)) for tool in SUMMARY}


def _row(run: _Run, deadline: float, known_options: str, out: Path) -> Row:
    began = time.monotonic()
    if deadline - began < LEAST_SECONDS:
        return Row(run.group, run.kernels, run.tool, "not run", -1, 0.0, "")
    with (out / run.log).open("w", encoding="utf-8") as stream:
        code = _exit_code(run.command(known_options), stream, deadline - began)
    text = (out / run.log).read_text(encoding="utf-8", errors="replace")
    outcome, errors = outcome_of(run.tool, run.planted, code, text)
    return Row(run.group, run.kernels, run.tool, outcome, errors, round(time.monotonic() - began, 1), run.log)


def _exit_code(command: list[str], stream: TextIO, seconds: float) -> int | None:
    """Of a process, None when the time was up; it ends with all that it started."""
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    process = subprocess.Popen(command, stdout=stream, stderr=stream, env=environment, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def outcome_of(tool: str, planted: bool, code: int | None, text: str) -> tuple[Outcome, int]:
    """(outcome, errors that the tool counted) from what a process printed; code: its exit code, None when the time was up."""
    if code is None:
        return "time up", -1
    if tool == "none":
        return ("clean" if code == 0 else "failed"), -1
    summary = SUMMARY[tool].search(text)
    if summary is None:
        return "failed", -1
    errors = int(summary.group(1))
    if planted:
        return ("found" if errors else "not found"), errors
    if errors:
        return ("dispatch" if tool == "racecheck" and code == 0 and dispatch_only(text) else "errors"), errors
    return ("clean" if code == 0 else "failed"), errors


def dispatch_only(log: str) -> bool:
    """Whether all accesses of all races are of a kernel that splits its warps, in lines of its own body and none of what its warps do.

    That body only makes ready and splits; there Triton writes into shared memory which part each warp plays. racecheck does not see that all
    warps meet at barrier 1 between each write and each read of it: in the machine code the read follows that barrier, the write precedes it.
    """
    accesses = re.findall(r"(?:Read|Write|Atomic) access at (\S+?)\+0x[0-9a-f]+(?: in (\S+?):(\d+))?", log)
    bodies = _splitting_bodies()
    return bool(accesses) and all(
        line and int(line) in bodies.get((kernel, file), ()) for kernel, file, line in accesses
    )


@functools.cache
def _splitting_bodies() -> dict[tuple[str, str], range]:
    """(kernel, file): its lines, of the kernels that split their warps."""
    found = {}
    for path in sorted(ROOM.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and ".warp_specialize(" in (ast.get_source_segment(text, node) or ""):
                found[node.name, path.name] = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return found


def checker_lines(folder: Path) -> list[str]:
    """What benchmarks/sanitizer.py found."""
    path = folder / "sanitizer.json"
    if not path.is_file():
        return [
            "## Memory and race checkers",
            "",
            "Not run yet: `python3 benchmarks/sanitizer.py --out benchmarks/results`.",
            "",
        ]
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = {(row["group"], row["tool"]): row for row in record["rows"]}
    known = record["environment"]
    where = [
        known.get("device", ""),
        *(f"{name} {known[name]}" for name in ("torch", "triton", "driver", "source") if name in known),
    ]
    lines = [CHECKERS, f"{', '.join(where)}, compute-sanitizer {record['sanitizer']}, {str(record['date'])[:10]}.", ""]
    for tool in PLANTED:
        planted = rows.get(("planted", tool))
        said = "found" if planted and planted["outcome"] == "found" else "did not find"
        lines.append(f"- {tool} {said} an error that was planted for it.")
    lines += [
        "",
        "| kernels called by | kernels | " + " | ".join(PLANTED) + " | seconds |",
        "| --- | --- | --- | --- | ---: |",
    ]
    for group, row in ((name, row) for (name, tool), row in rows.items() if tool == "none"):
        own = [rows.get((group, tool), row) for tool in PLANTED]
        cells = [_checked(one, one is row) for one in own]
        seconds = ", ".join(f"{one['seconds']:.0f}" for one in own)
        names = ", ".join(f"`{kernel}`" for kernel in row["kernels"])
        lines.append(f"| {group} | {names} | {' | '.join(cells)} | {seconds} |")
    for group in GROUPS:
        if (group, "none") not in rows:
            names = ", ".join(f"`{kernel}`" for kernel in GROUPS[group].kernels)
            lines.append(f"| {group} | {names} | not run | not run | |")
    return [*lines, ""]


def _checked(row: dict[str, Any], is_unchecked: bool) -> str:
    if is_unchecked and row["outcome"] == "clean":
        return "not run"
    if row["outcome"] == "dispatch":
        return f"dispatch ({row['errors']})"
    if row["outcome"] != "errors":
        return str(row["outcome"])
    return f"{row['errors']} error{'s' if row['errors'] > 1 else ''}"


if __name__ == "__main__":
    sys.exit(main())
