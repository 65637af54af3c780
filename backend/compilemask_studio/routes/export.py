"""Files to take away: a mask as Python, and the runs table."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from compilemask_studio.deps import SessionDep, StudioDep
from compilemask_studio.responses import PythonResponse, attachment_headers, file_responses
from compilemask_studio.schemas import ExportRequest, RunExport
from compilemask_studio.services import export_service

router = APIRouter(prefix="/export", tags=["export"])


@router.post("/python", response_class=PythonResponse, responses=file_responses("text/x-python", {"type": "string"}))
def export_python(body: ExportRequest, studio: StudioDep) -> Response:
    """A Python module that rebuilds this mask."""
    file = export_service.python_module(studio.compiler, body)
    return PythonResponse(file.text, headers=attachment_headers(file.name))


@router.get("/runs", response_class=Response, responses=file_responses("text/csv", {"type": "string"}))
def export_runs(query: Annotated[RunExport, Query()], session: SessionDep) -> Response:
    """The filtered runs as a file. Cells of the CSV that a spreadsheet would read as a formula are neutralised."""
    file = export_service.runs_file(session, query)
    return Response(file.text, media_type=file.media_type, headers=attachment_headers(file.name))
