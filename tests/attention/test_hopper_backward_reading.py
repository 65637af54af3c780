"""The Hopper backward reads its plans and row terms rightly: its steps in NumPy give the gradients of dense attention."""

from __future__ import annotations

import dataclasses

import numpy as np
import oracles
import pytest
import torch
from hopper_backward_cases import Case, edges, exact_gradients, inputs_of
from hopper_backward_mirror import Launch, doubles, run
from oracles_attention import descriptor_of, scattered

from compilemask.attention import attention, calls, impls, ops
from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.hopper import backward_launch as launch
from compilemask.attention.hopper import gradients as hopper
from compilemask.attention.hopper.backward_configs import FUSED, KEY_ROWS
from compilemask.attention.mask_tensors import cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import tiles_of
from compilemask.attention.triton import RowTerms
from compilemask.descriptor import MaskBatch

FORMS = ("deterministic", "fused")
GROUPS = {"batch": 2, "num_q_heads": 4, "num_kv_heads": 2}
CASES = (
    Case("edges", edges(140, 203), num_q_heads=1, num_kv_heads=1),
    Case("one row", np.ones((1, 150), bool)),
    Case("one key", np.ones((150, 1), bool), dlse=True),
    Case("groups", oracles.shared_prompt(60, [61, 20, 9], padding=7), **GROUPS, sinks=True, dlse=True, hidden_nan=True),
    Case("gaps", scattered(150, 135, seed=1), hidden_nan=True, score={"softcap": 2.0}, spread=3.0),
    Case("silu", oracles.hstu(5, 160, 30), score={"activation": "silu", "softcap": 4.0, "norm": 9.0}),
)


@pytest.fixture
def mirrored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launches done by the mirror, the row terms by torch."""

    def query_gradient(q, k, v, do, terms, queries, options, config):  # type: ignore[no-untyped-def]
        assert queries.plan.block_n == config.block_n
        launched = Launch(doubles(q, do), doubles(k, v), terms, queries, options, False, False, 1)
        return torch.from_numpy(run(launched)[0])

    def key_rows(q, k, v, do, terms, keys, options, config, fused):  # type: ignore[no-untyped-def]
        assert keys.plan.block_n == config.block_n
        own_masks = isinstance(keys, BatchTiles) and keys.index.shape[1] > 1
        visited = 1 if own_masks or q.shape[0] == 1 else q.shape[1] // k.shape[1]
        launched = Launch(doubles(k, v), doubles(q, do), terms, keys, options, True, fused, visited)
        dk, dv, dq = run(launched)
        parts = q.shape[1] // k.shape[1] // visited
        dk, dv = (torch.from_numpy(x.reshape(x.shape[0], -1, parts, *x.shape[2:]).sum(2)) for x in (dk, dv))
        return torch.from_numpy(dq.reshape(q.shape)) * options.sm_scale, dk, dv

    monkeypatch.setattr(hopper, "query_gradient", query_gradient)
    monkeypatch.setattr(hopper, "key_gradients", lambda *args: key_rows(*args, False)[1:])
    monkeypatch.setattr(hopper, "all_gradients", lambda *args: key_rows(*args, True))
    monkeypatch.setattr(hopper, "row_terms", row_terms)


def row_terms(o, lse, do, dlse, config):  # type: ignore[no-untyped-def]
    """triton.row_terms in float64."""
    assert config.tma
    num_terms = ((o.shape[2] + config.block_n) // 4 + 2) * 4
    empty = torch.isneginf(lse)
    delta = torch.where(empty, 0.0, (o * do).sum(-1) - (0 if dlse is None else dlse))
    found = []
    for x, beyond in ((torch.where(empty, torch.inf, lse / np.log(2)), torch.inf), (delta, 0.0)):
        copies = x.new_full((4, *x.shape[:2], num_terms), beyond)
        for copy in range(4):
            copies[copy, ..., : max(0, x.shape[2] - copy)] = x[..., copy:]
        found.append(copies)
    return RowTerms(*found)


def small(case: Case) -> tuple[Case, dict[str, torch.Tensor | None]]:
    """The case with a head_dim of 48 in float64."""
    case = dataclasses.replace(case, dtype=torch.float64, head_dim=48)
    return case, inputs_of(case, "cpu")


def gradients(case: Case, given: dict[str, torch.Tensor | None], form: str, mask: object) -> tuple[object, ...]:
    torch.use_deterministic_algorithms(form == "deterministic")
    order = ("q", "k", "v", "o", "lse", "do", "dlse")
    asked = (True, True, True, case.sinks)
    return hopper.gradients(
        *(given[name] for name in order), mask, case.options, given["sinks"], asked, deterministic=form == "deterministic"
    )  # fmt: skip


def check(found: tuple[object, ...], wanted: tuple[object, ...]) -> None:
    for got, right in zip(found, wanted, strict=True):
        assert (got is None) == (right is None)
        if isinstance(got, torch.Tensor):
            assert torch.allclose(got.double(), right, rtol=1e-5, atol=1e-6 * max(1.0, right.abs().max().item()))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_cell_is_counted_once_with_its_own_terms(case: Case, form: str, mirrored: None) -> None:
    case, given = small(case)
    check(gradients(case, given, form, descriptor_of(case.visible)), exact_gradients(case, given))


@pytest.mark.parametrize("form", FORMS)
def test_items_and_heads_with_masks_of_their_own(form: str, mirrored: None) -> None:
    masks = [descriptor_of(scattered(140, 130, seed)) for seed in range(4)]
    batch = MaskBatch.of([[masks[0], masks[1], masks[1], masks[2]], [masks[3], masks[3], masks[0], masks[1]]])
    case, given = small(Case("batch", np.ones((140, 130), bool), **GROUPS))
    given["o"], given["lse"] = impls.forward(
        "torch", *(given[x] for x in ("q", "k", "v", "sinks")), batch, case.options
    )
    check(gradients(case, given, form, batch), exact_gradients(case, given, batch))


@pytest.mark.parametrize("form", FORMS)
def test_a_backward_that_was_planned_plans_no_more(form: str, mirrored: None) -> None:
    torch.use_deterministic_algorithms(form == "deterministic")
    case, given = small(Case("causal", oracles.causal(140)))
    mask = descriptor_of(case.visible)
    cache.clear()
    words = hopper.plan(mask, 64, torch.device("cpu"), deterministic=form == "deterministic")
    planned = len(cache)
    gradients(case, given, form, mask)
    assert len(cache) == planned == {"deterministic": 2, "fused": 1}[form]
    assert ("in one pass" in words) == (form == "fused")


@pytest.mark.parametrize("by_operators", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
def test_what_the_caller_asks_for_reaches_the_gradients(
    deterministic: bool, by_operators: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the operators and through them, with the forward done by another implementation."""
    asked = []

    def gradients(q, k, v, o, lse, do, dlse, mask, options, sinks, wanted, *, deterministic):  # type: ignore[no-untyped-def]
        asked.append(deterministic)
        return do, k * 2, v * 3, None

    monkeypatch.setattr(hopper, "gradients", gradients)
    if by_operators:
        monkeypatch.setattr(calls, "ordinary", lambda *_tensors: False)
    q, k, v = (torch.randn(1, 2, 20, 64, requires_grad=True) for _ in range(3))
    o = attention(q, k, v, descriptor_of(oracles.causal(20)), impl="torch", deterministic=deterministic)
    if by_operators:
        monkeypatch.setattr(ops, "resolve", lambda *_call: "hopper")
    else:
        monkeypatch.setattr(o.grad_fn.call, "name", "hopper")
    o.sum().backward()
    assert asked == [deterministic]
    assert torch.equal(q.grad, torch.ones_like(q)) and torch.equal(k.grad, 2 * k) and torch.equal(v.grad, 3 * v)


