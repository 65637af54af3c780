"""Gradients over reordered queries and keys are those of dense attention, in every form of the score, for any mask and order."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import oracles
import pytest
import torch
from grid_masks import disc, disc_cells
from hopper_backward_cases import Case, exact_gradients, inputs_of
from oracles_attention import BoolArray, descriptor_of, scattered

from compilemask.attention import attention, gradients, reordered_tensors
from compilemask.attention.reordered_tensors import routes, upload_order
from compilemask.attention.triton import RowTerms, copy_rows, reorder_terms
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import BackwardChoice, BackwardCosts, GridStructure, PatchedGrid, reorder

IMAGE = disc_cells(13, 11, 20, 4)
GRIDS = (PatchedGrid(GridStructure(13, (11, 20)), (4, 8)),)


def holes(cells: BoolArray) -> BoolArray:
    """The same, with queries that see no key and keys that no query sees, some of them side by side."""
    cells = cells.copy()
    cells[[0, 30, 31, 150]] = False
    cells[:, [5, 77, 78, len(cells) - 1]] = False
    return cells


CASES = (
    Case("image", IMAGE, num_q_heads=1, num_kv_heads=1, dtype=torch.bfloat16),
    Case("holes", holes(IMAGE), num_kv_heads=1, sinks=True, dlse=True, hidden_nan=True),
    Case("softcap", holes(IMAGE), num_q_heads=1, num_kv_heads=1, score={"softcap": 2.0}, spread=3.0, hidden_nan=True),
    Case("silu", IMAGE, num_q_heads=1, num_kv_heads=1, score={"activation": "silu", "softcap": 4.0, "norm": 9.0}),
    Case("scattered", scattered(150, 150, seed=1), batch=2, num_kv_heads=1, hidden_nan=True),
    Case("one token", np.ones((1, 1), bool)),
    Case("nothing", np.zeros((140, 140), bool), sinks=True, dlse=True, hidden_nan=True),
    Case("other sizes", holes(IMAGE), v_head_dim=24),
)


def always_reordered(mask: MaskDescriptor, costs: BackwardCosts, head_dim: int) -> BackwardChoice:
    return BackwardChoice(reorder(mask, GRIDS, GRIDS), GRIDS, 2.0, 1.0, "asked for")


@pytest.fixture
def _reordered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reordered_tensors, "choose_backward", always_reordered)
    routes.clear()
    yield
    routes.clear()


@pytest.mark.usefixtures("_reordered")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reordered_gradients_are_those_of_dense_attention(case: Case, device: str) -> None:
    dtype = case.dtype if case.name == "image" else torch.float16
    case = dataclasses.replace(case, dtype=dtype, head_dim=16)
    given = inputs_of(case, device)
    names = ("q", "k", "v", "o", "lse", "do", "dlse")
    mask = descriptor_of(case.visible)
    assert gradients.route(given["q"], given["k"], given["v"], mask).reason == "asked for"
    found = gradients.gradients(
        *(given[name] for name in names), mask, case.options, given["sinks"], (True, True, True, case.sinks)
    )
    tolerance = {torch.bfloat16: 1e-2, torch.float16: 2e-3}[dtype]
    for got, right in zip(found, exact_gradients(case, given), strict=True):
        assert (got is None) == (right is None)
        if got is not None:
            assert got.dtype == dtype or got.dim() == 1
            assert (got.double() - right).norm() <= tolerance * right.norm() + 1e-5


@pytest.mark.usefixtures("_reordered")
def test_what_is_not_wanted_is_not_made_and_equal_inputs_give_equal_bits(device: str) -> None:
    case = Case("holes", holes(IMAGE), dtype=torch.float16, head_dim=16)
    given = inputs_of(case, device)
    inputs = (
        *(given[name] for name in ("q", "k", "v", "o", "lse", "do", "dlse")),
        descriptor_of(case.visible),
        case.options,
    )
    everything = gradients.gradients(*inputs)
    queries = gradients.gradients(*inputs, None, (True, False, False, False))
    keys = gradients.gradients(*inputs, None, (False, True, True, False))
    assert queries[1] is queries[2] is keys[0] is None
    for part in (queries, keys):
        assert all(x is None or torch.equal(x, whole) for x, whole in zip(part, everything, strict=True))


@pytest.mark.usefixtures("_reordered")
def test_attention_trains_through_the_order(device: str) -> None:
    mask = descriptor_of(IMAGE)
    leaves = [torch.randn(1, 2, len(IMAGE), 16, device=device, dtype=torch.float16).requires_grad_() for _ in range(3)]
    o = attention(*leaves, mask, impl="triton")
    do = torch.randn_like(o)
    got = torch.autograd.grad(o, leaves, do)
    exact = [x.detach().float().requires_grad_() for x in leaves]
    right = torch.autograd.grad(attention(*exact, mask, impl="reference"), exact, do.float())
    assert all((a.float() - b).norm() <= 2e-3 * b.norm() for a, b in zip(got, right, strict=True))


def test_a_large_disc_is_reordered_without_being_asked(device: str) -> None:
    mask = disc(128, 64, 128, 8)
    q = torch.zeros(1, 1, mask.q_len, 128, dtype=torch.bfloat16, device=device)
    found = gradients.route(q, q, q, mask)
    assert found.order is not None
    assert "ms predicted for row tiles" in found.reason
    assert gradients.route(q, q, q, mask) is found


def test_who_keeps_row_tiles_is_told_why(device: str) -> None:
    mask = disc(128, 64, 128, 8)
    q = torch.zeros(1, 1, mask.q_len, 128, device=device)
    assert gradients.route(q, q, q, mask).reason == "row tiles: float32"
    half = q.half()
    batch = MaskBatch.of([[mask]])
    assert gradients.route(half, half, half, batch).reason.startswith("row tiles: several masks share a launch")
    causal = descriptor_of(oracles.causal(64))
    small = half[:, :, :64]
    assert gradients.route(small, small, small, causal).reason.startswith("row tiles: a query sees 1.0 intervals")


@pytest.mark.parametrize("scale", [None, 0.25])
def test_rows_are_copied_in_the_order_asked_for(scale: float | None, device: str) -> None:
    x = torch.randn(2, 3, 24, 50, device=device).transpose(2, 3)  # rows of another stride
    index = torch.tensor([7, -1, 0, 49, 7, -1, *range(40)], dtype=torch.int32, device=device)
    got = copy_rows(x, index, scale=scale, dtype=torch.float16)
    right = x[:, :, index.clamp(min=0).long()] * (scale or 1.0)
    right[:, :, index < 0] = 0
    assert got.is_contiguous()
    assert torch.equal(got, right.half())


@pytest.mark.parametrize("copies", [False, True])
def test_terms_of_slots_without_query_hide_them(copies: bool, device: str) -> None:
    given = RowTerms(torch.randn(1, 2, 3, 60, device=device), torch.randn(1, 2, 3, 60, device=device))
    index = torch.tensor([3, -1, 0, 49, 5, -1, 59], dtype=torch.int32, device=device)
    got = reorder_terms(given, index, 32, copies=copies)
    assert got.lse.shape == got.delta.shape == (4 if copies else 1, 2, 3, 44)
    for copy in range(len(got.lse)):
        for found, before, beyond in ((got.lse, given.lse, math.inf), (got.delta, given.delta, 0.0)):
            right = before.new_full((2, 3, 44 + copy), beyond)
            held = torch.nonzero(index >= 0).ravel()
            right[:, :, held] = before[0][:, :, index[held].long()]
            assert torch.equal(found[copy, ..., : 44 - copy], right[..., copy:44])


def test_tokens_that_the_mask_hides_are_not_read(device: str) -> None:
    cells = holes(IMAGE)
    mask = descriptor_of(cells)
    order = upload_order(reorder(mask, GRIDS, GRIDS), mask, torch.device(device))
    for tokens, used in ((order.q_tokens, cells.any(1)), (order.k_tokens, cells.any(0))):
        held = tokens[tokens >= 0].cpu().numpy()
        assert sorted(held.tolist()) == np.flatnonzero(used).tolist()
    assert order.some_keys is not None
    assert np.array_equal(order.some_keys.cpu().numpy(), cells.any(1))
