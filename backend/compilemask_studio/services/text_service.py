"""What editors ask about a text, also a broken one: its canonical layout, completion, hover."""

from __future__ import annotations

from compilemask import tools
from compilemask.diagnostics import MaskError
from compilemask.syntax import format
from compilemask_studio.errors import StudioError
from compilemask_studio.schemas import (
    CompletionPublic,
    Completions,
    FormatRequest,
    FormattedText,
    HoverAnswer,
    HoverPublic,
    PlaceRequest,
)
from compilemask_studio.services.utf16 import Utf16Offsets, code_points


def format_text(request: FormatRequest) -> FormattedText:
    """The text in the one layout; StudioError 409 for a text whose syntax has an error."""
    try:
        formatted = format(request.source)
    except MaskError as error:
        first = error.diagnostics[0]
        raise StudioError(
            409, "text_broken", f"a text with an error in its syntax has no layout: {first.message}", first.hint
        ) from None
    return FormattedText(source=formatted, changed=formatted != request.source)


def complete(request: PlaceRequest) -> Completions:
    """What may stand at a place, best first."""
    found = tools.complete(request.source, code_points(request.source, request.offset))
    items = [
        CompletionPublic(label=item.label, kind=item.kind, detail=item.detail, insert=item.insert) for item in found
    ]
    return Completions(items=items)


def hover(request: PlaceRequest) -> HoverAnswer:
    """What stands at a place, when there is anything to say about it."""
    found = tools.hover(request.source, code_points(request.source, request.offset))
    if found is None:
        return HoverAnswer(hover=None)
    span = Utf16Offsets(request.source).span(found.span)
    return HoverAnswer(hover=HoverPublic(span=span, markdown=found.markdown))
