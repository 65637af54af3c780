"""Numbered events from any thread to any number of open streams, in one process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compilemask_studio.schemas import LaunchEvent, LaunchSummary, ResetEvent, RunEvent, RunPublic

MAX_EVENTS = 1000
MAX_CHARS = 16_000_000


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event as it is sent; `data` is its JSON, or None for a bare number that only marks a place to resume from."""

    number: int
    kind: str | None
    data: str | None


class EventBroker:
    """A bounded ring of the latest events; every stream is a cursor into it, so that a slow reader costs nothing.

    Numbers begin at the start time in milliseconds: those of an earlier server are always too old to resume from.
    """

    def __init__(self, max_events: int = MAX_EVENTS, max_chars: int = MAX_CHARS) -> None:
        # Reentrant, because `close` is called from a signal handler, which may interrupt the holder itself.
        self._lock = threading.RLock()
        self._number = int(time.time() * 1000)
        self._ring: deque[StreamEvent] = deque()
        self._chars = 0
        self._max_events = max_events
        self._max_chars = max_chars
        self._readers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._closed = False

    def publish_run(self, run: RunPublic) -> None:
        self._publish("run", RunEvent(run=run).model_dump_json())

    def publish_launch(self, launch: LaunchSummary) -> None:
        self._publish("launch", LaunchEvent(launch=launch).model_dump_json())

    def close(self) -> None:
        """End every stream, now and later; a server that shuts down waits for its streams."""
        with self._lock:
            self._closed = True
            self._wake_readers()

    async def subscribe(self, last_event_id: str | None) -> AsyncIterator[StreamEvent]:
        """Events behind `last_event_id`, or from now on, until `close`."""
        cursor = self._number
        if last_event_id is not None:
            cursor = int(last_event_id) if last_event_id.isdecimal() else -1
        else:
            yield StreamEvent(cursor, None, None)
        with self._reader() as wake:
            while not self._closed:
                wake.clear()
                events = self._since(cursor)
                if events is None:
                    cursor = self._number
                    yield StreamEvent(cursor, "reset", ResetEvent().model_dump_json())
                    continue
                for event in events:
                    cursor = event.number
                    yield event
                if not events:
                    await wake.wait()

    def _publish(self, kind: str, data: str) -> None:
        with self._lock:
            self._number += 1
            self._ring.append(StreamEvent(self._number, kind, data))
            self._chars += len(data)
            while len(self._ring) > self._max_events or (self._chars > self._max_chars and len(self._ring) > 1):
                self._chars -= len(self._ring.popleft().data or "")
            self._wake_readers()

    def _wake_readers(self) -> None:
        for wake, loop in self._readers.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake.set)

    def _since(self, cursor: int) -> list[StreamEvent] | None:
        """The events behind `cursor`, or None when some of them are gone or it is not a number of ours."""
        with self._lock:
            oldest = self._ring[0].number if self._ring else self._number + 1
            if not oldest - 1 <= cursor <= self._number:
                return None
            return [event for event in self._ring if event.number > cursor]

    @contextmanager
    def _reader(self) -> Iterator[asyncio.Event]:
        wake = asyncio.Event()
        with self._lock:
            self._readers[wake] = asyncio.get_running_loop()
        try:
            yield wake
        finally:
            with self._lock:
                del self._readers[wake]
