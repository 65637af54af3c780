"""Who measures: an interface, and the local way, one launch at a time in fresh worker processes."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from compilemask.bench.protocol import JobSpec
from compilemask_studio.models import Run
from compilemask_studio.services.measurements import parse_result
from compilemask_studio.services.run_store import RunStore
from compilemask_studio.services.worker_process import ProtocolError, WorkerProcess

logger = logging.getLogger("compilemask_studio")

CANCEL_GRACE_S = 2.0
FINISH_GRACE_S = 5.0
PROGRESS_INTERVAL_S = 0.25
IDLE_S = 5.0
RETRY_S = 1.0
LOG_INTERVAL_S = 1.0
RUNS_PER_TIMEOUT = 8
"""A launch of more runs, a sweep, has so much more time."""

JobBuilder = Callable[[Sequence[Run]], JobSpec]


class Executor(Protocol):
    """Takes queued launches from the database and brings each to an end."""

    def start(self) -> None: ...

    def notify(self) -> None:
        """There is something new in the queue."""

    def cancel(self, launch_id: int) -> None:
        """End this launch if it is the one that runs; returns at once."""

    def stop(self) -> None:
        """End what runs and wait until no worker is left."""


class LaunchStoppedError(Exception):
    """A launch must end before its runs are done: the state to leave it in, and why."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason


