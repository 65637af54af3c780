"""Writes docs/performance.md and its charts from the rows in benchmarks/results.

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
from benchmarks.result_files import ResultFile, Row, newest, speed_files
from benchmarks.speed_rows import pairs, silu_lines, target
from compilemask.bench.tables import rate

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images" / "performance"
DIRECTIONS = ("forward", "backward", "forward+backward")
OURS_FIRST = ("hopper", "triton", "torch")
BUSY = 1.5
COMMANDS = {
    "workloads, forward and forward+backward, on a GPU, again with `--head-dims 64`, and again when the time was up": "python3 benchmarks/speed_table.py --out benchmarks/results --head-dims 128 --processes 12 --time-limit 280",
    "every preset at 1K to 32K, on a GPU": "python3 benchmarks/speed_table.py --out benchmarks/results --presets --lengths 1024 2048 4096 8192 16384 32768 --head-dims 128 --processes 12",
    "a CPU": "python3 benchmarks/speed_table.py --out benchmarks/results --lengths 1024 2048 --head-dims 64 --heads 4 --dtype float32",
    "GPU tests": "python3 benchmarks/gpu_tests.py --out benchmarks/results --time-limit 480",
}

HEAD = """\
# Performance

Made by `python3 benchmarks/performance.py` from the rows in `benchmarks/results`; nothing here is typed by hand.

- A provider is compared with float64 attention before it is timed, in o, in lse where it has one, and in dq, dk and dv where it has a backward: the largest
  error must stay within twice that of plain attention in the same dtype plus one ulp. What fails has no time.
- Providers of one case take turns in one process; a ratio is of such a case. Two cards of one model differ by some 5 %, as does one card by heat.
- Rates count visible pairs only: 2 * (head_dim + v_head_dim) operations a pair and head forward, 2.5 times that backward at equal dimensions.
- Inputs are normal(0, 1), seeded. Caches are warm unless a row says otherwise. Making the mask is not in the time; it has its own columns: `cold` is the
  first time in a process, compilation of what makes it included, `warm` with new numbers.
"""


def main() -> int:
    files = speed_files()
    PAGE.write_text(page(files), encoding="utf-8")
    draw_charts(_rows(files), IMAGES)
    print(f"wrote {PAGE.relative_to(ROOT)} and {len(chart_names(_rows(files)))} charts")
    return 0


def page(files: Sequence[ResultFile]) -> str:
    """The whole page as Markdown."""
    rows = _rows(files)
    lines = [HEAD]
    for device in dict.fromkeys(row["device"] for row in rows):
        lines += _device_lines(device, [row for row in rows if row["device"] == device], files)
    lines += ["## Making a mask", "", *binding_lines(), ""]
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
    rows = newest([row for file in files for row in file.rows])
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
            yield f"{where}: `{file.command}`. {file.method[:1].upper()}{file.method[1:]}.{busy}"
            yield ""
    for direction in DIRECTIONS:
        own = [row for row in rows if row["direction"] == direction]
        if own:
            yield from _direction_lines(device, direction, own)
    missing = [
        direction for direction in ("forward", "forward+backward") if all(row["direction"] != direction for row in rows)
    ]
    if missing:
        yield f"Not measured here yet: {' and '.join(missing)}."
        yield ""


def _direction_lines(device: str, direction: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"### {direction}, {device}"
    yield ""
    for name in chart_names(rows):
        yield f"![TFLOP/s by length, {direction} on {device}](images/performance/{name})"
        yield ""
    yield "| workload | length | heads x dim, dtype | provider | ms | rate | we are | wanted | mask cold, warm, ms |"
    yield "| --- | ---: | --- | --- | ---: | ---: | ---: | --- | --- |"
    ratios = {(id(peer), ours["provider"]): ours for ours, peer in pairs(rows)}
    for row in sorted(rows, key=_order):
        yield _row_line(row, next((ratios[id(row), name] for name in OURS_FIRST if (id(row), name) in ratios), None))
    yield ""
    if silu := list(silu_lines(rows)):
        yield "HSTU's SiLU beside softmax under the same mask, in one run:"
        yield ""
        yield from (f"- {line}" for line in silu)
        yield ""


def _row_line(row: Row, ours: Row | None) -> str:
    """A row and, where it is a peer's, its ratio to ours."""
    heads = f"{row['num_q_heads']}/{row['num_kv_heads']} x {row['head_dim']}, {row['dtype']}"
    place = f"| {row['mask']} | {row['length']:,} | {heads} | {row['provider']} "
    if row["verdict"] != "passed" or not row["median_ms"]:
        return f"{place}| {row['verdict']}: {row['reason']} | | | | |"
    ratio = wanted = ""
    if ours is not None:
        factor = row["median_ms"] / ours["median_ms"]
        ratio = f"{factor:.2f}x"
        aim = target(ours, row)
        wanted = "" if aim is None else f"{aim:g}x: {'met' if factor >= aim else 'missed'}"
    made = ", ".join("-" if row[name] is None else f"{row[name]:.1f}" for name in ("plan_cold_ms", "plan_ms"))
    return f"{place}| {row['median_ms']:.3f} | {rate(row['tflops'])} | {ratio} | {wanted} | {made} |"


def _order(row: Row) -> tuple[object, ...]:
    ours = OURS_FIRST.index(row["provider"]) if row["provider"] in OURS_FIRST else len(OURS_FIRST)
    return (row["mask"], row["length"], -row["head_dim"], row["dtype"], ours, row["provider"])


if __name__ == "__main__":
    sys.exit(main())
