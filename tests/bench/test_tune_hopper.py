"""benchmarks/tune_hopper.py without a GPU: what it tries, what it counts, and that costs are found again in times made from them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import pytest
import torch

from benchmarks import tune_hopper, tune_hopper_backward
from benchmarks.masks import MASKS
from benchmarks.tune_hopper import OTHERS, Variant, fitted, variants
from compilemask.attention import hopper
from compilemask.attention.hopper import launch
from compilemask.attention.hopper.configs import SHARED_BYTES
from compilemask.bench.problem import problem_of
from compilemask.plan import HOPPER_H200, choose_kernel_tiling, plan_tiles

ARGUMENTS = argparse.Namespace(dtype="bfloat16", heads=2, all=False)
USUAL = hopper.FORWARD_CONFIGS[64][0]


@pytest.fixture(autouse=True)
def absent_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_multiprocessors", lambda _device: 132)


def ready(name: str, length: int, packed: bool) -> tune_hopper.Ready | None:
    variant = Variant(64, "bfloat16", 2, USUAL, packed)
    problem = problem_of(variant.spec(name), MASKS[name].descriptor(length), torch.device("cpu"))
    return variant.ready(problem)


def test_every_configuration_is_tried_over_rows_and_where_it_can_be_packed() -> None:
    for head_dim, configs in hopper.FORWARD_CONFIGS.items():
        tried = variants(head_dim, ARGUMENTS)
        assert [one.config for one in tried if not one.packed] == list(configs)
        assert [one.config for one in tried if one.packed] == [one for one in configs if not one.share_output]
        more = variants(head_dim, argparse.Namespace(**vars(ARGUMENTS) | {"all": True}))
        assert {one.config for one in more} == {*configs, *OTHERS[head_dim]}


def test_work_is_that_of_the_plan_and_packed_tiles_are_for_sparse_masks() -> None:
    rows = ready("causal", 1024, packed=False)
    assert rows is not None
    plan = plan_tiles(MASKS["causal"].descriptor(1024), USUAL.block_m, USUAL.block_n)
    assert int(rows.work.full_total.sum()) + int(rows.work.tested_indptr[-1]) == plan.num_full + plan.num_partial
    assert ready("causal", 1024, packed=True) is None
    packed = ready("natten_64_k17", 4096, packed=True)
    assert packed is not None
    assert isinstance(packed.work, hopper.PackedWork)


def row(
    variant: Variant, full: int, tested: int, q_tiles: int, time: Callable[[int, int, int], float]
) -> dict[str, Any]:
    return {
        "config": astuple(variant.config), "packed": variant.packed, "full": full, "tested": tested, "q_tiles": q_tiles,
        "imbalance": 1.25, "ms": time(full, tested, q_tiles) * 2 / 132 * 1.25 / 1e3,
    }  # fmt: skip


def test_costs_are_found_again_in_the_times_that_they_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: argparse.Namespace(multi_processor_count=132))
    variant = Variant(64, "bfloat16", 2, USUAL, packed=False)
    counts = [(500, 10, 40), (30, 300, 100), (10, 20, 90), (0, 64, 64)]
    rows = [row(variant, *some, lambda full, tested, q: 1.5 * full + 1.8 * tested + 3.0 * q) for some in counts]
    other = row(Variant(64, "bfloat16", 2, USUAL, packed=True), 1, 1, 1, lambda *_: 1e6)
    wrong = {**rows[0]}
    del wrong["ms"]
    found = fitted([*rows, other, wrong], variant)
    assert found is not None
    assert [found[name] for name in ("full_us", "tested_us", "q_tile_us")] == pytest.approx([1.5, 1.8, 3.0])
    assert found["largest_error"] == pytest.approx(0.0, abs=1e-9)
    assert fitted(rows[:2], variant) is None


@pytest.mark.parametrize("kernel", tune_hopper_backward.PRODUCTS)
def test_backward_configurations_begin_with_the_committed_one_and_fit(kernel: str) -> None:
    for head_dim in tune_hopper_backward.FUSED:
        tried = tune_hopper_backward.configurations(head_dim, kernel)
        assert tried[0] == tune_hopper_backward.COMMITTED[kernel][head_dim]
        assert len(set(tried)) == len(tried) >= 2
        assert all(one.shared_bytes(head_dim, fused=kernel == "all") < SHARED_BYTES for one in tried)


def test_backward_forms_are_launched_on_their_own_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = MASKS["sliding"].descriptor(600)
    problem = problem_of(Variant(64, "bfloat16", 2, USUAL, False).spec("sliding"), mask, torch.device("cpu"))
    lse = torch.zeros(1, 2, 600)
    case = tune_hopper_backward.HopperBackward(problem, problem.q, lse, problem.q)
    monkeypatch.setattr(tune_hopper_backward, "row_terms", lambda *_: "terms")
    for kernel, name in (("all", "all_gradients"), ("dkv", "key_gradients"), ("dq", "query_gradient")):
        config = tune_hopper_backward.COMMITTED[kernel][64]
        monkeypatch.setattr(tune_hopper_backward, name, lambda *arguments: arguments)
        q, k, v, do, terms, tiles, options, used = case.runner(kernel, config)()
        assert (q is problem.q, k is problem.k, v is problem.v, do is problem.q) == (True, True, True, True)
        assert (terms, used, options.sm_scale) == ("terms", config, problem.sm_scale)
        seen = mask if kernel == "dq" else mask.transpose()
        plan = plan_tiles(seen, 128, config.block_n)
        assert tiles.plan.processed_pairs == plan.processed_pairs
        assert (tiles.plan.block_m, tiles.plan.block_n) == (128, config.block_n)


MEASURED = {
    128: {
        "short_documents_256 16384": 0.101, "short_documents_128 16384": 0.087, "short_responses_256 16384": 0.288,
        "sliding 8192": 0.133, "causal 8192": 0.430, "full 8192": 0.766, "causal 32768": 6.60, "sliding 32768": 0.538,
        "documents 32768": 0.888, "hstu 32768": 6.25, "shared_prompt 32768": 3.27, "clear 32768": 1.19,
    },
    64: {"causal 8192": 0.319, "full 8192": 0.625, "short_documents_256 16384": 0.0787, "causal 32768": 4.80},
}  # fmt: skip
"""Milliseconds of the Hopper forward on an H200, 16 heads in bfloat16, by head dimension: docs/hopper-notes.md, speed_table_h200.json."""


@pytest.mark.parametrize("head_dim", MEASURED)
def test_predictions_are_near_measured_times(head_dim: int) -> None:
    for case, measured in MEASURED[head_dim].items():
        name, length = case.split()
        found = choose_kernel_tiling(MASKS[name].descriptor(int(length)), HOPPER_H200, head_dim=head_dim)
        assert abs(found.milliseconds(16) / measured - 1) < 0.11, case
