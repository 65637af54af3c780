"""Rows as one HTML page with a chart, which opens without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compilemask.bench.rows import Row


def write_chart(path: Path, title: str, rows: Sequence[Row]) -> None:
    """Milliseconds of the rows that passed: lines over q_len where lengths differ, else bars; 20 to 80 % as whiskers.

    Raises ModuleNotFoundError without plotly, OSError when the file cannot be written.
    """
    import plotly.graph_objects as graph

    passed = [row for row in rows if row["verdict"] == "passed" and row.get("median_ms")]
    over_length = len({row["q_len"] for row in passed}) > 1
    figure = graph.Figure()
    for name in dict.fromkeys(series(row, passed) for row in passed):
        own = sorted((row for row in passed if series(row, passed) == name), key=lambda row: row["q_len"])
        middle = [row["median_ms"] for row in own]
        spread = {
            "type": "data", "symmetric": False, "array": [row["p80_ms"] - row["median_ms"] for row in own],
            "arrayminus": [row["median_ms"] - row["p20_ms"] for row in own],
        }  # fmt: skip
        words = [f"{row['impl_detail']}<br>{row['command']}" for row in own]
        if over_length:
            places = [row["q_len"] for row in own]
            figure.add_scatter(x=places, y=middle, error_y=spread, name=name, mode="lines+markers", hovertext=words)
        else:
            figure.add_bar(x=[name] * len(own), y=middle, error_y=spread, name=name, hovertext=words)
    figure.update_layout(title=title, template="plotly_white", yaxis_title="milliseconds")
    if over_length:
        lengths = sorted({row["q_len"] for row in passed})
        figure.update_layout(xaxis={"title": "queries", "type": "log", "tickvals": lengths}, yaxis={"type": "log"})
    figure.write_html(path, include_plotlyjs=True, config={"displaylogo": False})


def series(row: Row, rows: Sequence[Row]) -> str:
    """The provider, with what else differs among the rows but their lengths."""
    words = [str(row["provider"])]
    if len({other["direction"] for other in rows}) > 1:
        words.append(row["direction"])
    if len({other["dtype"] for other in rows}) > 1:
        words.append(row["dtype"])
    if len({other["head_dim"] for other in rows}) > 1:
        words.append(f"head_dim {row['head_dim']}")
    return ", ".join(words)
