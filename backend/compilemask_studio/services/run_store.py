"""What the executor writes: one short transaction a step, each published to the open streams after its commit."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col, select, update

from compilemask.bench.protocol import CaseResult
from compilemask_studio.events import EventBroker
from compilemask_studio.models import Launch, Run, utc_now
from compilemask_studio.services.measurements import result_columns
from compilemask_studio.services.views import launch_summaries, run_public
from compilemask_studio.services.worker_process import kill_group, process_birth

logger = logging.getLogger("compilemask_studio")

T = TypeVar("T")
OPEN_STATES = ("queued", "running")
ATTEMPTS = 4
MAX_LOG_CHARS = 64_000


class RunStore:
    """All state changes of launches and runs that are not made by a request."""

    def __init__(self, engine: Engine, broker: EventBroker) -> None:
        self._engine = engine
        self._broker = broker

    # ------------------------------------------------------------ launches

    def claim_next_launch(self) -> int | None:
        """Mark the oldest queued launch as running and return its id. Safe against a cancel at the same time."""

        def claim(session: Session) -> int | None:
            oldest = select(Launch.id).where(Launch.state == "queued").order_by(col(Launch.id)).limit(1)
            launch_id = session.exec(oldest).first()
            if launch_id is None:
                return None
            change = update(Launch).where(col(Launch.id) == launch_id, col(Launch.state) == "queued")
            claimed = session.exec(change.values(state="running", started_at=utc_now())).rowcount
            return launch_id if claimed else None

        launch_id = self._write(claim)
        if launch_id is not None:
            self._publish_launch(launch_id)
        return launch_id

    def queued_runs(self, launch_id: int) -> list[Run]:
        """The runs still to be measured, in order, detached."""
        with self._reading() as session:
            query = select(Run).where(Run.launch_id == launch_id, Run.state == "queued").order_by(col(Run.id))
            return list(session.exec(query))

    def set_worker(self, launch_id: int, pid: int | None) -> None:
        birth = None if pid is None else process_birth(pid)
        change = update(Launch).where(col(Launch.id) == launch_id).values(worker_pid=pid, worker_birth=birth)
        self._write(lambda session: session.exec(change))

    def append_log(self, launch_id: int, text: str) -> None:
        """Add to what the launch's workers printed; only its end is kept."""

        def change(session: Session) -> None:
            launch = session.get(Launch, launch_id)
            if launch is not None:
                launch.log = (launch.log + text)[-MAX_LOG_CHARS:]
                session.add(launch)

        self._write(change)

    def finish_launch(self, launch_id: int, state: str, reason: str | None) -> None:
        """Close a launch; whatever of it is still open becomes cancelled or failed with the same reason.

        "done" needs at least one run that was verified, well or not; without any the launch is failed.
        """
        if state == "done" and not self.has_outcome(launch_id):
            state, reason = "failed", "no provider came to a result; see the runs"
        outcome = ("cancelled", "cancelled") if state == "cancelled" else ("failed", "error")
        self.close_runs(launch_id, *outcome, reason)
        change = update(Launch).where(col(Launch.id) == launch_id, col(Launch.state).in_(OPEN_STATES))
        values = {"state": state, "reason": reason, "finished_at": utc_now(), "worker_pid": None, "worker_birth": None}
        self._write(lambda session: session.exec(change.values(**values)))
        self._publish_launch(launch_id)

    def close_runs(self, launch_id: int, state: str, verdict: str, reason: str | None) -> None:
        with self._reading() as session:
            still_open = select(Run.id).where(Run.launch_id == launch_id, col(Run.state).in_(OPEN_STATES))
            ids = [run_id for run_id in session.exec(still_open) if run_id is not None]
        for run_id in ids:
            self._update_run(run_id, state=state, verdict=verdict, reason=reason, stage=None, finished_at=utc_now())

    def has_outcome(self, launch_id: int) -> bool:
        """Whether at least one run of the launch was verified, well or not."""
        with self._reading() as session:
            query = select(Run.id).where(Run.launch_id == launch_id, Run.state == "done").limit(1)
            return session.exec(query).first() is not None

    def recover(self) -> None:
        """At start: end workers that outlived their server, and close what that server left running."""
        with self._reading() as session:
            left = list(session.exec(select(Launch).where(Launch.state == "running")))
        for launch in left:
            assert launch.id is not None
            pid, birth = launch.worker_pid, launch.worker_birth
            if pid is not None and birth is not None and process_birth(pid) == birth:
                logger.warning("ending worker %d, left over by an earlier server", pid)
                kill_group(pid, signal.SIGKILL)
            self.finish_launch(launch.id, "lost", "the studio ended while this launch was running")

    # ------------------------------------------------------------ runs

    def run_started(self, run_id: int) -> None:
        self._update_run(run_id, state="running", started_at=utc_now(), progress=0.0)

    def run_progress(self, run_id: int, stage: str, fraction: float) -> None:
        self._update_run(run_id, stage=stage[:40], progress=min(max(fraction, 0.0), 1.0))

    def run_done(self, run_id: int, result: CaseResult) -> None:
        columns = result_columns(result)
        self._finish_run(run_id, state="done", progress=1.0, **columns)

    def run_failed(self, run_id: int, reason: str) -> None:
        self._finish_run(run_id, state="failed", verdict="error", reason=reason)

    # ------------------------------------------------------------ transactions

    def _finish_run(self, run_id: int, **columns: Any) -> None:
        """The run's end, and what its launch has come to by it."""
        run = self._update_run(run_id, stage=None, finished_at=utc_now(), **columns)
        if run is not None:
            self._publish_launch(run.launch_id)

    def _update_run(self, run_id: int, **columns: Any) -> Run | None:
        """The run as it is now; None when it had ended before."""

        def change(session: Session) -> Run | None:
            query = update(Run).where(col(Run.id) == run_id, col(Run.state).in_(OPEN_STATES)).values(**columns)
            return session.get(Run, run_id) if session.exec(query).rowcount else None

        run = self._write(change)
        if run is not None:
            self._broker.publish_run(run_public(run))
        return run

    def _publish_launch(self, launch_id: int) -> None:
        with self._reading() as session:
            launch = session.get(Launch, launch_id)
            if launch is not None:
                (summary,) = launch_summaries(session, [launch])
                self._broker.publish_launch(summary)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with Session(self._engine, expire_on_commit=False) as session:
            yield session

    def _write(self, change: Callable[[Session], T]) -> T:
        """Run one change in one transaction; when the database stays locked beyond its timeout, try again."""
        for attempt in range(ATTEMPTS):
            try:
                with Session(self._engine, expire_on_commit=False) as session:
                    outcome = change(session)
                    session.commit()
                    return outcome
            except OperationalError as error:
                if attempt == ATTEMPTS - 1:
                    raise
                logger.warning("database busy, trying again: %s", error.orig)
                time.sleep(0.2 * (attempt + 1))
        raise AssertionError("the loop returns or raises")
