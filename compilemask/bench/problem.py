"""One case as tensors, and what a provider makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from compilemask.bench.inputs import attention_inputs, output_gradient
from compilemask.bench.protocol import Activation, CaseSpec, Direction
from compilemask.descriptor import MaskDescriptor

Run = Callable[[], tuple[Tensor, Tensor | None]]
T = TypeVar("T")

_WARM_BUILDS = 5
_WARM_SECONDS = 0.5


class CannotExpressError(ValueError):
    """A provider has no way to compute this case; the message says which part of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The tensors of a case: q [batch, q heads, q_len, head_dim], k and v [batch, kv heads, kv_len, head_dim].

    do: the gradient of o, None when only the forward is wanted; q, k and v require gradients when there is one. activation: what
    makes weights of scores; "silu" divides by norm.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    mask: MaskDescriptor
    sm_scale: float
    do: Tensor | None = None
    activation: Activation = "softmax"

    @property
    def norm(self) -> float | None:
        """kv_len for "silu", as HSTU divides by the longest length; softmax has none."""
        return float(max(1, self.mask.kv_len)) if self.activation == "silu" else None

    @property
    def group(self) -> int:
        """Query heads of one key head."""
        return self.q.shape[1] // self.k.shape[1]


def problem_of(spec: CaseSpec, mask: MaskDescriptor, device: torch.device) -> Problem:
    """The seeded tensors of a case on a device."""
    q, k, v = attention_inputs(spec, mask, device)
    do = None if spec.direction == "forward" else output_gradient(spec, mask, device)
    if do is not None:
        q, k, v = (x.requires_grad_() for x in (q, k, v))
    return Problem(q, k, v, mask, spec.head_dim**-0.5, do, spec.activation)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a provider arranges [batch, heads, len, dim]: enter makes its arrangement, leave takes it back."""

    enter: Callable[[Tensor], Tensor]
    leave: Callable[[Tensor], Tensor]


NATIVE = Layout(lambda x: x, lambda x: x)


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A case ready to be run.

    run() -> (o, lse or None), in the provider's layout, computed from `leaves`, its own q, k and v. detail: what runs, in words.
    plan_ms, plan_cold_ms, first_call_ms: as in protocol.CaseResult; the last when the provider made that call already. remake: what
    plan_ms is the time of; None where nothing is made of the mask.
    """

    run: Run
    leaves: Sequence[Tensor]
    detail: str
    plan_ms: float | None = None
    plan_cold_ms: float | None = None
    layout: Layout = NATIVE
    first_call_ms: float | None = None
    remake: Callable[[], object] | None = None

    def gradients(self, o: Tensor, do: Tensor, *, keep_graph: bool = False) -> tuple[Tensor, ...]:
        """(dq, dk, dv) of sum(o * do), all in the provider's layout."""
        return torch.autograd.grad(o, self.leaves, do, retain_graph=keep_graph)

    def timed_call(self, direction: Direction, do: Tensor | None) -> Callable[[], object]:
        """What is timed in this direction; do [batch, q heads, q_len, dim]. For "backward" the forward is done here, once."""
        if direction == "forward" or do is None:
            return self.run
        own_do = self.layout.enter(do)
        if direction == "backward":
            o = self.run()[0]
            return lambda: self.gradients(o, own_do, keep_graph=True)
        return lambda: self.gradients(self.run()[0], own_do)


def built_of(
    problem: Problem, run: Run, detail: str, plan_cold_ms: float | None, plan_ms: float | None,
    remake: Callable[[], object] | None = None,
) -> Built:  # fmt: skip
    """A Built over the problem's own tensors."""
    return Built(run, (problem.q, problem.k, problem.v), detail, plan_ms, plan_cold_ms, remake=remake)


def timed_builds(build: Callable[[], T], device: torch.device) -> tuple[T, float, float]:
    """(what build() made last, milliseconds of the first time, of the median of the times after it).

    build must forget what it made before.
    """
    _, cold_ms = _timed(build, device)
    made, warm_ms = timed_again(build, device)
    return made, cold_ms, warm_ms


def timed_again(build: Callable[[], T], device: torch.device) -> tuple[T, float]:
    """(what build() made last, the median of its milliseconds), repeated 5 times, or for half a second, but once at least."""
    warm: list[float] = []
    while not warm or (len(warm) < _WARM_BUILDS and sum(warm) < _WARM_SECONDS * 1e3):
        made, ms = _timed(build, device)
        warm.append(ms)
    return made, sorted(warm)[len(warm) // 2]


def _timed(build: Callable[[], T], device: torch.device) -> tuple[T, float]:
    wait_for(device)
    began = time.perf_counter()
    made = build()
    wait_for(device)
    return made, (time.perf_counter() - began) * 1e3


def wait_for(device: torch.device) -> None:
    """Until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
