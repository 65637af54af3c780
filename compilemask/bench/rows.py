"""Results as rows of JSON: what was measured, how it came out, and the command that repeats it."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compilemask.bench.protocol import CaseResult, CaseSpec, speakable
from compilemask.bench.runner import Outcome
from compilemask.descriptor import MaskDescriptor

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class BoundCase:
    """A case with its mask: the mask's name and numbers, how long binding them took, and the command that repeats the case."""

    spec: CaseSpec
    mask_name: str
    values: Mapping[str, object]
    mask: MaskDescriptor
    bind_ms: float
    command: str


def row_of(case: BoundCase, outcome: Outcome) -> Row:
    """One flat row. verdict: "passed", "failed", or "error" with its reason when there is no result."""
    spec = dataclasses.asdict(case.spec)
    for name in ("case_id", "mask"):
        del spec[name]
    row: Row = {
        "mask": case.mask_name, "values": dict(case.values), "hash": case.mask.hash, "q_len": case.mask.q_len,
        "kv_len": case.mask.kv_len, "visible_pairs": case.mask.visible_pairs, "density": case.mask.density,
        "bind_ms": case.bind_ms, **spec, "command": case.command, "date": now(),
    }  # fmt: skip
    if isinstance(outcome, CaseResult):
        result = dataclasses.asdict(outcome)
        del result["case_id"]
        return row | result
    return row | {"verdict": "error", "reason": outcome}


def now() -> str:
    """The time, UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def write_rows(path: Path, head: Mapping[str, object], rows: Sequence[Row]) -> None:
    """A JSON object of `head` and "rows", whole or not at all: a reader never finds half of it. OSError when it cannot be written."""
    fields = [f" {json.dumps(name)}: {json.dumps(speakable(value), allow_nan=False)}" for name, value in head.items()]
    # One line a row: short files, and differences that can be read.
    lines = ",\n".join(f"  {json.dumps(speakable(row), allow_nan=False)}" for row in rows)
    fields.append(f' "rows": [\n{lines}\n ]' if rows else ' "rows": []')
    beside = path.with_name(path.name + ".part")
    beside.write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")
    beside.replace(path)
