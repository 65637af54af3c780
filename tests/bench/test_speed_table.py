"""The speed table goes on where it stopped, never mixes runs, and counts only what was right."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import speed_table
from benchmarks.headline_cases import headline_cases
from benchmarks.ratio_lines import ratio_lines, silu_lines
from benchmarks.speed_cases import Case, HowToMeasure, Inputs, _joined, measure_case
from benchmarks.speed_rows import SpeedRows, pairs
from benchmarks.targets import HOPPER_TARGETS
from compilemask.bench.measure import Timing

HEAD: dict[str, Any] = {"environment": {"device": "H", "torch": "1", "sm_clock_mhz": "5"}, "date": "", "command": ""}


def case(*providers: str, name: str = "causal", direction: Any = "forward") -> Case:
    return Case(name, False, 1024, 16, 2, 1, "float32", direction, providers)


def row(asked: Case, provider: str, ms: float | None, **more: Any) -> dict[str, Any]:
    verdict = "passed" if ms is not None else "unsupported"
    return {
        "mask": asked.name, "length": asked.length, "head_dim": asked.head_dim, "num_q_heads": asked.heads,
        "num_kv_heads": asked.kv_heads, "dtype": asked.dtype, "direction": asked.direction, "provider": provider,
        "verdict": verdict, "median_ms": ms, "environment": HEAD["environment"], **more,
    }  # fmt: skip


def test_answered_cases_are_not_asked_again_unless_something_changed(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    asked = case("triton", "fa4")
    rows = SpeedRows(path, HEAD, method="m")
    assert not rows.has(asked)
    rows.add([row(asked, "triton", 1.0), row(asked, "fa4", None)])
    again = SpeedRows(path, {**HEAD, "environment": {**HEAD["environment"], "sm_clock_mhz": "9"}}, method="m")
    assert again.has(asked)
    assert not again.has(case("triton", "flex_attention"))
    assert not again.has(case("triton", "fa4", direction="forward+backward"))
    newer = SpeedRows(path, {**HEAD, "environment": {**HEAD["environment"], "torch": "2"}}, method="m")
    assert not newer.has(asked)
    again.add([row(asked, "triton", 1.0), row(asked, "fa4", None, verdict="error")])
    assert not SpeedRows(path, HEAD, method="m").has(asked)


def test_a_case_measured_again_leaves_no_row_of_the_run_before(tmp_path: Path) -> None:
    rows = SpeedRows(tmp_path / "rows.json", HEAD, method="m")
    asked, other = case("triton"), case("triton", name="hstu")
    rows.add([row(asked, "triton", 1.0, run="1"), row(asked, "flex_attention", 3.0, run="1")])
    rows.add([row(other, "triton", 1.0, run="1")])
    rows.add([row(asked, "triton", 2.0, run="2"), row(asked, "flex_attention", 4.0, run="2")])
    assert [(r["mask"], r["provider"], r["median_ms"]) for r in rows.rows] == [
        ("hstu", "triton", 1.0),
        ("causal", "triton", 2.0),
        ("causal", "flex_attention", 4.0),
    ]
    assert json.loads((tmp_path / "rows.json").read_text())["rows"] == rows.rows


def test_runs_with_different_peers_stand_side_by_side_and_are_never_mixed(tmp_path: Path) -> None:
    rows = SpeedRows(tmp_path / "rows.json", HEAD, method="m")
    asked = case("triton", "flex_attention", "fa4")
    rows.add([row(asked, "triton", 1.0, run="1"), row(asked, "flex_attention", 3.0, run="1")])
    rows.add([row(asked, "triton", 2.0, run="2"), row(asked, "fa4", 4.0, run="2")])
    found = [(ours["median_ms"], peer["provider"], peer["median_ms"]) for ours, peer in pairs(rows.rows)]
    assert found == [(1.0, "flex_attention", 3.0), (2.0, "fa4", 4.0)]
    assert not rows.has(asked)
    assert rows.has(case("triton", "fa4"))
    rows.add([row(asked, "triton", 5.0, run="3"), row(asked, "fa4", 6.0, run="3")])
    assert [(r["run"], r["provider"]) for r in rows.rows] == [
        ("1", "triton"), ("1", "flex_attention"), ("3", "triton"), ("3", "fa4"),
    ]  # fmt: skip
    older = SpeedRows(tmp_path / "rows.json", {**HEAD, "environment": {"device": "H", "torch": "3"}}, method="m")
    assert not older.has(case("triton", "fa4"))
    assert older.has(case("triton", "fa4"), of_any_code=True)


def test_ratios_are_of_rows_that_passed_and_of_one_case() -> None:
    asked, other = case(), case(direction="forward+backward")
    rows = [
        row(asked, "triton", 2.0), row(asked, "flex_attention", 3.0), row(asked, "fa4", None),
        row(other, "triton", 4.0), row(other, "sdpa_cudnn", 2.0),
    ]  # fmt: skip
    assert [(a["median_ms"], b["provider"]) for a, b in pairs(rows)] == [(2.0, "flex_attention"), (4.0, "sdpa_cudnn")]
    lines = list(ratio_lines(rows))
    assert len(lines) == 3
    assert lines[1].split()[-1] == "1.50"


def test_silu_is_compared_with_softmax_under_the_same_mask() -> None:
    silu, softmax = case(name="hstu_silu"), case(name="hstu")
    rows = [row(silu, "triton", 2.0), row(softmax, "triton", 3.0), row(softmax, "flex_attention", 4.0)]
    assert [line.split(":")[-1] for line in silu_lines(rows)] == [" 2.000 ms, softmax 3.000 ms, 1.50x, met"]
    assert list(silu_lines(rows[1:])) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="of a machine without a CUDA device")
def test_a_case_on_this_machine_has_whole_rows() -> None:
    inputs = Inputs(torch.device("cpu"))
    for direction in ("forward", "forward+backward"):
        asked = case("torch", "sdpa_flash", direction=direction)
        ours, peer = measure_case(asked, inputs, HowToMeasure(0.0, 1 << 18, heat=0.0))
        assert (ours["verdict"], peer["verdict"]) == ("passed", "unsupported")
        assert "needs a CUDA device" in peer["reason"]
        assert ours["median_ms"] > 0
        assert ours["rows_checked"] < 1024
        assert ours["num_samples"] >= 9
        assert {"plan_ms", "plan_cold_ms", "first_call_ms", "errors", "environment", "seed", "hash"} <= set(ours)


def test_the_command_goes_on_where_the_time_was_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "speed_table.py",
        "--out",
        str(tmp_path),
        "--masks",
        "causal",
        "sliding",
        "--lengths",
        "64",
        "--head-dims",
        "16",
    ]
    words += [
        "--directions",
        "forward",
        "--heads",
        "1",
        "--dtype",
        "float32",
        "--providers",
        "torch",
        "dense",
        "--seconds",
        "0",
    ]
    monkeypatch.setattr(sys, "argv", [*words, "--time-limit", "0"])
    assert speed_table.main() == speed_table.INCOMPLETE
    assert "0 of 2 cases measured" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", words)
    assert speed_table.main() == 0
    assert "2 of 2 cases measured" in capsys.readouterr().out
    assert speed_table.main() == 0
    out = capsys.readouterr().out
    assert "0 of 0 cases measured" in out
    assert len([line for line in out.splitlines() if line.startswith(("causal", "sliding"))]) == 2


def test_masks_of_their_own_length_are_measured_once_and_at_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [
        "x",
        "--out",
        "x",
        "--masks",
        "causal",
        "natten_64_k17",
        "--lengths",
        "2048",
        "1024",
        "--head-dims",
        "64",
        "--without",
        "sdpa",
    ]
    monkeypatch.setattr(sys, "argv", words)
    arguments = speed_table._parser().parse_args()
    cases = list(speed_table._cases(arguments, torch.device("cpu")))
    assert [(case.name, case.length, case.direction) for case in cases] == [
        (name, length, direction)
        for name, length in (("causal", 2048), ("natten_64_k17", 4096), ("causal", 1024))
        for direction in ("forward", "forward+backward")
    ]
    assert {case.providers for case in cases} == {("torch", "dense")}


def test_the_headline_begins_with_what_is_wanted_most_and_has_every_case_of_the_targets() -> None:
    cases = headline_cases(lambda _: True)
    assert len(set(cases)) == len(cases)
    assert [(case.name, case.length, case.head_dim) for case in cases[:2]] == [("causal", 32768, 128)] * 2
    assert cases[0].providers == ("hopper", "triton", "flex_attention", "sdpa_cudnn", "fa4")
    known = {(case.name, case.length, case.head_dim, case.dtype, case.direction) for case in cases}
    for target in HOPPER_TARGETS:
        if target.head_dim == 128 and target.dtype == "bfloat16":
            shape = (target.head_dim, target.dtype, target.direction)
            assert {(mask, length, *shape) for mask, length in target.cases()} <= known
    plain = headline_cases(lambda name: name in ("hopper", "flex_attention"))
    assert {case.providers for case in plain} == {("hopper", "flex_attention")}
    assert headline_cases(lambda name: name != "hopper") == []


@pytest.mark.parametrize(
    ("rounds", "ended_steady", "steady"),
    [((1.0, 1.5, 2.0), True, True), ((1.0, 1.019, 1.01), False, True), ((1.0, 1.03, 1.01), False, False)],
)
def test_times_have_settled_when_warm_ups_or_rounds_agree(
    rounds: tuple[float, ...], ended_steady: bool, steady: bool
) -> None:
    timings = [Timing((ms, ms, ms), 5, ended_steady, "warm", launch_ms=0.1) for ms in rounds]
    joined = _joined(timings)
    assert joined.steady == steady
    assert (len(joined.samples_ms), joined.warmup_runs, joined.launch_ms) == (9, 15, 0.1)
