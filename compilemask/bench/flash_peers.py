"""Peers that know a few masks by name: FlashAttention-4 (package flash-attn-4), and torch's varlen attention."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from compilemask.bench.mask_forms import Causal, Documents, Full, MaskForm, Window, recognise
from compilemask.bench.problem import Built, CannotExpressError, Layout, Problem, timed_builds

LENGTH_FIRST = Layout(lambda x: x.transpose(1, 2).contiguous(), lambda x: x.transpose(1, 2))


def fa4(problem: Problem) -> Built:
    """FlashAttention-4's own functions: causal, full and windowed masks, and packed documents."""
    interface = importlib.import_module("flash_attn.cute")
    form = recognise(problem.mask)
    scale = problem.sm_scale
    match form:
        case Documents():
            return _documents(problem, form, "FA4 varlen", interface.flash_attn_varlen_func, _fa4_words(form, scale))
        case Full() | Causal() | Window():
            return _whole(problem, interface.flash_attn_func, _fa4_words(form, scale), f"FA4, {_named(form)}")
        case None:
            raise CannotExpressError(
                "FA4 without a mask program takes causal, full, sliding-window and document masks; this is none of them"
            )


def varlen(problem: Problem) -> Built:
    """torch.nn.attention.varlen: documents, full or causal inside."""
    from torch.nn.attention.varlen import varlen_attn

    form = recognise(problem.mask)
    if not isinstance(form, Documents):
        raise CannotExpressError("torch's varlen attention takes packed documents; this mask is not made of them")
    known = inspect.signature(varlen_attn).parameters
    words: dict[str, Any] = {}
    if form.causal:
        words |= {"window_size": (-1, 0)} if "window_size" in known else {"is_causal": True}
    if problem.group > 1:
        if "enable_gqa" not in known:
            raise CannotExpressError(f"varlen attention of torch {torch.__version__} has no grouped heads")
        words["enable_gqa"] = True
    if "scale" in known:
        words["scale"] = problem.sm_scale
    elif problem.sm_scale != problem.q.shape[3] ** -0.5:
        raise CannotExpressError(f"varlen attention of torch {torch.__version__} takes no scale of one's own")

    def call(
        q: Tensor, k: Tensor, v: Tensor, *, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, **words: Any,
    ) -> Any:  # fmt: skip
        return varlen_attn(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, **words)

    return _documents(problem, form, "torch varlen", call, words)


def packed_layout(batch: int) -> Layout:
    """[batch * len, heads, dim], item after item."""
    return Layout(
        lambda x: x.transpose(1, 2).flatten(0, 1).contiguous(),
        lambda x: x.reshape(batch, -1, *x.shape[1:]).transpose(1, 2),
    )


def _whole(problem: Problem, function: Callable[..., Any], words: dict[str, Any], detail: str) -> Built:
    leaves = _leaves(problem, LENGTH_FIRST)
    return Built(lambda: (_first(function(*leaves, **words)), None), leaves, detail, 0.0, 0.0, LENGTH_FIRST)


def _documents(
    problem: Problem, form: Documents, name: str, function: Callable[..., Any], words: dict[str, Any]
) -> Built:
    layout = packed_layout(problem.q.shape[0])
    leaves = _leaves(problem, layout)
    device = problem.q.device

    def ends() -> Tensor:
        return document_ends(form, problem.q.shape[0], device)

    cu_seqlens, cold_ms, warm_ms = timed_builds(ends, device)
    longest = max(form.lengths)
    packed = {
        "cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens, "max_seqlen_q": longest, "max_seqlen_k": longest,
    }  # fmt: skip
    detail = f"{name}, {len(form.lengths)} documents, {'causal' if form.causal else 'full'}"

    def run() -> tuple[Tensor, Tensor | None]:
        return _first(function(*leaves, **packed, **words)), None

    return Built(run, leaves, detail, warm_ms, cold_ms, layout, remake=ends)


def document_ends(form: Documents, batch: int, device: torch.device) -> Tensor:
    """int32: 0, then where each document of each batch item ends in the packed tokens."""
    lengths = torch.tensor(form.lengths * batch, dtype=torch.int32)
    return torch.cat([torch.zeros(1, dtype=torch.int32), lengths.cumsum(0, dtype=torch.int32)]).to(device)


def _fa4_words(form: MaskForm, sm_scale: float) -> dict[str, Any]:
    words: dict[str, Any] = {"softmax_scale": sm_scale}
    match form:
        case Causal() | Documents(causal=True):
            words["causal"] = True
        case Window(left, right):
            words |= {"window_size": (left, right), "causal": False}
        case Full() | Documents():
            words["causal"] = False
    return words


def _named(form: MaskForm) -> str:
    match form:
        case Window(left, right):
            return f"window of {left} before and {right} after"
        case _:
            return type(form).__name__.lower()


def _leaves(problem: Problem, layout: Layout) -> list[Tensor]:
    """The provider's own q, k and v: copies in its layout, made once."""
    wanted = problem.do is not None
    return [layout.enter(x.detach()).requires_grad_(wanted) for x in (problem.q, problem.k, problem.v)]


def _first(result: Any) -> Tensor:
    """o of a function that returns it alone or with others, as its versions do."""
    o: Tensor = result[0] if isinstance(result, tuple) else result
    return o
