"""Launches: checked, queued, listed, cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session, col, func, select, update

from compilemask_studio.errors import StudioError
from compilemask_studio.events import EventBroker
from compilemask_studio.models import Launch, Run, utc_now
from compilemask_studio.schemas import Environment, LaunchCreate, LaunchEstimate, LaunchLog, LaunchPublic, LaunchSummary
from compilemask_studio.services.bench_command import bench_command
from compilemask_studio.services.compile_service import BoundMask, CompileService
from compilemask_studio.services.environment_service import EnvironmentService
from compilemask_studio.services.executor import Executor
from compilemask_studio.services.launch_estimate import estimate
from compilemask_studio.services.memory_preflight import check_memory
from compilemask_studio.services.run_store import MAX_LOG_CHARS, OPEN_STATES
from compilemask_studio.services.sweep import case_text, cases_of
from compilemask_studio.services.views import launch_public, launch_runs, launch_summaries, run_public
from compilemask_studio.settings import Settings

PROBE_WAIT_S = 60.0
MAX_LISTED = 100


class LaunchService:
    """Takes launches in and stops them; measuring them is the executor's work."""

    def __init__(
        self,
        settings: Settings,
        broker: EventBroker,
        compiler: CompileService,
        environment: EnvironmentService,
        executor: Executor,
    ) -> None:
        self._settings = settings
        self._broker = broker
        self._compiler = compiler
        self._environment = environment
        self._executor = executor

    def create(self, session: Session, body: LaunchCreate) -> LaunchPublic:
        """Queue a launch with one run for each case and provider. StudioError says which number, provider or limit stands
        against it."""
        _check_heads(body)
        cases = cases_of(body)
        environment = self._environment.wait_ready(PROBE_WAIT_S)
        _check_providers(body, environment)
        masks = [self._checked_mask(body, case, environment) for case in cases]
        limit = self._settings.max_queued_launches
        queued = session.exec(select(func.count()).select_from(Launch).where(Launch.state == "queued")).one()
        if queued >= limit:
            raise StudioError(429, "queue_full", f"{limit} launches are waiting already", "cancel some, or wait")
        launch = _store(session, body, list(zip(cases, masks, strict=True)))
        self._publish(session, launch)
        self._executor.notify()
        return launch_public(session, launch)

    def estimate(self, session: Session, body: LaunchCreate) -> LaunchEstimate:
        """The cases of a launch, their work, and how long it may take; nothing is started."""
        _check_heads(body)
        environment = self._environment.read()
        return estimate(session, self._compiler, environment, self._settings.memory_limit_bytes, body)

    def _checked_mask(self, body: LaunchCreate, case: LaunchCreate, environment: Environment) -> BoundMask:
        """The mask of one case; StudioError names the case of a sweep that cannot be run."""
        try:
            mask = self._compiler.bind(case.source, case.values)
            if mask.is_first:
                hint = "give parameters that are declared `per item` or `per head` one value"
                raise StudioError(409, "mask_is_batch", "a run measures one mask, and these numbers give several", hint)
            check_memory(case, mask.descriptor, environment, self._settings.memory_limit_bytes)
        except StudioError as error:
            name = case_text(case, body)
            if not name:
                raise
            raise StudioError(error.status, error.code, f"case {name}: {error.message}", error.hint) from None
        return mask

    def cancel(self, session: Session, launch_id: int) -> LaunchPublic:
        """A queued launch is cancelled at once; a running one within seconds, told by events. A finished one is 409."""
        launch = _find(session, launch_id)
        now = utc_now()
        queued = update(Launch).where(col(Launch.id) == launch_id, col(Launch.state) == "queued")
        if session.exec(queued.values(state="cancelled", reason="cancelled", finished_at=now)).rowcount:
            runs = update(Run).where(col(Run.launch_id) == launch_id, col(Run.state).in_(OPEN_STATES))
            session.exec(runs.values(state="cancelled", verdict="cancelled", reason="cancelled", finished_at=now))
            session.commit()
            session.refresh(launch)
            for run in launch_runs(session, launch_id):
                self._broker.publish_run(run_public(run))
            self._publish(session, launch)
            return launch_public(session, launch)
        session.rollback()
        session.refresh(launch)
        if launch.state != "running":
            raise StudioError(
                409, "launch_finished", f"launch {launch_id} is {launch.state}; there is nothing to cancel"
            )
        self._executor.cancel(launch_id)
        return launch_public(session, launch)

    def _publish(self, session: Session, launch: Launch) -> None:
        (summary,) = launch_summaries(session, [launch])
        self._broker.publish_launch(summary)


