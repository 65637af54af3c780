"""What processes that compile and measure do next. No process and no clock here: the one who asks has them.

Any number of processes compile side by side; then one measures, and nothing else runs: a process that compiles also calls what it has
compiled, and a GPU gives processes turns. Cases that come first are compiled first, and measured first of those that are compiled.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Action:
    """what: "prepare" or "measure" a job, "pause" a process that compiles, or let it "resume"."""

    what: str
    seat: int
    job: int = -1


@dataclass(slots=True)
class Seat:
    """One process: the job that it compiles or measures, and those that it holds compiled."""

    compiling: int | None = None
    measuring: int | None = None
    paused: bool = False
    holds: set[int] = field(default_factory=set)

    @property
    def idle(self) -> bool:
        """Whether it neither compiles nor measures."""
        return self.compiling is None and self.measuring is None


class Schedule:
    """Jobs are numbers, the smallest first. kept: those that are measured, the others only fill caches.

    Compiling stops at `share` of the time to `deadline`; what is then still being compiled may take late_seconds longer, and after
    that it is paused until everything else is measured.
    """

    def __init__(
        self, jobs: int, *, kept: set[int], seats: int, now: float, deadline: float, share: float = 0.35,
        late_seconds: float = 20.0,
    ) -> None:  # fmt: skip
        self._kept, self._deadline = kept, deadline
        self._share, self._late_seconds = share, late_seconds
        self._waiting = deque(range(jobs))
        self._stop = now + share * (deadline - now)
        self._may_measure = True
        self.seats = [Seat() for _ in range(seats)]

    def only_compile(self) -> None:
        """Until begin()."""
        self._may_measure, self._stop, self._deadline = False, math.inf, math.inf

    def begin(self, now: float, seconds: float) -> None:
        """Measure from now on, for so long."""
        self._may_measure, self._deadline, self._stop = True, now + seconds, now + self._share * seconds

    def over(self, now: float) -> bool:
        """Whether nothing is left, or nothing may be begun any more and nothing is being measured."""
        if any(seat.measuring is not None for seat in self.seats):
            return False
        if not self._may_measure:
            return False
        left = self._waiting or any(seat.compiling is not None or seat.holds for seat in self.seats)
        return now > self._deadline or not left

    def actions(self, now: float) -> Iterator[Action]:
        """What is to be done now; the seats know of it already."""
        for number, seat in enumerate(self.seats):
            # It came to its end just before it was paused.
            if seat.paused and seat.compiling is None:
                seat.paused = False
                yield Action("resume", number)
        if now > self._deadline:
            return
        if self._may_measure and all(seat.measuring is None for seat in self.seats):
            yield from self._measure(now)
        if not self._waiting or now > self._stop or any(seat.measuring is not None for seat in self.seats):
            return
        for number, seat in enumerate(self.seats):
            if seat.idle and self._waiting:
                seat.compiling = self._waiting.popleft()
                yield Action("prepare", number, seat.compiling)

    def _measure(self, now: float) -> Iterator[Action]:
        """One case, if there is one that may be measured; processes that keep it from that are paused, or let go on for want of another."""
        compiling = [seat for seat in self.seats if seat.compiling is not None and not seat.paused]
        no_more = not self._waiting or now > self._stop
        quiet = no_more and (not compiling or now > self._stop + self._late_seconds)
        ready = sorted(
            (job, number) for number, seat in enumerate(self.seats) if quiet and seat.idle for job in seat.holds
        )
        if ready:
            job, number = ready[0]
            yield from self._switch(paused=True)
            self.seats[number].holds.remove(job)
            self.seats[number].measuring = job
            yield Action("measure", number, job)
        elif any(seat.paused for seat in self.seats):
            yield from self._switch(paused=False)
        elif self._waiting and now > self._stop and not compiling:
            # All that was compiled is measured, and there is time for more.
            self._stop = now + self._share * (self._deadline - now)

    def _switch(self, *, paused: bool) -> Iterator[Action]:
        for number, seat in enumerate(self.seats):
            if seat.compiling is not None and seat.paused != paused:
                seat.paused = paused
                yield Action("pause" if paused else "resume", number)

    def done(self, number: int) -> int:
        """The job that a process has compiled or measured."""
        seat = self.seats[number]
        if seat.measuring is not None:
            job, seat.measuring = seat.measuring, None
            return job
        assert seat.compiling is not None
        job, seat.compiling = seat.compiling, None
        if job in self._kept:
            seat.holds.add(job)
        return job

    def lost(self, number: int) -> int | None:
        """A process broke: the job that it was at. What it held waits again, and a fresh process takes its seat."""
        seat = self.seats[number]
        job = seat.compiling if seat.measuring is None else seat.measuring
        self._waiting = deque(sorted({*self._waiting, *seat.holds}))
        self.seats[number] = Seat()
        return job
