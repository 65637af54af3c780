"""Whether an output and its gradients are right: against dense float64 attention, by the rounding that plain attention has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from compilemask.attention.dense_mask import dense_rows
from compilemask.bench.errors import ErrorTally, judge
from compilemask.bench.memory import CELLS_PER_CHUNK
from compilemask.bench.progress import Progress, no_progress
from compilemask.bench.protocol import Quantity, QuantityError
from compilemask.descriptor import MaskDescriptor

MAX_CELLS = {"cuda": 1 << 32, "cpu": 1 << 27}
_STRETCH = 16

Stretches = list[tuple[int, int]]


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
    @property
    def norm(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Check:
    """errors: one of each tensor that was given. reason: the first failure in words, None when all passed."""

    errors: tuple[QuantityError, ...]
    reason: str | None
    rows_checked: int

    @property
    def passed(self) -> bool:
        return self.reason is None

    def of(self, quantity: Quantity) -> QuantityError | None:
        """The error of one tensor, None when it was not given."""
        return next((error for error in self.errors if error.quantity == quantity), None)


def verify(
    got: Mapping[Quantity, Tensor],
    inputs: Inputs,
    *,
    do: Tensor | None = None,
    stretches: Stretches | None = None,
    progress: Progress = no_progress,
) -> Check:
    """Compare tensors with dense float64 attention and its gradients, computed row by row.

    got: o [batch, q heads, q_len, v dim]; lse [batch, q heads, q_len] if there is one; dq, dk, dv in the inputs' shapes if do, the
    gradient of o that they came from, is given: it must be zero outside of the stretches. Each passes when its largest
    error is at most twice that of plain dense attention in the inputs' dtype (the yardstick) plus one ulp of the largest exact value (of
    lse: ulps of float32), and when every element is finite (of lse: not NaN). stretches: rows to compare, from choose_rows; all unless given. Of dk
    and dv all keys are compared.
    """
    return compare(got, reference_of(inputs, do=do, stretches=stretches, progress=progress))


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Exact and plain results of some rows, ascending: o, lse and dq [batch, q heads, rows, ...]; dk and dv of all keys."""

    rows: Tensor
    exact: Mapping[Quantity, Tensor]
    plain: Mapping[Quantity, Tensor]


