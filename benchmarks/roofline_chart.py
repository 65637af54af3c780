"""A roofline of the newest rows: rates over operations a byte, under the product of two large matrices that the same run measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.performance_charts import COLOURS
from benchmarks.result_files import Row, newest, passed
from compilemask.bench.protocol import ITEM_BYTES

BYTES_A_SECOND = {"H200": 4.8e12, "H100": 3.35e12, "A100": 2.0e12}
"""Of the makers' data sheets."""


def roofline_rows(rows: Sequence[Row]) -> list[Row]:
    """Those that know the roof of their run."""
    return [row for row in newest(rows) if row["verdict"] == "passed" and row["median_ms"] and row.get("gemm_tflops")]


def roofline_name(device: str) -> str:
    """The file of a device's chart."""
    return f"{re.sub(r'[^a-z0-9]+', '-', device.lower()).strip('-')}-roofline.svg"


def intensity(row: Row) -> float:
    """Operations on visible pairs for each byte of the inputs and results: q, k, v, o, and with a backward do, dq, dk, dv."""
    elements = row["num_q_heads"] * row["q_len"] * 2 + row["num_kv_heads"] * row["kv_len"] * 2
    passes = 1 if row["direction"] == "forward" else 2
    return float(row["flops"] / (passes * elements * row["head_dim"] * ITEM_BYTES[row["dtype"]]))


def draw_roofline(rows: Sequence[Row], path: Path) -> None:
    """One panel for each direction; equal rows give equal bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams |= {"svg.hashsalt": "compilemask", "svg.fonttype": "none", "font.size": 9}
    known = list(passed(roofline_rows(rows)))
    directions = sorted({row["direction"] for row in known})
    figure = Figure(figsize=(1 + 4.2 * len(directions), 4), layout="constrained")
    panels = figure.subplots(1, len(directions), squeeze=False, sharey=True).ravel()
    roof = max(row["gemm_tflops"] for row in known)
    slope = next((value for name, value in BYTES_A_SECOND.items() if name in known[0]["device"]), None)
    for panel, direction in zip(panels, directions, strict=True):
        own = [row for row in known if row["direction"] == direction]
        for provider in sorted({row["provider"] for row in own}, key=list(COLOURS).index):
            line = [row for row in own if row["provider"] == provider]
            places, values = [intensity(row) for row in line], [row["tflops"] for row in line]
            panel.scatter(places, values, s=14, color=COLOURS[provider], label=provider, alpha=0.8, linewidths=0)
        ends = [min(map(intensity, own)) / 2, max(map(intensity, own)) * 2]
        panel.axhline(roof, color="#222222", linewidth=1)
        panel.annotate(f"8192^3 product, {roof:.0f} TFLOP/s", (ends[0], roof), va="bottom", fontsize=8)
        if slope is not None:
            line_at = np.geomspace(ends[0], ends[1], 100)
            panel.plot(line_at, line_at * slope / 1e12, color="#888888", linewidth=1, linestyle="--")
        panel.set_xlim(*ends)
        panel.set_ylim(0, roof * 1.15)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter(lambda value, _place: f"{value:g}")
        panel.set_title(direction, fontsize=9)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_xlabel("operations on visible pairs a byte of inputs and results", fontsize=9)
    figure.supylabel("TFLOP/s", fontsize=9)
    names = {name: handle for panel in panels for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(names.values(), names.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
