"""Inputs, providers, memory and the shell command."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, history_and_targets, scattered

from compilemask.bench.case import run_case
from compilemask.bench.flops import case_flops
from compilemask.bench.inputs import attention_inputs, output_gradient
from compilemask.bench.problem import Built, CannotExpressError, Layout, Problem
from compilemask.bench.protocol import CaseSpec, Direction, MeasureOptions
from compilemask.bench.providers import Provider, provider_named
from compilemask.bench.verify import dense

CPU = torch.device("cpu")
QUICK = MeasureOptions(min_samples=2, target_seconds=0.0, warmup_seconds=0.05)


def spec_for(mask: str, provider: str = "torch") -> CaseSpec:
    return CaseSpec("x", provider, mask, 2, 4, 2, 16, "bfloat16", seed=3)


def test_inputs_depend_on_the_seed_alone() -> None:
    mask = descriptor_of(causal(20, 30))
    spec = spec_for(mask.to_json())
    first, again = attention_inputs(spec, mask, CPU), attention_inputs(spec, mask, CPU)
    other = attention_inputs(dataclasses.replace(spec, seed=4), mask, CPU)
    assert [tuple(x.shape) for x in first] == [(2, 4, 20, 16), (2, 2, 30, 16), (2, 2, 30, 16)]
    assert all(x.dtype == torch.bfloat16 for x in first)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert abs(float(first[0].float().std()) - 1) < 0.1


def test_the_gradient_of_o_is_seeded_and_unlike_the_inputs() -> None:
    mask = descriptor_of(causal(20, 20))
    spec = dataclasses.replace(spec_for(mask.to_json()), num_kv_heads=4)
    do = output_gradient(spec, mask, CPU)
    assert torch.equal(do, output_gradient(spec, mask, CPU))
    assert not any(torch.equal(do, x) for x in attention_inputs(spec, mask, CPU))


@pytest.mark.parametrize(
    ("direction", "head_dim", "v_head_dim", "of_a_pair"),
    [
        ("forward", 16, None, 4 * 16),
        ("backward", 16, None, 10 * 16),
        ("forward+backward", 16, None, 14 * 16),
        # Products: q k^T, p v; q k^T, do v^T, p^T do, ds k, ds^T q.
        ("forward", 16, 24, 2 * (16 + 24)),
        ("backward", 16, 24, 2 * (16 + 24 + 24 + 16 + 16)),
    ],
)
def test_flops_count_visible_pairs_of_every_head(
    direction: Direction, head_dim: int, v_head_dim: int | None, of_a_pair: int
) -> None:
    mask = descriptor_of(causal(16, 16))
    spec = dataclasses.replace(spec_for(""), direction=direction, head_dim=head_dim, v_head_dim=v_head_dim)
    assert case_flops(spec, mask) == of_a_pair * 136 * 2 * 4


@pytest.mark.parametrize("direction", ["backward", "forward+backward"])
@pytest.mark.parametrize("provider", ["torch", "reference", "sdpa", "dense"])
def test_gradients_are_verified_before_they_are_timed(provider: str, direction: Direction) -> None:
    mask = descriptor_of(scattered(40, 60, seed=1) | causal(40, 60))
    spec = dataclasses.replace(spec_for(mask.to_json(), provider), direction=direction, v_head_dim=24)
    result = run_case(spec, QUICK, device=CPU)
    assert (result.verdict, result.reason, result.direction) == ("passed", None, direction)
    lse = ["lse"] if provider in ("torch", "reference", "dense") else []
    assert [error.quantity for error in result.errors] == ["o", *lse, "dq", "dk", "dv"]
    assert all(error.passed and error.worst_index is not None for error in result.errors)
    assert (result.seed, result.fill) == (3, "normal(0, 1)")
    assert result.max_error == result.errors[0].max_error
    assert result.median_ms is not None
    assert result.tflops is not None
    assert result.tflops == pytest.approx(case_flops(spec, mask) / result.median_ms / 1e9)


@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
@pytest.mark.parametrize("provider", ["torch", "reference", "dense"])
def test_silu_is_verified_by_its_own_definition(provider: str, direction: Direction) -> None:
    visible = scattered(40, 60, seed=1)
    spec = dataclasses.replace(
        spec_for(descriptor_of(visible).to_json(), provider), direction=direction, activation="silu"
    )
    result = run_case(spec, QUICK, device=CPU)
    assert (result.verdict, result.reason) == ("passed", None)
    assert [error.quantity for error in result.errors] == ["o", *([] if direction == "forward" else ["dq", "dk", "dv"])]


def test_the_judge_s_silu_is_hstu_s() -> None:
    visible = scattered(9, 13, seed=2)
    q, k, v = (torch.randn(1, 1, length, 4, dtype=torch.float64) for length in (9, 13, 13))
    o, lse = dense(q, k, v, torch.from_numpy(visible), 0.5, 13.0)
    assert lse is None
    for row in range(9):
        wanted = torch.zeros(4, dtype=torch.float64)
        for key in np.flatnonzero(visible[row]):
            score = 0.5 * float(q[0, 0, row] @ k[0, 0, key])
            wanted += score / (1 + math.exp(-score)) / 13 * v[0, 0, key]
        assert torch.allclose(o[0, 0, row], wanted, rtol=0, atol=1e-14)


def test_peers_without_silu_say_so() -> None:
    spec = dataclasses.replace(spec_for(descriptor_of(causal(20, 20)).to_json(), "sdpa"), activation="silu")
    with pytest.raises(CannotExpressError, match="torch SDPA computes softmax attention alone, not silu"):
        run_case(spec, QUICK, device=CPU)


def test_a_wrong_gradient_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(problem: Problem) -> Built:
        built = provider_named("torch").build(problem)
        doubled = Layout(lambda x: x, lambda x: 2 * x if x.shape == problem.k.shape else x)
        return dataclasses.replace(built, layout=doubled)

    monkeypatch.setattr(
        "compilemask.bench.case.provider_named", lambda name: Provider(name, name, "peer", lambda: (True, None), build)
    )
    spec = dataclasses.replace(spec_for(descriptor_of(causal(20, 20)).to_json()), direction="backward")
    result = run_case(spec, QUICK, device=CPU)
    assert result.verdict == "failed"
    assert str(result.reason).startswith("error of the gradient dk")
    assert [error.passed for error in result.errors] == [True, True, True, False, False]
    assert (result.median_ms, result.tflops, result.samples_ms) == (None, None, ())


@pytest.mark.parametrize(("name", "value"), [("direction", "sideways"), ("dtype", "float8")])
def test_words_that_are_no_direction_or_dtype_are_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be one of .*, got '{value}'"):
        dataclasses.replace(spec_for(""), **{name: value})


def test_a_cuda_graph_needs_a_cuda_device() -> None:
    spec = spec_for(descriptor_of(causal(20, 20)).to_json())
    with pytest.raises(ValueError, match="cuda_graph needs a CUDA device, got cpu; leave it out"):
        run_case(spec, dataclasses.replace(QUICK, cuda_graph=True), device=CPU)


@pytest.mark.parametrize("provider", ["torch", "reference", "sdpa", "sdpa_math"])
@pytest.mark.parametrize(
    "visible", [causal(40, 40), history_and_targets(40, 10), scattered(40, 60, seed=1) | (causal(40, 60))]
)
def test_every_provider_that_runs_here_passes(provider: str, visible) -> None:  # type: ignore[no-untyped-def]
    result = run_case(
        dataclasses.replace(spec_for(descriptor_of(visible).to_json()), provider=provider), QUICK, device=CPU
    )
    assert (result.verdict, result.reason, result.rows_checked, result.rows_total) == ("passed", None, 40, 40)
    assert result.median_ms is not None
    assert result.min_ms == min(result.samples_ms)
    assert result.environment["torch"] == torch.__version__
    assert len(result.environment["source"]) == 12


def test_a_failed_case_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(problem: Problem) -> Built:
        return Built(lambda: (torch.zeros_like(problem.q), None), (problem.q, problem.k, problem.v), "zeros")

    monkeypatch.setattr(
        "compilemask.bench.case.provider_named", lambda name: Provider(name, name, "peer", lambda: (True, None), build)
    )
    result = run_case(spec_for(descriptor_of(causal(20, 20)).to_json()), QUICK, device=CPU)
    assert result.verdict == "failed"
    assert "exceeds" in str(result.reason)
    assert (result.median_ms, result.tflops, result.samples_ms) == (None, None, ())


def test_a_case_may_leave_out_the_check_or_the_times() -> None:
    spec = spec_for(descriptor_of(causal(20, 20)).to_json())
    unchecked = run_case(spec, dataclasses.replace(QUICK, verify=False), device=CPU)
    assert (unchecked.max_error, unchecked.reason) == (None, "not verified, as asked")
    assert unchecked.median_ms is not None
    untimed = run_case(spec, dataclasses.replace(QUICK, measure=False), device=CPU)
    assert (untimed.verdict, untimed.median_ms) == ("passed", None)


def test_unusable_and_unknown_providers_say_why() -> None:
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="provider 'sdpa_cudnn' cannot be used here: needs a CUDA device"):
            run_case(spec_for("", "sdpa_cudnn"), QUICK)
        assert provider_named("triton").usable() == (False, "needs a CUDA device")
    with pytest.raises(
        ValueError, match="no provider is named 'x'; there are triton, hopper, hopper_deterministic, torch, reference"
    ):
        run_case(spec_for("", "x"), QUICK)
