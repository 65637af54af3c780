"""The judge: right outputs pass, wrong ones fail, and it says where."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import BoolArray, causal, dense_attention, descriptor_of, random_qkv, scattered, ulp

from compilemask.attention import attention
from compilemask.bench.errors import ulp as ulp_under_test
from compilemask.bench.problem import Problem
from compilemask.bench.verify import choose_rows, dense, verify_forward


def problem_of(visible: BoolArray, dtype: torch.dtype = torch.float32) -> Problem:
    q, k, v = random_qkv(visible, batch=2, num_q_heads=4, num_kv_heads=2, dtype=dtype)
    return Problem(q, k, v, descriptor_of(visible), 0.25)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("visible", [causal(40, 30), scattered(50, 60, seed=1)])
def test_right_outputs_pass_with_their_errors(visible: BoolArray, dtype: torch.dtype) -> None:
    problem = problem_of(visible, dtype)
    o, lse = attention(problem.q, problem.k, problem.v, problem.mask, sm_scale=0.25, return_lse=True)
    check = verify_forward(o, lse, problem)
    exact, exact_lse = dense_attention(problem.q, problem.k, problem.v, visible, 0.25)
    error = (o.double() - exact).abs()
    assert (check.passed, check.reason, check.rows_checked) == (True, None, len(visible))
    of_o, of_lse = check.errors
    assert (of_o.quantity, of_o.passed, of_o.nonfinite) == ("o", True, 0)
    assert of_o.max_error == pytest.approx(error.max().item(), abs=1e-12)
    assert of_o.mean_error == pytest.approx(error.mean().item(), abs=1e-12)
    assert of_o.worst_index is not None
    assert error[of_o.worst_index] == pytest.approx(of_o.max_error, abs=1e-12)
    assert of_o.tolerance == 2 * of_o.yardstick_error + ulp(dtype, exact.abs().max().item())
    finite = exact_lse.isfinite()
    assert of_lse.max_error == pytest.approx((lse.double() - exact_lse)[finite].abs().max().item(), abs=1e-12)
    assert len(of_lse.worst_index or ()) == 3


@pytest.mark.parametrize(
    ("where", "at", "value", "said"),
    [
        ("o", (1, 2, 7, 5), math.nan, "1 elements of o are NaN or infinite"),
        ("o", (1, 2, 7, 3), 99.0, "at [1, 2, 7, 3] exceeds"),
        ("lse", (0, 3, 39), -7.0, "at [0, 3, 39] exceeds"),
        ("lse", (0, 3, 39), math.nan, "1 elements of lse are NaN"),
        ("lse", (0, 0, 0), 0.0, "error of lse inf at [0, 0, 0] exceeds"),
    ],
)
def test_one_wrong_element_fails_and_is_named(where: str, at: tuple[int, ...], value: float, said: str) -> None:
    problem = problem_of(causal(40, 30))
    o, lse = attention(problem.q, problem.k, problem.v, problem.mask, sm_scale=0.25, return_lse=True)
    {"o": o, "lse": lse}[where][at] = value
    check = verify_forward(o, lse, problem)
    assert not check.passed
    assert said in str(check.reason)


def test_a_mask_shifted_by_one_key_fails() -> None:
    problem = problem_of(causal(60, 60), torch.bfloat16)
    shifted = descriptor_of(causal(60, 60) & ~np.eye(60, dtype=bool))
    o, lse = attention(problem.q, problem.k, problem.v, shifted, sm_scale=0.25, return_lse=True)
    assert not verify_forward(o, lse, problem).passed


@pytest.mark.parametrize("visible", [causal(240, 240), np.random.default_rng(0).random((1, 1000)) > 0.58])
def test_rounding_of_large_values_passes_and_the_same_values_under_a_shifted_mask_fail(visible: BoolArray) -> None:
    q, k, v = random_qkv(visible, num_q_heads=2, num_kv_heads=2, head_dim=128, dtype=torch.bfloat16)
    problem = Problem(q, k * 3, v * 10, descriptor_of(visible), 128**-0.5)
    o = attention(problem.q, problem.k, problem.v, problem.mask, sm_scale=problem.sm_scale, impl="torch")
    check = verify_forward(o, None, problem)
    assert (check.passed, check.reason) == (True, None)
    assert float(o.abs().max()) > 16
    assert check.errors[0].max_error > 0.01
    shifted = descriptor_of(np.roll(visible, 1, axis=1))
    wrong = attention(problem.q, problem.k, problem.v, shifted, sm_scale=problem.sm_scale, impl="torch")
    assert not verify_forward(wrong, None, problem).passed


def test_without_lse_only_o_is_judged() -> None:
    problem = problem_of(causal(20, 20))
    check = verify_forward(attention(problem.q, problem.k, problem.v, problem.mask, sm_scale=0.25), None, problem)
    assert check.passed
    assert [error.quantity for error in check.errors] == ["o"]


def test_an_overflowing_yardstick_excuses_nothing() -> None:
    problem = problem_of(causal(20, 20), torch.float16)
    problem = Problem(problem.q * 200, problem.k * 200, problem.v, problem.mask, 1.0)
    o, lse = attention(problem.q, problem.k, problem.v, problem.mask, sm_scale=1.0, return_lse=True)
    check = verify_forward(o, lse, problem)
    assert not check.passed
    assert check.reason == "plain attention overflows in this dtype, so there is no yardstick"


def test_large_masks_are_judged_by_stretches_of_rows_within_the_budget() -> None:
    mask = descriptor_of(causal(1000, 1000))
    assert choose_rows(mask, heads=1, max_cells=1_000_000) == [(0, 1000)]
    stretches = choose_rows(mask, heads=4, max_cells=1_000_000)
    rows = [row for start, stop in stretches for row in range(start, stop)]
    assert len(rows) == len(set(rows)) <= 250 + 16
    assert rows == sorted(rows)
    assert {0, 999} <= set(rows)
    assert choose_rows(mask, heads=4, max_cells=1_000_000) == stretches


def test_an_error_in_a_chosen_stretch_is_found_and_placed() -> None:
    visible = causal(300, 300)
    problem = problem_of(visible)
    o, lse = attention(problem.q, problem.k, problem.v, problem.mask, sm_scale=0.25, return_lse=True)
    o[0, 1, 299, 2] += 1
    check = verify_forward(o, lse, problem, max_cells=100_000)
    assert check.rows_checked < 300
    assert check.errors[0].worst_index == (0, 1, 299, 2)
    assert not check.passed


def test_the_judge_s_own_dense_attention_is_right() -> None:
    visible = scattered(50, 60, seed=3)
    problem = problem_of(visible)
    o, lse = dense(problem.q.double(), problem.k.double(), problem.v.double(), torch.from_numpy(visible), 0.25)
    exact, exact_lse = dense_attention(problem.q, problem.k, problem.v, visible, 0.25)
    assert torch.allclose(o, exact, rtol=0, atol=1e-13)
    assert torch.allclose(lse, exact_lse, rtol=1e-13)


@pytest.mark.parametrize("magnitude", [1.0, 1.5, 17.0, 0.3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_an_ulp_is_the_distance_to_the_next_number(dtype: torch.dtype, magnitude: float) -> None:
    number = torch.tensor(magnitude, dtype=dtype)
    following = torch.nextafter(number, torch.tensor(math.inf, dtype=dtype))
    assert ulp_under_test(dtype, number.item()) == (following - number).item()
