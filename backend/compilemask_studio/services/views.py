"""Rows of the tables as they leave the server."""

from __future__ import annotations

from sqlmodel import Session, col, func, select

from compilemask_studio.models import Launch, Run
from compilemask_studio.schemas import LaunchPublic, RunPublic


def run_public(run: Run) -> RunPublic:
    fields = {name: getattr(run, name) for name in RunPublic.model_fields if name != "error_text"}
    return RunPublic(**fields, error_text=run.nonfinite.get("max_error"))


def launch_runs(session: Session, launch_id: int) -> list[Run]:
    """The runs of one launch that are not archived, in the order they are measured."""
    query = select(Run).where(Run.launch_id == launch_id, col(Run.archived_at).is_(None)).order_by(col(Run.id))
    return list(session.exec(query))


def launch_public(session: Session, launch: Launch) -> LaunchPublic:
    assert launch.id is not None
    return LaunchPublic(
        id=launch.id,
        name=launch.name,
        state=launch.state,
        reason=launch.reason,
        position=_position(session, launch),
        created_at=launch.created_at,
        started_at=launch.started_at,
        finished_at=launch.finished_at,
        runs=[run_public(run) for run in launch_runs(session, launch.id)],
    )


def _position(session: Session, launch: Launch) -> int | None:
    if launch.state == "running":
        return 0
    if launch.state != "queued":
        return None
    ahead = select(func.count()).select_from(Launch).where(Launch.state == "queued", col(Launch.id) < launch.id)
    return session.exec(ahead).one() + 1
