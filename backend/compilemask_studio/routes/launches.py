"""Launches: what Run starts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from compilemask_studio.deps import PageOffset, RowId, SessionDep, StudioDep
from compilemask_studio.schemas import LaunchCreate, LaunchEstimate, LaunchLog, LaunchPublic, LaunchSummary
from compilemask_studio.services import launch_service
from compilemask_studio.services.views import RUNS_AT_ONCE

router = APIRouter(prefix="/launches", tags=["launches"])


@router.post("", status_code=201)
def create_launch(body: LaunchCreate, studio: StudioDep, session: SessionDep) -> LaunchPublic:
    """Queue one mask and shape, or a sweep, for several providers: one run for each case and provider."""
    return studio.launches.create(session, body)


@router.post("/estimate")
def estimate_launch(body: LaunchCreate, studio: StudioDep, session: SessionDep) -> LaunchEstimate:
    """The cases that a launch would have, what stands against each, and how long it may take. Nothing is started."""
    return studio.launches.estimate(session, body)


@router.get("")
def list_launches(session: SessionDep, active: bool = False) -> list[LaunchSummary]:
    """The latest 100 launches, newest first; with `active`, all that are queued or running, in queue order. Their runs are only counted."""
    return launch_service.list_launches(session, active=active)


@router.get("/{launch_id}")
def read_launch(
    launch_id: RowId,
    session: SessionDep,
    offset: PageOffset = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = RUNS_AT_ONCE,
) -> LaunchPublic:
    """One launch, with its runs paged."""
    return launch_service.read_launch(session, launch_id, offset, limit)


@router.get("/{launch_id}/log")
def read_launch_log(launch_id: RowId, session: SessionDep) -> LaunchLog:
    """The end of what the launch's workers printed; it grows while the launch runs."""
    return launch_service.read_log(session, launch_id)


@router.post("/{launch_id}/cancel")
def cancel_launch(launch_id: RowId, studio: StudioDep, session: SessionDep) -> LaunchPublic:
    """Stop a queued or running launch; its worker is ended, and runs not finished become cancelled."""
    return studio.launches.cancel(session, launch_id)
