"""Processes that compile the cases of a table side by side, and then measure them one at a time, while all others rest.

A case is compiled, verified and timed in the same process, so nothing has to be found again in a cache on disk. Our own kernels are the same for
most cases: the first processes compile those, and the others take theirs from the compiler's cache, after all that is particular to a case. A process that a case
breaks takes that case with it; what else it had compiled is compiled again by another. Whether a case was alone on the GPU is measured, too (ceiling.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

import torch

from benchmarks.ceiling import alone
from benchmarks.speed_cases import Case, HowToMeasure, Inputs, PreparedCase, finish_case, head_of, prepare_case
from benchmarks.speed_rows import OURS
from benchmarks.speed_schedule import Action, Schedule
from compilemask.bench.case import default_device
from compilemask.bench.rows import Row, now

_STUCK_SECONDS = 120.0
_TICK_SECONDS = 0.5
_DRAIN_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1


@dataclass(slots=True, eq=False)
class _Process:
    """A process, the pipe to it, and since when it measures."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    measures_since: float | None = None

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()

    def signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)


class Workers:
    """measured() gives the rows of each case as they come, for `seconds`.

    gate: a folder in which others say what this one may do, on a machine that it shares: while there is a file "pause" in it all processes
    are stopped, and measuring begins, and the seconds with it, when there is a file "measure".
    """

    def __init__(self, processes: int, how: HowToMeasure, seconds: float, gate: Path | None = None) -> None:
        self._how, self._seconds, self._gate = how, seconds, gate
        self._processes = [_started() for _ in range(processes)]

    def measured(self, cases: Sequence[Case], roof_of: Callable[[], float]) -> Iterator[list[Row]]:
        """Those of cases first that come first, as far as they are compiled. roof_of(): the rate of a product, asked while none compiles."""
        ahead = our_kernels(cases, len(self._processes))
        jobs = [*ahead, *cases]
        kept = set(range(len(ahead), len(jobs)))
        began = time.monotonic()
        schedule = Schedule(len(jobs), kept=kept, seats=len(self._processes), now=began, deadline=began + self._seconds)
        gate = self._gate
        if gate is None:
            self._how = replace(self._how, roof_tflops=roof_of())
        else:
            schedule.only_compile()
        try:
            while not schedule.over(time.monotonic()):
                self._rest()
                if gate is not None and (gate / "measure").exists():
                    gate = None
                    with self._stopped():
                        self._how = replace(self._how, roof_tflops=roof_of())
                    schedule.begin(time.monotonic(), self._seconds)
                for action in schedule.actions(time.monotonic()):
                    self._do(action, jobs[action.job], keep=action.job in kept)
                for seat in self._answers():
                    job, told = self._take(seat, schedule, jobs)
                    if isinstance(told, list):
                        yield told
                    else:
                        print(f"{time.monotonic() - began:4.0f} s: compiled {_words(jobs[job], told)}", flush=True)
        finally:
            for process in self._processes:
                process.end()

    def _rest(self) -> None:
        """Stop while others say so."""
        if self._gate is not None and (self._gate / "pause").exists():
            with self._stopped():
                while (self._gate / "pause").exists():
                    time.sleep(_TICK_SECONDS / 5)

    @contextlib.contextmanager
    def _stopped(self) -> Iterator[None]:
        """With all processes stopped, and time for the GPU to end what it was given."""
        for process in self._processes:
            process.signal(signal.SIGSTOP)
        time.sleep(_DRAIN_SECONDS)
        yield
        for process in self._processes:
            process.signal(signal.SIGCONT)

    def _do(self, action: Action, case: Case, *, keep: bool) -> None:
        process = self._processes[action.seat]
        match action.what:
            case "pause":
                process.signal(signal.SIGSTOP)
            case "resume":
                process.signal(signal.SIGCONT)
            case _:
                if action.what == "measure":
                    process.measures_since = time.monotonic()
                # Of a process that is dead the answer, an end of file, says so.
                with contextlib.suppress(OSError):
                    process.pipe.send((action.what if keep else "warm", case, self._how))

    def _answers(self) -> list[int]:
        """The processes that have something to say, or that say nothing for too long."""
        ready = wait([process.pipe for process in self._processes], _TICK_SECONDS)
        late = time.monotonic() - _STUCK_SECONDS
        return [
            seat
            for seat, process in enumerate(self._processes)
            if process.pipe in ready or (process.measures_since or late) < late
        ]

    def _take(self, seat: int, schedule: Schedule, jobs: Sequence[Case]) -> tuple[int, list[Row] | dict[str, float]]:
        """(job, its rows when it was measured or lost, else the seconds that each provider took to compile). RuntimeError when a
        process ends unasked."""
        process = self._processes[seat]
        try:
            if not process.pipe.poll():
                raise EOFError
            told: list[Row] | dict[str, float] = process.pipe.recv()
        except (EOFError, OSError):
            process.process.join(1)
            said = "did not answer" if process.process.is_alive() else f"ended with code {process.process.exitcode}"
            job = schedule.lost(seat)
            if job is None:
                raise RuntimeError(f"a process {said} before it was given a case; see what it printed") from None
            process.end()
            self._processes[seat] = _started()
            return job, lost_rows(jobs[job], f"the process that it was in {said}")
        process.measures_since = None
        return schedule.done(seat), told


