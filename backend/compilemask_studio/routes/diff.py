"""Two masks beside each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from compilemask_studio.deps import MaskHash, SessionDep, StudioDep
from compilemask_studio.responses import IMMUTABLE, BinaryResponse, file_responses
from compilemask_studio.schemas import DiffRequest, MaskDiff

router = APIRouter(prefix="/diff", tags=["diff"])


@router.post("")
def compare_masks(body: DiffRequest, studio: StudioDep) -> MaskDiff:
    """Compile two texts and compare their cells. It changes nothing; a POST since texts are long."""
    return studio.differ.compare(body)


@router.get(
    "/{left}/{right}/tiles/{z}/{y}/{x}",
    response_class=BinaryResponse,
    responses=file_responses("application/octet-stream", {"type": "string", "format": "binary"}),
)
def read_diff_tile(
    left: MaskHash,
    right: MaskHash,
    z: Annotated[int, Path(ge=0, le=62)],
    y: Annotated[int, Path(ge=0)],
    x: Annotated[int, Path(ge=0)],
    studio: StudioDep,
    session: SessionDep,
) -> Response:
    """65,536 bytes, 256 x 256 pixels: kind * 64 + amount; kinds are 0 alike, 1 added, 2 removed, 3 both."""
    return BinaryResponse(studio.differ.tile(session, left, right, z, y, x), headers=IMMUTABLE)
