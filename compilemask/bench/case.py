"""One case from its description to its verdict and times."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from compilemask.bench.environment import device_name, environment
from compilemask.bench.inputs import attention_inputs
from compilemask.bench.measure import Timing, measure
from compilemask.bench.memory import check_memory
from compilemask.bench.progress import Progress, no_progress
from compilemask.bench.protocol import CaseResult, CaseSpec, MeasureOptions
from compilemask.bench.providers import provider_named
from compilemask.bench.verify import Check, verify
from compilemask.descriptor import MaskDescriptor


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The tensors of a case: q [batch, q heads, q_len, head_dim], k and v [batch, kv heads, kv_len, head_dim]."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: MaskDescriptor
    sm_scale: float


def run_case(
    spec: CaseSpec, options: MeasureOptions, *, device: torch.device | None = None, progress: Progress = no_progress
) -> CaseResult:
    """Build, verify and, if it passed, measure one case. progress(stage, fraction) is called along the way.

    Raises ValueError when the provider is unknown or not usable here, or the case does not fit into memory.
    """
    device = device or default_device()
    provider = provider_named(spec.provider)
    usable, why_not = provider.usable()
    if not usable:
        raise ValueError(f"provider {spec.provider!r} cannot be used here: {why_not}")
    mask = MaskDescriptor.from_json(spec.mask)
    check_memory(spec, mask, device)
    progress("inputs", 0.0)
    q, k, v = attention_inputs(spec, mask, device)
    problem = Problem(q, k, v, mask, spec.head_dim**-0.5)
    built = provider.build(problem)
    check = None
    if options.verify:
        check = verify(*built.run(), problem, progress=progress)
    timing = None
    if options.measure and (check is None or check.passed):
        timing = measure(built.run, device, options, progress=progress)
    return _result(spec, mask, built.detail, built.plan_ms, check, timing, device)


def default_device() -> torch.device:
    """The current CUDA device if there is one, else the CPU."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def forward_flops(spec: CaseSpec, mask: MaskDescriptor) -> int:
    """Floating-point operations that the visible pairs need: 4 * head_dim for each, of every batch item and query head."""
    return 4 * spec.head_dim * mask.visible_pairs * spec.batch * spec.num_q_heads


def _result(
    spec: CaseSpec,
    mask: MaskDescriptor,
    detail: str,
    plan_ms: float | None,
    check: Check | None,
    timing: Timing | None,
    device: torch.device,
) -> CaseResult:
    return CaseResult(
        case_id=spec.case_id,
        verdict="passed" if check is None or check.passed else "failed",
        reason=check.reason if check else "not verified, as asked",
        impl_detail=detail,
        max_error=check.max_error if check else None,
        mean_error=check.mean_error if check else None,
        tolerance=check.tolerance if check else None,
        yardstick_error=check.yardstick_error if check else None,
        lse_max_error=check.lse_max_error if check else None,
        worst_index=check.worst_index if check else None,
        median_ms=timing.median_ms if timing else None,
        p20_ms=timing.quantile_ms(0.2) if timing else None,
        p80_ms=timing.quantile_ms(0.8) if timing else None,
        min_ms=min(timing.samples_ms) if timing else None,
        samples_ms=timing.samples_ms if timing else (),
        warmup_runs=timing.warmup_runs if timing else None,
        tflops=forward_flops(spec, mask) / timing.median_ms / 1e9 if timing else None,
        plan_ms=plan_ms,
        cache_state=timing.cache_state if timing else None,
        device=device_name(device),
        environment=environment(device),
        rows_checked=check.rows_checked if check else None,
        rows_total=mask.q_len if check else None,
    )
