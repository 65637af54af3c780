"""Writes docs/performance.md with its charts, and the table of the README, from the rows in benchmarks/results.

    python3 benchmarks/performance.py

Nothing is measured here. What has not been measured is said to be missing, with the command that measures it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.performance_charts import chart_names, draw_charts
from benchmarks.performance_parts import binding_lines, coverage_lines, gpu_test_lines
from benchmarks.performance_steps import ncu_lines, replan_lines, step_lines
from benchmarks.performance_tables import loss_lines, preset_lines, target_lines, workload_lines
from benchmarks.preset_sizes import SIZES
from benchmarks.readme_table import README, written
from benchmarks.result_files import ResultFile, Row, repeatable, speed_files
from benchmarks.roofline_chart import draw_roofline, roofline_name, roofline_rows

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images" / "performance"
DIRECTIONS = ("forward", "backward", "forward+backward")
BUSY = 1.5
COMMANDS = {
    "workloads, what the targets need first, on a GPU, again with `--keep` when the time was up": "python3 benchmarks/speed_table.py --out benchmarks/results --headline --processes 13 --time-limit 280",
    "every preset at 1K to 32K, on a GPU": "python3 benchmarks/speed_table.py --out benchmarks/results --presets --lengths 1024 2048 4096 8192 16384 32768 --head-dims 128 --processes 12",
    "a CPU": "python3 benchmarks/speed_table.py --out benchmarks/results --lengths 1024 2048 --head-dims 64 --heads 4 --dtype float32",
    "steps with new lengths, on a GPU": "python3 benchmarks/step_table.py --out benchmarks/results",
    "planning on the GPU": "python3 benchmarks/replan.py --out benchmarks/results --time-limit 60",
    "GPU tests": "python3 benchmarks/gpu_tests.py --out benchmarks/results --time-limit 480",
}

HEAD = """\
# Performance

Made by `python3 benchmarks/performance.py` from the rows in `benchmarks/results`; nothing here is typed by hand.

- A provider is compared with float64 attention before it is timed, in o, in lse where it has one, and in dq, dk and dv where it has a backward: the largest
  error must stay within twice that of plain attention in the same dtype plus one ulp. What fails has no time.
- Providers of one case take turns in one process; a ratio is of such a case. Two cards of one model differ by some 5 %, as does one card by heat.
- Rates count visible pairs only: 2 * (head_dim + v_head_dim) operations a pair and head forward, 2.5 times that backward at equal dimensions.
- A file's rows are of the code whose digest it names, which may not be today's; figures of single experiments, and what came of them, are in [the notes on
  the Hopper kernels](hopper-notes.md).
- Inputs are normal(0, 1), seeded. Caches are warm unless a row says otherwise. Making the mask is not in the time; it has its own columns: `cold` is the
  first time in a process, compilation of what makes it included, `warm` with new numbers.
