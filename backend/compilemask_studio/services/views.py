"""Rows of the tables as they leave the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, case
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from compilemask_studio.models import Launch, Run
from compilemask_studio.schemas import (
    LaunchCreate,
    LaunchPublic,
    LaunchSummary,
    QuantityErrorPublic,
    RunCounts,
    RunPublic,
)
from compilemask_studio.services.sample_flags import sample_flags

RUNS_AT_ONCE = 100
MADE_HERE = ("error_text", "errors", "flags")


def run_public(run: Run) -> RunPublic:
    fields = {name: getattr(run, name) for name in RunPublic.model_fields if name not in MADE_HERE}
    return RunPublic(
        **fields,
        errors=[QuantityErrorPublic(**row) for row in run.errors or _errors_of_old(run)],
        flags=sample_flags(run.samples_ms, run.steady),
        error_text=run.nonfinite.get("max_error"),
    )


def _errors_of_old(run: Run) -> list[dict[str, Any]]:
    """Rows of versions that stored the errors of o and lse only, without a verdict for each."""
    if run.tolerance is None:
        return []
    numbers = ("max_error", "mean_error", "tolerance", "yardstick_error")
    named = {name: text for name, text in run.nonfinite.items() if name in numbers}
    passed = {"passed": True, "failed": False}.get(run.verdict)
    o = {name: getattr(run, name) for name in numbers}
    rows: list[dict[str, Any]] = [
        {"quantity": "o", "passed": passed, **o, "worst_index": run.worst_index, "named": named}
    ]
    if run.lse_max_error is not None or "lse_max_error" in run.nonfinite:
        lse = dict.fromkeys(numbers) | {"max_error": run.lse_max_error}
        strange = {"max_error": run.nonfinite["lse_max_error"]} if "lse_max_error" in run.nonfinite else {}
        rows.append({"quantity": "lse", "passed": None, **lse, "worst_index": None, "named": strange})
    return rows


def launch_runs(session: Session, launch_id: int) -> list[Run]:
    """The runs of one launch that are not deleted, in the order they are measured."""
    return list(session.exec(_runs_of(launch_id)))


def launch_public(session: Session, launch: Launch, offset: int = 0, limit: int = RUNS_AT_ONCE) -> LaunchPublic:
    """With runs offset .. offset+limit."""
    (summary,) = launch_summaries(session, [launch])
    runs = session.exec(_runs_of(summary.id).offset(offset).limit(limit))
    return LaunchPublic(
        **dict(summary),
        request=None if launch.request is None else LaunchCreate.model_validate(launch.request),
        offset=offset,
        runs=[run_public(run) for run in runs],
    )


def launch_summaries(session: Session, launches: Sequence[Launch]) -> list[LaunchSummary]:
    """Launches without their runs, which are only counted; in the order given."""
    progress = _progress(session, [launch.id for launch in launches if launch.id is not None])
    summaries = []
    for launch in launches:
        counts, done = progress.get(launch.id, (RunCounts(total=0, finished=0, passed=0, failed=0), 0.0))
        own = {name: getattr(launch, name) for name in ("id", "name", "state", "reason")}
        times = {name: getattr(launch, name) for name in ("created_at", "started_at", "finished_at")}
        share = done / counts.total if counts.total else 0.0
        summaries.append(
            LaunchSummary(**own, **times, position=_position(session, launch), counts=counts, progress=share)
        )
    return summaries


def _progress(session: Session, launch_ids: Sequence[int]) -> dict[int | None, tuple[RunCounts, float]]:
    """For each launch the counts of its runs, and how many were measured, the one at work counted in part."""

    def number(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

    finished = col(Run.state).not_in(("queued", "running"))
    measured = case((finished, 1.0), (col(Run.state) == "running", col(Run.progress)), else_=0.0)
    passed, failed = col(Run.verdict) == "passed", col(Run.verdict).in_(("failed", "error"))
    query = (
        select_columns(
            col(Run.launch_id), func.count(), number(finished), number(passed), number(failed), func.sum(measured)
        )
        .where(col(Run.launch_id).in_(launch_ids), col(Run.deleted_at).is_(None))
        .group_by(col(Run.launch_id))
    )
    return {
        launch_id: (RunCounts(total=total, finished=ended, passed=right, failed=wrong), done)
        for launch_id, total, ended, right, wrong, done in session.connection().execute(query)
    }


def _runs_of(launch_id: int) -> SelectOfScalar[Run]:
    return select(Run).where(Run.launch_id == launch_id, col(Run.deleted_at).is_(None)).order_by(col(Run.id))


def _position(session: Session, launch: Launch) -> int | None:
    if launch.state == "running":
        return 0
    if launch.state != "queued":
        return None
    ahead = select(func.count()).select_from(Launch).where(Launch.state == "queued", col(Launch.id) < launch.id)
    return session.exec(ahead).one() + 1
