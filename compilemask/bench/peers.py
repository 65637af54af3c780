"""Other implementations of attention, called as their users would: each prepare(problem) -> (call, detail)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from compilemask.attention.dense_mask import dense_rows
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids

if TYPE_CHECKING:
    from compilemask.bench.case import Problem

MaskMod = Callable[[Any, Any, Any, Any], Any]

_MAX_DENSE_CELLS = 1 << 32
_MAX_INTERVALS = 4
_ROWS_PER_CHUNK = 1 << 12


def is_causal(mask: MaskDescriptor) -> bool:
    """Whether a row sees exactly the keys up to its own position."""
    if mask.q_len != mask.kv_len:
        return False
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    length = np.full(1, mask.q_len, np.int64)
    shape = Trapezoids(zero, length, zero, zero, one, one)
    return mask == MaskDescriptor.from_trapezoids(mask.q_len, mask.kv_len, shape)


def dense_mask(mask: MaskDescriptor, device: torch.device) -> Tensor:
    """bool [q_len, kv_len] on the device. Raises ValueError above 2^32 cells."""
    if mask.q_len * mask.kv_len > _MAX_DENSE_CELLS:
        raise ValueError(
            f"a dense mask of {mask.q_len} x {mask.kv_len} cells is larger than {_MAX_DENSE_CELLS:,} cells"
        )
    visible = torch.empty(mask.q_len, mask.kv_len, dtype=torch.bool, device=device)
    for start in range(0, mask.q_len, _ROWS_PER_CHUNK):
        stop = min(start + _ROWS_PER_CHUNK, mask.q_len)
        visible[start:stop] = torch.from_numpy(dense_rows(mask, start, stop)).to(device)
    return visible


def sdpa(problem: Problem) -> tuple[Callable[[], Tensor], str]:
    """torch's own choice of backend."""
    return _sdpa(problem, None)


def sdpa_cudnn(problem: Problem) -> tuple[Callable[[], Tensor], str]:
    """The cuDNN backend or an error."""
    return _sdpa(problem, SDPBackend.CUDNN_ATTENTION)


def sdpa_math(problem: Problem) -> tuple[Callable[[], Tensor], str]:
    """Plain dense operations."""
    return _sdpa(problem, SDPBackend.MATH)


def _sdpa(problem: Problem, backend: SDPBackend | None) -> tuple[Callable[[], Tensor], str]:
    q, k, v = problem.q, problem.k, problem.v
    causal = is_causal(problem.mask)
    whole = problem.mask.visible_pairs == problem.mask.q_len * problem.mask.kv_len
    visible = None if causal or whole else dense_mask(problem.mask, q.device)

    def call() -> Tensor:
        return scaled_dot_product_attention(
            q, k, v, attn_mask=visible, is_causal=causal, scale=problem.sm_scale, enable_gqa=q.shape[1] != k.shape[1]
        )

    how = "is_causal" if causal else "no mask" if whole else "dense bool mask"
    if backend is None:
        return call, how

    def call_with_backend() -> Tensor:
        with sdpa_kernel([backend]):
            return call()

    return call_with_backend, f"{how}, {backend.name.lower()}"


def flex(problem: Problem, mask_mod: MaskMod | None = None) -> tuple[Callable[[], Tensor], str]:
    """Compiled FlexAttention with a BlockMask made once; mask_mod: a closed form, if the caller knows one."""
    from torch.nn.attention.flex_attention import create_block_mask

    q, k, v, mask = problem.q, problem.k, problem.v, problem.mask
    detail = "closed-form mask_mod"
    if mask_mod is None:
        mask_mod, detail = _mask_mod(mask, q.device)
    block_mask = torch.compile(create_block_mask, dynamic=False)(
        mask_mod, None, None, mask.q_len, mask.kv_len, device=q.device
    )
    compiled = _compiled_flex()

    def call() -> Tensor:
        o: Tensor = compiled(
            q, k, v, block_mask=block_mask, scale=problem.sm_scale, enable_gqa=q.shape[1] != k.shape[1]
        )
        return o

    call()
    return call, f"{detail}, cached BlockMask"


@cache
def _compiled_flex() -> Callable[..., Any]:
    from torch.nn.attention.flex_attention import flex_attention

    compiled: Callable[..., Any] = torch.compile(flex_attention, dynamic=False)
    return compiled


def _mask_mod(mask: MaskDescriptor, device: torch.device) -> tuple[MaskMod, str]:
    """A predicate of any descriptor: closed form for causal, row ends looked up for few intervals, else a dense table."""
    if is_causal(mask):
        return lambda _b, _h, q, k: q >= k, "closed-form mask_mod"
    slots = mask.runs_per_row_max
    if slots > _MAX_INTERVALS:
        visible = dense_mask(mask, device)
        return lambda _b, _h, q, k: visible[q, k], "mask_mod reads a dense table"
    indptr, lo, hi = mask.row_intervals()
    ends = np.zeros((max(slots, 1), 2, mask.q_len), np.int32)
    row = np.repeat(np.arange(mask.q_len), np.diff(indptr))
    slot = np.arange(len(row)) - np.repeat(indptr[:-1], np.diff(indptr))
    ends[slot, 0, row] = lo
    ends[slot, 1, row] = hi
    on_device = [(torch.from_numpy(a.copy()).to(device), torch.from_numpy(b.copy()).to(device)) for a, b in ends]

    def mod(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        inside = [(k >= lo[q]) & (k < hi[q]) for lo, hi in on_device]
        seen = inside[0]
        for more in inside[1:]:
            seen = seen | more
        return seen

    return mod, f"mask_mod reads {max(slots, 1)} intervals a row"
