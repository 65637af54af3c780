"""One case from its description to its verdict and times."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import torch
from torch import Tensor

from compilemask.bench.environment import device_name, environment
from compilemask.bench.flops import case_flops
from compilemask.bench.measure import Timing, measure
from compilemask.bench.memory import check_memory, free_host_bytes
from compilemask.bench.notes import notes_on
from compilemask.bench.problem import Built, Problem, problem_of, wait_for
from compilemask.bench.progress import Progress, no_progress
from compilemask.bench.protocol import INPUT_FILL, CaseResult, CaseSpec, MeasureOptions, Quantity
from compilemask.bench.providers import provider_named
from compilemask.bench.verify import MAX_CELLS, Check, choose_rows, only_rows, verify
from compilemask.descriptor import MaskDescriptor


def run_case(
    spec: CaseSpec, options: MeasureOptions, *, device: torch.device | None = None, progress: Progress = no_progress
) -> CaseResult:
    """Build, verify and, if it passed, measure one case. progress(stage, fraction) is called along the way.

    Raises ValueError when the provider is unknown, not usable here, or has no way to compute the case (CannotExpressError), and when
    the case does not fit into memory.
    """
    device = device or default_device()
    provider = provider_named(spec.provider)
    usable, why_not = provider.usable()
    if not usable:
        raise ValueError(f"provider {spec.provider!r} cannot be used here: {why_not}")
    if options.cuda_graph and device.type != "cuda":
        raise ValueError(f"cuda_graph needs a CUDA device, got {device}; leave it out")
    mask = MaskDescriptor.from_json(spec.mask)
    check_memory(spec, mask, device.type, free_bytes(device))
    progress("inputs", 0.0)
    problem = problem_of(spec, mask, device)
    built = provider.build(problem)
    progress("first call", 0.0)
    first_call_ms = time_first_call(built, problem) if built.first_call_ms is None else built.first_call_ms
    check = verify_built(built, problem, progress=progress) if options.verify else None
    timing = None
    if options.measure and (check is None or check.passed):
        timing = measure(lambda: built.timed_call(spec.direction, problem.do), device, options, progress=progress)
    return result_of(spec, problem, built, first_call_ms, check, timing)


def default_device() -> torch.device:
    """The current CUDA device if there is one, else the CPU."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def free_bytes(device: torch.device) -> int:
    """Memory that this process can still get on a device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    free = free_host_bytes()
    # Elsewhere than on Linux the installed memory is the only bound that the standard library knows.
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if free is None else free


def time_first_call(built: Built, problem: Problem) -> float:
    """Milliseconds of the first call, and of the first gradient where one is wanted: what compiles is compiled here."""
    began = time.perf_counter()
    o, _ = built.run()
    if problem.do is not None:
        built.gradients(o, built.layout.enter(problem.do))
    wait_for(problem.q.device)
    return (time.perf_counter() - began) * 1e3


def verify_built(
    built: Built, problem: Problem, *, max_cells: int | None = None, progress: Progress = no_progress
) -> Check:
    """Run once and compare o, lse if there is one, and the gradients where they are wanted.

    Where batch x heads x q_len x kv_len exceeds max_cells (2^32 on a GPU, 2^27 on the CPU), some rows are compared and the gradient
    of o is zero in the others.
    """
    q, mask = problem.q, problem.mask
    stretches = choose_rows(mask, q.shape[0] * q.shape[1], max_cells or MAX_CELLS[q.device.type])
    do = None if problem.do is None else only_rows(problem.do, stretches)
    return verify(results_of(built, do), problem, do=do, stretches=stretches, progress=progress)


def results_of(built: Built, do: Tensor | None) -> dict[Quantity, Tensor]:
    """What one call computes, in [batch, heads, len, ...]: o, lse if there is one, and with do the gradients."""
    o, lse = built.run()
    leave: Callable[[Tensor], Tensor] = built.layout.leave
    got: dict[Quantity, Tensor] = {"o": leave(o.detach())}
    if lse is not None:
        got["lse"] = lse.detach()
    if do is not None:
        dq, dk, dv = built.gradients(o, built.layout.enter(do))
        got |= {"dq": leave(dq), "dk": leave(dk), "dv": leave(dv)}
    return got


def result_of(
    spec: CaseSpec, problem: Problem, built: Built, first_call_ms: float, check: Check | None, timing: Timing | None
) -> CaseResult:
    """The row of a case."""
    device = problem.q.device
    o, lse = (check.of("o"), check.of("lse")) if check else (None, None)
    tflops = case_flops(spec, problem.mask) / timing.median_ms / 1e9 if timing and timing.median_ms > 0 else None
    return CaseResult(
        case_id=spec.case_id,
        verdict="passed" if check is None or check.passed else "failed",
        reason=check.reason if check else "not verified, as asked",
        impl_detail=built.detail,
        max_error=o.max_error if o else None,
        mean_error=o.mean_error if o else None,
        tolerance=o.tolerance if o else None,
        yardstick_error=o.yardstick_error if o else None,
        lse_max_error=lse.max_error if lse else None,
        worst_index=o.worst_index if o else None,
        median_ms=timing.median_ms if timing else None,
        p20_ms=timing.quantile_ms(0.2) if timing else None,
        p80_ms=timing.quantile_ms(0.8) if timing else None,
        min_ms=min(timing.samples_ms) if timing else None,
        samples_ms=timing.samples_ms if timing else (),
        warmup_runs=timing.warmup_runs if timing else None,
        tflops=tflops,
        plan_ms=built.plan_ms,
        cache_state=timing.cache_state if timing else None,
        device=device_name(device),
        environment=environment(device),
        rows_checked=check.rows_checked if check else None,
        rows_total=problem.mask.q_len if check else None,
        direction=spec.direction,
        errors=check.errors if check else (),
        seed=spec.seed,
        fill=INPUT_FILL,
        plan_cold_ms=built.plan_cold_ms,
        first_call_ms=first_call_ms,
        launch_ms=timing.launch_ms if timing else None,
        steady=timing.steady if timing else None,
        cuda_graph=timing.cuda_graph if timing else None,
        notes=notes_on(spec.dtype, tflops, timing, device_name(device)) if timing else (),
    )
