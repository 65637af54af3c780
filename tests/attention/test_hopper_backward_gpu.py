"""Gradients of impl hopper against dense attention in float64, on a Hopper GPU: masks, sizes, options, layouts, repeats."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hopper_backward_cases import (
    ALLOWED,
    PLAIN,
    PRESETS,
    VARIANTS,
    Case,
    allowed_errors,
    differences,
    exact_gradients,
    inputs_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_attention import causal, descriptor_of, scattered
from torch import Tensor

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("needs a GPU of compute capability 9.0", allow_module_level=True)

from compilemask.attention import impls
from compilemask.attention.hopper import backward_launch as launch
from compilemask.attention.hopper.gradients import gradients
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch

pytestmark = pytest.mark.gpu
FORMS = pytest.mark.parametrize("form", ["deterministic", "fused"])
SIZES = pytest.mark.parametrize("head_dim", [64, 128])
GROUPS = Case("groups", causal(300, 300), batch=2, num_q_heads=8, num_kv_heads=2)
Inputs = dict[str, Tensor | None]


def run(
    case: Case, form: str, given: Inputs, mask: object = None, wanted: tuple[bool, ...] = (True,) * 4
) -> list[Tensor]:
    """dq, dk, dv and dsinks where there are any, in memory that held NaN before."""
    torch.use_deterministic_algorithms(form == "deterministic")
    # Without deterministic algorithms fresh memory is what was freed last.
    sizes = [given[name].shape for name in ("q", "k", "v")]
    del_me = [torch.full(s, torch.nan, dtype=d, device="cuda") for s in sizes for d in (case.dtype, torch.float32)]
    del del_me
    order = ("q", "k", "v", "o", "lse", "do", "dlse")
    mask = mask or descriptor_of(case.visible)
    found = gradients(*(given[name] for name in order), mask, case.options, given["sinks"], wanted)
    return [x for x in found if x is not None]


def check(case: Case, form: str, given: Inputs | None = None, mask: object = None) -> list[Tensor]:
    """What run finds, after comparing it: as a whole, and, where all heads have the case's mask, in its worst element."""
    given = given or inputs_of(case, "cuda")
    found = run(case, form, given, mask)
    wanted = [x for x in exact_gradients(case, given, mask) if x is not None]
    for got, right in zip(found, wanted, strict=True):
        if right.ndim == 1:
            assert torch.allclose(got.double(), right, rtol=1e-2, atol=1e-2 * right.abs().max().item())
            continue
        error, where = differences(got, right)
        assert error < ALLOWED[case.dtype], where
    if mask is None:
        for got, right, allowed in zip(found, wanted, allowed_errors(case, given), strict=True):
            assert (got.double() - right).abs().max().item() <= allowed
    return found


@FORMS
@SIZES
@pytest.mark.parametrize("case", [*PLAIN, *PRESETS, *VARIANTS], ids=lambda case: case.name)
def test_gradients_equal_those_of_dense_attention(case: Case, head_dim: int, form: str) -> None:
    check(case if case.v_head_dim else dataclasses.replace(case, head_dim=head_dim), form)


@FORMS
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(1, 330), st.integers(1, 330), st.integers(0, 1 << 16), st.sampled_from([(1, 1), (4, 2), (3, 1)]),
    st.sampled_from([64, 128]), st.sampled_from([torch.bfloat16, torch.float16]), st.booleans(),
)  # fmt: skip
def test_random_masks_and_lengths(
    form: str, q_len: int, kv_len: int, seed: int, heads: tuple[int, int], head_dim: int, dtype: torch.dtype, dlse: bool
) -> None:
    visible = scattered(q_len, kv_len, seed)
    visible[0, 0] = True
    check(Case("random", visible, 1, *heads, head_dim, dtype=dtype, dlse=dlse, hidden_nan=True), form)


