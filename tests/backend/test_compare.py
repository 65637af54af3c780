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


def differing(comparison: Comparison) -> list[str]:
    return [field.field for field in comparison.fields if field.differs]


def test_a_ratio_above_one_is_faster_than_the_baseline(measured) -> None:
    result = compare([measured(1, 2.0), measured(2, 1.0), measured(3, 4.0)], 1)
    assert ratios(result) == [1.0, 2.0, 0.5]
    assert [compared.significant for compared in result.runs] == [False, True, True]
    assert [compared.against for compared in result.runs] == [None, 1, 1]
    assert [compared.is_reference for compared in result.runs] == [True, False, False]
    assert (result.baseline_id, result.warnings) == (1, [])
    assert differing(result) == ["median_ms"]


def test_the_spread_of_a_ratio_is_that_of_both_intervals(measured) -> None:
    result = compare([measured(1, 2.0, p20_ms=1.9, p80_ms=2.2), measured(2, 1.0, p20_ms=0.8, p80_ms=1.1)], 1)
    assert result.runs[1].ratio_low == pytest.approx(1.9 / 1.1)
    assert result.runs[1].ratio_high == pytest.approx(2.2 / 0.8)


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
    assert result.warnings == ["The baseline, run 1, has no speed: its result is wrong."]


@pytest.mark.parametrize(
    ("change", "field", "warning"),
    [
        ({"seed": 7}, "seed", "Different seeds of the inputs: 0, 7."),
        ({"environment": {"torch": "2.11"}}, "torch", "Different torch: 2.13, 2.11."),
        ({"environment": {"torch": "2.13", "driver": "575"}}, "driver", "Different driver: unknown, 575."),
        ({"environment": {}}, "torch", "Different torch: 2.13, unknown."),
    ],
)
def test_other_conditions_are_listed_and_warned_of(measured, change: dict, field: str, warning: str) -> None:
    result = compare([measured(1), measured(2, **change)], 1)
    assert differing(result) == [field]
    assert result.warnings == [warning]
    assert ratios(result) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"mask_hash": "cd" * 32}, "mask"),
        ({"dtype": "bfloat16"}, "dtype"),
        ({"device": "A100"}, "device"),
        ({"cache_state": "cold"}, "cache state"),
        ({"head_dim": 128}, "head_dim"),
        ({"num_kv_heads": 4}, "heads"),
        ({"batch": 2}, "batch"),
        ({"direction": "backward"}, "direction"),
    ],
)
@pytest.mark.parametrize("provider", ["passes", "sdpa"])
def test_unlike_is_not_compared_and_that_is_said(measured, change: dict, what: str, provider: str) -> None:
    result = compare([measured(1), measured(2, provider=provider, **change)], 1)
    unlike = result.runs[1]
    assert (unlike.against, unlike.unlike) == (None, [what])
    assert unlike.is_reference == (provider == "passes")
    assert result.warnings == [
        f"Run 2 ({provider}) is not compared: the baseline's {what} differs, and no other run here is of its case."
    ]


def test_in_a_sweep_each_run_is_compared_on_its_own_case(measured) -> None:
    runs = [
        measured(1, 2.0),
        measured(2, 1.0, provider="sdpa"),
        measured(3, 8.0, mask_hash="cd" * 32, q_len=16),
        measured(4, 2.0, provider="sdpa", mask_hash="cd" * 32, q_len=16),
        measured(5, 7.0, mask_hash="cd" * 32, q_len=16, verdict="failed"),
    ]
    result = compare(runs, 1)
    assert [row.against for row in result.runs] == [None, 1, None, 3, None]
    assert [row.ratio for row in result.runs] == [1.0, 2.0, 1.0, 4.0, None]
    assert [row.is_reference for row in result.runs] == [True, False, True, False, True]


@pytest.mark.parametrize("key", ["sm_clock_mhz", "device"])
def test_a_clock_that_moved_is_a_difference_but_no_reason_to_warn(measured, key: str) -> None:
    result = compare([measured(1, environment={key: "1980"}), measured(2, environment={key: "1755"})], 1)
    assert differing(result) == [key]
    assert result.warnings == []


def test_the_provider_is_a_difference_but_no_reason_to_warn(measured) -> None:
    result = compare([measured(1), measured(2, provider="sdpa")], 1)
    assert [(row.field, row.values) for row in result.fields if row.differs] == [("provider", ["passes", "sdpa"])]
    assert result.warnings == []


def test_fields_come_by_subject_with_the_numbers_that_were_bound(measured) -> None:
    result = compare([measured(1, values={"n": 8}), measured(2, values={"n": 9, "flag": True})], 1)
    numbers = {row.field: row.values for row in result.fields if row.group == "numbers"}
    assert numbers == {"n": ["8", "9"], "flag": ["", "true"]}
    assert list(dict.fromkeys(row.group for row in result.fields)) == [
        "mask", "numbers", "case", "environment", "results",
    ]  # fmt: skip


def test_times_that_should_be_read_with_care_are_warned_of(measured) -> None:
    result = compare([measured(1), measured(2, samples_ms=[1.0, 2.0] * 10)], 1)
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("Run 2 (passes): two speeds: about 1 ms and 2 ms, 50 % of the calls")


def test_numbers_that_are_not_finite_do_not_break_the_comparison(measured) -> None:
    result = compare([measured(1), measured(2, max_error=None, nonfinite={"max_error": "NaN"})], 1)
    assert result.runs[1].run.error_text == "NaN"
    assert "NaN" in result.model_dump_json() and Comparison.model_validate_json(result.model_dump_json()) == result
