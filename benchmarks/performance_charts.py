"""Charts of docs/performance.md: TFLOP/s by length, one panel a workload, one picture a device, direction and shape."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.result_files import Row, newest, passed

COLOURS = {
    "hopper": "#d1495b", "hopper_deterministic": "#e58a97", "triton": "#edae49", "torch": "#8d5a97", "flex_attention": "#30638e", "flex_attention_tuned": "#003d5b",
    "flex_attention_flash": "#5aa9e6", "fa4": "#7b2d8b", "sdpa_cudnn": "#3c7a3f", "sdpa_flash": "#2a9d8f", "sdpa": "#8ab17d",
    "varlen": "#b07d2b", "dense": "#8d99ae", "sdpa_math": "#5c677d", "reference": "#adb5bd",
}  # fmt: skip
_COLUMNS = 4
_MAX_PANELS = 16


def chart_names(rows: Sequence[Row]) -> list[str]:
    """File names of the charts that these rows make."""
    return list(_groups(rows))


def draw_charts(rows: Sequence[Row], folder: Path) -> None:
    """Write every chart as SVG; equal rows give equal bytes. Charts of earlier rows that are none any more are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = _groups(rows)
    for old in set(folder.glob("*.svg")) - {folder / name for name in groups}:
        old.unlink()
    for name, own in groups.items():
        _draw(own, folder / name)


def _groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in passed(newest(rows)):
        words = f"{row['device']} {row['direction']} {row['head_dim']} {row['dtype']}"
        name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
        groups.setdefault(name, []).append(row)
    return dict(part for name, own in groups.items() for part in _parts(name, own))


def _parts(name: str, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Charts of at most 16 panels each, numbered where there are several."""
    masks = sorted({row["mask"] for row in rows})
    for start in range(0, len(masks), _MAX_PANELS):
        chosen = set(masks[start : start + _MAX_PANELS])
        number = f"-{start // _MAX_PANELS + 1}" if len(masks) > _MAX_PANELS else ""
        yield f"{name}{number}.svg", [row for row in rows if row["mask"] in chosen]


def _draw(rows: Sequence[Row], path: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams |= {"svg.hashsalt": "compilemask", "svg.fonttype": "none", "font.size": 9}
    masks = sorted({row["mask"] for row in rows})
    columns = min(_COLUMNS, len(masks))
    lines = math.ceil(len(masks) / columns)
    figure = Figure(figsize=(1.2 + 2.6 * columns, 0.7 + 2.3 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel()
    for panel in panels[len(masks) :]:
        panel.remove()
    lengths = sorted({row["length"] for row in rows})
    small = max(row["tflops"] for row in rows) < 1
    for panel, mask in zip(panels, masks, strict=False):
        own = [row for row in rows if row["mask"] == mask]
        for provider in sorted({row["provider"] for row in own}, key=list(COLOURS).index):
            line = sorted((row for row in own if row["provider"] == provider), key=lambda row: row["length"])
            places, values = [row["length"] for row in line], [row["tflops"] * (1000 if small else 1) for row in line]
            panel.plot(places, values, marker="o", markersize=4, color=COLOURS[provider], label=provider)
        panel.set_title(mask, fontsize=9)
        panel.set_xscale("log", base=2)
        panel.set_xticks(lengths, [f"{length / 1024:g}K" for length in lengths])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(bottom=0)
    figure.supylabel(f"{'GFLOP/s' if small else 'TFLOP/s'}, visible pairs", fontsize=9)
    _legend(figure, list(panels[: len(masks)]))
    first = rows[0]
    figure.suptitle(
        f"{first['device']}, {first['direction']}, head_dim {first['head_dim']}, {first['dtype']}", fontsize=10
    )
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")


def _legend(figure: object, panels: Sequence[object]) -> None:
    """One for all panels, each provider once."""
    known: dict[str, object] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()  # type: ignore[attr-defined]
        known |= dict(zip(labels, handles, strict=True))
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=len(known), frameon=False)  # type: ignore[attr-defined]
