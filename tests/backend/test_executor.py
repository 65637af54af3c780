"""Every launch comes to an end, every run gets a verdict, and no process is left, whatever the worker does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from compilemask_studio.models import Launch, Run
from compilemask_studio.services import executor as executor_module
from compilemask_studio.services.executor import LocalExecutor
from compilemask_studio.services.run_store import RunStore
from compilemask_studio.services.worker_process import WorkerProcess, process_birth
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, select

AddLaunch = Callable[..., int]
WaitUntil = Callable[..., None]


def launch_of(engine: Engine, launch_id: int) -> Launch:
    with Session(engine, expire_on_commit=False) as session:
        launch = session.get(Launch, launch_id)
        assert launch is not None
        return launch


def runs_of(engine: Engine, launch_id: int) -> list[Run]:
    with Session(engine, expire_on_commit=False) as session:
        return list(session.exec(select(Run).where(Run.launch_id == launch_id).order_by(Run.id)))


def finished(engine: Engine, launch_id: int) -> Callable[[], bool]:
    return lambda: launch_of(engine, launch_id).state not in ("queued", "running")


def members_of_group(pid: int) -> list[int]:
    """Living processes of a process group, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def run_launch(
    engine: Engine, executor: LocalExecutor, add_launch: AddLaunch, wait_until: WaitUntil
) -> Callable[..., tuple[Launch, list[Run]]]:
    def run(*providers: str) -> tuple[Launch, list[Run]]:
        launch_id = add_launch(*providers)
        executor.notify()
        wait_until(finished(engine, launch_id))
        return launch_of(engine, launch_id), runs_of(engine, launch_id)

    return run


def test_results_are_stored_with_verdict_numbers_and_times(run_launch) -> None:
    launch, (good, bad) = run_launch("passes", "wrong")
    assert (launch.state, launch.reason) == ("done", None)
    assert launch.started_at is not None and launch.finished_at is not None and launch.worker_pid is None
    assert (good.state, good.verdict, good.median_ms, good.samples_ms) == ("done", "passed", 1.5, [1.5, 1.4, 1.6])
    assert (good.rows_checked, good.rows_total, good.worst_index) == (8, 8, [0, 0, 1, 2])
    assert good.progress == 1.0 and good.stage is None
    assert good.created_at <= good.started_at <= good.finished_at
    assert (bad.state, bad.verdict, bad.max_error) == ("done", "failed", 1e-6)


def test_a_run_that_failed_verification_has_no_speed(run_launch) -> None:
    _, (bad,) = run_launch("wrong")
    assert (bad.median_ms, bad.p20_ms, bad.p80_ms, bad.min_ms, bad.tflops, bad.samples_ms) == (None,) * 5 + ([],)


def test_numbers_that_are_not_finite_are_kept_by_name(run_launch) -> None:
    _, (run,) = run_launch("nan")
    assert (run.max_error, run.lse_max_error, run.tflops) == (None, None, None)
    assert run.nonfinite == {
        "max_error": "NaN",
        "lse_max_error": "-Infinity",
        "tflops": "Infinity",
        "samples_ms": "Infinity",
    }
    assert run.samples_ms == [1.5, 1.4] and run.mean_error == 1e-7


def test_an_error_event_fails_its_run_only(run_launch) -> None:
    launch, (bad, good) = run_launch("raises", "passes")
    assert (bad.state, bad.verdict, bad.reason) == ("failed", "error", "head_dim 3 is not supported")
    assert good.verdict == "passed" and launch.state == "done"


@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        ("segfault", "the worker was ended by SIGSEGV; its last output:\nabout to crash"),
        ("exits", "the worker ended with exit code 3; its last output:\nCUDA error: out of memory"),
        ("silent", "the worker ended without a result"),
        ("half-line", "the worker ended without a result"),
        ("garbage", "the worker sent something that is not an event: 'Loading weights: 100%'"),
        ("foreign", "the worker sent 'result' for a run that it was not given: 'nobody'"),
        ("not-a-result", "the worker sent a result that is not one"),
    ],
)
def test_a_worker_that_dies_takes_one_run_with_it_and_a_fresh_one_goes_on(
    run_launch, provider: str, reason: str
) -> None:
    launch, (first, bad, last) = run_launch("passes", provider, "passes")
    assert (bad.state, bad.verdict) == ("failed", "error")
    assert bad.reason.startswith(reason) and "Traceback" not in bad.reason
    assert bad.finished_at is not None
    assert (first.verdict, last.verdict, launch.state) == ("passed", "passed", "done")


def test_a_launch_without_any_outcome_is_failed(run_launch) -> None:
    launch, runs = run_launch("raises", "segfault")
    assert launch.state == "failed" and "no provider" in launch.reason
    assert [run.verdict for run in runs] == ["error", "error"]


@pytest.mark.timeout(30)
def test_a_child_that_holds_the_pipe_open_delays_nothing_and_is_ended(run_launch, engine: Engine) -> None:
    start = time.monotonic()
    launch, (run,) = run_launch("leaves-a-child")
    assert launch.state == "done" and run.verdict == "passed"
    assert time.monotonic() - start < 10


def test_launches_run_one_at_a_time_in_order(engine, executor, add_launch, wait_until) -> None:
    first, second = add_launch("slow"), add_launch("passes")
    executor.notify()
    wait_until(finished(engine, second))
    assert launch_of(engine, first).finished_at <= launch_of(engine, second).started_at


