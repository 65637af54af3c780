"""The stored rows: looked up, filtered, renamed, archived, compared."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session, col, func, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from compilemask_studio.errors import StudioError
from compilemask_studio.events import EventBroker
from compilemask_studio.models import Run, utc_now
from compilemask_studio.schemas import Comparison, RunFilter, RunPage, RunPublic, RunQuery, RunUpdate
from compilemask_studio.services.compare_service import compare
from compilemask_studio.services.run_store import OPEN_STATES
from compilemask_studio.services.views import run_public

MAX_COMPARED = 50
MAX_ROW_ID = 2**63 - 1


def filtered(filter: RunFilter) -> SelectOfScalar[Run]:
    """The rows of a filter, without those in the archive."""
    query = select(Run).where(col(Run.archived_at).is_(None))
    if filter.q:
        pattern = "%" + filter.q.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        texts = (Run.name, Run.note, Run.mask_name, Run.provider)
        query = query.where(or_(*(col(text).ilike(pattern, escape="\\") for text in texts)))
    exact = {
        "mask_name": filter.preset,
        "provider": filter.provider,
        "verdict": filter.verdict,
        "dtype": filter.dtype,
        "device": filter.device,
    }
    for name, wanted in exact.items():
        if wanted is not None:
            query = query.where(getattr(Run, name) == wanted)
    return query


def list_runs(session: Session, query: RunQuery) -> RunPage:
    rows = filtered(query)
    total = session.exec(select(func.count()).select_from(rows.subquery())).one()
    column: Any = getattr(Run, query.sort)
    direction = column.asc() if query.order == "asc" else column.desc()
    # Missing numbers come last in both directions; equal ones in the order of their birth.
    identity = col(Run.id).asc() if query.order == "asc" else col(Run.id).desc()
    page = rows.order_by(column.is_(None), direction, identity).offset(query.offset).limit(query.limit)
    items = [run_public(run) for run in session.exec(page)]
    return RunPage(total=total, offset=query.offset, limit=query.limit, items=items)


def find_run(session: Session, run_id: int) -> Run:
    """The run's row; StudioError 404 when there is none or it is archived."""
    run = session.get(Run, run_id)
    if run is None or run.archived_at is not None:
        raise StudioError(404, "run_unknown", f"there is no run {run_id}")
    return run


def read_run(session: Session, run_id: int) -> RunPublic:
    return run_public(find_run(session, run_id))


def update_run(session: Session, broker: EventBroker, run_id: int, body: RunUpdate) -> RunPublic:
    """Change name and note; a field that is null stays as it is."""
    run = find_run(session, run_id)
    if body.name is not None:
        run.name = body.name
    if body.note is not None:
        run.note = body.note
    session.commit()
    public = run_public(run)
    broker.publish_run(public)
    return public


def archive_run(session: Session, run_id: int) -> None:
    run = find_run(session, run_id)
    if run.state in OPEN_STATES:
        raise StudioError(409, "run_active", f"run {run_id} is {run.state}", "cancel its launch first")
    run.archived_at = utc_now()
    session.commit()


def compare_runs(session: Session, ids: str, baseline: int | None) -> Comparison:
    chosen = _parse_ids(ids)
    if baseline is not None and baseline not in chosen:
        raise StudioError(422, "invalid_request", f"baseline: run {baseline} is not one of the ids")
    runs = [read_run(session, run_id) for run_id in chosen]
    return compare(runs, chosen[0] if baseline is None else baseline)


def _parse_ids(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 20 and int(part) <= MAX_ROW_ID for part in parts):
        raise StudioError(422, "invalid_request", f"ids: expected run ids separated by commas, got {text[:80]!r}")
    ids = list(dict.fromkeys(int(part) for part in parts))
    if len(ids) > MAX_COMPARED:
        raise StudioError(422, "invalid_request", f"ids: at most {MAX_COMPARED} runs can be compared, got {len(ids)}")
    return ids
