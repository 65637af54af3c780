"""Whether an output is right: against dense float64 attention, by the rounding that plain attention has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from compilemask.attention.dense_mask import dense_rows
from compilemask.bench.progress import Progress, no_progress
from compilemask.descriptor import MaskDescriptor

_MAX_CELLS = {"cuda": 1 << 32, "cpu": 1 << 27}
_CELLS_PER_CHUNK = {"cuda": 1 << 27, "cpu": 1 << 23}
_STRETCH = 16


class Inputs(Protocol):
    """What an output was computed from."""

    @property
    def q(self) -> Tensor: ...
    @property
    def k(self) -> Tensor: ...
    @property
    def v(self) -> Tensor: ...
    @property
    def mask(self) -> MaskDescriptor: ...
    @property
    def sm_scale(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Check:
    """The errors found, elementwise against float64; fields as in protocol.CaseResult."""

    passed: bool
    reason: str | None
    max_error: float
    mean_error: float
    tolerance: float
    yardstick_error: float
    lse_max_error: float | None
    worst_index: tuple[int, ...] | None
    rows_checked: int


def verify(
    o: Tensor,
    lse: Tensor | None,
    inputs: Inputs,
    *,
    max_cells: int | None = None,
    progress: Progress = no_progress,
) -> Check:
    """Compare o [batch, q heads, q_len, dim] and lse with dense float64 attention.

    Passes when the largest error is at most twice that of plain dense attention in the inputs' dtype (the yardstick) plus one
    ulp of the largest exact value; lse likewise, with ulps of float32. Every element of o must be finite. Where
    batch x heads x q_len x kv_len exceeds max_cells (2^32 on a GPU, 2^27 on the CPU), stretches of 16 rows are compared: the
    first, the last, and others drawn with a fixed seed.
    """
    kind = o.device.type
    stretches = choose_rows(inputs.mask, inputs.q.shape[0] * inputs.q.shape[1], max_cells or _MAX_CELLS[kind])
    exact_k, exact_v = inputs.k.double(), inputs.v.double()
    tally, lse_tally = _Tally(), _Tally()
    heads = inputs.q.shape[0] * inputs.q.shape[1]
    step = max(1, _CELLS_PER_CHUNK[kind] // max(1, heads * inputs.mask.kv_len))
    progress("reference", 0.0)
    chunks = list(_split(stretches, step))
    for done, (start, stop) in enumerate(chunks):
        progress("verify", done / len(chunks))
        visible = torch.from_numpy(dense_rows(inputs.mask, start, stop)).to(o.device)
        q = inputs.q[:, :, start:stop]
        exact_o, exact_lse = dense(q.double(), exact_k, exact_v, visible, inputs.sm_scale)
        plain_o, plain_lse = dense(q, inputs.k, inputs.v, visible, inputs.sm_scale)
        tally.add(o[:, :, start:stop], exact_o, plain_o, start)
        if lse is not None:
            lse_tally.add(lse[:, :, start:stop], exact_lse, plain_lse, start)
    rows_checked = sum(stop - start for start, stop in stretches)
    return _judge(o, lse, tally, lse_tally, rows_checked)


def dense(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, sm_scale: float) -> tuple[Tensor, Tensor]:
    """(o, lse) of some rows in the dtype of the inputs; visible bool [rows, kv_len]. Empty rows: 0 and -inf."""
    batch, num_kv_heads = k.shape[:2]
    q = q.reshape(batch, num_kv_heads, q.shape[1] // num_kv_heads, *q.shape[2:])
    scores = (q @ k[:, :, None].transpose(-1, -2) * sm_scale).masked_fill(~visible, -math.inf)
    lse = torch.logsumexp(scores.to(torch.promote_types(q.dtype, torch.float32)), -1)
    some = visible.any(-1, keepdim=True)
    # Rows without keys are softmax(-inf, ...) = NaN.
    o = torch.where(some, torch.softmax(scores, -1), 0.0).to(v.dtype) @ v[:, :, None]
    return o.flatten(1, 2), lse.flatten(1, 2)


def choose_rows(mask: MaskDescriptor, heads: int, max_cells: int) -> list[tuple[int, int]]:
    """Ascending, disjoint ranges of rows to compare: all, or as many stretches as max_cells cells allow, two at least."""
    if mask.q_len == 0:
        return []
    if heads * mask.q_len * mask.kv_len <= max_cells:
        return [(0, mask.q_len)]
    count = max(2, max_cells // (heads * mask.kv_len * _STRETCH))
    blocks = -(-mask.q_len // _STRETCH)
    drawn = np.random.default_rng(0).choice(blocks, size=min(blocks, count - 1), replace=False)
    chosen = sorted({0, blocks - 1, *drawn.tolist()})
    return [(b * _STRETCH, min((b + 1) * _STRETCH, mask.q_len)) for b in chosen]


def ulp(dtype: torch.dtype, magnitude: float) -> float:
    """The distance of neighbouring numbers of `dtype` at this magnitude."""
    return torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(magnitude)) if 0 < magnitude < math.inf else 0.0


class _Tally:
    """Running maxima of the errors of a result and of plain attention."""

    def __init__(self) -> None:
        self.max_error = 0.0
        self.sum_error = 0.0
        self.count = 0
        self.plain_error = 0.0
        self.magnitude = 0.0
        self.worst: tuple[int, ...] | None = None

    def add(self, got: Tensor, exact: Tensor, plain: Tensor, q_start: int) -> None:
        """got, exact, plain [batch, heads, rows, ...], rows from q_start on."""
        if exact.numel() == 0:
            return
        error = _error(got, exact)
        largest = float(error.max())
        if largest > self.max_error or self.worst is None:
            at = np.unravel_index(int(error.argmax()), tuple(error.shape))
            self.worst = tuple(int(i) + (q_start if axis == 2 else 0) for axis, i in enumerate(at))
            self.max_error = largest
        self.sum_error += float(error.sum())
        self.count += error.numel()
        self.plain_error = max(self.plain_error, float(_error(plain, exact).max()))
        finite = exact[exact.isfinite()]
        self.magnitude = max(self.magnitude, float(finite.abs().max()) if finite.numel() else 0.0)

    def tolerance(self, dtype: torch.dtype) -> float:
        return 2 * self.plain_error + ulp(dtype, self.magnitude)


def _error(got: Tensor, exact: Tensor) -> Tensor:
    """|got - exact|; 0 where both are the same infinity, infinite where one of them is NaN."""
    error = (got.double() - exact).abs().masked_fill(got.double() == exact, 0.0)
    return error.nan_to_num(nan=math.inf, posinf=math.inf)


def _judge(o: Tensor, lse: Tensor | None, tally: _Tally, lse_tally: _Tally, rows_checked: int) -> Check:
    tolerance, lse_tolerance = tally.tolerance(o.dtype), lse_tally.tolerance(torch.float32)
    reason = None
    unfinished = int((~o.isfinite()).sum())
    if unfinished:
        reason = f"{unfinished} elements of o are NaN or infinite"
    elif not math.isfinite(tolerance) or not math.isfinite(lse_tolerance):
        reason = "plain attention overflows in this dtype, so there is no yardstick"
    elif tally.max_error > tolerance:
        reason = f"error {tally.max_error:.3g} at {list(tally.worst or ())} exceeds {tolerance:.3g}"
    elif lse is not None and lse_tally.max_error > lse_tolerance:
        reason = f"lse error {lse_tally.max_error:.3g} at {list(lse_tally.worst or ())} exceeds {lse_tolerance:.3g}"
    return Check(
        passed=reason is None,
        reason=reason,
        max_error=tally.max_error,
        mean_error=tally.sum_error / tally.count if tally.count else 0.0,
        tolerance=tolerance,
        yardstick_error=tally.plain_error,
        lse_max_error=None if lse is None else lse_tally.max_error,
        worst_index=tally.worst,
        rows_checked=rows_checked,
    )


def _split(stretches: list[tuple[int, int]], step: int) -> Iterator[tuple[int, int]]:
    for start, stop in stretches:
        for a in range(start, stop, step):
            yield a, min(a + step, stop)
