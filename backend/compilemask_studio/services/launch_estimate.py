"""What a launch would be, before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from compilemask.bench.flops import pair_flops
from compilemask.descriptor import MaskDescriptor
from compilemask_studio.errors import StudioError
from compilemask_studio.models import Run
from compilemask_studio.schemas import CaseEstimate, Environment, LaunchCreate, LaunchEstimate
from compilemask_studio.services.compile_service import CompileService
from compilemask_studio.services.memory_preflight import check_memory, needed_bytes
from compilemask_studio.services.sweep import cases_of
from compilemask_studio.services.views import run_public

MAX_EARLIER = 200
"""Earlier runs of a provider that are looked at."""
PASSES = 20
"""The check in float64, the warm-up and the samples of a slow case, in passes of the case itself."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """flops: of one pass. seconds: from its start to its end, check included. flops_per_s: of its median."""

    flops: int
    seconds: float
    flops_per_s: float


def estimate(
    session: Session,
    compiler: CompileService,
    environment: Environment,
    memory_limit_bytes: int | None,
    body: LaunchCreate,
) -> LaunchEstimate:
    """StudioError 422 when the sweep itself is not one; what stands against a single case is in its row."""
    cases = [_case(compiler, environment, memory_limit_bytes, case) for case in cases_of(body)]
    possible = [case.flops for case in cases if case.problem is None and case.flops is not None]
    seconds, basis = _duration(session, body.providers, possible)
    return LaunchEstimate(
        case_count=len(cases),
        run_count=len(cases) * len(body.providers),
        flops=sum(possible) * len(body.providers),
        seconds=seconds,
        basis=basis,
        cases=cases,
    )


def flops_of(case: LaunchCreate, visible_pairs: int) -> int:
    """Of one provider and one pass."""
    shape = case.shape
    return pair_flops(case.direction, shape.head_dim) * visible_pairs * shape.batch * shape.num_q_heads


def _case(
    compiler: CompileService, environment: Environment, memory_limit_bytes: int | None, case: LaunchCreate
) -> CaseEstimate:
    descriptor: MaskDescriptor | None = None
    problem: str | None = None
    try:
        mask = compiler.bind(case.source, case.values)
        descriptor = mask.descriptor
        if mask.is_first:
            problem = "these numbers give a batch of masks, and a run measures one"
        else:
            check_memory(case, descriptor, environment, memory_limit_bytes)
    except StudioError as error:
        problem = error.message
    return CaseEstimate(
        values=case.values,
        batch=case.shape.batch,
        head_dim=case.shape.head_dim,
        dtype=case.dtype,
        direction=case.direction,
        q_len=None if descriptor is None else descriptor.q_len,
        kv_len=None if descriptor is None else descriptor.kv_len,
        visible_pairs=None if descriptor is None else descriptor.visible_pairs,
        flops=None if descriptor is None else flops_of(case, descriptor.visible_pairs),
        bytes=None if descriptor is None else needed_bytes(case, descriptor, environment),
        problem=problem,
    )


def _duration(session: Session, providers: Sequence[str], flops: Sequence[int]) -> tuple[float | None, str]:
    """Seconds for all cases with all providers, by the earlier run of each that is nearest in FLOPs, and by how many
    runs that was told. A larger case takes PASSES passes more work at the same rate, a smaller one as long."""
    total, used, unknown = 0.0, 0, []
    for provider in providers:
        earlier = _earlier(session, provider)
        if not earlier:
            unknown.append(provider)
            continue
        used += len(earlier)
        for count in flops:
            near = min(earlier, key=lambda row: abs(row.flops - count))
            total += near.seconds + PASSES * max(0, count - near.flops) / near.flops_per_s
    if unknown:
        return None, f"no earlier run here tells how long {', '.join(unknown)} would take"
    return total, f"by the times of {used} earlier runs here, checks included"


def _earlier(session: Session, provider: str) -> list[EarlierRun]:
    """The newest runs of a provider that were measured."""
    query = (
        select(Run)
        .where(Run.provider == provider, Run.verdict == "passed", col(Run.started_at).is_not(None))
        .order_by(col(Run.id).desc())
        .limit(MAX_EARLIER)
    )
    rows = []
    for run in session.exec(query):
        if run.started_at is not None and run.finished_at is not None and run.median_ms:
            pairs = run.visible_pairs * run.batch * run.num_q_heads
            flops = pair_flops(run_public(run).direction, run.head_dim) * pairs
            seconds = (run.finished_at - run.started_at).total_seconds()
            rows.append(EarlierRun(flops, seconds, max(flops, 1) / run.median_ms * 1e3))
    return rows
