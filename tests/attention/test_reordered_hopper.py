"""The Hopper backward over reordered queries and keys: its steps in NumPy give the gradients of dense attention."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from grid_masks import disc, disc_cells
from hopper_backward_cases import Case, exact_gradients, inputs_of
from hopper_backward_mirror import Launch, doubles, run
from oracles_attention import BoolArray, descriptor_of, scattered

from compilemask.attention import reordered_tensors
from compilemask.attention.hopper import gradients as hopper
from compilemask.attention.hopper import reordered
from compilemask.attention.hopper.backward_configs import FUSED, KEY_ROWS, QUERY_ROWS
from compilemask.attention.reordered_tensors import routes
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import BackwardChoice, BackwardCosts, GridStructure, PatchedGrid, cuts_into, reorder

GRIDS = (PatchedGrid(GridStructure(13, (11, 20)), (4, 8)),)
FORMS = ("deterministic", "fused")


def holes(cells: BoolArray) -> BoolArray:
    """The same, with queries that see no key and keys that no query sees."""
    cells = cells.copy()
    cells[[0, 30, 31, 150]] = False
    cells[:, [5, 77, 78, len(cells) - 1]] = False
    return cells


IMAGE = disc_cells(13, 11, 20, 4)
CASES = (
    Case("image", IMAGE),
    Case("groups", holes(IMAGE), batch=2, num_q_heads=4, num_kv_heads=2, sinks=True, dlse=True, hidden_nan=True),
    Case("softcap", scattered(150, 150, seed=1), hidden_nan=True, score={"softcap": 2.0}, spread=3.0),
    Case("silu", IMAGE, score={"activation": "silu", "softcap": 4.0, "norm": 9.0}),
)


@pytest.fixture
def _mirrored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every mask reordered, the launches done by the mirror."""

    def choice(mask: MaskDescriptor, costs: BackwardCosts, head_dim: int) -> BackwardChoice:
        return BackwardChoice(reorder(mask, GRIDS, GRIDS), GRIDS, 2.0, 1.0, "asked for")

    def query_gradient(q, k, v, do, terms, queries, options, config):  # type: ignore[no-untyped-def]
        assert queries.plan.block_n == config.block_n
        launched = Launch(doubles(q, do), doubles(k, v), terms, queries, options, False, False, 1)
        return torch.from_numpy(run(launched)[0])

    def key_rows(q, k, v, do, terms, keys, options, config, finish=None):  # type: ignore[no-untyped-def]
        assert keys.plan.block_n == config.block_n
        group = q.shape[1] // k.shape[1]
        launched = Launch(doubles(k, v), doubles(q, do), terms, keys, options, True, finish is not None, group)
        dk, dv, dq = run(launched)
        if finish is None:
            return torch.from_numpy(dk), torch.from_numpy(dv)
        return finish(torch.from_numpy(dq.reshape(q.shape)), options.sm_scale, q.dtype), *map(
            torch.from_numpy, (dk, dv)
        )

    monkeypatch.setattr(reordered_tensors, "choose_backward", choice)
    monkeypatch.setattr(reordered, "query_gradient", query_gradient)
    monkeypatch.setattr(reordered, "key_gradients", key_rows)
    monkeypatch.setattr(reordered, "all_gradients", key_rows)
    routes.clear()
    yield
    routes.clear()


@pytest.mark.usefixtures("_mirrored")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_cell_is_counted_once_with_its_own_terms(case: Case, form: str) -> None:
    case = dataclasses.replace(case, dtype=torch.float64, head_dim=48)
    given = inputs_of(case, "cpu")
    torch.use_deterministic_algorithms(form == "deterministic")
    found = hopper.gradients(
        *(given[name] for name in ("q", "k", "v", "o", "lse", "do", "dlse")), descriptor_of(case.visible), case.options,
        given["sinks"], (True, True, True, case.sinks), deterministic=form == "deterministic",
    )  # fmt: skip
    for got, right in zip(found, exact_gradients(case, given), strict=True):
        assert (got is None) == (right is None)
        if got is not None:
            # Row terms and the scaling of dq are in float32.
            assert torch.allclose(got.double(), right, rtol=1e-5, atol=2e-6 * max(1.0, right.abs().max().item()))


def test_blocks_are_cut_into_the_tiles_of_every_form() -> None:
    configs = [config for table in (FUSED, KEY_ROWS, QUERY_ROWS) for config in table.values()]
    assert all(cuts_into(128, config.block_n) for config in configs)


def test_large_discs_are_reordered_and_the_reason_is_told() -> None:
    mask = disc(128, 64, 128, 8)
    q = torch.zeros(1, 1, mask.q_len, 128, dtype=torch.bfloat16)
    assert reordered.route(q, q, mask).order is not None
    assert hopper.plan(mask, 128, q.device).startswith("reordered: ")
    assert "row tiles" in reordered.route(q, q, descriptor_of(np.tri(40, dtype=bool))).reason
