"""One worker: a fresh process in a session of its own, its events, its last words and its end. Knows no database."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MAX_LINE_BYTES = 8_000_000
MAX_OUTPUT_BYTES = 16_000
POLL_S = 0.2
_CHUNK = 1 << 16


class ProtocolError(Exception):
    """The worker sent something that is not an event."""


def process_birth(pid: int) -> str | None:
    """What the system knows as the begin of process `pid`, so that a reused number is told apart; None when unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The command stands in brackets and may hold anything; field 22 of the line is the start time in clock ticks.
    return f"{boot}:{stat.rsplit(')', 1)[1].split()[19]}"


def kill_group(pid: int, signal_number: int) -> None:
    """Send a signal to a whole process group, if there is still anybody in it."""
    # PermissionError: on some systems the answer for a group whose only member is a zombie.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal_number)


class WorkerProcess:
    """Starts `command --events-fd N` with `job` on standard input.

    Events come over a pipe of their own. What the process prints is kept up to a limit, the latest part.
    """

    def __init__(self, command: Sequence[str], job: str) -> None:
        events_read, events_write = os.pipe()
        try:
            with tempfile.TemporaryFile() as stdin:
                stdin.write(job.encode())
                stdin.seek(0)
                self._process = subprocess.Popen(
                    [*command, "--events-fd", str(events_write)],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=(events_write,),
                    start_new_session=True,
                )
        except BaseException:
            os.close(events_read)
            raise
        finally:
            os.close(events_write)
        assert self._process.stdout is not None
        self._events_fd = events_read
        self._output_fd = self._process.stdout.fileno()
        self._buffer = b""
        self._output = b""
        self._unread = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._events_fd, self._output_fd):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self._process.pid

    def read(self, timeout_s: float = POLL_S) -> Iterator[dict[str, Any]]:
        """Events that arrive within the timeout; returns as soon as some did. ProtocolError on anything else."""
        if not self._selector.get_map():
            time.sleep(timeout_s)
            return
        for key, _ in self._selector.select(timeout_s):
            chunk = self._read_chunk(key.fd)
            if key.fd == self._output_fd:
                self._take_output(chunk)
            else:
                self._buffer += chunk
        yield from self._take_events()

    def has_ended(self) -> bool:
        """Whether the process is over. It is not reaped, so that its group's number stays taken until `stop`."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def rest(self) -> Iterator[dict[str, Any]]:
        """Events still in the pipe of a process that is over; does not wait for children that hold the pipe open."""
        for descriptor in (self._output_fd, self._events_fd):
            while descriptor in self._selector.get_map():
                chunk = self._read_chunk(descriptor)
                if not chunk:
                    break
                if descriptor == self._output_fd:
                    self._take_output(chunk)
                else:
                    self._buffer += chunk
        yield from self._take_events()

    def stop(self, grace_s: float = 0.0) -> int:
        """End the process and all of its group, asking first when given time; the exit code, negative for a signal."""
        if self._process.returncode is None:
            if grace_s > 0 and not self.has_ended():
                kill_group(self.pid, signal.SIGTERM)
                deadline = time.monotonic() + grace_s
                while not self.has_ended() and time.monotonic() < deadline:
                    time.sleep(0.02)
            kill_group(self.pid, signal.SIGKILL)
            self._process.wait()
        return self._process.returncode

    def close(self) -> None:
        self.stop()
        self._selector.close()
        os.close(self._events_fd)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def last_words(self, max_lines: int = 6, max_chars: int = 1500) -> str:
        """The end of what the process printed."""
        lines = [line.rstrip() for line in self._output.decode("utf-8", "replace").splitlines() if line.strip()]
        return "\n".join(lines[-max_lines:])[-max_chars:]

    def new_output(self) -> str:
        """What the process printed since this was asked last; the latest part of it."""
        text, self._unread = self._unread, ""
        return text

    def describe_end(self) -> str:
        """How the process ended, in words, with its last output."""
        code = self.stop()
        if code < 0:
            how = f"the worker was ended by {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                how += " (out of memory, if nobody did it by hand)"
        elif code > 0:
            how = f"the worker ended with exit code {code}"
        else:
            how = "the worker ended without a result"
        words = self.last_words()
        return f"{how}; its last output:\n{words}" if words else how

    def _take_output(self, chunk: bytes) -> None:
        self._output = (self._output + chunk)[-MAX_OUTPUT_BYTES:]
        self._unread = (self._unread + self._decoder.decode(chunk))[-MAX_OUTPUT_BYTES:]

    def _read_chunk(self, descriptor: int) -> bytes:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return b""
        if not chunk:
            self._selector.unregister(descriptor)
        return chunk

    def _take_events(self) -> Iterator[dict[str, Any]]:
        *lines, self._buffer = self._buffer.split(b"\n")
        if len(self._buffer) > MAX_LINE_BYTES:
            raise ProtocolError("the worker sent a line that is too long to be an event")
        for line in lines:
            yield _parse_event(line)


def _parse_event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        shown = line[:80].decode("utf-8", "replace")
        raise ProtocolError(f"the worker sent something that is not an event: {shown!r}")
    return event


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
