"""Processes that compile the cases of a table side by side, and then measure them one after another.

A case is compiled, verified and timed in the same process, so nothing has to be found again in a cache on disk. While one process measures, the
others rest. A process that a case breaks takes that case with it; what else it had compiled is compiled again by another.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

import torch

from benchmarks.speed_cases import Case, HowToMeasure, Inputs, PreparedCase, finish_case, head_of, prepare_case
from compilemask.bench.case import default_device
from compilemask.bench.rows import Row, now

_LATE_SECONDS = 25.0
"""How long the measuring waits for processes that are still compiling when the time for it is up."""
_STUCK_SECONDS = 90.0

Group = tuple[int, tuple[Case, ...]]


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, what it compiles now, and what it holds compiled; both by the number of the group."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    compiling: Group | None = None
    holds: dict[int, tuple[Case, ...]] = field(default_factory=dict)

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


class Workers:
    """measured() gives the rows of each case, in their order as far as they are compiled, until `deadline` of time.monotonic()."""

    def __init__(self, processes: int, how: HowToMeasure, deadline: float) -> None:
        self._how, self._deadline = how, deadline
        self._workers = [_started() for _ in range(processes)]

    def measured(self, cases: Sequence[Case], before_timing: Callable[[], None]) -> Iterator[list[Row]]:
        """Waves: compile for half of the time that is left, then measure what is ready. before_timing() is called with all at rest."""
        waiting = deque(_groups(cases))
        try:
            while (waiting or self._busy()) and time.monotonic() < self._deadline:
                yield from self._compile(waiting)
                if time.monotonic() < self._deadline:
                    before_timing()
                yield from self._measure(waiting)
        finally:
            for worker in self._workers:
                worker.end()

    def _busy(self) -> bool:
        return any(worker.compiling or worker.holds for worker in self._workers)

    def _compile(self, waiting: deque[Group]) -> Iterator[list[Row]]:
        """Hand out groups until none waits or half of the time is over; then wait for those that are late, but not for ever."""
        began = time.monotonic()
        stop = began + (self._deadline - began) / 2
        while True:
            for worker in self._workers:
                if waiting and worker.compiling is None and time.monotonic() < stop:
                    worker.compiling = waiting.popleft()
                    # Of a process that is dead the answer, an end of file, says so.
                    with contextlib.suppress(OSError):
                        worker.pipe.send(("prepare", worker.compiling))
            running = [worker for worker in self._workers if worker.compiling]
            room = max(0.0, stop + _LATE_SECONDS - time.monotonic())
            ready = wait([worker.pipe for worker in running], room) if running else []
            if not ready:
                break
            for worker in running:
                if worker.pipe in ready:
                    yield from self._prepared(worker, waiting)
        held = sum(len(cases) for worker in self._workers for cases in worker.holds.values())
        print(f"{held} cases compiled in {time.monotonic() - began:.0f} s, {len(running)} processes late", flush=True)

    def _prepared(self, worker: _Worker, waiting: deque[Group]) -> Iterator[list[Row]]:
        assert worker.compiling is not None
        number, cases = worker.compiling
        worker.compiling = None
        try:
            worker.pipe.recv()
        except (EOFError, OSError):
            yield from _lost(cases, f"the process that compiled it ended with code {_exit_code(worker)}")
            self._replace(worker, waiting)
        else:
            worker.holds[number] = cases

    def _measure(self, waiting: deque[Group]) -> Iterator[list[Row]]:
        """Everything that is compiled, in order."""
        order = sorted((number, worker) for worker in self._workers for number in worker.holds)
        for number, worker in order:
            if worker not in self._workers or worker.compiling:
                continue
            cases = worker.holds.pop(number)
            for place, case in enumerate(cases):
                if time.monotonic() > self._deadline:
                    return
                try:
                    worker.pipe.send(("measure", (number, place, self._how)))
                    if not worker.pipe.poll(_STUCK_SECONDS):
                        raise EOFError
                    yield worker.pipe.recv()
                except (EOFError, OSError):
                    said = "did not answer" if worker.process.is_alive() else f"ended with code {_exit_code(worker)}"
                    yield from _lost(cases[place:], f"the process that measured {case.direction} {said}")
                    self._replace(worker, waiting)
                    break

    def _replace(self, worker: _Worker, waiting: deque[Group]) -> None:
        """A fresh process in place of one that is broken; what that one held waits again."""
        waiting.extendleft(sorted(worker.holds.items(), reverse=True))
        worker.end()
        self._workers = [_started() if other is worker else other for other in self._workers]


def _groups(cases: Sequence[Case]) -> Iterator[Group]:
    """The directions of one mask and shape together: they share what is made of the mask."""

    def shape(case: Case) -> tuple[object, ...]:
        return (case.name, case.preset, case.length, case.head_dim, case.heads, case.kv_heads, case.dtype)

    for number, (_, group) in enumerate(itertools.groupby(cases, shape)):
        yield number, tuple(group)


def _lost(cases: Sequence[Case], reason: str) -> Iterator[list[Row]]:
    """Rows that say why there are no times."""
    for case in cases:
        mask = case.mask.descriptor(case.length)
        more = {"verdict": "error", "reason": reason, "run": now()}
        yield [head_of(case, provider, mask) | more for provider in case.providers]


def _started() -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    # Each process would start as many compiling processes of its own as there are cores.
    before = os.environ.get("TORCHINDUCTOR_COMPILE_THREADS")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    process.start()
    if before is None:
        del os.environ["TORCHINDUCTOR_COMPILE_THREADS"]
    else:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = before
    theirs.close()
    return _Worker(process, ours)


def _exit_code(worker: _Worker) -> int | None:
    worker.process.join(5)
    return worker.process.exitcode


def _serve(pipe: Connection) -> None:
    """The life of a process: what it is asked for, until it is ended."""
    inputs = Inputs(default_device())
    ready: dict[int, list[PreparedCase | None]] = {}
    while True:
        try:
            what, given = pipe.recv()
        except EOFError:
            return
        if what == "prepare":
            number, cases = given
            ready[number] = [prepare_case(case, inputs) for case in cases]
            _end_if_broken(inputs.device)
            pipe.send("prepared")
        else:
            number, place, how = given
            prepared = ready[number][place]
            assert prepared is not None
            ready[number][place] = None
            pipe.send(_finished(prepared, inputs.device, how))


def _finished(prepared: PreparedCase, device: torch.device, how: HowToMeasure) -> list[Row]:
    """The rows of a case; of one that fails while it is measured, the reason."""
    try:
        return finish_case(prepared, device, how)
    except Exception as found:
        reason = (str(found).strip().splitlines() or [type(found).__name__])[0]
        _end_if_broken(device)
        return [row | {"verdict": "error", "reason": reason, "run": now()} for row in prepared.rows]


def _end_if_broken(device: torch.device) -> None:
    """Raises, which ends the process, when its GPU no longer answers: every later case would fail."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
