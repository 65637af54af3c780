"""The order in which cases are compiled and measured, tried on a clock of its own."""

from __future__ import annotations

import heapq

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.speed_schedule import Schedule


class Trial:
    """Runs a schedule: compile[job] seconds, two to measure; notes (job, begin) of measurements, during which nothing else may go on."""

    def __init__(self, compile: list[float], seats: int, deadline: float, dropped: int = 0) -> None:
        jobs = range(len(compile))
        self.schedule = Schedule(len(compile), kept=set(jobs[dropped:]), seats=seats, now=0.0, deadline=deadline)
        self.compile, self.deadline = compile, deadline
        self.measured: list[tuple[int, float]] = []
        self.left: dict[int, float] = {}
        self.run()

    def run(self) -> None:
        now, ends = 0.0, []
        while not self.schedule.over(now):
            for action in self.schedule.actions(now):
                if action.what == "prepare":
                    heapq.heappush(ends, (now + self.compile[action.job], action.seat))
                    assert all(seat.measuring is None for seat in self.schedule.seats)
                elif action.what == "measure":
                    self._begin(action.job, now)
                    heapq.heappush(ends, (now + 2.0, action.seat))
                elif action.what == "pause":
                    (end,) = [end for end, seat in ends if seat == action.seat]
                    ends = [(time, seat) for time, seat in ends if seat != action.seat]
                    self.left[action.seat] = end - now
                else:
                    ends.append((now + self.left.pop(action.seat), action.seat))
                heapq.heapify(ends)
            if ends and (ends[0][0] <= now + 1):
                now, seat = heapq.heappop(ends)
                self.schedule.done(seat)
            else:
                now += 1

    def _begin(self, job: int, now: float) -> None:
        assert now <= self.deadline
        assert sum(seat.measuring is not None for seat in self.schedule.seats) == 1
        assert not any(seat.compiling is not None and not seat.paused for seat in self.schedule.seats)
        self.measured.append((job, now))

    @property
    def order(self) -> list[int]:
        return [job for job, _ in self.measured]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.floats(1, 40), min_size=1, max_size=25), st.integers(1, 5), st.integers(0, 3))
def test_everything_is_measured_once_and_alone(seconds: list[float], seats: int, dropped: int) -> None:
    trial = Trial(seconds, seats, 10_000, dropped)
    assert trial.order == list(range(len(seconds)))[dropped:]


def test_a_process_that_compiles_too_long_is_paused_until_the_rest_is_measured() -> None:
    trial = Trial([5.0, 300.0, 5.0, 5.0], 3, 100)
    assert trial.order == [0, 2, 3]
    # A good third of the time is for compiling, twenty seconds more for those that are late.
    assert 55 < trial.measured[0][1] <= 57


def test_when_time_is_left_more_is_compiled() -> None:
    trial = Trial([10.0] * 12, 1, 100)
    assert trial.order == sorted(trial.order)
    assert len(trial.order) > 5
    assert trial.measured[-1][1] > 60


def test_what_a_broken_process_held_waits_again_in_its_order() -> None:
    schedule = Schedule(3, kept={0, 1, 2}, seats=1, now=0, deadline=100)
    assert [(one.what, one.job) for one in schedule.actions(0)] == [("prepare", 0)]
    assert schedule.done(0) == 0
    assert [(one.what, one.job) for one in schedule.actions(1)] == [("prepare", 1)]
    assert schedule.lost(0) == 1
    assert [(one.what, one.job) for one in schedule.actions(2)] == [("prepare", 0)]


def test_a_process_that_came_to_its_end_while_it_was_paused_goes_on() -> None:
    schedule = Schedule(2, kept={0, 1}, seats=2, now=0, deadline=100)
    assert len(list(schedule.actions(0))) == 2
    schedule.done(0)
    assert [(one.what, one.seat) for one in schedule.actions(80)] == [("pause", 1), ("measure", 0)]
    schedule.done(1)
    assert [(one.what, one.seat) for one in schedule.actions(80)] == [("resume", 1)]
    schedule.done(0)
    assert [(one.what, one.seat, one.job) for one in schedule.actions(81)] == [("measure", 1, 1)]


def test_nothing_is_measured_before_it_may_be_and_the_time_counts_from_then() -> None:
    schedule = Schedule(2, kept={0, 1}, seats=1, now=0, deadline=10)
    schedule.only_compile()
    for now, job in ((0, 0), (500, 1)):
        assert [(one.what, one.job) for one in schedule.actions(now)] == [("prepare", job)]
        assert schedule.done(0) == job
    assert list(schedule.actions(1000)) == []
    assert not schedule.over(1000)
    schedule.begin(2000, 10)
    assert [(one.what, one.job) for one in schedule.actions(2000)] == [("measure", 0)]
    schedule.done(0)
    assert list(schedule.actions(2011)) == []
    assert schedule.over(2011)