class LocalExecutor:
    """One supervisor thread. A worker that dies takes only the run in its hands with it; a fresh one goes on."""

    def __init__(
        self, store: RunStore, build_job: JobBuilder, worker_command: Sequence[str], launch_timeout_s: float
    ) -> None:
        self._store = store
        self._build_job = build_job
        self._worker_command = tuple(worker_command)
        self._launch_timeout_s = launch_timeout_s
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._cancelled: set[int] = set()
        self._thread = threading.Thread(target=self._supervise, name="launch-supervisor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def notify(self) -> None:
        self._wake.set()

    def cancel(self, launch_id: int) -> None:
        self._cancelled.add(launch_id)
        self._wake.set()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        self._thread.join()

    def _supervise(self) -> None:
        to_close: tuple[int, str, str | None] | None = None
        while True:
            try:
                if to_close is not None:
                    self._store.finish_launch(*to_close)
                    self._cancelled.discard(to_close[0])
                    to_close = None
                if self._stopping.is_set():
                    return
                self._wake.clear()
                launch_id = self._store.claim_next_launch()
                if launch_id is None:
                    self._wake.wait(IDLE_S)
                else:
                    to_close = (launch_id, *self._run_launch(launch_id))
            except Exception:
                # A database that is away for a while must not end this thread; what cannot be closed now is closed later.
                logger.exception("the launch supervisor failed and goes on")
                if self._stopping.wait(RETRY_S):
                    return

    def _run_launch(self, launch_id: int) -> tuple[str, str | None]:
        """Measure all runs of a launch; (the state to leave it in, why)."""
        count = len(self._store.queued_runs(launch_id))
        limit_s = self._launch_timeout_s * max(1, math.ceil(count / RUNS_PER_TIMEOUT))
        deadline = time.monotonic() + limit_s
        try:
            while runs := self._store.queued_runs(launch_id):
                self._check(launch_id, deadline, limit_s)
                shift = _Shift(
                    self._store,
                    launch_id,
                    runs,
                    self._worker_command,
                    lambda: self._check(launch_id, deadline, limit_s),
                )
                shift.work(json.dumps(asdict(self._build_job(runs))))
        except LaunchStoppedError as stopped:
            return stopped.state, stopped.reason
        except Exception as error:
            logger.exception("launch %d failed", launch_id)
            # The database's own word, without its library's wrapping and links.
            return "failed", f"the studio could not run this launch: {getattr(error, 'orig', None) or error}"
        return "done", None

    def _check(self, launch_id: int, deadline: float, limit_s: float) -> None:
        if launch_id in self._cancelled:
            raise LaunchStoppedError("cancelled", "cancelled")
        if self._stopping.is_set():
            raise LaunchStoppedError("lost", "the studio was stopped while this launch was running")
        if time.monotonic() > deadline:
            raise LaunchStoppedError("failed", f"the time limit of {limit_s:g} s for this launch was reached")


class _Shift:
    """The life of one worker: from its start until it is done, dead or stopped."""

    def __init__(
        self,
        store: RunStore,
        launch_id: int,
        runs: Sequence[Run],
        worker_command: Sequence[str],
        check: Callable[[], None],
    ) -> None:
        self._store = store
        self._launch_id = launch_id
        self._waiting = {str(run.id): run.id for run in runs if run.id is not None}
        self._worker_command = worker_command
        self._check = check
        self._in_flight: str | None = None
        self._outcomes = 0
        self._finished_at: float | None = None
        self._progress: tuple[str, float] = ("", 0.0)
        self._log = ""
        self._logged_at = 0.0

    def work(self, job: str) -> None:
        """Measure until the worker ends. LaunchStoppedError when `check` says so; no process is left in any case."""
        worker = WorkerProcess(self._worker_command, job)
        reason = None
        try:
            self._store.set_worker(self._launch_id, worker.pid)
            self._listen(worker)
        except ProtocolError as violation:
            worker.stop()
            reason = str(violation)
        except LaunchStoppedError:
            worker.stop(CANCEL_GRACE_S)
            raise
        finally:
            if reason is None:
                reason = worker.describe_end()
            self._log += worker.new_output()
            worker.close()
            self._store.set_worker(self._launch_id, None)
            self._write_log()
        self._blame(reason)

    def _listen(self, worker: WorkerProcess) -> None:
        while True:
            for event in worker.read():
                self._handle(event)
            self._log += worker.new_output()
            if time.monotonic() - self._logged_at >= LOG_INTERVAL_S:
                self._write_log()
            self._check()
            if worker.has_ended():
                for event in worker.rest():
                    self._handle(event)
                return
            if self._finished_at is not None and time.monotonic() - self._finished_at > FINISH_GRACE_S:
                return

    def _handle(self, event: dict[str, Any]) -> None:
        kind, case_id = event["event"], event.get("case_id")
        if kind == "finished":
            self._finished_at = time.monotonic()
            return
        if not isinstance(case_id, str) or case_id not in self._waiting:
            raise ProtocolError(f"the worker sent {kind!r} for a run that it was not given: {str(case_id)[:80]!r}")
        run_id = self._waiting[case_id]
        match kind:
            case "started":
                self._in_flight = case_id
                self._progress = ("", 0.0)
                self._store.run_started(run_id)
            case "progress":
                self._report_progress(run_id, event)
            case "result":
                try:
                    result = parse_result(event.get("result"))
                except ValueError as error:
                    raise ProtocolError(str(error)) from None
                self._store.run_done(run_id, result)
                self._close_case(case_id)
            case "error":
                self._store.run_failed(run_id, str(event.get("reason") or "the worker gave no reason"))
                if event.get("detail"):
                    logger.warning("run %d failed in the worker:\n%s", run_id, event["detail"])
                    self._log += f"run {run_id}: {event['detail']}\n"
                self._close_case(case_id)
            case _:
                raise ProtocolError(f"the worker sent an event of an unknown kind: {kind[:80]!r}")

    def _report_progress(self, run_id: int, event: dict[str, Any]) -> None:
        stage, fraction, now = str(event.get("stage", "")), event.get("fraction"), time.monotonic()
        if not isinstance(fraction, int | float):
            raise ProtocolError(f"the worker sent progress that is not a number: {str(fraction)[:80]!r}")
        shown_stage, shown_at = self._progress
        if stage != shown_stage or now - shown_at >= PROGRESS_INTERVAL_S:
            self._progress = (stage, now)
            self._store.run_progress(run_id, stage, float(fraction))

    def _write_log(self) -> None:
        self._logged_at = time.monotonic()
        if self._log:
            self._store.append_log(self._launch_id, self._log)
            self._log = ""

    def _close_case(self, case_id: str) -> None:
        del self._waiting[case_id]
        self._in_flight = None
        self._outcomes += 1

    def _blame(self, reason: str) -> None:
        """Fail the run that the worker had in its hands; one that came to nothing at all fails the next run, so that
        every worker brings the launch forward."""
        case_id = self._in_flight
        if case_id is None and self._waiting and self._outcomes == 0:
            case_id = next(iter(self._waiting))
        if case_id is not None:
            self._store.run_failed(self._waiting[case_id], reason)
