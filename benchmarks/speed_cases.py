"""One case of the speed table: its providers built, verified, and timed in turns."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from benchmarks.masks import MASKS, BenchmarkMask, preset_masks
from compilemask.bench import flex_peers
from compilemask.bench.case import free_bytes, result_of, time_first_call, verify_built
from compilemask.bench.flops import case_flops
from compilemask.bench.inputs import attention_inputs, output_gradient
from compilemask.bench.measure import Timing, measure
from compilemask.bench.memory import check_memory
from compilemask.bench.problem import Built, CannotExpressError, Problem
from compilemask.bench.protocol import CaseSpec, Direction, Dtype, MeasureOptions
from compilemask.bench.providers import provider_named
from compilemask.bench.rows import Row, now
from compilemask.bench.tables import rate
from compilemask.bench.verify import Check
from compilemask.descriptor import MaskDescriptor

ROUNDS = 3
PAUSE_SECONDS = 0.15
_FLEX: dict[str, Callable[..., Built]] = {
    "flex_attention": flex_peers.flex,
    "flex_attention_tuned": flex_peers.flex_tuned,
    "flex_attention_flash": flex_peers.flex_flash,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A mask at a length, a shape, a direction. name: of a workload of MASKS, or of a preset where `preset` says so."""

    name: str
    preset: bool
    length: int
    head_dim: int
    heads: int
    kv_heads: int
    dtype: Dtype
    direction: Direction
    providers: tuple[str, ...]

    @property
    def mask(self) -> BenchmarkMask:
        return preset_masks()[self.name] if self.preset else MASKS[self.name]

    def spec(self, provider: str) -> CaseSpec:
        """Of one provider; without the mask's text, which nobody reads here."""
        return CaseSpec(
            self.name, provider, "", 1, self.heads, self.kv_heads, self.head_dim, self.dtype, direction=self.direction,
            activation=self.mask.activation,
        )  # fmt: skip

    def key(self, provider: str) -> tuple[object, ...]:
        """What tells rows apart."""
        return (self.name, self.length, self.head_dim, self.heads, self.kv_heads, self.dtype, self.direction, provider)


