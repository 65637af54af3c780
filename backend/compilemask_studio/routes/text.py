"""What editors ask about a text. Nothing here changes anything; POST since texts are long."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.schemas import Completions, FormatRequest, FormattedText, HoverAnswer, PlaceRequest
from compilemask_studio.services import text_service

router = APIRouter(prefix="/text", tags=["text"])


@router.post("/format")
def format_text(body: FormatRequest) -> FormattedText:
    """The text in its canonical layout."""
    return text_service.format_text(body)


@router.post("/complete")
def complete_text(body: PlaceRequest) -> Completions:
    """What may stand at a place of the text."""
    return text_service.complete(body)


@router.post("/hover")
def hover_text(body: PlaceRequest) -> HoverAnswer:
    """What stands at a place of the text."""
    return text_service.hover(body)
