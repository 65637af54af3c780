"""A worker's result as columns of a run: finite numbers in their columns, the others by name."""

from __future__ import annotations

import math
from typing import Any

from pydantic import TypeAdapter, ValidationError

from compilemask.bench.protocol import CaseResult, QuantityError

SPEED_FIELDS = ("median_ms", "p20_ms", "p80_ms", "min_ms", "tflops", "first_call_ms", "launch_ms")
ERROR_FIELDS = ("max_error", "mean_error", "tolerance", "yardstick_error")
NUMBER_FIELDS = (
    "max_error",
    "mean_error",
    "tolerance",
    "yardstick_error",
    "lse_max_error",
    "plan_ms",
    "plan_cold_ms",
    *SPEED_FIELDS,
)
_adapter = TypeAdapter(CaseResult)


def parse_result(value: object) -> CaseResult:
    """The result of an event; "NaN", "Infinity" and "-Infinity" become numbers. ValueError when it is not a result."""
    try:
        return _adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"the worker sent a result that is not one: {place}: {first['msg']}") from None


def nonfinite_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def result_columns(result: CaseResult) -> dict[str, Any]:
    """Column values of a finished run. Speed is dropped unless the verdict is "passed"."""
    passed = result.verdict == "passed"
    columns: dict[str, Any] = {
        "verdict": result.verdict,
        "reason": result.reason,
        "impl_detail": result.impl_detail,
        "worst_index": None if result.worst_index is None else list(result.worst_index),
        "rows_checked": result.rows_checked,
        "rows_total": result.rows_total,
        "warmup_runs": result.warmup_runs if passed else None,
        "cache_state": result.cache_state if passed else None,
        "device": result.device,
        "environment": dict(result.environment),
        "errors": [error_row(error) for error in result.errors],
        "steady": result.steady if passed else None,
        "remarks": list(result.notes),
    }
    nonfinite: dict[str, str] = {}
    for name in NUMBER_FIELDS:
        value = getattr(result, name) if passed or name not in SPEED_FIELDS else None
        if value is not None and not math.isfinite(value):
            nonfinite[name] = nonfinite_text(value)
            value = None
        columns[name] = value
    samples = result.samples_ms if passed else ()
    strange = [value for value in samples if not math.isfinite(value)]
    if strange:
        nonfinite["samples_ms"] = nonfinite_text(strange[0])
    columns["samples_ms"] = [value for value in samples if math.isfinite(value)]
    columns["nonfinite"] = nonfinite
    return columns


def error_row(error: QuantityError) -> dict[str, Any]:
    """One tensor's error as JSON: numbers that JSON does not have are None, and named."""
    named = {name: nonfinite_text(getattr(error, name)) for name in ERROR_FIELDS if not _finite(getattr(error, name))}
    return {
        "quantity": error.quantity,
        "passed": error.passed,
        **{name: None if name in named else getattr(error, name) for name in ERROR_FIELDS},
        "worst_index": None if error.worst_index is None else list(error.worst_index),
        "nonfinite": error.nonfinite,
        "named": named,
    }


def _finite(value: float | None) -> bool:
    return value is None or math.isfinite(value)
