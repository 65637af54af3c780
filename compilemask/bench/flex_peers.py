"""FlexAttention as its users call it: compiled, with a BlockMask made once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compilemask.bench.dense_peers import dense_mask
from compilemask.bench.mask_forms import Causal, Documents, Full, Window, recognise
from compilemask.bench.memory import MAX_FLEX_INTERVALS
from compilemask.bench.problem import Built, CannotExpressError, Problem, timed_builds, wait_for
from compilemask.descriptor import MaskDescriptor

MaskMod = Callable[[Any, Any, Any, Any], Any]

_BLOCK_SIZES = (128, 64)
_TRIED_CALLS = 10
_MANY_COMPILATIONS = 4096


def flex(problem: Problem, mask_mod: MaskMod | None = None) -> Built:
    """The Triton back end with its default configuration; mask_mod: a closed form, if the caller knows one."""
    return _flex(problem, mask_mod, 128, None, {})


def flex_tuned(problem: Problem, mask_mod: MaskMod | None = None) -> Built:
    """The Triton back end, configurations tuned by torch (max-autotune) under each of a few block sizes, the fastest taken."""
    tried = []
    for block_size in _BLOCK_SIZES:
        built = _flex(problem, mask_mod, block_size, "max-autotune-no-cudagraphs", {})
        tried.append((_quick_ms(built, problem), block_size, built))
    return min(tried, key=lambda entry: entry[:2])[2]


def flex_flash(problem: Problem, mask_mod: MaskMod | None = None) -> Built:
    """The FLASH back end: FlashAttention-4's kernels."""
    if isinstance(recognise(problem.mask), Full):
        raise CannotExpressError("the FLASH back end takes masks with hidden cells; this one has none")
    return _flex(problem, mask_mod, 128, None, {"BACKEND": "FLASH"})


def _flex(
    problem: Problem, mask_mod: MaskMod | None, block_size: int, mode: str | None, kernel_options: dict[str, Any]
) -> Built:
    q, k, v, mask = problem.q, problem.k, problem.v, problem.mask
    detail = "closed-form mask_mod"
    if mask_mod is None:
        mask_mod, detail = mask_mod_of(mask, q.device)
    _allow_many_compilations()
    compiled_mask, compiled = _compiled_block_mask(), _compiled_flex(mode)

    def build() -> Any:
        return compiled_mask(mask_mod, None, None, mask.q_len, mask.kv_len, device=q.device, BLOCK_SIZE=block_size)

    block_mask, cold_ms, warm_ms = timed_builds(build, q.device)
    words: dict[str, Any] = {"scale": problem.sm_scale, "enable_gqa": problem.group > 1}
    if kernel_options:
        words["kernel_options"] = kernel_options

    def run() -> tuple[Tensor, Tensor | None]:
        return compiled(q, k, v, block_mask=block_mask, **words), None

    tuning = ", max-autotune" if mode else ""
    back_end = f", {kernel_options['BACKEND']} back end" if kernel_options else ""
    detail += f", cached BlockMask of {block_size} x {block_size}{tuning}{back_end}"
    built = Built(run, (q, k, v), detail, warm_ms, cold_ms, remake=build)
    return replace(built, first_call_ms=_compile(built, problem))


def _compile(built: Built, problem: Problem) -> float:
    """Milliseconds of the first call, backward included where it is wanted."""
    from torch._functorch import config

    began = time.perf_counter()
    # A backward that gives its buffers away can run once only, and is to be timed many times.
    with config.patch(donated_buffer=False):
        o, _ = built.run()
        if problem.do is not None:
            built.gradients(o, problem.do)
    wait_for(problem.q.device)
    return (time.perf_counter() - began) * 1e3


def _quick_ms(built: Built, problem: Problem) -> float:
    """Median of a few calls, to choose between configurations."""
    call = built.timed_call("forward" if problem.do is None else "forward+backward", problem.do)
    times = []
    for _ in range(_TRIED_CALLS):
        wait_for(problem.q.device)
        began = time.perf_counter()
        call()
        wait_for(problem.q.device)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


def _allow_many_compilations() -> None:
    """Beyond its limit of variants of a function, torch stops compiling, and would be measured uncompiled."""
    import torch._dynamo

    torch._dynamo.config.recompile_limit = _MANY_COMPILATIONS
    torch._dynamo.config.accumulated_recompile_limit = _MANY_COMPILATIONS


@cache
def _compiled_flex(mode: str | None) -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    compiled: Callable[..., Tensor] = torch.compile(flex_attention, dynamic=False, fullgraph=True, mode=mode)
    return compiled


@cache
def _compiled_block_mask() -> Callable[..., Any]:
    from torch.nn.attention.flex_attention import create_block_mask

    compiled: Callable[..., Any] = torch.compile(create_block_mask, dynamic=False)
    return compiled


def mask_mod_of(mask: MaskDescriptor, device: torch.device) -> tuple[MaskMod, str]:
    """(predicate, what it is in words) of any descriptor: a closed form where the mask has a name, a comparison of document numbers,
    row ends looked up for few intervals, else a dense table."""
    match recognise(mask):
        case Full():
            return lambda _b, _h, q, _k: q >= 0, "closed-form mask_mod"
        case Causal():
            return lambda _b, _h, q, k: q >= k, "closed-form mask_mod"
        case Window(left, right):
            return lambda _b, _h, q, k: (q - k <= left) & (k - q <= right), "closed-form mask_mod"
        case Documents(lengths, causal):
            number = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(device)
            if causal:
                return lambda _b, _h, q, k: (number[q] == number[k]) & (q >= k), "mask_mod reads document numbers"
            return lambda _b, _h, q, k: number[q] == number[k], "mask_mod reads document numbers"
        case None:
            return _looked_up(mask, device)


def _looked_up(mask: MaskDescriptor, device: torch.device) -> tuple[MaskMod, str]:
    slots = mask.runs_per_row_max
    if slots > MAX_FLEX_INTERVALS:
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
