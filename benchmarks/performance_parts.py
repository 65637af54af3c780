"""Parts of docs/performance.md beside the tables of speed: making masks, what has been measured, the tests on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.preset_sizes import SIZES
from benchmarks.result_files import RESULTS, Row, passed, read_json

LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
DIRECTIONS = ("forward", "forward+backward")


def binding_lines(folder: Path = RESULTS) -> Iterator[str]:
    """Bind and plan beside create_block_mask, on one CPU core."""
    found = read_json("compile_cost.json", folder)
    if found is None:
        yield "Not measured yet: `python3 benchmarks/compile_cost.py --out benchmarks/results`."
        return
    where = found["environment"]
    yield (
        f"One core of {where['device']}, torch {where['torch']}, {found['date'][:10]}: `{found['command']}`. `bind` is new numbers for a "
        "checked text, `plan` the tiles of 128 x 128; beside them torch's create_block_mask in the same process, uncompiled."
    )
    yield ""
    yield "| mask | queries | bind, ms | plan, ms | peak, MB | create_block_mask, ms |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for row in found["rows"]:
        dense = row["create_block_mask_ms"]
        other = "-" if dense is None else f"{dense:.0f}"
        yield (
            f"| {row['mask']} | {row['q_len']:,} | {row['bind_ms']:.2f} | {row['plan_ms']:.2f} | {row['peak_bytes'] / 1e6:.1f} | {other} |"
        )


def coverage_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Every preset that has sizes x direction: which providers were measured at which lengths, on GPUs."""
    yield (
        "Presets that scale to a length, on a GPU, by direction: providers that were verified and timed, with the lengths in units of 1,024 tokens. `-` is not "
        "measured yet. A workload counts for its preset."
    )
    yield ""
    yield f"| preset | {' | '.join(DIRECTIONS)} |"
    yield "| --- | --- | --- |"
    on_gpu = [row for row in passed(rows) if not row["device"].startswith("CPU")]
    count = 0
    for name in SIZES:
        own = [row for row in on_gpu if row["preset"] == name]
        count += len({(row["direction"], row["provider"], row["length"]) for row in own if row["length"] in LENGTHS})
        cells = [_measured([row for row in own if row["direction"] == direction]) for direction in DIRECTIONS]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield f"{count} combinations of preset, direction, provider and length so far."


def _measured(rows: Sequence[Row]) -> str:
    found = []
    for provider in dict.fromkeys(row["provider"] for row in rows):
        lengths = sorted({row["length"] for row in rows if row["provider"] == provider})
        found.append(f"{provider} {', '.join(f'{length / 1024:g}' for length in lengths)}")
    return "; ".join(found) or "-"


def gpu_test_lines(folder: Path = RESULTS) -> Iterator[str]:
    """The summaries of the runs of the tests on a GPU, the latest first."""
    runs = [read_json(path.name, folder) for path in folder.glob("gpu_tests*.json")]
    for found in sorted((run for run in runs if run), key=lambda run: str(run["date"]), reverse=True):
        yield from _gpu_test_run(found)
    if not runs:
        yield "Not run yet with its log kept: `python3 benchmarks/gpu_tests.py --out benchmarks/results`."


def _gpu_test_run(found: Row) -> Iterator[str]:
    where, total = found["environment"], found["total"]
    yield (
        f"{where['device']}, torch {where['torch']}, triton {where.get('triton', 'none')}, {found['date'][:16]}, code {where.get('source', 'unknown')}: "
        f"{total['passed']:,} passed, {total['failed']:,} failed, {total['skipped']:,} skipped, {total['left']:,} not run."
    )
    yield ""
    yield "| tests | outcome | passed | failed | skipped | not run | seconds |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for part in found["rows"]:
        yield (
            f"| {part['name']} | {part['outcome']} | {part['passed']} | {part['failed']} | {part['skipped']} | {part['left']} | {part['seconds']:.0f} |"
        )
    yield ""
    if "remark" in found:
        yield f"{found['remark']}\n"
    for failure in (failure for part in found["rows"] for failure in part["failures"]):
        yield f"- failed: `{failure['test'].split('::')[-1]}`: {failure['text']}"
    yield ""
