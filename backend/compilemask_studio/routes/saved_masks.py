"""Masks with names and versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from compilemask_studio.deps import RowId, SessionDep, StudioDep
from compilemask_studio.schemas import (
    MaskVersionPublic,
    SavedMaskCreate,
    SavedMaskPage,
    SavedMaskPublic,
    SavedMaskQuery,
    SavedMaskUpdate,
    VersionCreate,
)
from compilemask_studio.services import saved_mask_service

router = APIRouter(prefix="/saved-masks", tags=["saved-masks"])


@router.get("")
def list_saved_masks(session: SessionDep, query: Annotated[SavedMaskQuery, Query()]) -> SavedMaskPage:
    """Saved masks, the one changed last first; searched and paged here."""
    return saved_mask_service.list_masks(session, query)


@router.post("", status_code=201)
def create_saved_mask(body: SavedMaskCreate, studio: StudioDep, session: SessionDep) -> SavedMaskPublic:
    """Save a text under a name, as version 1; a text that does not compile as well."""
    return saved_mask_service.create_mask(studio.compiler, session, body)


@router.get("/{mask_id}")
def read_saved_mask(mask_id: RowId, session: SessionDep) -> SavedMaskPublic:
    return saved_mask_service.read_mask(session, mask_id)


@router.patch("/{mask_id}")
def rename_saved_mask(mask_id: RowId, body: SavedMaskUpdate, session: SessionDep) -> SavedMaskPublic:
    return saved_mask_service.rename_mask(session, mask_id, body)


@router.delete("/{mask_id}", status_code=204)
def archive_saved_mask(mask_id: RowId, session: SessionDep) -> None:
    """Put a mask away with all its versions; `restore` undoes it."""
    saved_mask_service.archive_mask(session, mask_id)


@router.post("/{mask_id}/restore")
def restore_saved_mask(mask_id: RowId, session: SessionDep) -> SavedMaskPublic:
    """Undo a deletion."""
    return saved_mask_service.restore_mask(session, mask_id)


@router.post("/{mask_id}/versions", status_code=201)
def create_version(mask_id: RowId, body: VersionCreate, studio: StudioDep, session: SessionDep) -> SavedMaskPublic:
    """Save a text as the next version."""
    return saved_mask_service.add_version(studio.compiler, session, mask_id, body)


@router.get("/{mask_id}/versions/{number}")
def read_version(mask_id: RowId, number: RowId, session: SessionDep) -> MaskVersionPublic:
    """One version with its text and numbers."""
    return saved_mask_service.read_version(session, mask_id, number)
