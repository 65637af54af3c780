"""Inputs, providers, memory and the shell command."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
import torch
from oracles_attention import causal, descriptor_of, history_and_targets, neighbourhood, scattered

from compilemask import cli
from compilemask.bench import command, peers
from compilemask.bench.case import Problem, forward_flops, run_case
from compilemask.bench.inputs import attention_inputs
from compilemask.bench.memory import needed_bytes
from compilemask.bench.protocol import CaseSpec, MeasureOptions
from compilemask.bench.providers import Built, Provider, provider_named
from compilemask.bench.verify import verify

CPU = torch.device("cpu")
QUICK = MeasureOptions(min_samples=2, target_seconds=0.0)


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


def test_flops_count_visible_pairs_of_every_head() -> None:
    mask = descriptor_of(causal(16, 16))
    assert forward_flops(spec_for(""), mask) == 4 * 16 * 136 * 2 * 4


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


def test_a_failed_case_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(problem: Problem) -> Built:
        return Built(lambda: (torch.zeros_like(problem.q), None), "zeros", None)

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
        ValueError, match="no provider is named 'x'; there are triton, torch, reference, flex_attention"
    ):
        run_case(spec_for("", "x"), QUICK)


def test_dense_peers_need_memory_for_the_square() -> None:
    mask = descriptor_of(causal(100, 100))
    sparse, dense = (needed_bytes(spec_for("", name), mask) for name in ("torch", "sdpa_math"))
    assert dense - sparse >= 100 * 100 * 2 * 4 * 4


@pytest.mark.parametrize(
    "visible", [causal(30, 30), history_and_targets(30, 8), neighbourhood(5, 7, 3), scattered(20, 40, seed=2)]
)
def test_mask_mods_made_from_a_descriptor_hold_its_cells(visible) -> None:  # type: ignore[no-untyped-def]
    mask = descriptor_of(visible)
    mod, _ = peers._mask_mod(mask, CPU)
    q, k = torch.arange(mask.q_len)[:, None], torch.arange(mask.kv_len)[None]
    assert torch.equal(mod(0, 0, q, k), torch.from_numpy(visible))
    assert torch.equal(peers.dense_mask(mask, CPU), torch.from_numpy(visible))
    assert peers.is_causal(mask) == (visible.shape == (30, 30) and bool((visible == causal(30, 30)).all()))


def test_flex_attention_under_a_descriptor_is_right_where_it_runs_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    peers._compiled_flex.cache_clear()
    visible = history_and_targets(40, 10)
    mask = descriptor_of(visible)
    q, k, v = (x.float() for x in attention_inputs(spec_for(""), mask, CPU))
    problem = Problem(q, k, v, mask, 0.25)
    call, detail = peers.flex(problem)
    assert verify(call(), None, problem).passed
    assert detail == "mask_mod reads 2 intervals a row, cached BlockMask"
    peers._compiled_flex.cache_clear()


def test_the_command_prints_verdicts_before_speeds_and_keeps_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    arguments = [
        "hstu",
        "--example",
        "small",
        "--set",
        "targets=10",
        "--impl",
        "torch",
        "--impl",
        "sdpa",
        "--heads",
        "2",
        "--seconds",
        "0",
        "--json",
        str(out),
    ]
    assert command.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("hstu(context = 6, history = 66, targets = 10): 82 x 82, ")
    assert lines[2].split()[:3] == ["provider", "verdict", "ms"]
    assert [line.split()[:2] for line in lines[3:]] == [["torch", "passed"], ["sdpa", "passed"]]
    written = json.loads(out.read_text())
    assert len(written["results"]) == 2
    assert all(len(result["samples_ms"]) >= 10 for result in written["results"])


def test_the_command_reads_mask_files_and_tells_errors_in_their_own_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.mask"
    file.write_text("mask own(n: int)\ntokens { S: n }\nS sees S causal\n")
    assert command.main([str(file), "--set", "n=20", "--impl", "reference", "--seconds", "0"]) == 0
    assert capsys.readouterr().out.startswith("own(n = 20): 20 x 20, 210 visible pairs")
    for arguments, said in (
        (["no such"], "'no such' is no file, and "),
        (["causal", "--set", "n"], "--set wants NAME=VALUE"),
        (["causal", "--example", "huge"], "has no example"),
        (["causal", "--set", "n=-1"], "error[CM40"),
    ):
        assert command.main(arguments) == 2
        assert said in capsys.readouterr().err
    assert command.main(["causal", "--impl", "flash", "--heads", "1"]) == 1
    assert "no provider is named 'flash'" in capsys.readouterr().out


@pytest.mark.parametrize("settings", [["--set", "n=300"], ["--set", "n=300", "window=9"], ["--example", "small"], []])
def test_bench_measures_the_mask_that_the_other_commands_show(
    settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["show", "sliding_window", *settings]) == 0
    shown = re.search(r"visible +([\d,]+) pairs", capsys.readouterr().out)
    assert (
        cli.main(["bench", "sliding_window", *settings, "--impl", "reference", "--heads", "1", "--seconds", "0"]) == 0
    )
    assert shown is not None
    assert f"{shown[1]} visible pairs" in capsys.readouterr().out
