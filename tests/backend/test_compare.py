"""Comparing is a pure function: ratios only between measured runs, and a warning wherever the conditions are unlike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from compilemask_studio.schemas import Comparison, RunPublic
from compilemask_studio.services.compare_service import compare
from compilemask_studio.services.views import run_public


@pytest.fixture
def measured(make_run) -> Callable[..., RunPublic]:
    def make(run_id: int, median: float = 2.0, **columns: object) -> RunPublic:
        row = {
            "id": run_id, "state": "done", "verdict": "passed", "median_ms": median, "p20_ms": median * 0.99,
            "p80_ms": median * 1.01, "device": "H200", "cache_state": "warm", "environment": {"torch": "2.13"},
        }  # fmt: skip
        return run_public(make_run(**(row | columns)))

    return make


def ratios(comparison: Comparison) -> list[float | None]:
    return [compared.ratio for compared in comparison.runs]


def test_a_ratio_above_one_is_faster_than_the_baseline(measured) -> None:
    result = compare([measured(1, 2.0), measured(2, 1.0), measured(3, 4.0)], 1)
    assert ratios(result) == [1.0, 2.0, 0.5]
    assert [compared.significant for compared in result.runs] == [False, True, True]
    assert (result.baseline_id, result.warnings, result.differences) == (1, [], [])


@pytest.mark.parametrize(
    ("median", "p20", "p80", "significant"),
    [
        (1.95, 1.94, 1.96, False),  # apart, but 2.5 % only
        (1.93, 1.92, 1.94, True),  # apart and over 3 %
        (1.80, 1.70, 1.98, False),  # 10 %, but the intervals touch at 1.98
        (1.80, 1.70, 1.979, True),
        (2.20, 2.021, 2.3, True),
        (2.20, 2.02, 2.3, False),
    ],
)
def test_significance_needs_disjoint_intervals_and_more_than_three_percent(
    measured, median: float, p20: float, p80: float, significant: bool
) -> None:
    result = compare([measured(1, 2.0), measured(2, median, p20_ms=p20, p80_ms=p80)], 1)
    assert result.runs[1].significant is significant


@pytest.mark.parametrize("verdict", ["failed", "error", "cancelled", "pending"])
def test_a_run_that_did_not_pass_never_has_a_ratio(measured, verdict: str) -> None:
    result = compare([measured(1), measured(2, verdict=verdict)], 1)
    assert ratios(result) == [1.0, None] and result.runs[1].significant is None
    assert len(result.warnings) == 1 and result.warnings[0].startswith("Run 2 (passes) has no speed")


def test_a_baseline_without_speed_gives_no_ratio_at_all(measured) -> None:
    result = compare([measured(1, verdict="failed"), measured(2)], 1)
    assert ratios(result) == [None, None]
    assert result.warnings == ["The baseline, run 1, has no speed (its result is wrong), so there are no ratios."]


@pytest.mark.parametrize(
    ("change", "field", "warning"),
    [
        ({"mask_hash": "cd" * 32}, "mask_hash", "Different masks: causal abababab; causal cdcdcdcd."),
        ({"dtype": "bfloat16"}, "dtype", "Different dtypes: float32; bfloat16."),
        ({"seed": 7}, "seed", "Different seeds of the inputs: 0; 7."),
        ({"device": "A100"}, "device", "Different devices: H200; A100."),
        ({"cache_state": "cold"}, "cache_state", "Different cache states: warm; cold."),
        ({"environment": {"torch": "2.11"}}, "environment.torch", "Different torch: 2.13; 2.11."),
        ({"environment": {"torch": "2.13", "driver": "575"}}, "environment.driver", "Different driver: unknown; 575."),
        ({"environment": {}}, "environment.torch", "Different torch: 2.13; unknown."),
    ],
)
def test_unlike_conditions_are_listed_and_warned_of(measured, change: dict, field: str, warning: str) -> None:
    result = compare([measured(1), measured(2, **change)], 1)
    assert [difference.field for difference in result.differences] == [field]
    assert result.warnings == [warning]


@pytest.mark.parametrize("key", ["sm_clock_mhz", "device"])
def test_a_clock_that_moved_is_a_difference_but_no_reason_to_warn(measured, key: str) -> None:
    result = compare([measured(1, environment={key: "1980"}), measured(2, environment={key: "1755"})], 1)
    assert [difference.field for difference in result.differences] == [f"environment.{key}"]
    assert result.warnings == []


def test_a_different_shape_is_warned_of_in_full(measured) -> None:
    result = compare([measured(1), measured(2, head_dim=128)], 1)
    assert len(result.warnings) == 1
    assert "head_dim 16;" in result.warnings[0] and "head_dim 128." in result.warnings[0]


def test_the_provider_is_a_difference_but_no_reason_to_warn(measured) -> None:
    result = compare([measured(1), measured(2, provider="sdpa")], 1)
    assert [(d.field, d.values) for d in result.differences] == [("provider", ["passes", "sdpa"])]
    assert result.warnings == []


def test_numbers_that_are_not_finite_do_not_break_the_comparison(measured) -> None:
    result = compare([measured(1), measured(2, max_error=None, nonfinite={"max_error": "NaN"})], 1)
    assert result.runs[1].run.error_text == "NaN"
    assert "NaN" in result.model_dump_json() and Comparison.model_validate_json(result.model_dump_json()) == result
