"""One stream of server-sent events a tab."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from compilemask_studio.deps import StudioDep
from compilemask_studio.responses import JSON_ERROR
from compilemask_studio.schemas import LaunchEvent, ResetEvent, RunEvent

router = APIRouter(prefix="/events", tags=["events"])


@router.get("", response_class=EventSourceResponse, responses={"default": JSON_ERROR})
async def stream_events(
    studio: StudioDep, last_event_id: Annotated[str | None, Header(max_length=40)] = None
) -> AsyncIterator[LaunchEvent | RunEvent | ResetEvent]:
    """Changes of launches and runs as they happen, numbered.

    With Last-Event-ID the stream resumes behind that event; when that is no longer possible (too long ago, or the
    server was started anew) the first event is `reset`: read the lists again.
    """
    async for event in studio.broker.subscribe(last_event_id):
        # The annotation names what `data` holds, for the OpenAPI document; FastAPI sends the envelope as it is.
        yield ServerSentEvent(raw_data=event.data, event=event.kind, id=str(event.number))  # type: ignore[misc]
