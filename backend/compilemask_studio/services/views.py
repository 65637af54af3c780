"""Rows of the tables as they leave the server."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session, col, func, select

from compilemask_studio.models import Launch, Run
from compilemask_studio.schemas import LaunchCreate, LaunchPublic, QuantityErrorPublic, RunPublic
from compilemask_studio.services.sample_flags import sample_flags

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
    query = select(Run).where(Run.launch_id == launch_id, col(Run.deleted_at).is_(None)).order_by(col(Run.id))
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
        request=None if launch.request is None else LaunchCreate.model_validate(launch.request),
        runs=[run_public(run) for run in launch_runs(session, launch.id)],
    )


def _position(session: Session, launch: Launch) -> int | None:
    if launch.state == "running":
        return 0
    if launch.state != "queued":
        return None
    ahead = select(func.count()).select_from(Launch).where(Launch.state == "queued", col(Launch.id) < launch.id)
    return session.exec(ahead).one() + 1
