"""What can be measured here, asked of a worker process, so that the server itself never loads torch or touches a GPU."""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ValidationError

from compilemask_studio.schemas import DeviceInfo, Environment, ProviderInfo
from compilemask_studio.services.worker_process import kill_group

logger = logging.getLogger("compilemask_studio")

PROBE_TIMEOUT_S = 180.0


class ProbedDevice(BaseModel):
    name: str
    kind: Literal["cpu", "cuda"]
    memory_bytes: int | None = None
    detail: str = ""


class ProbeAnswer(BaseModel):
    """What `worker --probe` prints as the last line of standard output."""

    providers: list[ProviderInfo]
    devices: list[ProbedDevice]
    versions: dict[str, str]


class EnvironmentService:
    """The last answer, and one probe at a time in the background."""

    def __init__(self, worker_command: Sequence[str]) -> None:
        self._command = [*worker_command, "--probe"]
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._current = Environment(state="probing", reason=None, providers=[], devices=[], versions={})
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def read(self) -> Environment:
        return self._current

    def refresh(self) -> Environment:
        """Start a probe, unless one is under way; the last answer stays in place until then, marked as probing."""
        with self._lock:
            if self._closed or self._process is not None:
                return self._current
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                self._settle(_failed(f"the probe did not start: {error}"))
                return self._current
            self._ready.clear()
            self._current = self._current.model_copy(update={"state": "probing", "reason": None})
            threading.Thread(target=self._wait, args=(self._process,), name="probe", daemon=True).start()
            return self._current

    def wait_ready(self, timeout_s: float) -> Environment:
        """The answer, waiting for a probe that is under way; still `probing` when the time is up."""
        self._ready.wait(timeout_s)
        return self._current

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._process is not None:
                kill_group(self._process.pid, signal.SIGKILL)

    def _wait(self, process: subprocess.Popen[str]) -> None:
        try:
            output, errors = process.communicate(timeout=PROBE_TIMEOUT_S)
            answer = _parse_answer(process.returncode, output, errors)
        except subprocess.TimeoutExpired:
            kill_group(process.pid, signal.SIGKILL)
            process.communicate()
            answer = _failed(f"the probe gave no answer in {PROBE_TIMEOUT_S:g} s")
        with self._lock:
            self._process = None
            self._settle(answer)

    def _settle(self, answer: Environment) -> None:
        self._current = answer
        self._ready.set()


def _failed(reason: str) -> Environment:
    return Environment(state="failed", reason=reason, providers=[], devices=[], versions={})


def _parse_answer(returncode: int, output: str, errors: str) -> Environment:
    last_words = "\n".join(errors.strip().splitlines()[-4:])[-1000:]
    if returncode != 0:
        how = f"exit code {returncode}" if returncode > 0 else f"signal {-returncode}"
        return _failed(f"the probe ended with {how}: {last_words}" if last_words else f"the probe ended with {how}")
    lines = output.strip().splitlines()
    try:
        answer = ProbeAnswer.model_validate_json(lines[-1] if lines else "")
    except ValidationError as error:
        logger.error("the probe printed what is no answer: %s", error)
        return _failed("the probe printed something that is not an answer")
    return Environment(
        state="ready",
        reason=None,
        providers=answer.providers,
        devices=[DeviceInfo.model_validate(device.model_dump()) for device in answer.devices],
        versions=answer.versions,
    )
