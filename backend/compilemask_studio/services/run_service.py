"""The stored rows: looked up, renamed, tagged, archived, deleted, compared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlmodel import Session, col, delete, select

from compilemask_studio.errors import StudioError
from compilemask_studio.events import EventBroker
from compilemask_studio.models import Run, utc_now
from compilemask_studio.schemas import Comparison, RunPublic, RunsChange, RunsChanged, RunUpdate
from compilemask_studio.services.compare_service import compare
from compilemask_studio.services.run_store import OPEN_STATES
from compilemask_studio.services.views import run_public

MAX_COMPARED = 100
MAX_TAGS = 16
MAX_ROW_ID = 2**63 - 1
UNDO_FOR = timedelta(hours=24)
"""Deleted rows can be had back for so long."""


def find_run(session: Session, run_id: int) -> Run:
    """The run's row, in the archive or not; StudioError 404 when there is none or it was deleted."""
    run = session.get(Run, run_id)
    if run is None or run.deleted_at is not None:
        raise StudioError(404, "run_unknown", f"there is no run {run_id}")
    return run


def read_run(session: Session, run_id: int) -> RunPublic:
    return run_public(find_run(session, run_id))


def update_run(session: Session, broker: EventBroker, run_id: int, body: RunUpdate) -> RunPublic:
    """Change name, note and tags; a field that is null stays as it is."""
    run = find_run(session, run_id)
    if body.name is not None:
        run.name = body.name
    if body.note is not None:
        run.note = body.note
    if body.tags is not None:
        run.tags = list(dict.fromkeys(body.tags))
    session.commit()
    public = run_public(run)
    broker.publish_run(public)
    return public


def delete_run(session: Session, run_id: int) -> None:
    find_run(session, run_id)
    change_runs(session, RunsChange(ids=[run_id], action="delete"))


def change_runs(session: Session, change: RunsChange) -> RunsChanged:
    """Do one thing to several runs, to all or, when one of them stands against it, to none."""
    if change.action in ("tag", "untag") and change.tag is None:
        raise StudioError(422, "invalid_request", f"tag: the action {change.action!r} needs a tag")
    runs = [_known_run(session, run_id, change) for run_id in dict.fromkeys(change.ids)]
    changed = [run.id for run in runs if run.id is not None and _changed(run, change)]
    session.commit()
    if change.action == "delete":
        purge_deleted(session)
    return RunsChanged(ids=changed)


def purge_deleted(session: Session) -> None:
    """Remove the rows that were deleted so long ago that nobody wants them back."""
    session.exec(delete(Run).where(col(Run.deleted_at) < utc_now() - UNDO_FOR))
    session.commit()


def _known_run(session: Session, run_id: int, change: RunsChange) -> Run:
    run = session.get(Run, run_id)
    gone = run is None or (run.deleted_at is not None and change.action not in ("delete", "undelete"))
    if run is None or gone:
        raise StudioError(404, "run_unknown", f"there is no run {run_id}", "read the list again")
    if change.action in ("archive", "delete") and run.state in OPEN_STATES:
        raise StudioError(409, "run_active", f"run {run_id} is {run.state}", "cancel its launch first")
    return run


def _changed(run: Run, change: RunsChange) -> bool:
    """Change one row in memory; whether it was not so already."""
    now = utc_now()
    before = (run.archived_at, run.deleted_at, run.tags)
    match change.action:
        case "archive":
            run.archived_at = run.archived_at or now
        case "restore":
            run.archived_at = None
        case "delete":
            run.deleted_at = run.deleted_at or now
        case "undelete":
            run.deleted_at = None
        case "tag":
            run.tags = list(dict.fromkeys([*run.tags, str(change.tag)]))
            if len(run.tags) > MAX_TAGS:
                raise StudioError(422, "invalid_request", f"run {run.id} has {MAX_TAGS} tags, and no run can have more")
        case "untag":
            run.tags = [tag for tag in run.tags if tag != change.tag]
    return before != (run.archived_at, run.deleted_at, run.tags)


def compare_runs(session: Session, ids: str, baseline: int | None) -> Comparison:
    chosen = parse_ids(ids, MAX_COMPARED)
    if baseline is not None and baseline not in chosen:
        raise StudioError(422, "invalid_request", f"baseline: run {baseline} is not one of the ids")
    runs = [read_run(session, run_id) for run_id in chosen]
    return compare(runs, chosen[0] if baseline is None else baseline)


def runs_of(session: Session, ids: Sequence[int]) -> list[Run]:
    """The runs with these ids that there are, in this order."""
    rows = session.exec(select(Run).where(col(Run.id).in_(ids), col(Run.deleted_at).is_(None)))
    known = {run.id: run for run in rows}
    return [known[run_id] for run_id in ids if run_id in known]


def parse_ids(text: str, most: int) -> list[int]:
    """ "3,5,8" as numbers, each once; StudioError 422 for anything else, and for more than `most`."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 20 and int(part) <= MAX_ROW_ID for part in parts):
        raise StudioError(422, "invalid_request", f"ids: expected run ids separated by commas, got {text[:80]!r}")
    ids = list(dict.fromkeys(int(part) for part in parts))
    if len(ids) > most:
        raise StudioError(422, "invalid_request", f"ids: at most {most} runs at once, got {len(ids)}")
    return ids