def test_a_launch_that_repeats_is_made_once_and_reads_the_tensors_of_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = []

    class Kernel:
        def __getitem__(self, grid: tuple[int, ...]) -> object:
            return lambda *args, **_options: launched.append((grid, args))

    monkeypatch.setattr(launch, "attention_backward_kernel", Kernel())
    config = KEY_ROWS[128]
    tiles = tiles_of(descriptor_of(oracles.causal(300)), 128, config.block_n, torch.device("cpu"), transposed=True)

    def call(batch: int) -> list[torch.Tensor]:
        q, do = torch.zeros(2, batch, 4, 300, 128, dtype=torch.bfloat16)
        k, v = torch.zeros(2, batch, 2, 300, 128, dtype=torch.bfloat16)
        terms = RowTerms(*torch.zeros(2, 4, batch, 4, 380))
        launch.key_gradients(q, k, v, do, terms, tiles, ScoreOptions(0.1), config)
        return [k, v, q, do, terms.lse, terms.delta]

    for batch, kept in ((1, 1), (1, 1), (3, 2), (1, 2)):
        given = call(batch)
        grid, args = launched[-1]
        assert grid == (3 * 2 * batch, 1, 1)
        assert all(box.base is x or box.base.data_ptr() == x.data_ptr() for box, x in zip(args, given, strict=False))
        assert len(tiles.launches) == kept


@pytest.mark.parametrize("dims", [(32, 32), (64, 128), (100, 100), (256, 256)])
def test_sizes_without_a_kernel_are_refused_in_words(dims: tuple[int, int]) -> None:
    q, k, v, o = (torch.zeros(1, 1, 8, dim, dtype=torch.bfloat16) for dim in (dims[0], dims[0], dims[1], dims[1]))
    mask = descriptor_of(np.ones((8, 8), bool))
    with pytest.raises(ValueError, match=f"no kernel for head_dim {dims[0]} and {dims[1]}; use impl='triton'"):
        hopper.gradients(q, k, v, o, q[..., 0].float(), o, None, mask, ScoreOptions(0.1))


def test_the_fused_form_refuses_tiles_in_pairs() -> None:
    config = dataclasses.replace(FUSED[128], pairs=True)
    tiles = tiles_of(descriptor_of(oracles.causal(300)), 128, config.block_n, torch.device("cpu"), transposed=True)
    q = torch.zeros(1, 2, 300, 128, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match=r"the fused backward takes its tiles one by one, .*pairs=True"):
        launch.all_gradients(q, q, q, q, RowTerms(*torch.zeros(2, 4, 1, 2, 380)), tiles, ScoreOptions(0.1), config)
