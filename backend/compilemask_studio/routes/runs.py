"""The stored rows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from compilemask_studio.deps import RowId, SessionDep, StudioDep
from compilemask_studio.schemas import (
    RunFacets,
    RunFilter,
    RunGroupQuery,
    RunGroups,
    RunPage,
    RunPublic,
    RunQuery,
    RunsChange,
    RunsChanged,
    RunUpdate,
)
from compilemask_studio.services import run_query, run_service

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("")
def list_runs(session: SessionDep, query: Annotated[RunQuery, Query()]) -> RunPage:
    """Runs, in the archive or not; filtered, sorted (missing numbers last) and paged here."""
    return run_query.list_runs(session, query)


@router.get("/groups")
def group_runs(session: SessionDep, query: Annotated[RunGroupQuery, Query()]) -> RunGroups:
    """The filtered runs by one field: how many, how many passed, the fastest."""
    return run_query.group_runs(session, query)


@router.get("/facets")
def read_facets(session: SessionDep, archived: bool = False) -> RunFacets:
    """The masks, providers, devices, tags and so on that the stored runs have."""
    return run_query.run_facets(session, RunFilter(archived=archived))


@router.post("/change")
def change_runs(body: RunsChange, session: SessionDep) -> RunsChanged:
    """Archive, restore, delete, undelete, tag or untag several runs: all of them, or none and an error."""
    return run_service.change_runs(session, body)


@router.get("/{run_id}")
def read_run(run_id: RowId, session: SessionDep) -> RunPublic:
    return run_service.read_run(session, run_id)


@router.patch("/{run_id}")
def update_run(run_id: RowId, body: RunUpdate, studio: StudioDep, session: SessionDep) -> RunPublic:
    """Change a run's name, note and tags."""
    return run_service.update_run(session, studio.broker, run_id, body)


@router.delete("/{run_id}", status_code=204)
def delete_run(run_id: RowId, session: SessionDep) -> None:
    """Delete a finished run: it leaves every list. For a day `POST /api/runs/change` can undelete it."""
    run_service.delete_run(session, run_id)
