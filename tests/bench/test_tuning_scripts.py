"""The tuning scripts call the kernels as they are now: tried in the interpreter, on masks of a few tiles."""

from __future__ import annotations

import argparse
from functools import partial

import pytest
import torch

from benchmarks import tune_backward, tune_forward, tune_packed
from benchmarks.masks import MASKS
from compilemask.attention.triton import BackwardConfig, ForwardConfig
from compilemask.bench.protocol import MeasureOptions

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="configurations here are those of the interpreter")
ARGUMENTS = argparse.Namespace(
    heads=2, kv_heads=1, dtype="float32", pointers=True, head_dim=16, seconds=0.0, committed=True
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter is slow, and its times say nothing."""
    for script in (tune_forward, tune_packed):
        monkeypatch.setattr(script, "MeasureOptions", partial(MeasureOptions, min_samples=1, warmup_seconds=0.0))


@pytest.mark.parametrize("kernel", ["dq", "dkv"])
def test_backward_configurations_are_verified(kernel: str) -> None:
    case = tune_backward.case_of(MASKS["causal"].descriptor(40), 16, 0, ARGUMENTS)
    config = BackwardConfig(32, 32, 4, 1, tma=False)
    assert tune_backward.verify(case, kernel, config) is None
    case.runner("terms", config)()
    case.lse.add_(1)
    assert "exceeds" in str(tune_backward.verify(case, kernel, config))


def test_forward_configurations_are_verified_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_forward, "configurations", lambda *_: [ForwardConfig(32, 32, 4, 1, tma=False)])
    (row,) = tune_forward._tune("causal", 40, ARGUMENTS)
    assert "reason" not in row
    assert row["ms"] > 0  # type: ignore[operator]


def test_packed_configurations_are_verified_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    small = tune_packed.preset("neighborhood", height=8, width=8, radius=1)
    monkeypatch.setattr(tune_packed, "MASKS", {"small": small})
    monkeypatch.setattr(tune_packed, "CHUNKS", (16,))
    rows = tune_packed._tune("small", ARGUMENTS)
    assert len(rows) == 2
    assert all("reason" not in row and row["ms"] > 0 for row in rows)  # type: ignore[operator]
