"""Peers that compute every cell, and torch's scaled_dot_product_attention with its back ends."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from compilemask.attention.dense_mask import dense_rows
from compilemask.bench.mask_forms import Causal, Full, recognise
from compilemask.bench.problem import Built, CannotExpressError, Problem, built_of, timed_builds
from compilemask.bench.verify import dense
from compilemask.descriptor import MaskDescriptor

_MAX_DENSE_CELLS = 1 << 32
_ROWS_PER_CHUNK = 1 << 12


def dense_mask(mask: MaskDescriptor, device: torch.device) -> Tensor:
    """bool [q_len, kv_len] on the device. Raises ValueError above 2^32 cells."""
    if mask.q_len * mask.kv_len > _MAX_DENSE_CELLS:
        raise CannotExpressError(
            f"a dense mask of {mask.q_len} x {mask.kv_len} cells is larger than {_MAX_DENSE_CELLS:,} cells"
        )
    visible = torch.empty(mask.q_len, mask.kv_len, dtype=torch.bool, device=device)
    for start in range(0, mask.q_len, _ROWS_PER_CHUNK):
        stop = min(start + _ROWS_PER_CHUNK, mask.q_len)
        visible[start:stop] = torch.from_numpy(dense_rows(mask, start, stop)).to(device)
    return visible


def dense_eager(problem: Problem) -> Built:
    """softmax(q k^T masked) v, operation by operation, in the inputs' dtype."""
    q, k, v = problem.q, problem.k, problem.v

    def remake() -> Tensor:
        return dense_mask(problem.mask, q.device)

    visible, cold_ms, warm_ms = timed_builds(remake, q.device)

    def run() -> tuple[Tensor, Tensor | None]:
        return dense(q, k, v, visible, problem.sm_scale, problem.norm)

    return built_of(problem, run, "dense bool mask, plain operations", cold_ms, warm_ms, remake)


def sdpa(problem: Problem) -> Built:
    """torch's own choice of back end."""
    return _sdpa(problem, None)


def sdpa_cudnn(problem: Problem) -> Built:
    """The cuDNN back end or an error."""
    return _sdpa(problem, SDPBackend.CUDNN_ATTENTION)


def sdpa_flash(problem: Problem) -> Built:
    """The FlashAttention back end, which takes no mask but the causal one."""
    if not isinstance(recognise(problem.mask), Full | Causal):
        raise CannotExpressError("the flash back end of SDPA takes no mask, and this one is neither causal nor full")
    return _sdpa(problem, SDPBackend.FLASH_ATTENTION)


def sdpa_math(problem: Problem) -> Built:
    """Plain dense operations."""
    return _sdpa(problem, SDPBackend.MATH)


def _sdpa(problem: Problem, backend: SDPBackend | None) -> Built:
    q, k, v = problem.q, problem.k, problem.v
    form = recognise(problem.mask)
    causal, whole = isinstance(form, Causal), isinstance(form, Full)
    visible: Tensor | None = None
    cold_ms = warm_ms = 0.0
    if not causal and not whole:
        visible, cold_ms, warm_ms = timed_builds(lambda: dense_mask(problem.mask, q.device), q.device)

    def call() -> tuple[Tensor, Tensor | None]:
        o = scaled_dot_product_attention(
            q, k, v, attn_mask=visible, is_causal=causal, scale=problem.sm_scale, enable_gqa=problem.group > 1
        )
        return o, None

    how = "is_causal" if causal else "no mask" if whole else "dense bool mask"
    if backend is None:
        return built_of(problem, call, how, cold_ms, warm_ms)

    def call_with_backend() -> tuple[Tensor, Tensor | None]:
        with sdpa_kernel([backend]):
            return call()

    return built_of(problem, call_with_backend, f"{how}, {backend.name.lower()}", cold_ms, warm_ms)
