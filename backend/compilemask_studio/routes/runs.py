"""The stored rows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from compilemask_studio.deps import RowId, SessionDep, StudioDep
from compilemask_studio.schemas import RunPage, RunPublic, RunQuery, RunUpdate
from compilemask_studio.services import run_service

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("")
def list_runs(session: SessionDep, query: Annotated[RunQuery, Query()]) -> RunPage:
    """Runs that are not archived; filtered, sorted (missing numbers last) and paged here."""
    return run_service.list_runs(session, query)


@router.get("/{run_id}")
def read_run(run_id: RowId, session: SessionDep) -> RunPublic:
    return run_service.read_run(session, run_id)


@router.patch("/{run_id}")
def update_run(run_id: RowId, body: RunUpdate, studio: StudioDep, session: SessionDep) -> RunPublic:
    """Rename a run or change its note."""
    return run_service.update_run(session, studio.broker, run_id, body)


@router.delete("/{run_id}", status_code=204)
def archive_run(run_id: RowId, session: SessionDep) -> None:
    """Archive a finished run: it leaves every list, its row stays in the database."""
    run_service.archive_run(session, run_id)
