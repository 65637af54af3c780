"""Reads what Nsight Compute printed about a few kernels, and keeps the numbers that say where their time goes.

    ncu --clock-control none --profile-from-start off --set detailed python3 ... > profile.txt
    python3 benchmarks/ncu_summary.py profile.txt --out benchmarks/results --work "causal, 8,192 tokens" --like benchmarks/results/speed_table_h200.json

--like: a file of rows of the same machine, whose hardware and versions are copied: a profile does not tell its own. Writes ncu.json,
with the date of the profile's file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from compilemask.bench.rows import Row, write_rows

METRICS = {
    "Duration": "duration",
    "SM Frequency": "sm_clock",
    "Compute (SM) Throughput": "compute_percent",
    "Memory Throughput": "memory_percent",
    "L1/TEX Cache Throughput": "l1_percent",
    "L2 Cache Throughput": "l2_percent",
    "DRAM Throughput": "dram_percent",
    "Issue Slots Busy": "issue_percent",
    "Local Memory Spilling Requests": "spill_requests",
    "L2 Hit Rate": "l2_hit_percent",
    "Registers Per Thread": "registers",
    "Dynamic Shared Memory Per Block": "shared_kbytes",
    "Achieved Active Warps Per SM": "active_warps",
}
"""What is kept, by the name that the profiler gives it, the first time it is given."""
_OF_THE_MOMENT = ("source", "commit", "sm_clock_mhz")
_SCALES = {"us": 1e-3, "ms": 1.0, "ns": 1e-6, "s": 1e3, "Mhz": 1e-3, "byte/block": 1e-3}
_KERNEL = re.compile(r"^  (?P<name>\w+) \((?P<grid>[\d, ]+)\)x\((?P<block>[\d, ]+)\), Context ")
_OTHER = re.compile(r"^  \S.*\), Context ")
_METRIC = re.compile(r"^    (?P<name>\S.*?)(?:  +(?P<unit>[A-Za-z%][\w/%]*))? +(?P<value>[\d,]+(?:\.\d+)?)$")
_PIPELINE = re.compile(r"(\w+) is the highest-utilized pipeline \(([\d.]+)%\)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", type=Path, help="what ncu printed")
    parser.add_argument("--out", type=Path, required=True, help="folder for ncu.json")
    parser.add_argument("--work", required=True, help="what was profiled, in words")
    parser.add_argument("--like", type=Path, required=True, help="rows of the same machine")
    parser.add_argument("--command", default="ncu --clock-control none --profile-from-start off --set detailed")
    arguments = parser.parse_args()
    rows = list(kernels(arguments.profile.read_text(encoding="utf-8")))
    if not rows:
        print(f"{arguments.profile} names no kernel of this project", file=sys.stderr)
        return 1
    like = json.loads(arguments.like.read_text(encoding="utf-8"))
    date = datetime.datetime.fromtimestamp(arguments.profile.stat().st_mtime, datetime.UTC).isoformat(
        timespec="seconds"
    )
    environment = {name: value for name, value in like["environment"].items() if name not in _OF_THE_MOMENT}
    head = {"environment": environment, "date": date, "command": arguments.command, "work": arguments.work}
    write_rows(arguments.out / "ncu.json", head, rows)
    print(f"{len(rows)} kernels: {', '.join(row['kernel'] for row in rows)}")
    return 0


def kernels(text: str) -> Iterator[Row]:
    """One row for each kernel whose name is a plain word, as ours are; times in ms, clocks in GHz, shared memory in kB."""
    row: Row | None = None
    for line in text.splitlines():
        if head := _KERNEL.match(line):
            if row:
                yield row
            row = {"kernel": head["name"], "grid": head["grid"], "block": head["block"]}
        elif _OTHER.match(line):
            if row:
                yield row
            row = None
        elif row is not None:
            _read(line, row)
    if row:
        yield row


def _read(line: str, row: Row) -> None:
    if (found := _METRIC.match(line)) and (name := METRICS.get(found["name"])) and name not in row:
        row[name] = float(found["value"].replace(",", "")) * _SCALES.get(found["unit"] or "", 1.0)
    elif found := _PIPELINE.search(line):
        row["busiest_pipeline"], row["pipeline_percent"] = found[1], float(found[2])


if __name__ == "__main__":
    sys.exit(main())