def test_cancel_ends_a_worker_that_ignores_sigterm_with_its_children(engine, executor, add_launch, wait_until) -> None:
    launch_id = add_launch("passes", "stubborn", "passes")
    executor.notify()
    wait_until(lambda: runs_of(engine, launch_id)[1].stage == "verify")
    pid = launch_of(engine, launch_id).worker_pid
    assert pid is not None
    wait_until(lambda: len(members_of_group(pid)) == 2)
    start = time.monotonic()
    executor.cancel(launch_id)
    wait_until(finished(engine, launch_id))
    assert time.monotonic() - start < 10
    assert members_of_group(pid) == []
    assert launch_of(engine, launch_id).state == "cancelled"
    assert [run.verdict for run in runs_of(engine, launch_id)] == ["passed", "cancelled", "cancelled"]


def test_a_worker_killed_from_outside_fails_its_run_and_the_queue_moves_on(
    engine, executor, add_launch, wait_until
) -> None:
    launch_id, after = add_launch("hangs", "passes"), add_launch("passes")
    executor.notify()
    wait_until(lambda: runs_of(engine, launch_id)[0].state == "running")
    os.kill(launch_of(engine, launch_id).worker_pid, signal.SIGKILL)
    wait_until(finished(engine, after), timeout_s=10)
    killed, good = runs_of(engine, launch_id)
    assert killed.verdict == "error" and "SIGKILL" in killed.reason
    assert good.verdict == "passed"


def test_a_launch_over_its_time_limit_is_ended_with_the_reason(engine, start_executor, add_launch, wait_until) -> None:
    launch_id = add_launch("passes", "hangs")
    start_executor(launch_timeout_s=1.0)
    wait_until(finished(engine, launch_id))
    assert launch_of(engine, launch_id).state == "failed"
    good, late = runs_of(engine, launch_id)
    assert good.verdict == "passed" and late.verdict == "error" and "time limit of 1 s" in late.reason


def test_stopping_the_executor_ends_the_worker_and_marks_the_launch_lost(
    engine, start_executor, add_launch, wait_until
) -> None:
    launch_id, waiting = add_launch("hangs"), add_launch("passes")
    executor = start_executor()
    wait_until(lambda: runs_of(engine, launch_id)[0].state == "running")
    pid = launch_of(engine, launch_id).worker_pid
    executor.stop()
    assert members_of_group(pid) == []
    assert launch_of(engine, launch_id).state == "lost"
    assert runs_of(engine, launch_id)[0].verdict == "error"
    assert launch_of(engine, waiting).state == "queued"


def test_a_worker_that_cannot_be_started_fails_the_launch(engine, start_executor, add_launch, wait_until) -> None:
    launch_id = add_launch("passes")
    start_executor(worker_command=("/nowhere/worker",))
    wait_until(finished(engine, launch_id))
    launch, (run,) = launch_of(engine, launch_id), runs_of(engine, launch_id)
    assert launch.state == "failed" and "/nowhere/worker" in launch.reason
    assert run.state == "failed" and run.finished_at is not None


def test_a_full_disk_fails_the_launch_in_plain_words(
    engine, store: RunStore, start_executor, add_launch, wait_until, monkeypatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OperationalError("UPDATE", {}, Exception("database or disk is full"))

    monkeypatch.setattr(store, "run_started", full)
    launch_id = add_launch("passes")
    start_executor()
    wait_until(finished(engine, launch_id))
    launch = launch_of(engine, launch_id)
    assert (launch.state, launch.reason) == (
        "failed",
        "the studio could not run this launch: database or disk is full",
    )


def test_a_launch_that_cannot_be_closed_is_closed_when_the_database_is_back(
    engine, store: RunStore, start_executor, add_launch, wait_until, monkeypatch
) -> None:
    monkeypatch.setattr(executor_module, "RETRY_S", 0.05)
    finish, failures = store.finish_launch, iter([OperationalError("UPDATE", {}, Exception("locked"))] * 2)

    def finish_late(*arguments: object) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure
        finish(*arguments)

    monkeypatch.setattr(store, "finish_launch", finish_late)
    first, second = add_launch("passes"), add_launch("passes")
    start_executor()
    wait_until(finished(engine, second))
    assert [launch_of(engine, launch_id).state for launch_id in (first, second)] == ["done", "done"]


def test_recovery_ends_the_left_over_worker_and_closes_its_launch(
    engine, store: RunStore, worker_command, add_launch, wait_until
) -> None:
    launch_id, waiting = add_launch("hangs", "passes"), add_launch("passes")
    assert store.claim_next_launch() == launch_id
    worker = WorkerProcess(worker_command, '{"cases": [{"case_id": "1", "provider": "hangs"}]}')
    try:
        store.set_worker(launch_id, worker.pid)
        store.recover()
        wait_until(worker.has_ended, timeout_s=5)
        assert worker.stop() == -signal.SIGKILL
    finally:
        worker.close()
    launch = launch_of(engine, launch_id)
    assert launch.state == "lost" and launch.finished_at is not None and "studio ended" in launch.reason
    assert [(run.state, run.verdict) for run in runs_of(engine, launch_id)] == [("failed", "error")] * 2
    assert launch_of(engine, waiting).state == "queued"


def test_recovery_spares_a_stranger_that_got_the_same_process_number(engine, store: RunStore, add_launch) -> None:
    launch_id = add_launch("passes", state="running")
    with Session(engine) as session:
        launch = session.get(Launch, launch_id)
        launch.worker_pid, launch.worker_birth = os.getpid(), "another boot:1"
        session.commit()
    store.recover()
    assert process_birth(os.getpid()) is not None
    assert launch_of(engine, launch_id).state == "lost"