@FORMS
def test_keys_that_nobody_sees_and_rows_that_see_nothing_get_zeros(form: str) -> None:
    case = Case("holes", scattered(300, 350, seed=9), hidden_nan=True)
    dq, dk, dv = check(case, form)
    rows, keys = (torch.from_numpy(~case.visible.any(axis)).cuda() for axis in (1, 0))
    assert rows.any() and keys.any()
    assert not dq[:, :, rows].any() and not dk[:, :, keys].any() and not dv[:, :, keys].any()


@SIZES
def test_the_deterministic_form_gives_equal_bits(head_dim: int) -> None:
    case = dataclasses.replace(PRESETS[2], head_dim=head_dim, batch=2, num_q_heads=8, num_kv_heads=4)
    given = inputs_of(case, "cuda")
    first = check(case, "deterministic", given)
    for _ in range(100):
        assert all(torch.equal(a, b) for a, b in zip(first, run(case, "deterministic", given), strict=True))


def test_the_fused_form_stays_right_when_repeated() -> None:
    given = inputs_of(GROUPS, "cuda")
    wanted = exact_gradients(GROUPS, given)
    for _ in range(100):
        for got, right in zip(run(GROUPS, "fused", given), wanted, strict=False):
            assert differences(got, right)[0] < ALLOWED[GROUPS.dtype]


@FORMS
def test_any_strides_and_any_address(form: str) -> None:
    given = inputs_of(GROUPS, "cuda")
    right = run(GROUPS, "deterministic", given)
    moved = dict(given)
    for name in ("q", "k", "v", "do"):
        x = given[name]
        room = torch.empty(x.numel() + 1, dtype=x.dtype, device="cuda")[1:].view(x.shape)
        moved[name] = room.copy_(x) if name == "k" else x.transpose(1, 2).contiguous().transpose(1, 2)
    for got, wanted in zip(run(GROUPS, form, moved), right, strict=True):
        assert torch.equal(got, wanted) or (form == "fused" and differences(got, wanted.double())[0] < 5e-3)


@pytest.mark.parametrize("heads_per_program", [1, 2, 4])
def test_a_group_may_be_summed_in_parts(heads_per_program: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_heads_per_program", lambda *_sizes: heads_per_program)
    for form in ("deterministic", "fused"):
        check(GROUPS, form)


@FORMS
def test_items_and_heads_with_masks_of_their_own(form: str) -> None:
    masks = [descriptor_of(scattered(300, 290, seed)) for seed in range(3)]
    batch = MaskBatch.of([[masks[0], masks[1], masks[1], masks[2]], [masks[2], masks[2], masks[0], masks[1]]])
    case = Case("batch", np.ones((300, 290), bool), 2, 4, 2)
    given = inputs_of(case, "cuda")
    given["o"], given["lse"] = impls.forward(
        "torch", *(given[x] for x in ("q", "k", "v", "sinks")), batch, case.options
    )
    check(case, form, given, batch)


@pytest.mark.parametrize("wanted", [(True, False, False, False), (False, True, True, False)])
def test_only_what_is_wanted_is_made(wanted: tuple[bool, ...]) -> None:
    given = inputs_of(GROUPS, "cuda")
    all_of_them = run(GROUPS, "deterministic", given)
    some = run(GROUPS, "fused", given, wanted=wanted)
    chosen = [x for x, keep in zip(all_of_them, wanted, strict=False) if keep]
    assert all(torch.equal(a, b) for a, b in zip(some, chosen, strict=True))


def test_a_program_beyond_the_last_key_adds_nothing_to_dq() -> None:
    """A key that does not exist has a score of 0: where lse is very low its weight is infinite."""
    case = Case("low scores", np.ones((64, 130), bool), score={"sm_scale": 1.0})
    given = inputs_of(case, "cuda")
    given["q"] = torch.full_like(given["q"], 4.0)
    given["k"] = torch.full_like(given["k"], -1.0)
    given["o"], given["lse"] = impls.forward(
        "torch", *(given[x] for x in ("q", "k", "v", "sinks")), descriptor_of(case.visible), ScoreOptions(1.0)
    )
    assert given["lse"].max() < -400
    check(case, "fused", given)
