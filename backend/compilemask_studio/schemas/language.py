"""What an editor asks about a text. Offsets are UTF-16 code units, as editors count."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compilemask_studio.schemas.base import MAX_SOURCE_CHARS, Body, Public
from compilemask_studio.schemas.masks import SpanPublic


class FormatRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]


class FormattedText(Public):
    source: str
    changed: bool


class PlaceRequest(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    offset: Annotated[int, Field(strict=True, ge=0)]


class CompletionPublic(Public):
    """label: what is listed; detail: one line about it; insert: what replaces the word before the offset."""

    label: str
    kind: Literal[
        "keyword", "relation", "type", "function", "symbol", "parameter", "region", "index", "mask", "example"
    ]
    detail: str
    insert: str


class Completions(Public):
    items: list[CompletionPublic]


class HoverPublic(Public):
    """Markdown about the text at `span`."""

    span: SpanPublic
    markdown: str


class HoverAnswer(Public):
    hover: HoverPublic | None