def list_launches(session: Session, *, active: bool) -> list[LaunchSummary]:
    query = select(Launch).order_by(col(Launch.id).desc()).limit(MAX_LISTED)
    if active:
        query = select(Launch).where(col(Launch.state).in_(OPEN_STATES)).order_by(col(Launch.id))
    return launch_summaries(session, list(session.exec(query)))


def read_launch(session: Session, launch_id: int, offset: int, limit: int) -> LaunchPublic:
    return launch_public(session, _find(session, launch_id), offset, limit)


def read_log(session: Session, launch_id: int) -> LaunchLog:
    """What the launch's workers printed; it grows while the launch runs."""
    log = _find(session, launch_id).log
    return LaunchLog(text=log, cut=len(log) >= MAX_LOG_CHARS)


def _find(session: Session, launch_id: int) -> Launch:
    launch = session.get(Launch, launch_id)
    if launch is None:
        raise StudioError(404, "launch_unknown", f"there is no launch {launch_id}")
    return launch


def _check_heads(body: LaunchCreate) -> None:
    shape = body.shape
    if shape.num_q_heads % shape.num_kv_heads:
        raise StudioError(
            422,
            "invalid_request",
            f"shape: num_q_heads ({shape.num_q_heads}) must be a multiple of num_kv_heads ({shape.num_kv_heads})",
        )


def _check_providers(body: LaunchCreate, environment: Environment) -> None:
    if environment.state == "probing":
        raise StudioError(409, "still_probing", "it is not known yet what can run here", "try again in a moment")
    if environment.state == "failed":
        raise StudioError(409, "environment_failed", f"nothing can run here: {environment.reason}")
    if len(set(body.providers)) != len(body.providers):
        raise StudioError(422, "invalid_request", "providers: each may be named once")
    known = {provider.name: provider for provider in environment.providers}
    for name in body.providers:
        provider = known.get(name)
        if provider is None:
            raise StudioError(
                422, "provider_unknown", f"there is no provider {name[:80]!r}", f"known are: {', '.join(known)}"
            )
        if not provider.usable:
            raise StudioError(409, "provider_unusable", f"{provider.title} cannot run here: {provider.reason}")


def _store(session: Session, body: LaunchCreate, cases: Sequence[tuple[LaunchCreate, BoundMask]]) -> Launch:
    now = utc_now()
    name = body.name or cases[0][1].name
    request = body.model_dump(mode="json")
    launch = Launch(name=name, state="queued", created_at=now, request=request)
    session.add(launch)
    session.flush()
    assert launch.id is not None
    for case, mask in cases:
        for provider in body.providers:
            session.add(_run(launch.id, name, now, case, mask, provider))
    session.commit()
    return launch


def _run(launch_id: int, name: str, now: datetime, case: LaunchCreate, mask: BoundMask, provider: str) -> Run:
    return Run(
        launch_id=launch_id,
        name=name,
        tags=list(dict.fromkeys(case.tags)),
        state="queued",
        verdict="pending",
        created_at=now,
        mask_name=mask.name,
        mask_hash=mask.descriptor.hash,
        source=mask.source,
        values=mask.values,
        q_len=mask.descriptor.q_len,
        kv_len=mask.descriptor.kv_len,
        visible_pairs=mask.descriptor.visible_pairs,
        density=mask.descriptor.density,
        provider=provider,
        dtype=case.dtype,
        direction=case.direction,
        seed=case.seed,
        command=bench_command(mask, provider, case),
        **case.shape.model_dump(),
    )
