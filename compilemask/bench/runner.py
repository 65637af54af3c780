"""Cases measured in processes of their own: one that breaks loses no other."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence

from compilemask.bench.protocol import CaseResult, CaseSpec, JobSpec, MeasureOptions, result_from_json

Outcome = CaseResult | str
Told = Callable[[CaseSpec], None]


def outcomes(
    cases: Sequence[CaseSpec], options: MeasureOptions, *, started: Told = lambda _case: None
) -> Generator[tuple[CaseSpec, Outcome]]:
    """(case, its result or one line that says why there is none), in order, each as soon as it is there.

    case_ids must differ. started(case) is called when a case begins. A process that ends is replaced by a fresh one, which goes on with
    the next case. Closing the iterator ends the process that measures.
    """
    left = list(cases)
    while left:
        answered = 0
        for case, outcome in _one_process(left, options, started):
            answered += 1
            yield case, outcome
        left = left[answered:]


def _one_process(
    cases: Sequence[CaseSpec], options: MeasureOptions, started: Told
) -> Generator[tuple[CaseSpec, Outcome]]:
    """The outcomes that one process comes to; the last is its own end when it did not come to all."""
    read, write = os.pipe()
    command = [sys.executable, "-m", "compilemask.bench.worker", "--events-fd", str(write)]
    # In a session of its own: Ctrl-C is for this process, which ends that one without a trace on the terminal.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=(write,), start_new_session=True
    )
    os.close(write)
    answered = 0
    with os.fdopen(read, encoding="utf-8") as events:
        try:
            assert process.stdin is not None
            job = JobSpec(tuple(cases), options)
            process.stdin.write(json.dumps(dataclasses.asdict(job)).encode())
            process.stdin.close()
            for line in events:
                event = json.loads(line)
                match event["event"]:
                    case "started":
                        started(cases[answered])
                    case "result":
                        yield cases[answered], result_from_json(event["result"])
                        answered += 1
                    case "error":
                        yield cases[answered], str(event["reason"])
                        answered += 1
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    # Code 3 is a process that says itself that it cannot go on, after the error of the case that broke it.
    if answered < len(cases) and not (code == 3 and answered):
        yield cases[answered], f"the process that measured ended: {_ending(code)}"


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
    return f"{name}, as when memory runs out" if name == "SIGKILL" else name
