"""Timing: warm-up ends when times agree, every sample is kept, nothing else is counted."""

from __future__ import annotations

import itertools
import time

import pytest
import torch

from compilemask.bench import measure as module
from compilemask.bench.measure import Timing, measure
from compilemask.bench.protocol import MeasureOptions

CPU = torch.device("cpu")


class Clock:
    """Seconds that pass only when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module.time, "perf_counter", made.perf_counter)
    return made


def test_warm_up_goes_on_until_three_windows_agree_and_is_not_among_the_samples(clock: Clock) -> None:
    durations = itertools.chain([1.0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1], itertools.repeat(0.1))
    calls = 0

    def run() -> None:
        nonlocal calls
        calls += 1
        clock.now += next(durations)

    timing = measure(lambda: run, CPU, MeasureOptions(min_samples=5, target_seconds=0.0))
    assert timing.steady
    assert timing.warmup_runs == 8
    assert timing.samples_ms == pytest.approx([100.0] * 5)
    assert calls == 8 + 5


def test_warm_up_of_what_never_settles_ends_and_says_so(clock: Clock) -> None:
    durations = itertools.cycle([0.1, 0.2, 0.3])

    def run() -> None:
        clock.now += next(durations)

    timing = measure(lambda: run, CPU, MeasureOptions(min_samples=3, target_seconds=0.0))
    assert not timing.steady
    assert sorted(timing.samples_ms) == pytest.approx([100.0, 200.0, 300.0])


def test_sampling_goes_on_until_both_the_number_and_the_time_are_reached(clock: Clock) -> None:
    def run() -> None:
        clock.now += 0.01

    timing = measure(lambda: run, CPU, MeasureOptions(min_samples=3, target_seconds=0.5))
    assert sum(timing.samples_ms) >= 500 - 1e-6
    assert len(measure(lambda: run, CPU, MeasureOptions(min_samples=80, target_seconds=0.1)).samples_ms) >= 80


def test_clearing_the_caches_takes_no_time_from_the_sample(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    cleared = 0

    def cleaner(_device: torch.device):  # type: ignore[no-untyped-def]
        def clear() -> None:
            nonlocal cleared
            cleared += 1
            clock.now += 5.0

        return clear

    def run() -> None:
        clock.now += 0.1

    monkeypatch.setattr(module, "_cache_cleaner", cleaner)
    timing = measure(lambda: run, CPU, MeasureOptions(min_samples=4, target_seconds=0.0, cold_l2=True))
    assert timing.cache_state == "cold"
    assert timing.samples_ms == pytest.approx([100.0] * 4)
    assert cleared == timing.warmup_runs + 4


def test_an_idle_call_reads_almost_nothing() -> None:
    timing = measure(lambda: lambda: None, CPU, MeasureOptions(min_samples=100, target_seconds=0.01))
    assert timing.cache_state == "warm"
    assert timing.median_ms < 0.05


def test_quantiles_are_samples() -> None:
    timing = Timing((5.0, 1.0, 4.0, 2.0, 3.0), 1, True, "warm")
    assert (timing.median_ms, timing.quantile_ms(0.2), timing.quantile_ms(0.8), timing.quantile_ms(1.0)) == (
        3.0,
        2.0,
        5.0,
        5.0,
    )


def test_progress_is_told_in_order() -> None:
    told: list[tuple[str, float]] = []
    measure(
        lambda: lambda: time.sleep(0.001),
        CPU,
        MeasureOptions(min_samples=5, target_seconds=0.02),
        progress=lambda *at: told.append(at),
    )
    assert [stage for stage, _ in itertools.groupby(told, key=lambda at: at[0])] == ["warm-up", "measure"]
    assert all(0 <= fraction <= 1 for _, fraction in told)
