"""Why a cell is visible or hidden."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.deps import StudioDep
from compilemask_studio.schemas import CellExplanation, ExplainRequest
from compilemask_studio.services import explain_service

router = APIRouter(prefix="/explain", tags=["explain"])


@router.post("")
def explain_cell(body: ExplainRequest, studio: StudioDep) -> CellExplanation:
    """The rules that make query q see key k, or why none does. It changes nothing; a POST since texts are long."""
    return explain_service.explain(studio.compiler, body)
