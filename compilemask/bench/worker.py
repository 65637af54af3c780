"""The process that measures: one job in, events out (protocol.py).

    python -m compilemask.bench.worker --events-fd N < job.json
    python -m compilemask.bench.worker --probe

SIGTERM ends it at once; what was measured until then has been sent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, TextIO

from compilemask.bench.protocol import PROTOCOL_VERSION, CaseResult, CaseSpec, JobSpec, MeasureOptions, speakable

_PROGRESS_STEP = 0.02


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0 also when cases failed, since that is an answer; 2 for a job that cannot be read; 3 when the device no
    longer answers and the cases that are left need a fresh process."""
    parser = argparse.ArgumentParser(
        prog="python -m compilemask.bench.worker", description="Measures the cases of one job."
    )
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument(
        "--events-fd", type=int, help="file descriptor that events are written to, one JSON object a line"
    )
    mode.add_argument("--probe", action="store_true", help="print what can be measured here as one JSON object")
    arguments = parser.parse_args(argv)
    if arguments.probe:
        print(json.dumps(probe()))
        return 0
    with os.fdopen(arguments.events_fd, "w", encoding="utf-8", buffering=1) as stream:
        try:
            job = job_from_json(sys.stdin.read())
        except (ValueError, TypeError, KeyError) as problem:
            print(f"the job cannot be read: {problem}", file=sys.stderr)
            return 2
        return 0 if run_job(job, Events(stream)) else 3


class Events:
    """Writes events as protocol.py describes them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last: tuple[str, str, float] | None = None

    def send(self, event: str, **fields: Any) -> None:
        """One line; NaN and infinities become strings, which JSON has no numbers for."""
        self._stream.write(json.dumps(speakable({"event": event, **fields}), allow_nan=False) + "\n")
        self._stream.flush()

    def progress(self, case_id: str, stage: str, fraction: float) -> None:
        """As send, but steps too small to be seen are left out."""
        if self._last and self._last[:2] == (case_id, stage) and fraction - self._last[2] < _PROGRESS_STEP:
            return
        self._last = (case_id, stage, fraction)
        self.send("progress", case_id=case_id, stage=stage, fraction=fraction)


def run_job(job: JobSpec, events: Events) -> bool:
    """Every case in turn; one that raises becomes an error event and the next one goes on.

    False, without the cases that are left and without "finished", when a case broke the device for this process.
    """
    for spec in job.cases:
        events.send("started", case_id=spec.case_id)
        try:
            result = _run(spec, job.options, events)
        except Exception as problem:
            words = str(problem).strip().splitlines()
            reason = words[0] if words else type(problem).__name__
            events.send("error", case_id=spec.case_id, reason=reason, detail=traceback.format_exc())
            if not _device_answers():
                return False
        else:
            events.send("result", case_id=spec.case_id, result=dataclasses.asdict(result))
    events.send("finished")
    return True


def job_from_json(text: str) -> JobSpec:
    """Raises ValueError, KeyError or TypeError when `text` is no JobSpec of this version."""
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError(f"a job is a JSON object, got {type(fields).__name__}")
    if fields.get("version") != PROTOCOL_VERSION:
        raise ValueError(f"version must be {PROTOCOL_VERSION}, got {fields.get('version')!r}")
    return JobSpec(
        cases=tuple(CaseSpec(**case) for case in fields["cases"]),
        options=MeasureOptions(**fields.get("options", {})),
        version=PROTOCOL_VERSION,
    )


def probe() -> dict[str, Any]:
    """{"providers": [...], "devices": [...], "versions": {...}}: what can be measured here and with what."""
    from compilemask.bench.case import default_device
    from compilemask.bench.environment import devices, environment
    from compilemask.bench.providers import providers

    rows = []
    for provider in providers():
        usable, reason = provider.usable()
        rows.append(
            {"name": provider.name, "title": provider.title, "kind": provider.kind, "usable": usable, "reason": reason}
        )
    return {"providers": rows, "devices": devices(), "versions": environment(default_device())}


def _run(spec: CaseSpec, options: MeasureOptions, events: Events) -> CaseResult:
    from compilemask.bench.case import run_case

    return run_case(spec, options, progress=lambda stage, fraction: events.progress(spec.case_id, stage, fraction))


def _device_answers() -> bool:
    """Whether this process can still use the GPU; after an illegal access no call works any more."""
    import torch

    if not torch.cuda.is_available():
        return True
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
