"""Peers compute the mask that they are given, or say that they cannot; forms are read off a descriptor."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
import torch
from oracles_attention import (
    BoolArray,
    causal,
    descriptor_of,
    history_and_targets,
    neighbourhood,
    random_qkv,
    scattered,
)

from compilemask.bench import dense_peers, flash_peers, flex_peers
from compilemask.bench.case import verify_built
from compilemask.bench.catalog import PROVIDER_NAMES, entry_named
from compilemask.bench.impls import build_impl
from compilemask.bench.mask_forms import Causal, Documents, Full, Window, recognise
from compilemask.bench.problem import Built, CannotExpressError, Problem
from compilemask.bench.providers import providers
from compilemask.bench.verify import dense

CPU = torch.device("cpu")


def window(length: int, left: int, right: int) -> BoolArray:
    q, k = np.arange(length)[:, None], np.arange(length)
    return (q - k <= left) & (k - q <= right)


def documents(lengths: tuple[int, ...], is_causal: bool) -> BoolArray:
    number = np.repeat(np.arange(len(lengths)), lengths)
    same = number[:, None] == number
    return same & causal(len(number), len(number)) if is_causal else same


def problem_of(visible: BoolArray, *, group: int = 2, forward_only: bool = False) -> Problem:
    q, k, v = random_qkv(visible, batch=2, num_q_heads=2 * group, num_kv_heads=2, head_dim=16)
    if forward_only:
        return Problem(q, k, v, descriptor_of(visible), 0.25)
    do = torch.randn(q.shape, generator=torch.Generator().manual_seed(3))
    return Problem(q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), descriptor_of(visible), 0.25, do)


FORMS = [
    (np.ones((9, 12), bool), Full()),
    (causal(30, 30), Causal()),
    (window(30, 6, 0), Window(6, 0)),
    (window(30, 2, 5), Window(2, 5)),
    (window(30, 29, 3), Window(29, 3)),
    (documents((4, 1, 25), True), Documents((4, 1, 25), causal=True)),
    (documents((4, 1, 25), False), Documents((4, 1, 25), causal=False)),
    (causal(20, 30), None),
    (history_and_targets(30, 8), None),
    (neighbourhood(5, 6, 3), None),
    (scattered(30, 30, seed=2), None),
    (window(30, 6, 0) & ~np.eye(30, k=-6, dtype=bool) | np.eye(30, k=-6, dtype=bool) * (np.arange(30) != 17), None),
    (documents((10, 20), True) | (np.arange(30)[:, None] == 29), None),
]


@pytest.mark.parametrize(
    ("visible", "form"), FORMS, ids=lambda value: "" if isinstance(value, np.ndarray) else str(value)
)
def test_a_mask_has_the_form_that_its_cells_have(visible: BoolArray, form: object) -> None:
    assert recognise(descriptor_of(visible)) == form


@pytest.mark.parametrize(
    ("visible", "form"), FORMS, ids=lambda value: "" if isinstance(value, np.ndarray) else str(value)
)
def test_mask_mods_made_from_a_descriptor_hold_its_cells(visible: BoolArray, form: object) -> None:
    mask = descriptor_of(visible)
    mod, words = flex_peers.mask_mod_of(mask, CPU)
    q, k = torch.arange(mask.q_len)[:, None], torch.arange(mask.kv_len)[None]
    assert torch.equal(mod(0, 0, q, k).expand(mask.q_len, mask.kv_len), torch.from_numpy(visible))
    assert torch.equal(dense_peers.dense_mask(mask, CPU), torch.from_numpy(visible))
    assert ("closed-form" in words) == isinstance(form, Full | Causal | Window)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("visible", [history_and_targets(40, 10), documents((10, 30), True), neighbourhood(5, 8, 3)])
def test_flex_attention_under_a_descriptor_is_right_where_it_runs_uncompiled(
    visible: BoolArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    caches = (flex_peers._compiled_flex, flex_peers._compiled_block_mask)
    for cached in caches:
        cached.cache_clear()
    # FlexAttention has no backward on the CPU.
    problem = problem_of(visible, forward_only=True)
    built = flex_peers.flex(problem)
    for cached in caches:
        cached.cache_clear()
    assert verify_built(built, problem).passed
    assert "cached BlockMask of 128 x 128" in built.detail
    assert built.first_call_ms is not None
    assert built.plan_cold_ms is not None
    assert built.plan_ms is not None


def attention_by_lengths(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ends: torch.Tensor, is_causal: bool, sm_scale: float
) -> torch.Tensor:
    """[total, heads, dim], document after document."""
    parts = []
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        visible = torch.ones(stop - start, stop - start, dtype=torch.bool)
        own = [x[None, start:stop].transpose(1, 2) for x in (q, k, v)]
        parts.append(dense(*own, visible.tril() if is_causal else visible, sm_scale)[0][0].transpose(0, 1))
    return torch.cat(parts)


def fake_fa4(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A stand-in with the interface of flash_attn.cute, in plain operations; returns what it was called with."""
    calls: list[dict[str, Any]] = []

    def flash_attn_func(q, k, v, *, softmax_scale, causal=False, window_size=(None, None)):  # type: ignore[no-untyped-def]
        calls.append({"shape": tuple(q.shape), "causal": causal, "window_size": window_size})
        length = q.shape[1]
        left, right = (length if side is None else side for side in window_size)
        visible = torch.from_numpy(window(length, left, 0 if causal else right))
        o, lse = dense(*(x.transpose(1, 2) for x in (q, k, v)), visible, softmax_scale)
        return o.transpose(1, 2), lse

    def flash_attn_varlen_func(  # type: ignore[no-untyped-def]
        q, k, v, *, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal
    ):
        calls.append({"shape": tuple(q.shape), "max": (max_seqlen_q, max_seqlen_k), "ends": cu_seqlens_q.tolist()})
        assert cu_seqlens_k.dtype == torch.int32
        return attention_by_lengths(q, k, v, cu_seqlens_q, causal, softmax_scale), None

    module = types.ModuleType("flash_attn.cute")
    module.flash_attn_func, module.flash_attn_varlen_func = flash_attn_func, flash_attn_varlen_func  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flash_attn", types.ModuleType("flash_attn"))
    monkeypatch.setitem(sys.modules, "flash_attn.cute", module)
    return calls


