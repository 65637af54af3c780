"""Which rows of the runs table: filters, sort, groups and facets, all worked out by the database."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import sqlalchemy
from sqlalchemy import Text, cast
from sqlmodel import Session, case, col, func, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from compilemask_studio.models import Run
from compilemask_studio.schemas import (
    Facet,
    RunFacets,
    RunFilter,
    RunGroup,
    RunGroupQuery,
    RunGroups,
    RunPage,
    RunQuery,
)
from compilemask_studio.services.like_pattern import ESCAPE, containing
from compilemask_studio.services.views import run_public

MAX_GROUPS = 500
EXACT = {
    "preset": "mask_name",
    "provider": "provider",
    "verdict": "verdict",
    "dtype": "dtype",
    "direction": "direction",
    "device": "device",
    "head_dim": "head_dim",
    "launch": "launch_id",
    "mask": "mask_hash",
}
"""Fields of a filter and the columns that must equal them."""


def filtered(filter: RunFilter) -> SelectOfScalar[Run]:
    """The rows of a filter: those in the archive, or those that are not; never deleted ones."""
    return select(Run).where(*conditions(filter))


def conditions(filter: RunFilter) -> list[Any]:
    """What the rows of a filter fulfil."""
    archived = col(Run.archived_at).is_not(None) if filter.archived else col(Run.archived_at).is_(None)
    found: list[Any] = [col(Run.deleted_at).is_(None), archived]
    if filter.q:
        texts = (Run.name, Run.note, Run.mask_name, Run.provider)
        found.append(or_(*(col(text).ilike(containing(filter.q), escape=ESCAPE) for text in texts)))
    if filter.tag is not None:
        # Tags are a JSON list in which each stands in its quotes, and none can hold one. LIKE would not tell A from a.
        tags = cast(Run.tags, Text)
        found.append(func.replace(tags, json.dumps(filter.tag), "") != tags)
    for name, column in EXACT.items():
        wanted = getattr(filter, name)
        if wanted is not None:
            found.append(getattr(Run, column) == wanted)
    return found


def list_runs(session: Session, query: RunQuery) -> RunPage:
    rows = filtered(query)
    total = session.exec(select(func.count()).select_from(Run).where(*conditions(query))).one()
    column: Any = getattr(Run, query.sort)
    direction = column.asc() if query.order == "asc" else column.desc()
    # Missing numbers come last in both directions; equal ones in the order of their birth.
    identity = col(Run.id).asc() if query.order == "asc" else col(Run.id).desc()
    page = rows.order_by(column.is_(None), direction, identity).offset(query.offset).limit(query.limit)
    items = [run_public(run) for run in session.exec(page)]
    return RunPage(total=total, offset=query.offset, limit=query.limit, items=items)


def group_runs(session: Session, query: RunGroupQuery) -> RunGroups:
    """The filter's runs by one field, the largest group first."""
    column: Any = getattr(Run, query.by)
    where = conditions(query)
    fastest = func.min(case((col(Run.verdict) == "passed", Run.median_ms)))
    # The typed `select` of SQLModel has four columns at most.
    rows = (
        session.connection()
        .execute(
            sqlalchemy.select(
                column,
                func.count(),
                func.sum(case((col(Run.verdict) == "passed", 1), else_=0)),
                func.sum(case((col(Run.verdict).in_(("failed", "error")), 1), else_=0)),
                fastest,
                func.max(Run.created_at),
                func.min(Run.name),
            )
            .where(*where)
            .group_by(column)
            .order_by(func.count().desc(), func.max(Run.id).desc())
        )
        .all()
    )
    groups = []
    for value, count, passed, failed, fastest_ms, latest_at, name in rows[:MAX_GROUPS]:
        groups.append(
            RunGroup(
                value=None if value is None else str(value),
                label=f"{name} #{value}" if query.by == "launch_id" else "none" if value is None else str(value),
                count=count,
                passed=passed,
                failed=failed,
                fastest_ms=fastest_ms,
                fastest_id=_fastest_id(session, [*where, column == value], fastest_ms),
                latest_at=latest_at,
            )
        )
    return RunGroups(by=query.by, total=len(rows), groups=groups)


def run_facets(session: Session, filter: RunFilter) -> RunFacets:
    """The values among all runs in the archive, or among all that are not; other fields of the filter do not count."""
    where = conditions(RunFilter(archived=filter.archived))
    in_archive = session.exec(select(func.count()).select_from(Run).where(*conditions(RunFilter(archived=True)))).one()
    tagged = session.exec(select(Run.tags).where(*where, cast(Run.tags, Text) != "[]"))
    tags = Counter(tag for row in tagged for tag in row)
    return RunFacets(
        masks=_facet(session, Run.mask_name, where),
        providers=_facet(session, Run.provider, where),
        devices=_facet(session, Run.device, where),
        dtypes=_facet(session, Run.dtype, where),
        directions=_facet(session, Run.direction, where),
        tags=[Facet(value=value, count=count) for value, count in tags.most_common(MAX_GROUPS)],
        archived=in_archive,
    )


def _facet(session: Session, column: Any, where: list[Any]) -> list[Facet]:
    query = select(column, func.count()).where(*where, column.is_not(None)).group_by(column)
    rows = session.exec(query.order_by(func.count().desc(), column).limit(MAX_GROUPS))
    return [Facet(value=value, count=count) for value, count in rows]


def _fastest_id(session: Session, where: list[Any], fastest_ms: float | None) -> int | None:
    if fastest_ms is None:
        return None
    query = select(Run.id).where(*where, Run.verdict == "passed", Run.median_ms == fastest_ms)
    return session.exec(query.order_by(col(Run.id).desc()).limit(1)).first()
