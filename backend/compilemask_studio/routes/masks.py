"""Views of a compiled mask, addressed by its content hash."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from compilemask_studio.deps import MaskHash, PageOffset, SessionDep, StudioDep
from compilemask_studio.responses import IMMUTABLE, BinaryResponse, attachment_headers, file_responses
from compilemask_studio.schemas import ColumnIntervals, FamilyTable, RowIntervals, RunPlace, RunTable
from compilemask_studio.services import mask_service

router = APIRouter(prefix="/masks/{hash}", tags=["masks"])


@router.get(
    "/tiles/{z}/{y}/{x}",
    response_class=BinaryResponse,
    responses=file_responses("application/octet-stream", {"type": "string", "format": "binary"}),
)
def read_tile(
    hash: MaskHash,
    z: Annotated[int, Path(ge=0, le=62)],
    y: Annotated[int, Path(ge=0)],
    x: Annotated[int, Path(ge=0)],
    studio: StudioDep,
    session: SessionDep,
) -> Response:
    """One density tile: 65,536 bytes, 256 x 256 pixels, row-major; 0 is exactly none, 255 exactly all."""
    return BinaryResponse(mask_service.tile(studio.compiler, session, hash, z, y, x), headers=IMMUTABLE)


@router.get("/descriptor", responses=file_responses("application/json", {"type": "object"}))
def read_descriptor(hash: MaskHash, studio: StudioDep, session: SessionDep) -> Response:
    """The descriptor's JSON, as a file."""
    text = mask_service.descriptor_json(studio.compiler, session, hash)
    return Response(text, media_type="application/json", headers=attachment_headers(f"mask-{hash[:16]}.json"))


@router.get("/runs")
def read_mask_runs(
    hash: MaskHash,
    studio: StudioDep,
    session: SessionDep,
    offset: PageOffset = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> RunTable:
    """The trapezoids that make up the mask, paged."""
    return mask_service.run_table(studio.compiler, session, hash, offset, limit)


@router.get("/families")
def read_mask_families(
    hash: MaskHash,
    studio: StudioDep,
    session: SessionDep,
    offset: PageOffset = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> FamilyTable:
    """The mask in its compact form: runs that repeat at equal steps are one family. Paged."""
    return mask_service.family_table(studio.compiler, session, hash, offset, limit)


@router.get("/run-at/{q}/{k}")
def find_run(
    hash: MaskHash, q: Annotated[int, Path(ge=0)], k: Annotated[int, Path(ge=0)], studio: StudioDep, session: SessionDep
) -> RunPlace:
    """Which trapezoid has a cell: its number in the list of `runs`."""
    return mask_service.run_place(studio.compiler, session, hash, q, k)


@router.get("/columns/{k}")
def read_column(
    hash: MaskHash, k: Annotated[int, Path(ge=0)], studio: StudioDep, session: SessionDep
) -> ColumnIntervals:
    """The intervals of query rows that see one key."""
    return mask_service.column_intervals(studio.compiler, session, hash, k)


@router.get("/rows/{q}")
def read_row(hash: MaskHash, q: Annotated[int, Path(ge=0)], studio: StudioDep, session: SessionDep) -> RowIntervals:
    """The visible key intervals of one query row."""
    return mask_service.row_intervals(studio.compiler, session, hash, q)