@pytest.mark.parametrize(
    "visible",
    [
        np.ones((20, 20), bool),
        causal(20, 20),
        window(20, 5, 0),
        window(20, 2, 3),
        documents((7, 13), True),
        documents((7, 13), False),
    ],
)
def test_fa4_is_asked_for_the_mask_s_own_cells_in_its_own_layout(
    visible: BoolArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_fa4(monkeypatch)
    problem = problem_of(visible)
    check = verify_built(flash_peers.fa4(problem), problem)
    assert check.passed, check.reason
    assert [error.quantity for error in check.errors] == ["o", "dq", "dk", "dv"]
    if "ends" in calls[0]:
        assert calls[0] == {"shape": (40, 4, 16), "max": (13, 13), "ends": [0, 7, 20, 27, 40]}
    else:
        assert calls[0]["shape"] == (2, 20, 4, 16)


def test_torch_varlen_is_asked_for_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def varlen_attn(q, k, v, ends, ends_k, max_q, max_k, *, scale=None, window_size=(-1, -1), enable_gqa=False):  # type: ignore[no-untyped-def]
        assert (max_q, max_k, enable_gqa) == (13, 13, True)
        assert torch.equal(ends, ends_k)
        return attention_by_lengths(q, k, v, ends, window_size == (-1, 0), scale)

    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", varlen_attn)
    for is_causal in (True, False):
        problem = problem_of(documents((7, 13), is_causal))
        assert verify_built(flash_peers.varlen(problem), problem).passed


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (flash_peers.varlen, "torch's varlen attention takes packed documents"),
        (dense_peers.sdpa_flash, "takes no mask, and this one is neither causal nor full"),
        (flash_peers.fa4, "takes causal, full, sliding-window and document masks"),
    ],
)
def test_a_peer_without_words_for_a_mask_says_so(build: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_fa4(monkeypatch)
    with pytest.raises(CannotExpressError, match=said):
        build(problem_of(neighbourhood(5, 8, 3)))


def test_the_backward_alone_is_timed_without_its_forward() -> None:
    problem = problem_of(causal(20, 20), group=1)
    forwards = 0

    def run() -> tuple[torch.Tensor, None]:
        nonlocal forwards
        forwards += 1
        visible = torch.from_numpy(causal(20, 20))
        return dense(problem.q, problem.k, problem.v, visible, 0.25)[0], None

    built = Built(run, (problem.q, problem.k, problem.v), "counted")
    backward = built.timed_call("backward", problem.do)
    first, second = backward(), backward()
    assert forwards == 1
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))  # type: ignore[arg-type, call-overload]
    built.timed_call("forward+backward", problem.do)()
    assert forwards == 2


def test_the_catalog_names_what_can_be_measured() -> None:
    assert tuple(provider.name for provider in providers()) == PROVIDER_NAMES
    for provider in providers():
        usable, reason = provider.usable()
        assert usable == (reason is None)
    with pytest.raises(
        ValueError,
        match=r"no provider is named 'flex_atention'; did you mean 'flex_attention'\? there are triton, hopper, hopper_deter",
    ):
        entry_named("flex_atention")


@pytest.mark.parametrize("visible", [causal(70, 70), neighbourhood(8, 8, 3)])
def test_our_kernels_are_planned_afresh_and_run_in_the_interpreter(visible: BoolArray) -> None:
    problem = problem_of(visible)
    if torch.cuda.is_available():
        pytest.skip("kernels are compiled here, see test_on_gpu.py")
    built = build_impl(problem, "triton")
    check = verify_built(built, problem)
    assert (check.passed, check.reason) == (True, None)
    assert [error.quantity for error in check.errors] == ["o", "lse", "dq", "dk", "dv"]
    assert "tiles" in built.detail
    assert built.plan_cold_ms is not None
    assert built.plan_ms is not None
    assert built.plan_ms > 0
    assert built.remake is not None
    assert built.remake() == built.detail
    assert verify_built(built, problem).passed
