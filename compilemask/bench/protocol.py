"""What travels between whoever starts a measurement and the process that does it.

The worker (`python -m compilemask.bench.worker --events-fd N`) reads one `JobSpec` as JSON on standard input and writes
one event per line, as JSON, to the file descriptor it is given (never to standard output, which libraries print to).
Plain values only; this module imports no torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PROTOCOL_VERSION = 1
Dtype = Literal["bfloat16", "float16", "float32"]


@dataclass(frozen=True, slots=True)
class CaseSpec:
    """One provider on one mask and shape.

    case_id: chosen by the caller. provider: a name of `compilemask.bench.providers`.
    mask: the descriptor's JSON text. Shapes count heads and elements; seed fixes the inputs (normal(0, 1)).
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


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """min_samples timed calls at least, then until target_seconds is used up; cold_l2: caches cleared before each sample."""

    min_samples: int = 10
    target_seconds: float = 1.0
    cold_l2: bool = False
    verify: bool = True
    measure: bool = True


@dataclass(frozen=True, slots=True)
class JobSpec:
    cases: tuple[CaseSpec, ...]
    options: MeasureOptions = MeasureOptions()
    version: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One verified and, if it passed, measured case. Milliseconds; TFLOP/s count visible pairs only (4*head_dim a pair and head).

    verdict "passed": error <= tolerance = 2 * yardstick_error + 1 ulp, elementwise maximum against fp64 dense attention.
    yardstick_error: the same error of a plain dense attention in the case's dtype. worst_index: [batch, head, row, channel].
    Speed fields are None unless passed. Values may be NaN or infinite. rows_checked of rows_total query rows, of every head,
    were compared; all when the dense reference is small enough.
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


# Events, one JSON object a line:
#   {"event": "started", "case_id": ...}
#   {"event": "progress", "case_id": ..., "stage": "inputs" | "reference" | "verify" | "warm-up" | "measure", "fraction": 0..1}
#   {"event": "result", "case_id": ..., "result": {CaseResult}}         numbers as JSON; NaN, Infinity, -Infinity as those strings
#   {"event": "error", "case_id": ..., "reason": one line for the user, "detail": traceback}
#   {"event": "finished"}
# A worker that ends without "finished" (exit code 3: a case broke the GPU for the process) leaves the other cases to a fresh one.
