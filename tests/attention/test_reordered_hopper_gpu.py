"""Gradients of impl hopper over reordered queries and keys, on a Hopper GPU, against dense attention in float64."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import torch
from grid_masks import disc_cells
from hopper_backward_cases import ALLOWED, Case, exact_gradients, inputs_of
from oracles_attention import BoolArray, descriptor_of

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("needs a GPU of compute capability 9.0", allow_module_level=True)

from compilemask.attention import reordered_tensors
from compilemask.attention.hopper import gradients as hopper
from compilemask.attention.reordered_tensors import routes
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import BackwardChoice, BackwardCosts, GridStructure, PatchedGrid, reorder

pytestmark = pytest.mark.gpu
GRIDS = (PatchedGrid(GridStructure(45, (22, 40)), (8, 8)),)
IMAGE = disc_cells(45, 22, 40, 6)
FORMS = pytest.mark.parametrize("form", ["deterministic", "fused"])


def holes() -> BoolArray:
    """With queries that see no key and keys that no query sees."""
    cells = IMAGE.copy()
    cells[[0, 30, 31, 450]] = False
    cells[:, [5, 77, 78, len(cells) - 1]] = False
    return cells


HOLES = holes()
CASES = (
    Case("image", IMAGE),
    Case("groups", HOLES, batch=2, num_q_heads=4, num_kv_heads=2, sinks=True, dlse=True, hidden_nan=True),
    Case("softcap", HOLES, score={"softcap": 5.0}, spread=3.0, hidden_nan=True),
    Case("silu", HOLES, score={"activation": "silu", "norm": 400.0}, hidden_nan=True),
    Case("fp16", IMAGE, dtype=torch.float16),
)


@pytest.fixture(autouse=True)
def _always_reordered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def choice(mask: MaskDescriptor, costs: BackwardCosts, head_dim: int) -> BackwardChoice:
        return BackwardChoice(reorder(mask, GRIDS, GRIDS), GRIDS, 2.0, 1.0, "asked for")

    monkeypatch.setattr(reordered_tensors, "choose_backward", choice)
    routes.clear()
    yield
    routes.clear()


@FORMS
@pytest.mark.parametrize("head_dim", [64, 128])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reordered_gradients_are_those_of_dense_attention(case: Case, head_dim: int, form: str) -> None:
    torch.use_deterministic_algorithms(form == "deterministic")
    case = dataclasses.replace(case, head_dim=head_dim)
    given = inputs_of(case, "cuda")
    inputs = [given[name] for name in ("q", "k", "v", "o", "lse", "do", "dlse")]
    mask = descriptor_of(case.visible)

    def run() -> tuple[torch.Tensor | None, ...]:
        return hopper.gradients(
            *inputs, mask, case.options, given["sinks"], (True, True, True, case.sinks),
            deterministic=form == "deterministic",
        )  # fmt: skip

    found = run()
    for got, right in zip(found, exact_gradients(case, given), strict=True):
        assert (got is None) == (right is None)
        if got is not None:
            assert (got.double() - right).norm() <= ALLOWED[case.dtype] * right.norm()
    if form == "deterministic":
        again = [run() for _ in range(10)]
        assert all(a is b or torch.equal(a, b) for one in again for a, b in zip(found, one, strict=True))