class Inputs:
    """The tensors of the last shape: masks of one shape share them, since drawing them takes longer than timing."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._key: object = None
        self._tensors: tuple[torch.Tensor, ...] = ()

    def problem(self, case: Case, mask: MaskDescriptor) -> Problem:
        """With gradients where the case has a backward."""
        spec = dataclasses.replace(case.spec("torch"), case_id="", direction="forward", activation="softmax")
        key = (spec, mask.q_len, mask.kv_len)
        if key != self._key:
            self._tensors = (*attention_inputs(spec, mask, self.device), output_gradient(spec, mask, self.device))
            self._key = key
        *leaves, do = self._tensors
        backward = case.direction != "forward"
        q, k, v = (x.detach().requires_grad_(backward) for x in leaves)
        return Problem(q, k, v, mask, case.head_dim**-0.5, do if backward else None, case.mask.activation)


@dataclass(slots=True)
class Entry:
    """A provider that is ready to be timed, and its row so far."""

    spec: CaseSpec
    problem: Problem
    built: Built
    check: Check
    first_call_ms: float
    row: Row


def measure_case(case: Case, inputs: Inputs, *, seconds: float, verified_cells: int) -> list[Row]:
    """One row for each provider, printed as they come."""
    began = time.perf_counter()
    mask = case.mask.descriptor(case.length)
    bind_ms = (time.perf_counter() - began) * 1e3
    rows: list[Row] = []
    ready: list[Entry] = []
    run = now()
    for provider in case.providers:
        spec = case.spec(provider)
        row = _head(case, spec, mask, bind_ms) | {"run": run}
        rows.append(row)
        try:
            check_memory(spec, mask, inputs.device.type, free_bytes(inputs.device))
            problem = inputs.problem(case, mask)
            built = build(case, provider, problem)
            first_call_ms = time_first_call(built, problem) if built.first_call_ms is None else built.first_call_ms
            check = verify_built(built, problem, max_cells=verified_cells)
        except CannotExpressError as found:
            row |= {"verdict": "unsupported", "reason": str(found)}
        except Exception as found:
            row |= {"verdict": "error", "reason": (str(found).strip().splitlines() or [type(found).__name__])[0]}
        else:
            ready.append(Entry(spec, problem, built, check, first_call_ms, row))
    _time_in_turns(ready, seconds)
    for row in rows:
        _print(row)
    return rows


def build(case: Case, provider: str, problem: Problem) -> Built:
    """As the provider builds it; FlexAttention with the predicate that a user would write, where there is one."""
    usable, reason = provider_named(provider).usable()
    if not usable:
        raise CannotExpressError(f"cannot be used here: {reason}")
    mask_mod = case.mask.mask_mod(case.length, problem.q.device)
    if provider in _FLEX and mask_mod is not None and problem.activation == "softmax":
        return _FLEX[provider](problem, mask_mod)
    return provider_named(provider).build(problem)


def _head(case: Case, spec: CaseSpec, mask: MaskDescriptor, bind_ms: float) -> Row:
    fields = dataclasses.asdict(spec)
    for name in ("case_id", "mask"):
        del fields[name]
    return {
        "mask": case.name, "preset": case.mask.preset, "length": case.length, "hash": mask.hash, "q_len": mask.q_len,
        "kv_len": mask.kv_len, "visible_pairs": mask.visible_pairs, "density": mask.density, "bind_ms": bind_ms, **fields,
    }  # fmt: skip


def _time_in_turns(ready: list[Entry], seconds: float) -> None:
    """ROUNDS times every provider that is right, each after a pause; then the rows are whole."""
    options = MeasureOptions(min_samples=3, target_seconds=seconds, warmup_seconds=3 * seconds)
    later = dataclasses.replace(options, warmup_seconds=seconds)
    timings: dict[int, list[Timing]] = {place: [] for place, entry in enumerate(ready) if entry.check.passed}
    calls = {}
    for place in timings:
        entry = ready[place]
        calls[place] = entry.built.timed_call(entry.spec.direction, entry.problem.do)
    for turn in range(ROUNDS):
        for place, own in timings.items():
            time.sleep(PAUSE_SECONDS)
            device = ready[place].problem.q.device
            own.append(measure(partial(_same, calls[place]), device, later if turn else options))
    for place, entry in enumerate(ready):
        timing = _joined(timings[place]) if place in timings else None
        result = result_of(entry.spec, entry.problem, entry.built, entry.first_call_ms, entry.check, timing)
        fields: dict[str, Any] = dataclasses.asdict(result)
        for name in ("case_id", "samples_ms"):
            del fields[name]
        entry.row |= fields | {"num_samples": len(result.samples_ms)}
        entry.row["flops"] = case_flops(entry.spec, entry.problem.mask)


def _same(call: Callable[[], object]) -> Callable[[], object]:
    return call


def _joined(timings: list[Timing]) -> Timing:
    """All rounds as one."""
    launches = sorted(timing.launch_ms for timing in timings if timing.launch_ms is not None)
    return dataclasses.replace(
        timings[0],
        samples_ms=tuple(sample for timing in timings for sample in timing.samples_ms),
        warmup_runs=sum(timing.warmup_runs for timing in timings),
        steady=all(timing.steady for timing in timings),
        launch_ms=launches[len(launches) // 2] if launches else None,
    )


def _print(row: Row) -> None:
    place = f"{row['mask']:16}{row['length']:7} {row['head_dim']:4} {row['direction']:17}{row['provider']:22}"
    if row["verdict"] != "passed":
        print(f"{place}{row['verdict']}: {row['reason']}", flush=True)
    else:
        print(f"{place}{row['median_ms']:10.3f} ms  {rate(row['tflops']):>14}  {row['impl_detail']}", flush=True)
