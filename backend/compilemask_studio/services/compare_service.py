"""Several runs beside each other: a pure function of the runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from compilemask_studio.schemas import ComparedRun, Comparison, FieldDifference, RunPublic

MIN_CHANGE = 0.03
"""Changes up to this part of the baseline are noise, whatever the intervals say."""

UNREMARKABLE = {"device", "sm_clock_mhz"}
"""Of the environment: shown as differences, but the device has a warning of its own, and a clock is never twice the same."""

FIELDS = (
    "mask_name",
    "mask_hash",
    "values",
    "q_len",
    "kv_len",
    "visible_pairs",
    "provider",
    "impl_detail",
    "batch",
    "num_q_heads",
    "num_kv_heads",
    "head_dim",
    "dtype",
    "seed",
    "cache_state",
    "device",
)
SHAPE_FIELDS = ("q_len", "kv_len", "batch", "num_q_heads", "num_kv_heads", "head_dim")


def compare(runs: Sequence[RunPublic], baseline_id: int) -> Comparison:
    """Ratios to the baseline, the fields that differ, and warnings where a ratio would compare unlike things."""
    baseline = next(run for run in runs if run.id == baseline_id)
    return Comparison(
        baseline_id=baseline_id,
        runs=[
            ComparedRun(run=run, ratio=_ratio(baseline, run), significant=_significant(baseline, run)) for run in runs
        ],
        differences=_differences(runs),
        warnings=_warnings(runs, baseline),
    )


def has_speed(run: RunPublic) -> bool:
    return run.verdict == "passed" and run.median_ms is not None and run.median_ms > 0


def _ratio(baseline: RunPublic, run: RunPublic) -> float | None:
    if not has_speed(baseline) or not has_speed(run):
        return None
    assert baseline.median_ms is not None and run.median_ms is not None
    return baseline.median_ms / run.median_ms


def _significant(baseline: RunPublic, run: RunPublic) -> bool | None:
    """Whether the 20-80 % intervals do not touch and the medians are more than 3 % of the baseline apart."""
    if not has_speed(baseline) or not has_speed(run):
        return None
    if baseline.p20_ms is None or baseline.p80_ms is None or run.p20_ms is None or run.p80_ms is None:
        return None
    assert baseline.median_ms is not None and run.median_ms is not None
    apart = run.p80_ms < baseline.p20_ms or baseline.p80_ms < run.p20_ms
    return apart and abs(run.median_ms - baseline.median_ms) > MIN_CHANGE * baseline.median_ms


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _differences(runs: Sequence[RunPublic]) -> list[FieldDifference]:
    rows = [(name, [_text(getattr(run, name)) for run in runs]) for name in FIELDS]
    keys = sorted({key for run in runs for key in run.environment})
    rows += [(f"environment.{key}", [run.environment.get(key, "") for run in runs]) for key in keys]
    return [FieldDifference(field=name, values=values) for name, values in rows if len(set(values)) > 1]


def _warnings(runs: Sequence[RunPublic], baseline: RunPublic) -> list[str]:
    found = []
    if not has_speed(baseline):
        found.append(f"The baseline, run {baseline.id}, has no speed ({_why(baseline)}), so there are no ratios.")
    found += [
        f"Run {run.id} ({run.provider}) has no speed: {_why(run)}."
        for run in runs
        if run.id != baseline.id and not has_speed(run)
    ]
    unlike: list[tuple[str, Callable[[RunPublic], str]]] = [
        ("masks", lambda run: f"{run.mask_name} {run.mask_hash[:8]}"),
        ("shapes", _shape),
        ("dtypes", lambda run: run.dtype),
        ("seeds of the inputs", lambda run: str(run.seed)),
        ("devices", lambda run: run.device or "unknown"),
        ("cache states", lambda run: run.cache_state or "unknown"),
    ]
    measured = [run for run in runs if has_speed(run)]
    for what, describe in unlike:
        # A run without speed has no device and no cache state; it is not unlike, it is absent.
        known = measured if what in ("devices", "cache states") else runs
        values = list(dict.fromkeys(describe(run) for run in known))
        if len(values) > 1:
            found.append(f"Different {what}: {_listed(values)}.")
    found += _environment_warnings(measured)
    return found


def _environment_warnings(measured: Sequence[RunPublic]) -> list[str]:
    found = []
    for key in sorted({key for run in measured for key in run.environment} - UNREMARKABLE):
        values = list(dict.fromkeys(run.environment.get(key, "unknown") for run in measured))
        if len(values) > 1:
            found.append(f"Different {key}: {_listed(values)}.")
    return found


def _shape(run: RunPublic) -> str:
    return ", ".join(f"{name} {getattr(run, name)}" for name in SHAPE_FIELDS)


def _why(run: RunPublic) -> str:
    match run.verdict:
        case "failed":
            return "its result is wrong"
        case "error":
            return "it did not finish"
        case "cancelled":
            return "it was cancelled"
        case "pending":
            return "it is not finished yet"
        case "passed":
            return "it was verified but not measured"


def _listed(values: Sequence[str], most: int = 4) -> str:
    shown = "; ".join(values[:most])
    return shown if len(values) <= most else f"{shown}; and {len(values) - most} more"
