"""What is said about timed calls: a law for each kind of samples, none for samples that agree."""

from __future__ import annotations

import random

import pytest
from compilemask_studio.services.sample_flags import drift, sample_flags, two_speeds
from hypothesis import given, settings
from hypothesis import strategies as st


def noisy(middle: float, count: int, seed: int, width: float = 0.01) -> list[float]:
    source = random.Random(seed)
    return [middle * source.gauss(1, width) for _ in range(count)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [10, 50, 400])
def test_samples_that_agree_are_not_flagged(seed: int, count: int) -> None:
    assert sample_flags(noisy(2.5, count, seed)) == []


@pytest.mark.parametrize("seed", range(10))
def test_one_broad_group_is_wide_and_not_two_speeds(seed: int) -> None:
    flags = sample_flags(noisy(2.5, 200, seed, width=0.2))
    assert len(flags) == 1 and flags[0].startswith("wide spread: 20-80 % is ")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("seed", range(5))
def test_two_groups_are_found_with_their_medians_and_shares(share: float, seed: int) -> None:
    slow = int(100 * share)
    samples = noisy(1.0, 100 - slow, seed) + noisy(1.5, slow, seed + 100)
    random.Random(seed).shuffle(samples)
    found = two_speeds(samples)
    assert found is not None
    assert found[0] == pytest.approx(1.0, rel=0.02) and found[1] == pytest.approx(1.5, rel=0.02)
    assert found[2] == pytest.approx(share)
    assert "two speeds" in sample_flags(samples)[0]


def test_a_few_outliers_are_not_a_second_speed() -> None:
    assert sample_flags([*noisy(1.0, 95, 1), *[3.0] * 5]) == []


def test_times_that_creep_are_unsettled_by_how_much() -> None:
    samples = [value * (1 + 0.3 * index / 100) for index, value in enumerate(noisy(1.0, 100, 3))]
    change = drift(samples)
    assert change is not None and 0.15 < change < 0.3
    assert sample_flags(samples)[0].startswith("unsettled: the last third of the calls took +")


def test_what_the_measurement_says_of_its_warm_up_is_said_once() -> None:
    creeping = [value * (1 + 0.3 * index / 100) for index, value in enumerate(noisy(1.0, 100, 3))]
    flags = sample_flags(creeping, steady=False)
    assert [flag.split(":")[0] for flag in flags].count("unsettled") == 1
    assert sample_flags([], steady=False) == ["unsettled: times still changed when the warm-up ended"]


def test_few_samples_are_said_to_be_few() -> None:
    assert sample_flags([1.0, 2.0, 9.0]) == ["few samples: 3"]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=60), st.sampled_from([None, True, False]))
def test_any_samples_can_be_judged(samples: list[float], steady: bool | None) -> None:
    assert all(flag and "nan" not in flag for flag in sample_flags(samples, steady))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.floats(min_value=0.01, max_value=100), min_size=8, max_size=40), st.sampled_from([0.01, 8.0, 1024.0])
)
def test_flags_do_not_depend_on_the_unit(samples: list[float], unit: float) -> None:
    scaled = two_speeds([value * unit for value in samples])
    assert (scaled is None) == (two_speeds(samples) is None)
