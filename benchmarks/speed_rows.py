"""The rows of a speed table: kept in a file, taken up again, and paired with those of the same run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed_cases import Case
from compilemask.bench.rows import Row, write_rows

OURS = ("hopper", "hopper_deterministic", "triton", "torch")
_PASSING = ("sm_clock_mhz",)
"""What differs from one moment to the next on the same machine with the same code."""


class SpeedRows:
    """A file of rows, written after each case; rows measured with other code, versions or hardware are measured again."""

    def __init__(self, path: Path, head: dict[str, Any], *, method: str) -> None:
        self._path = path
        self._head = head | {"method": method}
        self._here = _lasting(head["environment"])
        self.rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []

    def has(self, case: Case, *, of_any_code: bool = False) -> bool:
        """Whether one run has an answer from every provider of the case that still holds; of_any_code: or that once held, or an error."""
        runs: dict[object, set[tuple[object, ...]]] = {}
        for row in self.rows:
            if of_any_code or (row["verdict"] != "error" and self._holds(row)):
                runs.setdefault(row.get("run"), set()).add(key_of(row))
        wanted = {case.key(provider) for provider in case.providers}
        return any(wanted <= known for known in runs.values())

    def add(self, rows: Sequence[Row]) -> None:
        """Beside the rows of older runs that have a peer which this one lacks: ratios are of one run, and environments differ in the
        peers that they have. Other older rows of the case go. The file is whole at every moment."""
        case = {key_of(row)[:-1] for row in rows}
        answered = {row["provider"] for row in rows}
        # A case that could not be built has met no result, which would say where.
        stamped = [{**row, "environment": row.get("environment", self._head["environment"])} for row in rows]
        older = [row for row in self.rows if key_of(row)[:-1] in case]
        kept = {row.get("run") for row in older if row["provider"] not in answered and row["provider"] not in OURS}
        self.rows = [row for row in self.rows if key_of(row)[:-1] not in case or row.get("run") in kept] + stamped
        write_rows(self._path, self._head, self.rows)

    def _holds(self, row: Row) -> bool:
        return _lasting(row["environment"]) == self._here


def timed(rows: Sequence[Row]) -> list[Row]:
    """Those that passed and have a time."""
    return [row for row in rows if row["verdict"] == "passed" and row.get("median_ms")]


def pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """(our row, a peer's row of the same case in the same run) where both passed."""
    sides: dict[tuple[object, ...], tuple[list[Row], list[Row]]] = {}
    for row in timed(rows):
        ours, peers = sides.setdefault(_run_of(row), ([], []))
        (ours if row["provider"] in OURS else peers).append(row)
    for ours, peers in sides.values():
        yield from itertools.product(ours, peers)


def key_of(row: Row) -> tuple[object, ...]:
    """As Case.key."""
    return (
        row["mask"], row["length"], row["head_dim"], row["num_q_heads"], row["num_kv_heads"], row["dtype"],
        row["direction"], row["provider"],
    )  # fmt: skip


def _run_of(row: Row) -> tuple[object, ...]:
    """What rows have in common that were measured side by side."""
    return (*key_of(row)[:-1], row.get("run"))


def _lasting(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in _PASSING}
