"""What travels between whoever starts a measurement and the process that does it.

The worker (`python -m compilemask.bench.worker --events-fd N`) reads one `JobSpec` as JSON on standard input and writes
one event per line, as JSON, to the file descriptor it is given (never to standard output, which libraries print to).
Plain values only; this module imports no torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

PROTOCOL_VERSION = 1
Dtype = Literal["bfloat16", "float16", "float32"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
ITEM_BYTES: dict[Dtype, int] = {"bfloat16": 2, "float16": 2, "float32": 4}
Direction = Literal["forward", "backward", "forward+backward"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
Activation = Literal["softmax", "silu"]
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
Quantity = Literal["o", "lse", "dq", "dk", "dv"]
INPUT_FILL = "normal(0, 1)"


@dataclass(frozen=True, slots=True)
class CaseSpec:
    """One provider on one mask and shape.

    case_id: chosen by the caller. provider: a name of `compilemask.bench.providers`.
    mask: the descriptor's JSON text. Shapes count heads and elements; seed fixes the inputs, INPUT_FILL, and the gradient of o.
    direction: what is timed. "backward" starts from a forward that was done before; "forward+backward" times both. Either is
    verified in o and in all three gradients. v_head_dim: None for head_dim. activation: "silu" is HSTU's, with norm = kv_len.
    """

    case_id: str
    provider: str
    mask: str
    batch: int
    num_q_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: Dtype
    seed: int = 0
    direction: Direction = "forward"
    v_head_dim: int | None = None
    activation: Activation = "softmax"

    def __post_init__(self) -> None:
        """Raises ValueError for a dtype, direction or activation that there is not."""
        for name, known in (("dtype", DTYPES), ("direction", DIRECTIONS), ("activation", ACTIVATIONS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """min_samples timed calls at least, then until target_seconds is used up; cold_l2: caches cleared before each sample.

    cuda_graph: the call is captured once and replayed, so that launching it costs next to nothing; GPUs only.
    warmup_seconds: the most that the warm-up takes when times do not settle.
    """

    min_samples: int = 10
    target_seconds: float = 1.0
    cold_l2: bool = False
    verify: bool = True
    measure: bool = True
    cuda_graph: bool = False
    warmup_seconds: float = 3.0


@dataclass(frozen=True, slots=True)
class JobSpec:
    cases: tuple[CaseSpec, ...]
    options: MeasureOptions = MeasureOptions()
    version: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class QuantityError:
    """The error of one tensor, elementwise against float64 dense attention.

    passed: max_error <= tolerance = 2 * yardstick_error + 1 ulp of the largest exact value, and nonfinite is 0.
    yardstick_error: the largest error of plain dense attention in the case's dtype. worst_index: where max_error is, [batch,
    head, position, channel], position a query for o and dq, a key for dk and dv; lse has no channel. nonfinite: elements that are NaN
    or infinite (of lse: NaN).
    """

    quantity: Quantity
    passed: bool
    max_error: float
    mean_error: float
    tolerance: float
    yardstick_error: float
    worst_index: tuple[int, ...] | None
    nonfinite: int = 0


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One verified and, if it passed, measured case. Milliseconds; TFLOP/s count visible pairs only (see flops.py).

    verdict "passed": every tensor in `errors` passed. max_error, mean_error, tolerance, yardstick_error and worst_index are
    those of o, lse_max_error that of lse. Speed fields are None unless passed. Values may be NaN or infinite. rows_checked of
    rows_total query rows, of every head, were compared, all when the dense reference is small enough; where gradients are verified in
    part, that of o is zero in the other rows, so that those of all keys are compared.

    plan_ms: time to prepare the mask with new numbers, what compiles for it done before; plan_cold_ms: the first time in
    its process; first_call_ms: the first call after that, compilation of kernels included. launch_ms: host time that a call needs before
    it returns. steady: whether times agreed at the end of the warm-up. cuda_graph: whether calls were replays of a captured
    graph. notes: what somebody who reads the speed should know. None and () in rows of versions that did not tell.
    """

    case_id: str
    verdict: Literal["passed", "failed"]
    reason: str | None
    impl_detail: str
    max_error: float | None
    mean_error: float | None
    tolerance: float | None
    yardstick_error: float | None
    lse_max_error: float | None
    worst_index: tuple[int, ...] | None
    median_ms: float | None
    p20_ms: float | None
    p80_ms: float | None
    min_ms: float | None
    samples_ms: tuple[float, ...]
    warmup_runs: int | None
    tflops: float | None
    plan_ms: float | None
    cache_state: Literal["cold", "warm"] | None
    device: str
    environment: dict[str, str] = field(default_factory=dict)
    rows_checked: int | None = None
    rows_total: int | None = None
    direction: Direction = "forward"
    errors: tuple[QuantityError, ...] = ()
    seed: int | None = None
    fill: str | None = None
    plan_cold_ms: float | None = None
    first_call_ms: float | None = None
    launch_ms: float | None = None
    steady: bool | None = None
    cuda_graph: bool | None = None
    notes: tuple[str, ...] = ()


# Events, one JSON object a line:
#   {"event": "started", "case_id": ...}
#   {"event": "progress", "case_id": ..., "stage": "inputs" | "first call" | "reference" | "verify" | "warm-up" | "measure", "fraction": 0..1}
#   {"event": "result", "case_id": ..., "result": {CaseResult}}         numbers as JSON; NaN, Infinity, -Infinity as those strings
#   {"event": "error", "case_id": ..., "reason": one line for the user, "detail": traceback}
#   {"event": "finished"}
# A worker that ends without "finished" (exit code 3: a case broke the GPU for the process) leaves the other cases to a fresh one.


def speakable(value: Any) -> Any:
    """The value with NaN and infinities, which JSON has no numbers for, as those words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: speakable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [speakable(item) for item in value]
    return value


def result_from_json(fields: dict[str, Any]) -> CaseResult:
    """The CaseResult of a "result" event. Raises KeyError, TypeError or ValueError when it is none."""
    numbers = {name: _number(value) for name, value in fields.items() if name not in _NOT_NUMBERS}
    errors = tuple(
        QuantityError(**{name: value if name == "quantity" else _number(value) for name, value in error.items()})
        for error in fields.get("errors", ())
    )
    return CaseResult(**{**fields, **numbers, "errors": errors, "notes": tuple(fields.get("notes", ()))})


_NOT_NUMBERS = ("errors", "notes", "environment", "reason", "impl_detail", "device", "case_id", "fill")


def _number(value: Any) -> Any:
    """What `speakable` made of a number, back; lists as tuples."""
    if isinstance(value, list):
        return tuple(_number(item) for item in value)
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value
