"""The rules of a text as pictures."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from compilemask_studio.deps import StudioDep
from compilemask_studio.responses import IMMUTABLE, BinaryResponse, file_responses
from compilemask_studio.schemas import RuleParts, RulesRequest

router = APIRouter(prefix="/rules", tags=["rules"])


@router.post("")
def read_rules(body: RulesRequest, studio: StudioDep) -> RuleParts:
    """The cells of each rule, each a mask with a hash of its own. It changes nothing; a POST since texts are long."""
    return studio.rules.rules(body)


@router.get(
    "/{key}/tiles/{z}/{y}/{x}",
    response_class=BinaryResponse,
    responses=file_responses("application/octet-stream", {"type": "string", "format": "binary"}),
)
def read_rules_tile(
    key: Annotated[str, Path(max_length=128)],
    z: Annotated[int, Path(ge=0, le=62)],
    y: Annotated[int, Path(ge=0)],
    x: Annotated[int, Path(ge=0)],
    studio: StudioDep,
) -> Response:
    """65,536 bytes: 0 no cell visible; 1 + r all, 128 + r some, most of them by rule r (rules from 126 on count as one)."""
    return BinaryResponse(studio.rules.tile(key, z, y, x), headers=IMMUTABLE)
