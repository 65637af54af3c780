"""Masks with names and versions, kept in the database."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from compilemask_studio.schemas.base import MAX_SOURCE_CHARS, Body, Public, Values

MaskName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
VersionNote = Annotated[str, Field(max_length=2000)]


class VersionSummary(Public):
    """A version without its text; hash, lengths and pairs are null when the text gave no mask when it was saved."""

    number: int
    note: str
    created_at: datetime
    hash: str | None
    q_len: int | None
    kv_len: int | None
    visible_pairs: int | None


class MaskVersionPublic(VersionSummary):
    mask_id: int
    name: str
    source: str
    values: Values


class SavedMaskRow(Public):
    id: int
    name: str
    created_at: datetime
    updated_at: datetime
    versions: int = Field(description="how many versions there are")
    latest: VersionSummary


class SavedMaskPage(Public):
    total: int
    offset: int
    limit: int
    items: list[SavedMaskRow]


class SavedMaskPublic(Public):
    """All versions, the newest first."""

    id: int
    name: str
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    versions: list[VersionSummary]


class SavedMaskQuery(Body):
    """q: searched in names, and in notes and texts of all versions."""

    q: Annotated[str, Field(max_length=200)] = ""
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class VersionCreate(Body):
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
    values: Values = Field(default={})
    note: VersionNote = ""


class SavedMaskCreate(VersionCreate):
    name: MaskName


class SavedMaskUpdate(Body):
    name: MaskName
