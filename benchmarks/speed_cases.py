"""One case of the speed table: its providers built, which may be done beside others, then verified and timed in turns, which may not."""

from __future__ import annotations

import dataclasses
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import torch

from benchmarks.masks import MASKS, BenchmarkMask, preset_masks
from compilemask.bench import flex_peers
from compilemask.bench.case import free_bytes, result_of, results_of, time_first_call
from compilemask.bench.flex_peers import MaskMod
from compilemask.bench.flops import case_flops
from compilemask.bench.inputs import attention_inputs, output_gradient
from compilemask.bench.measure import Timing, measure
from compilemask.bench.memory import check_memory
from compilemask.bench.problem import Built, CannotExpressError, Problem, timed_again, wait_for
from compilemask.bench.protocol import CaseSpec, Direction, Dtype, MeasureOptions
from compilemask.bench.providers import provider_named
from compilemask.bench.rows import Row, now
from compilemask.bench.tables import rate
from compilemask.bench.verify import Check, choose_rows, compare, only_rows, reference_of
from compilemask.descriptor import MaskDescriptor

REMADE_BELOW_MS = 100.0
"""What is made of a mask in less than this is made again before it is timed, with nothing beside; more would take too long."""
_HEAT_STEP_SECONDS = 0.02
_FIRST_WARMUP_SECONDS, _WARMUP_SECONDS = 0.4, 0.15
_STEADY_WITHIN = 0.02
_SHAPES_KEPT = 4
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
        """What `name` stands for."""
        return mask_named(self.name, self.preset)

    def spec(self, provider: str) -> CaseSpec:
        """Of one provider; without the mask's text, which nobody reads here."""
        return CaseSpec(
            self.name, provider, "", 1, self.heads, self.kv_heads, self.head_dim, self.dtype, direction=self.direction,
            activation=self.mask.activation,
        )  # fmt: skip

    def key(self, provider: str) -> tuple[object, ...]:
        """What tells rows apart."""
        return (self.name, self.length, self.head_dim, self.heads, self.kv_heads, self.dtype, self.direction, provider)


def mask_named(name: str, preset: bool) -> BenchmarkMask:
    """The workload of this name, or the preset. Raises KeyError where there is none."""
    return preset_masks()[name] if preset else MASKS[name]