"""


def main() -> int:
    files = speed_files()
    PAGE.write_text(page(files), encoding="utf-8")
    README.write_text(written(README.read_text(encoding="utf-8"), files), encoding="utf-8")
    rows = _rows(files)
    draw_charts(rows, IMAGES)
    for device in {row["device"] for row in roofline_rows(rows) if not row["device"].startswith("CPU")}:
        draw_roofline([row for row in rows if row["device"] == device], IMAGES / roofline_name(device))
    print(f"wrote {PAGE.relative_to(ROOT)} and {len(list(IMAGES.glob('*.svg')))} charts")
    return 0


def page(files: Sequence[ResultFile]) -> str:
    """The whole page as Markdown."""
    rows = _rows(files)
    lines = [HEAD]
    for device in dict.fromkeys(row["device"] for row in rows):
        lines += _device_lines(device, [row for row in rows if row["device"] == device], files)
    lines += ["## Steps with new lengths", "", *step_lines(), "", *replan_lines(), ""]
    lines += ["## Making a mask", "", *binding_lines(), ""]
    lines += ["## Counters of single kernels", "", *ncu_lines(), ""]
    lines += ["## What has been measured", "", *coverage_lines(rows), ""]
    lines += ["## Tests on a GPU", "", *gpu_test_lines(), ""]
    lines += ["## Measure it again", "", *(f"- {what}: `{command}`" for what, command in COMMANDS.items())]
    lines += [
        "",
        "One case by hand: `compilemask bench causal --set n=8192 --impl triton flex_attention --direction forward backward`.",
        "",
    ]
    return "\n".join(lines)


def _rows(files: Sequence[ResultFile]) -> list[Row]:
    """GPUs first: they are what the project is for."""
    rows = [row for file in files for row in file.rows]
    return sorted(rows, key=lambda row: (row["device"].startswith("CPU"), row["device"]))


def _device_lines(device: str, rows: Sequence[Row], files: Sequence[ResultFile]) -> Iterator[str]:
    yield f"## {device}"
    yield ""
    for file in files:
        if any(row["device"] == device for row in file.rows):
            known = file.environment
            versions = ", ".join(f"{name} {known[name]}" for name in ("torch", "triton", "driver") if name in known)
            busy = (
                f" The machine was busy: load average {file.load:.1f}."
                if device.startswith("CPU") and file.load > BUSY
                else ""
            )
            where = f"[{file.name}](../benchmarks/results/{file.name}), {file.date[:10]}, {versions}"
            where += f", {_contents([row for row in file.rows if row['device'] == device])}"
            yield f"{where}: `{repeatable(file.command)}`. {file.method[:1].upper()}{file.method[1:]}.{busy}"
            yield ""
    for direction in DIRECTIONS:
        own = [row for row in rows if row["direction"] == direction]
        if own:
            yield from _direction_lines(device, direction, own)
    if not device.startswith("CPU"):
        yield from _summary_lines(device, rows)
    missing = [
        direction for direction in ("forward", "forward+backward") if all(row["direction"] != direction for row in rows)
    ]
    if missing:
        yield f"Not measured here yet: {' and '.join(missing)}."
        yield ""


def _contents(rows: Sequence[Row]) -> str:
    """How many cases, at which lengths, by which code."""
    lengths = ", ".join(f"{length:,}" for length in sorted({row["length"] for row in rows}))
    code = ", ".join(sorted({row["environment"].get("source", "unknown") for row in rows}))
    cases = len({(row["mask"], row["length"], row["head_dim"], row["dtype"], row["direction"]) for row in rows})
    return f"{cases} cases at {lengths} tokens, code {code}"


def _direction_lines(device: str, direction: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"### {direction}, {device}"
    yield ""
    for name in chart_names(rows):
        yield f"![TFLOP/s by length, {direction} on {device}](images/performance/{name})"
        yield ""
    yield from workload_lines(rows)
    yield ""


def _summary_lines(device: str, rows: Sequence[Row]) -> Iterator[str]:
    """Of a GPU: targets, where peers are faster, the roofline, presets by length."""
    yield f"### Targets, {device}"
    yield ""
    yield from target_lines(rows)
    yield f"### Where peers are faster, {device}"
    yield ""
    yield from loss_lines(rows)
    yield ""
    if roofs := roofline_rows(rows):
        yield f"### Roofline, {device}"
        yield ""
        yield f"![TFLOP/s over operations a byte on {device}](images/performance/{roofline_name(device)})"
        yield ""
        low, high = min(row["gemm_tflops"] for row in roofs), max(row["gemm_tflops"] for row in roofs)
        yield (
            f"A product of two 8192 x 8192 matrices reached {low:.0f} to {high:.0f} TFLOP/s in these runs. The dashed line is the memory bandwidth of the "
            "data sheet."
        )
        yield ""
    if presets := list(preset_lines(rows, list(SIZES)))[2:]:
        yield f"### Presets by length, {device}"
        yield ""
        yield "The best of ours in ms, and how many times faster that is than compiled FlexAttention in the same run; 16 heads of 128, bfloat16."
        yield ""
        yield from list(preset_lines(rows, list(SIZES)))[:2]
        yield from presets
        yield ""


if __name__ == "__main__":
    sys.exit(main())
