"""Stored runs as a job for the worker."""

from __future__ import annotations

from collections.abc import Sequence

from compilemask.bench.protocol import CaseSpec, JobSpec
from compilemask_studio.models import Run
from compilemask_studio.schemas import Direction, Dtype
from compilemask_studio.services.compile_service import CompileService


class JobService:
    def __init__(self, compiler: CompileService) -> None:
        self._compiler = compiler

    def build_job(self, runs: Sequence[Run]) -> JobSpec:
        """One case a run. ValueError when a run's text no longer gives the mask it was stored with."""
        texts: dict[str, str] = {}
        for run in runs:
            if run.mask_hash not in texts:
                texts[run.mask_hash] = self._descriptor_json(run)
        return JobSpec(cases=tuple(_case(run, texts[run.mask_hash]) for run in runs))

    def _descriptor_json(self, run: Run) -> str:
        descriptor = self._compiler.known(run.mask_hash)
        if descriptor is None:
            descriptor = self._compiler.bind(run.source, run.values).descriptor
        if descriptor.hash != run.mask_hash:
            raise ValueError(f"the text of run {run.id} gives another mask in this version; launch it anew")
        return descriptor.to_json()


def _case(run: Run, mask: str) -> CaseSpec:
    dtype: Dtype = run.dtype  # type: ignore[assignment]  # checked when the launch was made
    direction: Direction = run.direction  # type: ignore[assignment]  # as the dtype
    return CaseSpec(
        case_id=str(run.id),
        provider=run.provider,
        mask=mask,
        batch=run.batch,
        num_q_heads=run.num_q_heads,
        num_kv_heads=run.num_kv_heads,
        head_dim=run.head_dim,
        dtype=dtype,
        seed=run.seed,
        direction=direction,
    )
