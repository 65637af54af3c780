"""The rows of benchmarks/results in one form, whichever script wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.masks import MASKS

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file of rows: what it says about its conditions, and the rows, each with all fields that the page reads."""

    name: str
    environment: dict[str, str]
    date: str
    command: str
    method: str
    rows: tuple[Row, ...]
    load: float = 0.0


def speed_files(folder: Path = RESULTS) -> list[ResultFile]:
    """The speed tables, by name."""
    return [_read(path) for path in sorted([*folder.glob("forward_table*.json"), *folder.glob("speed_table*.json")])]


def read_json(name: str, folder: Path = RESULTS) -> dict[str, Any] | None:
    """A file of results, None when it has not been made."""
    path = folder / name
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def repeatable(command: str) -> str:
    """A command that was run, with the folder of this project's results in place of the one that its rows went to."""
    return re.sub(r"--out \S+", "--out benchmarks/results", command)


def newest(rows: Sequence[Row]) -> list[Row]:
    """Of each provider of each case the last row, one with a time before one without: the peers of a case may come from several
    runs, so a ratio needs the rows of all."""
    last: dict[tuple[object, ...], Row] = {}
    for row in rows:
        key = (*case_key(row), row["provider"])
        if key not in last or _rank(row) >= _rank(last[key]):
            last[key] = row
    return list(last.values())


def _rank(row: Row) -> tuple[bool, str]:
    return row["verdict"] != "unsupported", row["run"]


def case_key(row: Row) -> tuple[object, ...]:
    """What a row has in common with those that it may be compared with."""
    return (
        row["device"], row["mask"], row["length"], row["head_dim"], row["num_q_heads"], row["num_kv_heads"], row["dtype"],
        row["direction"],
    )  # fmt: skip


def _read(path: Path) -> ResultFile:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = tuple(_normal(row, content) for row in content["rows"])
    return ResultFile(
        path.name, content["environment"], content["date"], content["command"], content.get("method", ""), rows,
        content.get("load_average", 0.0),
    )  # fmt: skip


def _normal(row: Row, content: dict[str, Any]) -> Row:
    """Rows of before directions were forward, and named their heads otherwise; they ran when their file says."""
    older = "direction" not in row
    environment = row.get("environment", content["environment"])
    made = {
        **row,
        "direction": "forward" if older else row["direction"],
        "num_q_heads": row["heads"] if older else row["num_q_heads"],
        "num_kv_heads": row["kv_heads"] if older else row["num_kv_heads"],
        "preset": MASKS[row["mask"]].preset if older else row["preset"],
        "environment": environment,
        "device": environment["device"],
        "run": content["date"] if older else row["run"],
    }
    if older:
        # They timed the first making only.
        made |= {"plan_cold_ms": row.get("plan_ms"), "plan_ms": None}
    return {"median_ms": None, "tflops": None, "plan_ms": None, "plan_cold_ms": None, "reason": None} | made


def passed(rows: Sequence[Row]) -> Iterator[Row]:
    """Rows that were verified and timed."""
    return (row for row in rows if row["verdict"] == "passed" and row["median_ms"])
