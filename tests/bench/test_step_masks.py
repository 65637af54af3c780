"""The masks of benchmarks/step_table.py: what FlexAttention's users write is the preset, and no step has the lengths of another."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import compilemask
from benchmarks import step_plan, step_table
from benchmarks.step_masks import STEP_FAMILIES, dense


@pytest.mark.parametrize("name", STEP_FAMILIES)
def test_the_predicate_is_the_preset(name: str) -> None:
    family, random = STEP_FAMILIES[name], torch.Generator().manual_seed(1)
    program = compilemask.compile(compilemask.preset_source(name))
    for total in (1024, 4096):
        lengths = family.lengths(total, random)
        assert int(sum(x.sum() for x in lengths.values())) == total
        mask = program.bind(**{key: x.tolist() for key, x in lengths.items()})
        visible = dense(family, lengths, torch.arange(total))
        indptr, lo, hi = mask.row_intervals()
        edges = np.zeros((total, total + 1), np.int8)
        row = np.repeat(np.arange(total), np.diff(indptr))
        np.add.at(edges, (row, lo), 1)
        np.add.at(edges, (row, hi), -1)
        assert np.array_equal(edges.cumsum(1)[:, :-1].astype(bool), visible.numpy())


@pytest.mark.parametrize("name", STEP_FAMILIES)
def test_both_of_our_ways_are_right_and_a_wrong_one_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_table, "NUM_HEADS", 1)
    case = step_table.Case(name, 1024, "cpu")
    bound = case.bound()

    def wrong() -> step_table.Step:
        return lambda _number, backward: bound(0, backward)

    monkeypatch.setattr(
        case, "ways", lambda: {"bound": case.bound, "device": lambda: case.given(case.device()), "flex": wrong}
    )
    steps, failed = step_table.prepared(case, [])
    assert set(steps) == {(way, backward) for way in ("bound", "device") for backward in (False, True)}
    assert [(row["way"], row["verdict"]) for row in failed] == [("flex", "wrong")] * 2


def test_ratios_take_the_better_back_end() -> None:
    row = {"family": "documents", "tokens": 4096, "direction": "forward+backward", "verdict": "passed"}
    rows = [
        row | {"way": "device", "median_ms": 1.0},
        row | {"way": "flex", "median_ms": 2.0},
        row | {"way": "flex_flash", "median_ms": 1.4},
        row | {"way": "flex_graph", "verdict": "error", "reason": "none"},
    ]
    (line,) = step_table.ratios(rows)
    assert "flex_flash" in line and "1.40" in line and "MISSED, wanted 1.5" in line


def test_host_times_of_new_lengths_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_plan, "WARM_STEPS", 0)
    monkeypatch.setattr(step_plan, "STEPS", 1)
    row = step_plan.row("documents", 1024)
    parts = [row[f"{name}_ms"] for name in ("bind", "forward", "backward")]
    assert all(isinstance(part, float) and part > 0 for part in parts)
    assert row["whole_ms"] == pytest.approx(sum(parts)) and row["quickest_ms"] == row["whole_ms"]
