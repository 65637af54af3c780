"""Every provider on a GPU: right in o and in its gradients, or unable in words; caches, graphs and launches are told apart."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from oracles_attention import BoolArray, causal, descriptor_of, history_and_targets, neighbourhood

from benchmarks.ceiling import ALONE_FROM, product_tflops, short_product
from compilemask.bench.case import run_case
from compilemask.bench.catalog import PROVIDER_NAMES
from compilemask.bench.measure import measure
from compilemask.bench.problem import CannotExpressError
from compilemask.bench.protocol import CaseSpec, Direction, MeasureOptions
from compilemask.bench.providers import provider_named

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

QUICK = MeasureOptions(min_samples=3, target_seconds=0.0, warmup_seconds=0.2)
DOCUMENTS = causal(256, 256)
DOCUMENTS[100:, :100] = False
LIMITED = ("flex_attention_flash", "fa4", "varlen", "sdpa_flash")
"""Providers that may lack a word for a mask."""
MASKS = {
    "causal": causal(256, 256),
    "documents": DOCUMENTS,
    "hstu": history_and_targets(256, 40),
    "neighbourhood": neighbourhood(16, 16, 5),
}


def spec_for(provider: str, visible: BoolArray, direction: Direction = "forward") -> CaseSpec:
    mask = descriptor_of(visible).to_json()
    return CaseSpec("x", provider, mask, 1, 4, 2, 64, "bfloat16", direction=direction)


@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_a_provider_is_right_or_says_that_it_cannot(provider: str, name: str, direction: Direction) -> None:
    usable, reason = provider_named(provider).usable()
    if not usable:
        pytest.skip(str(reason))
    try:
        result = run_case(spec_for(provider, MASKS[name], direction), QUICK)
    except CannotExpressError:
        assert provider in LIMITED
        return
    assert (result.verdict, result.reason) == ("passed", None)
    assert result.median_ms is not None
    assert result.launch_ms is not None


@pytest.mark.parametrize("direction", ["forward", "backward", "forward+backward"])
def test_a_graph_of_our_kernel_is_replayed(direction: Direction) -> None:
    spec = spec_for("triton", MASKS["hstu"], direction)
    eager = run_case(spec, QUICK)
    replayed = run_case(spec, dataclasses.replace(QUICK, cuda_graph=True))
    assert (replayed.verdict, replayed.cuda_graph) == ("passed", True)
    assert eager.launch_ms is not None
    assert replayed.launch_ms is not None
    assert replayed.launch_ms < eager.launch_ms


def test_a_short_product_shows_that_the_gpu_is_free() -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    roof = product_tflops(device)
    assert min(short_product(device) for _ in range(3)) >= ALONE_FROM * roof


@pytest.mark.parametrize("cold", [False, True])
def test_an_empty_call_reads_almost_nothing_also_with_cleared_caches(cold: bool) -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    timing = measure(lambda: lambda: None, device, dataclasses.replace(QUICK, min_samples=20, cold_l2=cold))
    assert timing.median_ms < 0.02
    assert timing.cache_state == ("cold" if cold else "warm")


def test_cold_caches_are_slower_than_warm_ones_for_what_fits_them() -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    data = torch.ones(8 << 20, dtype=torch.int8, device=device)
    options = dataclasses.replace(QUICK, min_samples=50)
    warm = measure(lambda: lambda: data.sum(dtype=torch.int64), device, options)
    cold = measure(lambda: lambda: data.sum(dtype=torch.int64), device, dataclasses.replace(options, cold_l2=True))
    assert cold.median_ms > warm.median_ms