def reference_of(
    inputs: Inputs, *, do: Tensor | None = None, stretches: Stretches | None = None, progress: Progress = no_progress
) -> Reference:
    """What any number of results from the same inputs are compared with; arguments as of verify."""
    q, k, v, mask = inputs.q.detach(), inputs.k.detach(), inputs.v.detach(), inputs.mask
    stretches = [(0, mask.q_len)] if stretches is None else stretches
    step = max(1, CELLS_PER_CHUNK[q.device.type] // max(1, q.shape[0] * q.shape[1] * mask.kv_len))
    sides = [_Side(k.double(), v.double(), do is not None), _Side(k, v, do is not None)]
    parts: list[list[dict[Quantity, Tensor]]] = [[], []]
    progress("reference", 0.0)
    chunks = list(_chunks(stretches, step))
    for done, chunk in enumerate(chunks):
        progress("verify", done / len(chunks))
        visible = torch.from_numpy(np.concatenate([dense_rows(mask, *stretch) for stretch in chunk])).to(q.device)
        rows_do = None if do is None else _taken(do, chunk)
        rows = _taken(q, chunk)
        for side, part, own in zip(sides, parts, (rows.double(), rows), strict=True):
            part.append(side.rows(own, visible, inputs, rows_do))
    exact, plain = (
        {name: torch.cat([part[name] for part in own], 2) for name in own[0]} if own else {} for own in parts
    )
    of_keys: tuple[Quantity, ...] = ("dk", "dv")
    if do is not None:
        for name, exact_sum, plain_sum in zip(of_keys, sides[0].sums, sides[1].sums, strict=True):
            exact[name], plain[name] = exact_sum, plain_sum.to(k.dtype)
    return Reference(_row_numbers(stretches), exact, plain)


def compare(got: Mapping[Quantity, Tensor], reference: Reference) -> Check:
    """The verdict on results; see verify."""
    errors = []
    for quantity, tensor in got.items():
        tally = ErrorTally()
        if quantity in reference.exact:
            exact, plain = reference.exact[quantity], reference.plain[quantity]
            rows = torch.arange(exact.shape[2]) if quantity in ("dk", "dv") else reference.rows
            whole = tensor.shape[2] == len(rows)
            tally.add(tensor if whole else tensor[:, :, rows.to(tensor.device)], exact, plain, rows)
        errors.append(judge(quantity, tensor, tally))
    reasons = (reason for error in errors if (reason := failure(error)))
    return Check(tuple(errors), next(reasons, None), len(reference.rows))


def verify_forward(o: Tensor, lse: Tensor | None, inputs: Inputs, *, max_cells: int | None = None) -> Check:
    """verify() of an o and, if there is one, its lse; only some rows where there are more than max_cells cells."""
    heads = inputs.q.shape[0] * inputs.q.shape[1]
    stretches = choose_rows(inputs.mask, heads, max_cells or MAX_CELLS[inputs.q.device.type])
    got: dict[Quantity, Tensor] = {"o": o} if lse is None else {"o": o, "lse": lse}
    return verify(got, inputs, stretches=stretches)


class _Side:
    """Keys and values in one dtype, exact or rounded, and the gradients that rows have given them so far (dk, dv)."""

    def __init__(self, k: Tensor, v: Tensor, differentiate: bool) -> None:
        self._k, self._v = k, v
        wide = torch.promote_types(k.dtype, torch.float32)
        # One product over all rows sums in float32 and rounds once; so do the parts that the rows are cut into.
        self.sums = [torch.zeros_like(x, dtype=wide) if differentiate else x.new_zeros(0) for x in (k, v)]

    def rows(self, q: Tensor, visible: Tensor, inputs: Inputs, do: Tensor | None) -> dict[Quantity, Tensor]:
        """o and, of softmax, lse of some rows; with do also dq, and dk and dv are added to the sums."""
        if do is None:
            return _named(*dense(q, self._k, self._v, visible, inputs.sm_scale, inputs.norm))
        with torch.enable_grad():
            q, k, v = (x.detach().requires_grad_() for x in (q, self._k, self._v))
            o, lse = dense(q, k, v, visible, inputs.sm_scale, inputs.norm)
            dq, *shares = torch.autograd.grad(o, (q, k, v), do.to(o.dtype))
        for total, share in zip(self.sums, shares, strict=True):
            total += share
        return {**_named(o.detach(), lse), "dq": dq}


def failure(error: QuantityError) -> str | None:
    """Why a tensor is wrong, in words, or None."""
    name = error.quantity if error.quantity in ("o", "lse") else f"the gradient {error.quantity}"
    if error.passed:
        return None
    if error.nonfinite:
        return f"{error.nonfinite} elements of {name} are NaN{'' if error.quantity == 'lse' else ' or infinite'}"
    if not math.isfinite(error.tolerance):
        return "plain attention overflows in this dtype, so there is no yardstick"
    what = "error" if error.quantity == "o" else f"error of {name}"
    return f"{what} {error.max_error:.3g} at {list(error.worst_index or ())} exceeds {error.tolerance:.3g}"


def _named(o: Tensor, lse: Tensor | None) -> dict[Quantity, Tensor]:
    return {"o": o} if lse is None else {"o": o, "lse": lse.detach()}


def dense(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor, sm_scale: float, norm: float | None = None
) -> tuple[Tensor, Tensor | None]:
    """(o, lse) of some rows in the dtype of the inputs; visible bool [rows, kv_len]. Empty rows: 0 and -inf.

    norm: weights are silu(score) / norm instead of softmax, and there is no lse.
    """
    batch, num_kv_heads = k.shape[:2]
    q = q.reshape(batch, num_kv_heads, q.shape[1] // num_kv_heads, *q.shape[2:])
    scores = q @ k[:, :, None].transpose(-1, -2) * sm_scale
    if norm is not None:
        weights = (torch.nn.functional.silu(scores) / norm).masked_fill(~visible, 0.0)
        return (weights @ v[:, :, None]).flatten(1, 2), None
    scores = scores.masked_fill(~visible, -math.inf)
    lse = torch.logsumexp(scores.to(torch.promote_types(q.dtype, torch.float32)), -1)
    some = visible.any(-1, keepdim=True)
    # Rows without keys are softmax(-inf, ...) = NaN.
    o = torch.where(some, torch.softmax(scores, -1), 0.0).to(v.dtype) @ v[:, :, None]
    return o.flatten(1, 2), lse.flatten(1, 2)


def choose_rows(mask: MaskDescriptor, heads: int, max_cells: int) -> Stretches:
    """Ascending, disjoint ranges of rows to compare: all, or as many stretches of 16 as max_cells cells allow, two at least: the
    first, the last, and one drawn with a fixed seed in each of equal bands, so that every part of a mask is met."""
    if mask.q_len == 0:
        return []
    if heads * mask.q_len * mask.kv_len <= max_cells:
        return [(0, mask.q_len)]
    count = max(2, max_cells // (heads * mask.kv_len * _STRETCH))
    blocks = -(-mask.q_len // _STRETCH)
    bands = np.linspace(0, blocks, min(blocks, count - 1) + 1).astype(np.int64)
    drawn = np.random.default_rng(0).integers(bands[:-1], np.maximum(bands[1:], bands[:-1] + 1))
    chosen = sorted({0, blocks - 1, *drawn.tolist()})
    return [(b * _STRETCH, min((b + 1) * _STRETCH, mask.q_len)) for b in chosen]


def only_rows(do: Tensor, stretches: Stretches) -> Tensor:
    """do [batch, heads, q_len, dim], zero outside of the stretches."""
    kept = torch.zeros_like(do)
    for start, stop in stretches:
        kept[:, :, start:stop] = do[:, :, start:stop]
    return kept


def _chunks(stretches: Stretches, step: int) -> Iterator[Stretches]:
    """The stretches in order, cut and gathered so that each part has at most `step` rows."""
    part: Stretches = []
    room = step
    for start, stop in stretches:
        while start < stop:
            end = min(stop, start + room)
            part.append((start, end))
            room -= end - start
            start = end
            if room == 0:
                yield part
                part, room = [], step
    if part:
        yield part


def _taken(x: Tensor, stretches: Stretches) -> Tensor:
    """The rows of x [batch, heads, q_len, dim] in some stretches; a view of one stretch."""
    taken = [x[:, :, start:stop] for start, stop in stretches]
    return taken[0] if len(taken) == 1 else torch.cat(taken, 2)


def _row_numbers(stretches: Stretches) -> Tensor:
    """int64, on the CPU."""
    return torch.cat([torch.arange(start, stop) for start, stop in stretches] or [torch.zeros(0, dtype=torch.int64)])
