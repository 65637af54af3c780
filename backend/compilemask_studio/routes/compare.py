"""Several runs beside each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from compilemask_studio.deps import SessionDep
from compilemask_studio.schemas import Comparison
from compilemask_studio.services import run_service

router = APIRouter(prefix="/compare", tags=["compare"])


@router.get("")
def compare_runs(
    session: SessionDep,
    ids: Annotated[str, Query(description="run ids, separated by commas, 2 to 100 of them", max_length=2000)],
    baseline: Annotated[int | None, Query(description="one of the ids; the first one by default")] = None,
) -> Comparison:
    """Ratios to the baseline, the fields that differ, and warnings where the conditions are unlike."""
    return run_service.compare_runs(session, ids, baseline)
