"""Several runs beside each other: a pure function of the runs. Only like is compared with like."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from compilemask_studio.schemas import ComparedField, ComparedRun, Comparison, RunPublic
from compilemask_studio.schemas.comparison import FieldGroup

MIN_CHANGE = 0.03
"""Changes up to this part of the baseline are noise, whatever the intervals say."""

UNREMARKABLE = {"device", "sm_clock_mhz"}
"""Of the environment: shown as differences, but the device has a warning of its own, and a clock is never twice the same."""

LIKE: tuple[tuple[str, Callable[[RunPublic], object]], ...] = (
    ("mask", lambda run: run.mask_hash),
    ("batch", lambda run: run.batch),
    ("heads", lambda run: (run.num_q_heads, run.num_kv_heads)),
    ("head_dim", lambda run: run.head_dim),
    ("dtype", lambda run: run.dtype),
    ("direction", lambda run: run.direction),
    ("device", lambda run: run.device or "unknown"),
    ("cache state", lambda run: run.cache_state or "unknown"),
)
"""What must be equal for a ratio of times to mean something."""

FIELDS: tuple[tuple[FieldGroup, tuple[str, ...]], ...] = (
    ("mask", ("mask_name", "mask_hash", "source", "q_len", "kv_len", "visible_pairs")),
    (
        "case",
        (
            "provider",
            "impl_detail",
            "direction",
            "batch",
            "num_q_heads",
            "num_kv_heads",
            "head_dim",
            "dtype",
            "seed",
            "cache_state",
        ),
    ),
    (
        "results",
        ("verdict", "max_error", "tolerance", "median_ms", "tflops", "plan_ms", "first_call_ms", "launch_ms"),
    ),
)


def compare(runs: Sequence[RunPublic], baseline_id: int) -> Comparison:
    """Each run against the baseline, or against the baseline's provider on the same case; every condition side by side;
    warnings where a ratio would compare unlike things."""
    baseline = next(run for run in runs if run.id == baseline_id)
    compared = [_compared(run, baseline, runs) for run in runs]
    return Comparison(
        baseline_id=baseline_id,
        runs=compared,
        fields=_fields(runs),
        warnings=_warnings(compared, baseline),
    )


def has_speed(run: RunPublic) -> bool:
    return run.verdict == "passed" and run.median_ms is not None and run.median_ms > 0


def _compared(run: RunPublic, baseline: RunPublic, runs: Sequence[RunPublic]) -> ComparedRun:
    unlike = _unlike(run, baseline)
    is_reference = run.id == baseline.id or (run.provider == baseline.provider and bool(unlike))
    reference = _reference(run, baseline, runs)
    ratio = low = high = significant = None
    if reference is not None and has_speed(reference) and has_speed(run):
        assert reference.median_ms is not None and run.median_ms is not None
        ratio = reference.median_ms / run.median_ms
        low = _quotient(reference.p20_ms, run.p80_ms)
        high = _quotient(reference.p80_ms, run.p20_ms)
        significant = _significant(reference, run)
    return ComparedRun(
        run=run,
        against=None if reference is None or is_reference else reference.id,
        is_reference=is_reference,
        unlike=unlike if reference is None or is_reference else [],
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        significant=significant,
    )


def _reference(run: RunPublic, baseline: RunPublic, runs: Sequence[RunPublic]) -> RunPublic | None:
    """The baseline when the run is of its case, else the newest run of the baseline's provider on the run's own case."""
    if not _unlike(run, baseline):
        return baseline
    if run.provider == baseline.provider:
        return run
    like = [other for other in runs if other.provider == baseline.provider and not _unlike(run, other)]
    return max(like, key=lambda other: (has_speed(other), other.id), default=None)


def _unlike(run: RunPublic, other: RunPublic) -> list[str]:
    """What differs between two runs that a comparison of their times needs to be equal."""
    # A run without speed has no cache state, and maybe no device; it is not unlike, it is absent.
    measured = has_speed(run) and has_speed(other)
    known = [pair for pair in LIKE if measured or pair[0] not in ("device", "cache state")]
    return [name for name, value in known if value(run) != value(other)]


def _quotient(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def _significant(baseline: RunPublic, run: RunPublic) -> bool | None:
    """Whether the 20-80 % intervals do not touch and the medians are more than 3 % of the baseline apart."""
    if baseline.p20_ms is None or baseline.p80_ms is None or run.p20_ms is None or run.p80_ms is None:
        return None
    assert baseline.median_ms is not None and run.median_ms is not None
    apart = run.p80_ms < baseline.p20_ms or baseline.p80_ms < run.p20_ms
    return apart and abs(run.median_ms - baseline.median_ms) > MIN_CHANGE * baseline.median_ms


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _fields(runs: Sequence[RunPublic]) -> list[ComparedField]:
    fields = []
    for group, names in FIELDS:
        fields += [_field(name, group, (_text(getattr(run, name)) for run in runs)) for name in names]
        if group == "mask":
            numbers = list(dict.fromkeys(name for run in runs for name in run.values))
            fields += [_field(name, "numbers", (_text(run.values.get(name)) for run in runs)) for name in numbers]
        if group == "case":
            fields.append(_field("device", "environment", (run.device or "" for run in runs)))
            keys = sorted({key for run in runs for key in run.environment})
            fields += [_field(key, "environment", (run.environment.get(key, "") for run in runs)) for key in keys]
    return fields


def _field(name: str, group: FieldGroup, values: Iterable[str]) -> ComparedField:
    listed = list(values)
    return ComparedField(field=name, group=group, values=listed, differs=len(set(listed)) > 1)


def _warnings(compared: Sequence[ComparedRun], baseline: RunPublic) -> list[str]:
    found = []
    runs = [row.run for row in compared]
    if not has_speed(baseline):
        found.append(f"The baseline, run {baseline.id}, has no speed: {_why(baseline)}.")
    found += [
        f"Run {run.id} ({run.provider}) has no speed: {_why(run)}."
        for run in runs
        if run.id != baseline.id and not has_speed(run)
    ]
    used = {row.against for row in compared}
    found += [
        f"Run {row.run.id} ({row.run.provider}) is not compared: the baseline's {_listed(row.unlike)} "
        f"{'differs' if len(row.unlike) == 1 else 'differ'}, and no other run here is of its case."
        for row in compared
        if row.unlike and row.run.id not in used
    ]
    measured = [run for run in runs if has_speed(run)]
    seeds = list(dict.fromkeys(str(run.seed) for run in measured))
    if len(seeds) > 1:
        found.append(f"Different seeds of the inputs: {_listed(seeds)}.")
    found += _environment_warnings(measured)
    found += [f"Run {run.id} ({run.provider}): {flag}." for run in measured for flag in run.flags]
    return found


def _environment_warnings(measured: Sequence[RunPublic]) -> list[str]:
    found = []
    for key in sorted({key for run in measured for key in run.environment} - UNREMARKABLE):
        values = list(dict.fromkeys(run.environment.get(key, "unknown") for run in measured))
        if len(values) > 1:
            found.append(f"Different {key}: {_listed(values)}.")
    return found


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
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown}, and {len(values) - most} more"
