"""`compilemask plan`: its numbers are those of the library, its slips one message."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from compilemask.cli import main
from compilemask.compiler import compile
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import (
    H200_HOPPER_BACKWARD,
    H200_TRITON_BACKWARD,
    KERNELS,
    TRITON_H200,
    PackedPlan,
    choose_backward,
    choose_kernel_tiling,
    choose_plan,
    format_bytes,
    grid_counts,
    plan_tiles,
)
from compilemask.presets import preset_source


def bound(name: str, **values: object) -> MaskDescriptor:
    mask = compile(preset_source(name)).bind(**values)
    assert isinstance(mask, MaskDescriptor)
    return mask


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("causal", {"n": 1000}, "rows"),
        ("shared_prompt", {"prompt": 300, "responses": [100, 100], "padding": 0}, "rows"),
        ("clear", {"text": 512, "height": 64, "width": 64, "radius": 16}, "packed"),
    ],
)
def test_json_gives_what_the_library_gives(
    name: str, values: dict[str, object], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mask = bound(name, **values)
    settings = [f"{key}={value}".replace(" ", "") for key, value in values.items()]
    sizes = ["--block-m", "128", "--block-n", "64", "--heads", "16", "--head-dim", "128"]
    assert main(["plan", name, "--set", *settings, "--json", *sizes]) == 0
    found = json.loads(capsys.readouterr().out)
    choice = choose_plan(mask, 128, 64, num_heads=16, head_dim=128)
    assert (found["hash"], found["kind"], found["reason"]) == (mask.hash, kind, choice.reason)
    assert found["predicted_ms"] == choice.chosen.milliseconds
    assert [one["predicted_ms"] for one in found["candidates"]] == [one.milliseconds for one in choice.candidates]
    assert sum(one["chosen"] for one in found["candidates"]) == 1
    plan = choice.plan
    partial = plan.num_kv_tiles - plan.num_full if isinstance(plan, PackedPlan) else plan.num_partial
    assert found["forward"] == {
        "full": plan.num_full,
        "partial": partial,
        "processed_pairs": plan.processed_pairs,
        "fill": mask.visible_pairs / plan.processed_pairs,
    }
    backward = plan_tiles(mask.transpose(), 128, 64)
    assert (found["backward"]["full"], found["backward"]["partial"]) == (backward.num_full, backward.num_partial)
    costs = {"hopper": H200_HOPPER_BACKWARD, "triton": H200_TRITON_BACKWARD}
    assert found["gradients"] == {impl: choose_backward(mask, one).reason for impl, one in costs.items()}
    assert found["grid"] == asdict(grid_counts(mask, 128, 64))
    assert found["formats"] == [asdict(one) for one in format_bytes(mask, 128, 64)]
    for told, kernel in zip(found["kernels"], KERNELS, strict=True):
        own = choose_kernel_tiling(mask, kernel)
        assert (told["impl"], told["chip"], told["source"]) == (kernel.impl, kernel.chip, kernel.source)
        assert (told["predicted_ms"], told["tiling"], told["reason"]) == (own.milliseconds(16), str(own), own.reason)
    assert [one["auto"] for one in found["kernels"]] == [True, False]
    assert {"dense bool", "BlockMask 128", "FlashMask", "row endpoints", "descriptor"} <= {
        one["name"] for one in found["formats"]
    }


def test_text_says_the_same_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "causal", "--set", "n=1024"]) == 0
    shown = capsys.readouterr().out
    assert "  tiling  row tiles, keys in place\n" in shown
    assert " because  row tiles, keys in place: " in shown
    assert " forward  query tiles visit 56 full and 16 partial tiles, 89.0% of their pairs visible\n" in shown
    assert "    grid  128 x 64, in place: 56 full, 16 partial, 56 empty\n" in shown
    assert "  row tiles, keys in place (chosen)\n" in shown
    assert " hopper on an H200, what auto takes: 128 x 128: row tiles, keys in place; " in shown
    assert (
        f" triton on an H200: 128 x 64: row tiles, keys in place; {TRITON_H200.fitted}, {TRITON_H200.source}\n" in shown
    )
    assert main(["plan", "causal", "--set", "n=64", "--head-dim", "20"]) == 0
    unknown = capsys.readouterr().out
    assert "             -  hopper on an H200: no kernel for head_dim 20; " in unknown
    assert " triton on an H200, what auto takes: " in unknown
    assert "     1,048,576  dense bool: one byte a cell\n" in shown
    assert "            48  descriptor: int64, 1 family of runs\n" in shown


def test_what_a_format_cannot_hold_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "clear", "--example", "small"]) == 0
    assert "-  FlashMask: a key is seen by 8 stretches of rows; it holds at most three\n" in capsys.readouterr().out


def test_one_mask_of_a_batch_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.mask"
    path.write_text("mask m(n: int, w: int per head in 1..)\ntokens { S: n }\nS sees S causal and q - k < w\n")
    for head, width in enumerate((4, 64)):
        assert main(["plan", str(path), "--set", "n=256", "w=[4,64]", "--json", "--head", str(head)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["hash"] == bound("sliding_window", n=256, window=width).hash
    assert main(["show", str(path), "--set", "n=256", "w=[4,64]", "--head", "1"]) == 0
    assert bound("sliding_window", n=256, window=64).hash in capsys.readouterr().out
    assert main(["explain", str(path), "99", "90", "--set", "n=256", "w=[4,64]", "--head", "1"]) == 0
    assert "visible" in capsys.readouterr().out


def test_a_mask_without_cells_has_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "causal", "--set", "n=0"]) == 0
    out = capsys.readouterr().out
    assert "query tiles visit 0 full and 0 partial tiles\n" in out
    assert "100" not in out


@pytest.mark.parametrize("command", ["show", "plan"])
def test_a_mask_too_long_to_be_tiled_is_answered_at_once(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([command, "causal", "--set", "n=2000000000"])
    found = capsys.readouterr()
    if command == "show":
        assert code == 0
        assert "   tiles  not counted: they take 15,625,000 steps, more than 4,194,304\n" in found.out
    else:
        assert code == 2
        assert "planning this mask takes 15,625,000 steps" in found.err
        assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--block-n", "48"], "a multiple of 32 keys, got --block-m 128 --block-n 48"),
        (["--block-m", "0"], "at least 1 row and a multiple of 32 keys, got --block-m 0"),
        (["--block-m", "100000"], "block_m must be an integer from 1 to 65536, got 100000"),
        (["--heads", "0"], "num_heads and head_dim must be at least 1, got 0 and 128"),
        (["--item", "-1"], "--item must be 0 or more, got -1"),
        (["--item", "1"], "--item must be less than 1, got 1; these values are the same for all items"),
        (["--head", "7"], "--head must be less than 1, got 7; these values are the same for all heads"),
    ],
)
def test_a_slip_is_one_message(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "causal", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert words in found.err
    assert found.err.count("\n") == 1
