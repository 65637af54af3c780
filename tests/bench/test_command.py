"""`compilemask bench` from a shell: cases, tables, files, refusals."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from compilemask import cli
from compilemask.bench import command, runner
from compilemask.bench.arguments import cases, parser
from compilemask.bench.protocol import CaseSpec, JobSpec, MeasureOptions, result_from_json
from compilemask.bench.worker import Events, run_job


def in_this_process(
    specs: Sequence[CaseSpec], options: MeasureOptions, *, started: runner.Told
) -> Generator[tuple[CaseSpec, runner.Outcome]]:
    """runner.outcomes without the processes, which tests/bench/test_runner.py tries."""
    for spec in specs:
        started(spec)
        stream = io.StringIO()
        run_job(JobSpec((spec,), options), Events(stream))
        events = [json.loads(line) for line in stream.getvalue().splitlines()]
        answer = next(event for event in events if event["event"] in ("result", "error"))
        yield spec, result_from_json(answer["result"]) if "result" in answer else answer["reason"]


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "outcomes", in_this_process)


QUICK = ["--heads", "2", "--head-dim", "16", "--seconds", "0"]


@pytest.mark.parametrize(
    ("capability", "usual"),
    [
        (None, ["torch"]),
        ((8, 0), ["torch", "triton"]),
        ((9, 0), ["torch", "triton", "hopper"]),
        ((10, 0), ["torch", "triton"]),
    ],
)
def test_without_a_choice_the_kernels_made_for_the_gpu_are_measured(
    capability: tuple[int, int] | None, usual: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: capability is not None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    asked: list[str] = []

    def note(specs: Sequence[CaseSpec], options: MeasureOptions, *, started: runner.Told) -> Generator[Any]:
        asked.extend(spec.provider for spec in specs)
        yield from ((spec, "not run") for spec in specs)

    monkeypatch.setattr(runner, "outcomes", note)
    assert command.main(["causal", "--set", "n=20", *QUICK]) == 1
    assert asked == usual


def test_verdicts_come_before_speeds_and_rows_keep_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    settings = ["--example", "small", "--set", "targets=10", "--impl", "torch", "--impl", "sdpa", "dense"]
    assert command.main(["hstu", *settings, *QUICK, "--json", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("hstu(context = 6, history = 66, targets = 10): 82 x 82, ")
    assert "1 x 2/2 heads x 16, bfloat16, forward" in lines[0]
    assert lines[1].startswith(("on CPU ", "on NVIDIA "))
    assert lines[2].split()[:3] == ["provider", "verdict", "ms"]
    assert [line.split()[:2] for line in lines[3:]] == [["torch", "passed"], ["sdpa", "passed"], ["dense", "passed"]]
    written = json.loads(out.read_text())
    assert shlex.split(written["command"])[:3] == ["compilemask", "bench", "hstu"]
    assert [row["provider"] for row in written["rows"]] == ["torch", "sdpa", "dense"]
    for row in written["rows"]:
        assert row["values"] == {"context": 6, "history": 66, "targets": 10}
        assert len(row["samples_ms"]) >= 10
        assert row["environment"]["torch"]
        assert {"hash", "q_len", "visible_pairs", "bind_ms", "plan_ms", "plan_cold_ms", "date", "seed"} <= set(row)


def test_the_command_of_a_row_repeats_the_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, again = tmp_path / "first.json", tmp_path / "again.json"
    settings = [
        "--sweep",
        "n=20",
        "30",
        "--set",
        "window=5",
        "--direction",
        "backward",
        "--kv-heads",
        "1",
        "--seed",
        "4",
    ]
    assert command.main(["sliding_window", *settings, *QUICK, "--impl", "torch", "--json", str(first)]) == 0
    rows = json.loads(first.read_text())["rows"]
    assert [row["values"]["n"] for row in rows] == [20, 30]
    words = shlex.split(rows[1]["command"])
    assert words[:3] == ["compilemask", "bench", "sliding_window"]
    assert command.main([*words[2:], "--json", str(again)]) == 0
    (repeated,) = json.loads(again.read_text())["rows"]
    for name in (
        "hash",
        "values",
        "provider",
        "direction",
        "dtype",
        "head_dim",
        "num_kv_heads",
        "seed",
        "errors",
        "command",
    ):
        assert repeated[name] == rows[1][name], name


@pytest.mark.skipif(torch.cuda.is_available(), reason="of a machine without a CUDA device")
def test_every_combination_is_a_case_and_one_that_fails_loses_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, chart = tmp_path / "table.md", tmp_path / "chart.html"
    settings = ["--sweep", "n=20", "40", "--dtype", "float32", "--direction", "forward", "backward"]
    providers = ["--impl", "sdpa_flash", "dense"]
    arguments = ["causal", *settings, *providers, "--heads", "1", "--head-dim", "8", "16", "--seconds", "0"]
    assert command.main([*arguments, "--table", str(table), "--chart", str(chart)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["causal(n = 20)", "causal(n = 40)"]
    body = lines[4:]
    assert len(body) == 2 * 2 * 2 * 2
    assert [line.split()[:5] for line in body[:2]] == [
        ["20", "forward", "8", "sdpa_flash", "error"],
        ["20", "forward", "8", "dense", "passed"],
    ]
    assert sum("passed" in line for line in body) == 8
    assert sum("needs a CUDA device" in line for line in body) == 8
    markdown = table.read_text().splitlines()
    assert markdown[0].startswith("| n | direction | head_dim | provider | verdict | ms |")
    assert len(markdown) == 2 + 16
    page = chart.read_text()
    assert "dense, backward, head_dim 8" in page
    assert "plotly.js v" in page[:200_000]


def test_rows_are_written_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.json"
    seen: list[int] = []

    def watched(specs: Sequence[CaseSpec], options: MeasureOptions, *, started: runner.Told) -> Any:
        for number, answer in enumerate(in_this_process(specs, options, started=started)):
            if number:
                seen.append(len(json.loads(out.read_text())["rows"]))
            if number == 2:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(runner, "outcomes", watched)
    providers = ["--impl", "torch", "dense", "reference", "sdpa"]
    assert command.main(["causal", "--set", "n=20", *providers, *QUICK, "--json", str(out)]) == 130
    assert seen == [1, 2]
    assert len(json.loads(out.read_text())["rows"]) == 2


def test_mask_files_are_read_and_errors_told_in_their_own_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.mask"
    file.write_text("mask own(n: int)\ntokens { S: n }\nS sees S causal\n")
    assert command.main([str(file), "--set", "n=20", "--impl", "reference", "--seconds", "0"]) == 0
    assert capsys.readouterr().out.startswith("own(n = 20): 20 x 20, 210 visible pairs")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no such"], "'no such' is no file, and "),
        (["causal", "--set", "n"], "--set wants NAME=VALUE"),
        (["causal", "--example", "huge"], "has no example"),
        (["causal", "--set", "n=-1"], "error[CM40"),
        (["causal", "--sweep", "n"], "--sweep wants NAME=VALUE VALUE ..., got 'n'; for example"),
        (
            ["causal", "--set", "n=4", "--sweep", "n=5"],
            "n is given twice, by --sweep and by another option; give it once",
        ),
        (["causal", "--sweep", "m=5"], "has no parameter 'm'; its parameters are n"),
        (["causal", "--heads", "6", "--kv-heads", "4"], "--heads must be a multiple of --kv-heads, got 6 and 4"),
        (["causal", "--json", "/no/such/folder/out.json"], "cannot write /no/such/folder/out.json: there is no folder"),
        (
            ["causal", "--impl", "tritn"],
            "--impl: no provider is named 'tritn'; did you mean 'triton'? there are triton,",
        ),
        (
            ["causal", "--impl", "foo"],
            "--impl: no provider is named 'foo'; there are triton, hopper, hopper_deterministic, torch, reference, flex",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_message(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([*arguments, *([] if "--impl" in arguments else ["--impl", "torch"])]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--head-dim", "0"], "must be a whole number of at least 1, got '0'"),
        (["--heads", "many"], "must be a whole number of at least 1, got 'many'"),
        (["--seconds", "-1"], "must be a number of seconds from 0 to 3600, got '-1'"),
        (["--seconds", "nan"], "must be a number of seconds from 0 to 3600, got 'nan'"),
        (["--direction", "sideways"], "invalid choice: 'sideways'"),
    ],
)
def test_numbers_and_words_are_read_by_what_they_must_be(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["causal", *arguments])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("settings", [["--set", "n=300"], ["--set", "n=300", "window=9"], ["--example", "small"], []])
def test_bench_measures_the_mask_that_the_other_commands_show(
    settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["show", "sliding_window", *settings]) == 0
    shown = re.search(r"visible +([\d,]+) pairs", capsys.readouterr().out)
    assert shown is not None
    arguments = parser().parse_args(["sliding_window", *settings, "--impl", "torch"])
    (case,) = cases(arguments)
    assert f"{case.mask.visible_pairs:,}" == shown[1]
