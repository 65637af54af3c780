"""The judge of gradients: right ones pass with their errors, wrong ones fail, and it says where."""

from __future__ import annotations

import math

import pytest
import torch
from oracles_attention import BoolArray, causal, dense_attention, descriptor_of, random_qkv, scattered, ulp

from compilemask.attention import attention
from compilemask.bench.case import verify_built
from compilemask.bench.problem import Built, Problem, built_of
from compilemask.bench.protocol import Quantity
from compilemask.bench.verify import choose_rows, only_rows, verify

GRADIENTS: tuple[Quantity, ...] = ("dq", "dk", "dv")


def problem_of(visible: BoolArray, dtype: torch.dtype = torch.float32, v_head_dim: int = 16) -> Problem:
    q, k, v = random_qkv(
        visible, batch=2, num_q_heads=4, num_kv_heads=2, head_dim=16, v_head_dim=v_head_dim, dtype=dtype
    )
    do = torch.randn(2, 4, len(visible), v_head_dim, generator=torch.Generator().manual_seed(5)).to(dtype)
    return Problem(q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), descriptor_of(visible), 0.25, do)


def gradients_of(problem: Problem, do: torch.Tensor) -> dict[Quantity, torch.Tensor]:
    """o and the gradients of impl "torch"."""
    leaves = (problem.q, problem.k, problem.v)
    o = attention(*leaves, problem.mask, sm_scale=0.25, impl="torch")
    return {"o": o.detach(), **dict(zip(GRADIENTS, torch.autograd.grad(o, leaves, do), strict=True))}


def exact_gradients(problem: Problem, visible: BoolArray, do: torch.Tensor) -> list[torch.Tensor]:
    leaves = [x.detach().double().requires_grad_() for x in (problem.q, problem.k, problem.v)]
    return list(torch.autograd.grad(dense_attention(*leaves, visible, 0.25)[0], leaves, do.double()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("visible", [causal(40, 30), scattered(50, 60, seed=1)])
def test_right_gradients_pass_with_their_errors(visible: BoolArray, dtype: torch.dtype) -> None:
    problem = problem_of(visible, dtype, v_head_dim=24)
    assert problem.do is not None
    got = gradients_of(problem, problem.do)
    check = verify(got, problem, do=problem.do)
    assert (check.passed, check.reason) == (True, None)
    assert [error.quantity for error in check.errors] == ["o", *GRADIENTS]
    for name, exact in zip(GRADIENTS, exact_gradients(problem, visible, problem.do), strict=True):
        found = check.of(name)
        assert found is not None
        error = (got[name].double() - exact).abs()
        assert found.max_error == pytest.approx(error.max().item(), abs=1e-12)
        assert found.mean_error == pytest.approx(error.mean().item(), abs=1e-12)
        assert found.worst_index is not None
        assert error[found.worst_index] == pytest.approx(found.max_error, abs=1e-12)
        assert found.yardstick_error > 0
        assert found.tolerance == 2 * found.yardstick_error + ulp(dtype, exact.abs().max().item())


@pytest.mark.parametrize(
    ("name", "at", "value", "said"),
    [
        ("dq", (1, 2, 7, 5), math.inf, "1 elements of the gradient dq are NaN or infinite"),
        ("dq", (1, 3, 39, 3), 99.0, "error of the gradient dq 99 at [1, 3, 39, 3] exceeds"),
        ("dk", (0, 1, 29, 0), 99.0, "error of the gradient dk 99 at [0, 1, 29, 0] exceeds"),
        ("dv", (1, 0, 0, 15), 99.0, "error of the gradient dv 99 at [1, 0, 0, 15] exceeds"),
    ],
)
def test_one_wrong_element_fails_and_is_named(name: Quantity, at: tuple[int, ...], value: float, said: str) -> None:
    visible = causal(40, 30)
    problem = problem_of(visible)
    assert problem.do is not None
    got = gradients_of(problem, problem.do)
    got[name][at] += value
    check = verify(got, problem, do=problem.do)
    wrong = [error.quantity for error in check.errors if not error.passed]
    assert wrong == [name]
    assert check.reason is not None
    assert said.split("99")[0] in check.reason
    if value == 99.0:
        assert f"at {list(at)} exceeds" in check.reason


@pytest.mark.parametrize("chunk", [1, 8 * 25 * 7, 1 << 23])
def test_the_verdict_does_not_depend_on_how_the_rows_are_cut(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    visible = scattered(20, 25, seed=2)
    problem = problem_of(visible, torch.bfloat16)
    assert problem.do is not None
    got = gradients_of(problem, problem.do)
    monkeypatch.setattr("compilemask.bench.verify.CELLS_PER_CHUNK", {"cpu": chunk})
    check = verify(got, problem, do=problem.do)
    assert check.passed
    for name, exact in zip(GRADIENTS, exact_gradients(problem, visible, problem.do), strict=True):
        found = check.of(name)
        assert found is not None
        assert found.max_error == pytest.approx((got[name].double() - exact).abs().max().item(), abs=1e-12)


def test_gradients_of_some_rows_are_compared_at_all_keys() -> None:
    visible = causal(300, 300)
    problem = problem_of(visible)
    assert problem.do is not None
    stretches = choose_rows(problem.mask, heads=8, max_cells=100_000)
    do = only_rows(problem.do, stretches)
    rows = [row for start, stop in stretches for row in range(start, stop)]
    assert 0 < len(rows) < 300
    assert torch.equal(do[:, :, rows], problem.do[:, :, rows])
    assert do.abs().sum() == pytest.approx(problem.do[:, :, rows].abs().sum().item(), rel=1e-5)
    got = gradients_of(problem, do)
    check = verify(got, problem, do=do, stretches=stretches)
    assert (check.passed, check.rows_checked) == (True, len(rows))
    got["dk"][1, 0, 123, 4] += 1
    check = verify(got, problem, do=do, stretches=stretches)
    assert check.reason is not None
    assert "dk" in check.reason
    assert "[1, 0, 123, 4]" in check.reason


def test_a_backward_under_a_shifted_mask_fails_though_its_forward_is_right() -> None:
    problem = problem_of(causal(60, 60))
    shifted = descriptor_of(
        causal(60, 60) & (causal(60, 60).cumsum(1) > 1) | (causal(60, 60) & (causal(60, 60).sum(1) == 1)[:, None])
    )
    leaves = (problem.q, problem.k, problem.v)

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(q, k, v)
            return attention(q, k, v, problem.mask, sm_scale=0.25, impl="torch")

        @staticmethod
        def backward(ctx, do):  # type: ignore[no-untyped-def]
            with torch.enable_grad():
                own = [x.detach().requires_grad_() for x in ctx.saved_tensors]
                return torch.autograd.grad(attention(*own, shifted, sm_scale=0.25, impl="torch"), own, do)

    built: Built = built_of(problem, lambda: (Mixed.apply(*leaves), None), "mixed", None, None)
    check = verify_built(built, problem)
    assert [error.passed for error in check.errors] == [True, False, False, False]
