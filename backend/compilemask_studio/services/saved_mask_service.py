"""Masks with names and versions: saved, listed, renamed, put away and brought back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Subquery
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, or_, select

from compilemask_studio.errors import StudioError
from compilemask_studio.models import MaskVersion, SavedMask, utc_now
from compilemask_studio.schemas import (
    MaskVersionPublic,
    SavedMaskCreate,
    SavedMaskPage,
    SavedMaskPublic,
    SavedMaskQuery,
    SavedMaskRow,
    SavedMaskUpdate,
    VersionCreate,
    VersionSummary,
)
from compilemask_studio.services.compile_service import CompileService
from compilemask_studio.services.like_pattern import ESCAPE, containing

ATTEMPTS = 5


def list_masks(session: Session, query: SavedMaskQuery) -> SavedMaskPage:
    """Masks that are not put away, the one changed last first."""
    masks = select(SavedMask).where(col(SavedMask.archived_at).is_(None))
    if query.q.strip():
        pattern = containing(query.q.strip())
        texts = (MaskVersion.note, MaskVersion.source)
        by_version = select(MaskVersion.mask_id).where(or_(*(col(t).ilike(pattern, escape=ESCAPE) for t in texts)))
        masks = masks.where(or_(col(SavedMask.name).ilike(pattern, escape=ESCAPE), col(SavedMask.id).in_(by_version)))
    total = session.exec(select(func.count()).select_from(masks.subquery())).one()
    newest = _newest_versions()
    page = (
        masks.join(newest, newest.c.mask_id == col(SavedMask.id))
        .join(
            MaskVersion, (col(MaskVersion.mask_id) == newest.c.mask_id) & (col(MaskVersion.number) == newest.c.newest)
        )
        .with_only_columns(SavedMask, MaskVersion, newest.c.versions)
        .order_by(col(SavedMask.updated_at).desc(), col(SavedMask.id).desc())
        .offset(query.offset)
        .limit(query.limit)
    )
    rows: Any = session.execute(page)
    items = [_row(mask, version, versions) for mask, version, versions in rows]
    return SavedMaskPage(total=total, offset=query.offset, limit=query.limit, items=items)


def _newest_versions() -> Subquery:
    counted = (func.max(MaskVersion.number).label("newest"), func.count().label("versions"))
    return select(MaskVersion.mask_id, *counted).group_by(col(MaskVersion.mask_id)).subquery()


def find_saved(session: Session, mask_id: int, *, archived: bool = False) -> SavedMask:
    """The mask's row; StudioError 404 when there is none, or when it is put away and `archived` is false."""
    mask = session.get(SavedMask, mask_id)
    if mask is None or (mask.archived_at is not None and not archived):
        raise StudioError(404, "saved_mask_unknown", f"there is no saved mask {mask_id}", "look into the list of masks")
    return mask


def read_mask(session: Session, mask_id: int) -> SavedMaskPublic:
    return _public(session, find_saved(session, mask_id))


def read_version(session: Session, mask_id: int, number: int) -> MaskVersionPublic:
    """One version with its text; StudioError 404 when there is none of this number."""
    mask = find_saved(session, mask_id)
    query = select(MaskVersion).where(MaskVersion.mask_id == mask_id, MaskVersion.number == number)
    version = session.exec(query).first()
    if version is None:
        raise StudioError(404, "version_unknown", f"saved mask {mask_id} has no version {number}")
    summary = _summary(version).model_dump()
    return MaskVersionPublic(**summary, mask_id=mask_id, name=mask.name, source=version.source, values=version.values)


def create_mask(compiler: CompileService, session: Session, body: SavedMaskCreate) -> SavedMaskPublic:
    """A new mask with its first version. A text that does not compile is saved as well."""
    facts = _facts(compiler, body)
    now = utc_now()
    mask = SavedMask(name=body.name, created_at=now, updated_at=now)
    session.add(mask)
    session.flush()
    assert mask.id is not None
    session.add(_version(mask.id, 1, body, facts))
    session.commit()
    return _public(session, mask)


def add_version(compiler: CompileService, session: Session, mask_id: int, body: VersionCreate) -> SavedMaskPublic:
    """The next version. Versions that are saved at the same moment get numbers of their own."""
    facts = _facts(compiler, body)
    for attempt in range(ATTEMPTS):
        mask = find_saved(session, mask_id)
        newest = session.exec(select(func.max(MaskVersion.number)).where(MaskVersion.mask_id == mask_id)).one()
        session.add(_version(mask_id, (newest or 0) + 1, body, facts))
        mask.updated_at = utc_now()
        try:
            session.commit()
        except IntegrityError:
            session.rollback()
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return _public(session, mask)
    raise AssertionError("the loop returns or raises")


def rename_mask(session: Session, mask_id: int, body: SavedMaskUpdate) -> SavedMaskPublic:
    mask = find_saved(session, mask_id)
    mask.name = body.name
    mask.updated_at = utc_now()
    session.commit()
    return _public(session, mask)


def archive_mask(session: Session, mask_id: int) -> None:
    """Put a mask away: it leaves the list, its rows stay."""
    find_saved(session, mask_id).archived_at = utc_now()
    session.commit()


def restore_mask(session: Session, mask_id: int) -> SavedMaskPublic:
    """Bring a mask back that was put away; one that was not stays as it is."""
    mask = find_saved(session, mask_id, archived=True)
    mask.archived_at = None
    session.commit()
    return _public(session, mask)


def _facts(compiler: CompileService, body: VersionCreate) -> dict[str, Any]:
    """What the columns about the mask hold; nothing for a text without a mask."""
    try:
        descriptor = compiler.bind(body.source, body.values).descriptor
    except StudioError:
        return {}
    return {
        "mask_hash": descriptor.hash,
        "q_len": descriptor.q_len,
        "kv_len": descriptor.kv_len,
        "visible_pairs": descriptor.visible_pairs,
    }


def _version(mask_id: int, number: int, body: VersionCreate, facts: Mapping[str, Any]) -> MaskVersion:
    columns: dict[str, Any] = {"source": body.source, "values": body.values, "note": body.note, **facts}
    return MaskVersion(mask_id=mask_id, number=number, created_at=utc_now(), **columns)


def _summary(version: MaskVersion) -> VersionSummary:
    return VersionSummary(
        number=version.number,
        note=version.note,
        created_at=version.created_at,
        hash=version.mask_hash,
        q_len=version.q_len,
        kv_len=version.kv_len,
        visible_pairs=version.visible_pairs,
    )


def _row(mask: SavedMask, latest: MaskVersion, versions: int) -> SavedMaskRow:
    assert mask.id is not None
    return SavedMaskRow(
        id=mask.id,
        name=mask.name,
        created_at=mask.created_at,
        updated_at=mask.updated_at,
        versions=versions,
        latest=_summary(latest),
    )


def _public(session: Session, mask: SavedMask) -> SavedMaskPublic:
    versions = select(MaskVersion).where(MaskVersion.mask_id == mask.id).order_by(col(MaskVersion.number).desc())
    assert mask.id is not None
    return SavedMaskPublic(
        id=mask.id,
        name=mask.name,
        created_at=mask.created_at,
        updated_at=mask.updated_at,
        archived_at=mask.archived_at,
        versions=[_summary(version) for version in session.exec(versions)],
    )
