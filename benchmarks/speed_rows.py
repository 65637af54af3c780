"""The rows of a speed table: kept in a file, taken up again, and compared with each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed_cases import Case
from compilemask.bench.rows import Row, write_rows

OURS = ("hopper", "hopper_deterministic", "triton", "torch")
TARGETS = {"forward": 1.1, "forward+backward": 1.1}
HOSTILE_TARGET = 2.0
CLEAR_TARGET = 2.87
_HOSTILE = ("clear", "natten")
_STRUCTURED = ("sliding", "documents", "prefix_lm", "hstu", "shared_prompt")
_HOPPER_TARGETS = {
    ("causal", "fa4"): {"forward": 1.05, "forward+backward": 1.0},
    ("full", "fa4"): {"forward": 0.97, "forward+backward": 0.95},
    ("full", "sdpa_cudnn"): {"forward": 0.97, "forward+backward": 0.95},
}
_SMALL_TARGETS = {"forward": 0.95, "forward+backward": 1.0}
_HOPPER_LENGTHS = {"clear": (32768,), "natten": (32768,), "short_documents": (16384,)}
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
        """Whether one run has an answer from every provider of the case that still holds, or, of_any_code, that once held."""
        runs: dict[object, set[tuple[object, ...]]] = {}
        for row in self.rows:
            if row["verdict"] != "error" and (of_any_code or self._holds(row)):
                runs.setdefault(row.get("run"), set()).add(_key(row))
        wanted = {case.key(provider) for provider in case.providers}
        return any(wanted <= known for known in runs.values())

    def add(self, rows: Sequence[Row]) -> None:
        """Beside the rows of older runs that have a peer which this one lacks: ratios are of one run, and environments differ in the
        peers that they have. Other older rows of the case go. The file is whole at every moment."""
        case = {_key(row)[:-1] for row in rows}
        answered = {row["provider"] for row in rows}
        # A case that could not be built has met no result, which would say where.
        stamped = [{**row, "environment": row.get("environment", self._head["environment"])} for row in rows]
        older = [row for row in self.rows if _key(row)[:-1] in case]
        kept = {row.get("run") for row in older if row["provider"] not in answered and row["provider"] not in OURS}
        self.rows = [row for row in self.rows if _key(row)[:-1] not in case or row.get("run") in kept] + stamped
        write_rows(self._path, self._head, self.rows)

    def _holds(self, row: Row) -> bool:
        return _lasting(row["environment"]) == self._here


def ratio_lines(rows: Sequence[Row]) -> Iterator[str]:
    """How many times faster the first of ours is than each peer, case by case, with the target where there is one."""
    yield f"{'workload':16}{'length':>7}{'dim':>5} {'direction':18}{'peer':22}{'ours, ms':>10}{'peer, ms':>10}{'ratio':>7}"
    for ours, peer in pairs(rows):
        ratio = peer["median_ms"] / ours["median_ms"]
        wanted = target(ours, peer)
        verdict = "" if wanted is None else f"  {'met' if ratio >= wanted else 'MISSED'}, wanted {wanted:g}"
        yield (
            f"{ours['mask']:16}{ours['length']:7}{ours['head_dim']:5} {ours['direction']:18}{peer['provider']:22}"
            f"{ours['median_ms']:10.3f}{peer['median_ms']:10.3f}{ratio:7.2f}{verdict}"
        )


def silu_lines(rows: Sequence[Row]) -> Iterator[str]:
    """HSTU with SiLU beside the same mask with softmax, both ours: SiLU is not to be slower."""
    softmax = {_key({**row, "mask": "hstu_silu"}): row for row in _timed(rows) if row["mask"] == "hstu"}
    for row in _timed(rows):
        other = softmax.get(_key(row))
        if other is not None and row["provider"] in OURS:
            factor = other["median_ms"] / row["median_ms"]
            yield (
                f"SiLU at {row['length']:,}, head_dim {row['head_dim']}, {row['direction']}, {row['provider']}: {row['median_ms']:.3f} ms, "
                f"softmax {other['median_ms']:.3f} ms, {factor:.2f}x"
            )


def _timed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["verdict"] == "passed" and row.get("median_ms")]


def pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """(our row, a peer's row of the same case in the same run) where both passed."""
    passed = _timed(rows)
    for ours in passed:
        if ours["provider"] not in OURS:
            continue
        for peer in passed:
            if peer["provider"] not in OURS and _run_of(peer) == _run_of(ours):
                yield ours, peer


def target(ours: Row, peer: Row) -> float | None:
    """The ratio that this project has set itself against a peer on a GPU; None where it has set none."""
    if ours["provider"] == "hopper":
        return _hopper_target(ours, peer["provider"])
    if ours["length"] not in (8192, 32768) or peer["provider"] != "flex_attention":
        return None
    if ours["mask"] in _HOSTILE and ours["length"] == 32768 and ours["direction"] == "forward":
        return HOSTILE_TARGET
    return TARGETS.get(ours["direction"])


def _hopper_target(ours: Row, peer: str) -> float | None:
    """Of the Hopper kernels: against the peers' best kernels, by what a mask gains; less at head_dim 64 and in float16."""
    mask, direction = ours["mask"], ours["direction"]
    if ours["length"] not in _HOPPER_LENGTHS.get(mask, (8192, 32768)) or direction not in _SMALL_TARGETS:
        return None
    wanted = _HOPPER_TARGETS.get((mask, peer), {}).get(direction)
    if mask in _HOSTILE:
        wanted = CLEAR_TARGET if (mask, direction) == ("clear", "forward") else HOSTILE_TARGET
    elif mask == "short_documents":
        wanted = 1.5
    elif mask in _STRUCTURED:
        wanted = 1.0 if direction == "forward" else 1.35 if peer == "flex_attention" else None
    small = ours["head_dim"] == 64 or ours["dtype"] == "float16"
    return _SMALL_TARGETS[direction] if small and wanted is not None else wanted


def _key(row: Row) -> tuple[object, ...]:
    """As Case.key."""
    return (
        row["mask"], row["length"], row["head_dim"], row["num_q_heads"], row["num_kv_heads"], row["dtype"],
        row["direction"], row["provider"],
    )  # fmt: skip


def _run_of(row: Row) -> tuple[object, ...]:
    """What rows have in common that were measured side by side."""
    return (*_key(row)[:-1], row.get("run"))


def _lasting(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in _PASSING}
