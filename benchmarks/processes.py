"""Tasks dealt to processes of this script: one that breaks its process, or does not end, loses no other."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Task = TypeVar("Task")


@dataclass(frozen=True, slots=True)
class Broken:
    """What became of a task without a result: its error, or how its process ended, in one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection


def outcomes(
    work: Callable[[Task], Any], tasks: Sequence[Task], processes: int, *, seconds: float
) -> Iterator[tuple[Task, Any]]:
    """(task, work(task) or Broken), each as soon as it is there. Tasks that `seconds` leaves no time for do not come.

    work: a function of a module. Tasks begin in their order. A process in which one raised an error is replaced: on a GPU all that
    follows a fault fails, too.
    """
    deadline = time.monotonic() + seconds
    waiting, busy = deque(tasks), dict[Connection, tuple[_Worker, Task]]()
    idle: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < processes:
                worker = idle.pop() if idle else _started(work)
                busy[worker.connection] = (worker, waiting.popleft())
                worker.connection.send(busy[worker.connection][1])
            left = deadline - time.monotonic()
            ready = wait(list(busy), None if math.isinf(left) else max(0.0, left))
            if not ready:
                return
            for connection in ready:
                assert isinstance(connection, Connection)
                worker, task = busy.pop(connection)
                outcome = _answer(worker)
                if isinstance(outcome, Broken):
                    _end(worker)
                else:
                    idle.append(worker)
                yield task, outcome
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            _end(worker)


def _started(work: Callable[[Task], Any]) -> _Worker:
    # A forked child cannot use CUDA.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _serve(work: Callable[[Any], Any], connection: Connection) -> None:
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            outcome = work(task)
        except Exception as found:
            outcome = Broken(f"{type(found).__name__}: {' '.join(str(found).split())[:300]}")
        connection.send(outcome)


def _answer(worker: _Worker) -> Any:
    try:
        return worker.connection.recv()
    except EOFError:
        worker.process.join()
        return Broken(f"its process ended with code {worker.process.exitcode}")


def _end(worker: _Worker) -> None:
    worker.process.terminate()
    worker.process.join()
    worker.connection.close()