def our_kernels(cases: Sequence[Case], most: int) -> list[Case]:
    """For the first shape one case for each of our implementations and kind of mask, forward and backward, to fill the compiler's cache."""
    if most < len(OURS) or not cases:
        return []
    first = cases[0]
    names = [name for name in ("causal", "clear", "documents") if any(case.name == name for case in cases)]
    providers = [name for name in OURS if any(name in case.providers for case in cases)]
    ahead = [
        replace(first, name=name, direction="forward+backward", providers=(provider,))
        for name in names
        for provider in providers
    ]
    return ahead[: most - 1]


def _words(case: Case, seconds: dict[str, float]) -> str:
    parts = ", ".join(f"{provider} {took:.1f} s" for provider, took in seconds.items())
    return f"{case.name} {case.length} {case.head_dim} {case.dtype} {case.direction}: {parts}"


def lost_rows(case: Case, reason: str) -> list[Row]:
    """Rows that say why there are no times."""
    mask = case.mask.descriptor(case.length)
    more = {"verdict": "error", "reason": reason, "run": now()}
    return [head_of(case, provider, mask) | more for provider in case.providers]


def _started() -> _Process:
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
    return _Process(process, ours)


def _serve(pipe: Connection) -> None:
    """The life of a process: what it is asked for, until it is ended, or until the process that asks is no more."""
    # A stopped process would not notice that.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    inputs = Inputs(default_device())
    ready: dict[Case, PreparedCase] = {}
    while True:
        try:
            what, case, how = pipe.recv()
        except EOFError:
            return
        if what == "measure":
            pipe.send(_finished(ready.pop(case), inputs.device, how))
            continue
        prepared = prepare_case(case, inputs)
        _end_if_broken(inputs.device)
        if what == "prepare":
            ready[case] = prepared
        pipe.send(prepared.seconds)


def _finished(prepared: PreparedCase, device: torch.device, how: HowToMeasure) -> list[Row]:
    """The rows of a case; of one that fails while it is measured, the reason."""
    try:
        return alone(lambda: finish_case(prepared, device, how), device, how.roof_tflops)
    except Exception as found:
        reason = (str(found).strip().splitlines() or [type(found).__name__])[0]
        _end_if_broken(device)
        return [row | {"verdict": "error", "reason": reason, "run": now()} for row in prepared.rows]


def _end_if_broken(device: torch.device) -> None:
    """Raises, which ends the process, when its GPU no longer answers: every later case would fail."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