class Inputs:
    """The tensors of the last few shapes: masks of one shape share them, since drawing them takes longer than timing."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._tensors: OrderedDict[object, tuple[torch.Tensor, ...]] = OrderedDict()
        self._met: set[tuple[object, ...]] = set()

    def first_time(self, *what: object) -> bool:
        """Whether this has not been asked before."""
        known = what in self._met
        self._met.add(what)
        return not known

    def problem(self, case: Case, mask: MaskDescriptor) -> Problem:
        """With gradients where the case has a backward."""
        spec = dataclasses.replace(case.spec("torch"), case_id="", direction="forward", activation="softmax")
        key = (spec, mask.q_len, mask.kv_len)
        if key not in self._tensors:
            self._tensors[key] = (*attention_inputs(spec, mask, self.device), output_gradient(spec, mask, self.device))
        self._tensors.move_to_end(key)
        while len(self._tensors) > _SHAPES_KEPT:
            self._tensors.popitem(last=False)
        *leaves, do = self._tensors[key]
        backward = case.direction != "forward"
        q, k, v = (x.detach().requires_grad_(backward) for x in leaves)
        return Problem(q, k, v, mask, case.head_dim**-0.5, do if backward else None, case.mask.activation)


@dataclass(frozen=True, slots=True)
class HowToMeasure:
    """rounds of turns, seconds of each provider in each; heat: seconds in which all run in turn before, since a GPU lowers its clock
    under load, not at once. verified_cells: above so many only some rows are verified. roof_tflops: what a product reached at the
    beginning, when it is known."""

    seconds: float
    verified_cells: int
    rounds: int = 3
    heat: float = 0.4
    roof_tflops: float | None = None


@dataclass(slots=True)
class Entry:
    """A provider that is ready to be verified and timed, and its row so far."""

    spec: CaseSpec
    problem: Problem
    built: Built
    first_call_ms: float
    row: Row


@dataclass(slots=True)
class PreparedCase:
    """What compiles has been compiled. rows: of all providers; entries: of those that can compute the case; seconds: of compiling."""

    case: Case
    mask: MaskDescriptor
    rows: list[Row]
    entries: list[Entry]
    seconds: dict[str, float]


def prepare_case(case: Case, inputs: Inputs) -> PreparedCase:
    """Bind the mask, build every provider and call each once; ours last, whose kernels another process may be compiling."""
    mask = case.mask.descriptor(case.length)
    prepared = PreparedCase(case, mask, [head_of(case, provider, mask) for provider in case.providers], [], {})
    for row in sorted(prepared.rows, key=lambda row: provider_named(row["provider"]).kind == "impl"):
        provider, spec = row["provider"], case.spec(row["provider"])
        began = time.perf_counter()
        try:
            check_memory(spec, mask, inputs.device.type, free_bytes(inputs.device))
            problem = inputs.problem(case, mask)
            built = build(case, provider, problem)
            if provider in _FLEX and not inputs.first_time(provider, case.name, case.length):
                # Its BlockMask was compiled for another direction, so this was no first time.
                built = dataclasses.replace(built, plan_cold_ms=None)
            first_call_ms = time_first_call(built, problem) if built.first_call_ms is None else built.first_call_ms
        except CannotExpressError as found:
            row |= {"verdict": "unsupported", "reason": str(found)}
        except Exception as found:
            row |= {"verdict": "error", "reason": (str(found).strip().splitlines() or [type(found).__name__])[0]}
        else:
            prepared.entries.append(Entry(spec, problem, built, first_call_ms, row))
        prepared.seconds[provider] = time.perf_counter() - began
    prepared.entries.sort(key=lambda entry: case.providers.index(entry.spec.provider))
    _give_back(inputs.device)
    return prepared


def finish_case(prepared: PreparedCase, device: torch.device, how: HowToMeasure) -> list[Row]:
    """Its rows, whole, printed as they come: the mask made again, every provider verified, those that are right timed in turns."""
    case = prepared.case
    _, bind_ms = timed_again(lambda: case.mask.descriptor(case.length), torch.device("cpu"))
    run = now()
    for row in prepared.rows:
        row |= {"bind_ms": bind_ms, "run": run}
    for entry in prepared.entries:
        if entry.built.remake is not None and (entry.built.plan_ms or 0) < REMADE_BELOW_MS:
            _, plan_ms = timed_again(entry.built.remake, device)
            entry.built = dataclasses.replace(entry.built, plan_ms=plan_ms)
    checks = _verify(prepared.entries, how.verified_cells)
    _give_back(device)
    timings = _time_in_turns([entry for entry in prepared.entries if _passed(checks, entry)], device, how)
    for entry in prepared.entries:
        found = checks[entry.spec.provider]
        if isinstance(found, Check):
            entry.row |= _result_fields(entry, found, timings.get(entry.spec.provider, []))
        else:
            entry.row |= {"verdict": "error", "reason": found}
    for row in prepared.rows:
        _print(row)
    return prepared.rows


def measure_case(case: Case, inputs: Inputs, how: HowToMeasure) -> list[Row]:
    """One row for each provider."""
    return finish_case(prepare_case(case, inputs), inputs.device, how)


def build(case: Case, provider: str, problem: Problem) -> Built:
    """As the provider builds it; FlexAttention with the predicate that a user would write, where there is one."""
    usable, reason = provider_named(provider).usable()
    if not usable:
        raise CannotExpressError(f"cannot be used here: {reason}")
    mask_mod = _mask_mod(case.name, case.preset, case.length, problem.q.device)
    if provider in _FLEX and mask_mod is not None and problem.activation == "softmax":
        return _FLEX[provider](problem, mask_mod)
    return provider_named(provider).build(problem)


@lru_cache(maxsize=4)
def _mask_mod(name: str, preset: bool, length: int, device: torch.device) -> MaskMod | None:
    """One function for both directions, so that its BlockMask is compiled once."""
    return mask_named(name, preset).mask_mod(length, device)


def head_of(case: Case, provider: str, mask: MaskDescriptor) -> Row:
    """What a row says before anything has been measured."""
    fields = dataclasses.asdict(case.spec(provider))
    for name in ("case_id", "mask"):
        del fields[name]
    return {
        "mask": case.name, "preset": case.mask.preset, "length": case.length, "hash": mask.hash, "q_len": mask.q_len,
        "kv_len": mask.kv_len, "visible_pairs": mask.visible_pairs, "density": mask.density, **fields,
    }  # fmt: skip


def _verify(entries: list[Entry], verified_cells: int) -> dict[str, Check | str]:
    """By provider its check, or in words why it has none; all are compared with one reference, some rows of it where it is large."""
    if not entries:
        return {}
    problem = entries[0].problem
    stretches = choose_rows(problem.mask, problem.q.shape[0] * problem.q.shape[1], verified_cells)
    do = None if problem.do is None else only_rows(problem.do, stretches)
    reference = reference_of(problem, do=do, stretches=stretches)
    found: dict[str, Check | str] = {}
    for entry in entries:
        try:
            found[entry.spec.provider] = compare(results_of(entry.built, do), reference)
        except Exception as problem_found:
            found[entry.spec.provider] = (str(problem_found).strip().splitlines() or [type(problem_found).__name__])[0]
    return found


def _passed(checks: dict[str, Check | str], entry: Entry) -> bool:
    check = checks[entry.spec.provider]
    return isinstance(check, Check) and check.passed


def _time_in_turns(entries: list[Entry], device: torch.device, how: HowToMeasure) -> dict[str, list[Timing]]:
    """By provider its timings, one of each round; each round begins with another provider, so that all follow all."""
    calls = {entry.spec.provider: entry.built.timed_call(entry.spec.direction, entry.problem.do) for entry in entries}
    timings: dict[str, list[Timing]] = {name: [] for name in calls}
    _heat(list(calls.values()), device, how.heat)
    first_time, again = (
        MeasureOptions(min_samples=3, target_seconds=how.seconds, warmup_seconds=min(most, 10 * how.seconds))
        for most in (_FIRST_WARMUP_SECONDS, _WARMUP_SECONDS)
    )
    names = list(calls)
    for turn in range(how.rounds):
        first = turn % max(1, len(names))
        for name in names[first:] + names[:first]:
            timings[name].append(measure(partial(_same, calls[name]), device, again if turn else first_time))
    return timings


def _heat(calls: list[Callable[[], object]], device: torch.device, seconds: float) -> None:
    """Run all in turn until the device has been busy for a while."""
    began = time.perf_counter()
    while calls and time.perf_counter() - began < seconds:
        for call in calls:
            step = time.perf_counter()
            while time.perf_counter() - step < _HEAT_STEP_SECONDS:
                call()
                wait_for(device)


def _result_fields(entry: Entry, check: Check, timings: list[Timing]) -> Row:
    timing = _joined(timings) if timings else None
    result = result_of(entry.spec, entry.problem, entry.built, entry.first_call_ms, check, timing)
    fields: Row = dataclasses.asdict(result)
    for name in ("case_id", "samples_ms"):
        del fields[name]
    return fields | {
        "num_samples": len(result.samples_ms), "round_medians_ms": [own.median_ms for own in timings],
        "flops": case_flops(entry.spec, entry.problem.mask),
    }  # fmt: skip


def _give_back(device: torch.device) -> None:
    """What the verification needed, for other processes on the same device."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _same(call: Callable[[], object]) -> Callable[[], object]:
    return call


def _joined(timings: list[Timing]) -> Timing:
    """All rounds as one: steady when every warm-up ended so, or when the medians of the rounds agree."""
    medians = [timing.median_ms for timing in timings]
    rounds_agree = len(medians) > 1 and max(medians) <= min(medians) * (1 + _STEADY_WITHIN)
    launches = sorted(timing.launch_ms for timing in timings if timing.launch_ms is not None)
    return dataclasses.replace(
        timings[0],
        samples_ms=tuple(sample for timing in timings for sample in timing.samples_ms),
        warmup_runs=sum(timing.warmup_runs for timing in timings),
        steady=all(timing.steady for timing in timings) or rounds_agree,
        launch_ms=launches[len(launches) // 2] if launches else None,
    )


def _print(row: Row) -> None:
    place = f"{row['mask']:16}{row['length']:7} {row['head_dim']:4} {row['direction']:17}{row['provider']:22}"
    if row["verdict"] != "passed":
        print(f"{place}{row['verdict']}: {row['reason']}", flush=True)
    else:
        print(f"{place}{row['median_ms']:10.3f} ms  {rate(row['tflops']):>14}  {row['impl_detail']}", flush=True)
