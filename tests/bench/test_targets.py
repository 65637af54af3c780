"""The targets of the project, and what rows say about them: by the fastest peer of the same run."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.performance_tables import loss_lines, preset_lines, target_lines
from benchmarks.targets import HOPPER_TARGETS, TRITON_TARGETS, geometric_mean, outcomes, wanted_ratio


def row(provider: str, ms: float, **more: Any) -> dict[str, Any]:
    made = {
        "mask": "hstu", "preset": "hstu", "length": 8192, "head_dim": 128, "num_q_heads": 16, "num_kv_heads": 16,
        "dtype": "bfloat16", "direction": "forward", "provider": provider, "verdict": "passed", "median_ms": ms,
        "device": "G", "run": "1",
    }  # fmt: skip
    return made | more


@pytest.mark.parametrize(
    ("ours", "name", "length", "direction", "peer", "wanted"),
    [
        ("hopper", "causal", 8192, "forward", "fa4", 1.05),
        ("hopper", "causal", 8192, "forward", "flex_attention", None),
        ("hopper", "causal", 32768, "forward+backward", "fa4", 1.0),
        ("hopper_deterministic", "causal", 32768, "forward+backward", "fa4", 0.88),
        ("hopper", "full", 32768, "forward", "sdpa_cudnn", 0.97),
        ("hopper", "full", 32768, "forward+backward", "fa4", 0.95),
        ("hopper", "hstu", 32768, "forward+backward", "flex_attention", 1.35),
        ("hopper", "hstu", 32768, "forward+backward", "flex_attention_flash", None),
        ("hopper", "hstu", 8192, "forward", "flex_attention_flash", 1.0),
        ("hopper", "short_documents_128", 16384, "forward", "varlen", 1.5),
        ("hopper", "short_responses_512", 16384, "forward+backward", "flex_attention", 1.5),
        ("hopper", "short_documents_256", 8192, "forward", "varlen", None),
        ("hopper", "clear", 32768, "forward", "flex_attention_flash", 2.87),
        ("hopper", "clear_r8", 32768, "forward", "flex_attention_flash", 2.0),
        ("hopper", "clear", 32768, "forward+backward", "flex_attention", 2.0),
        ("hopper", "clear", 8192, "forward", "flex_attention", None),
        ("hopper", "natten_64_k17", 4096, "forward", "flex_attention", 2.0),
        ("hopper", "natten_128_k33", 16384, "forward+backward", "flex_attention_flash", 2.0),
        ("hopper", "natten_8x32x32_k5x9x9", 8192, "forward", "flex_attention", 2.0),
        ("hopper", "causal", 8192, "backward", "fa4", None),
        ("triton", "causal", 8192, "forward", "flex_attention", 1.1),
        ("triton", "hstu", 32768, "forward+backward", "flex_attention", 1.1),
        ("triton", "clear", 32768, "forward", "flex_attention", 2.0),
        ("triton", "natten", 32768, "forward", "flex_attention", 2.0),
        ("triton", "clear", 8192, "forward", "flex_attention", 1.1),
        ("triton", "causal", 4096, "forward", "flex_attention", None),
        ("triton", "causal", 8192, "forward", "sdpa_cudnn", None),
        ("triton", "hstu_silu", 8192, "forward", "flex_attention", None),
    ],
)
def test_targets_are_those_of_the_project(
    ours: str, name: str, length: int, direction: str, peer: str, wanted: float | None
) -> None:
    place = {"mask": name, "length": length, "direction": direction}
    assert wanted_ratio(row(ours, 1, **place), row(peer, 1, **place)) == wanted
    if ours == "hopper":
        less = None if wanted is None else {"forward": 0.95, "forward+backward": 1.0}[direction]
        for change in ({"head_dim": 64}, {"dtype": "float16"}):
            assert wanted_ratio(row(ours, 1, **place, **change), row(peer, 1, **place, **change)) == less


def test_the_fastest_peer_decides_and_only_beside_ours_of_its_run() -> None:
    rows = [
        row("hopper", 1.0), row("flex_attention", 2.0),
        row("hopper", 1.5, run="2"), row("flex_attention_flash", 1.2, run="2"), row("sdpa_cudnn", 0.1, run="3"),
        row("triton", 1.0, run="3"),
    ]  # fmt: skip
    found = [one for one in outcomes(HOPPER_TARGETS, rows) if one.ratio is not None]
    assert [(one.ratio, one.verdict, one.mask, one.length) for one in found] == [(1.2 / 1.5, "missed", "hstu", 8192)]
    later = [*rows, row("hopper", 1.0, run="4"), row("flex_attention_flash", 3.0, run="4")]
    assert [one.ratio for one in outcomes(HOPPER_TARGETS, later) if one.ratio is not None] == [2.0]
    met = [one for one in outcomes(HOPPER_TARGETS, rows[:2]) if one.ratio is not None]
    assert [(one.ratio, one.verdict) for one in met] == [(2.0, "met")]
    assert [one.ratio for one in outcomes(TRITON_TARGETS, rows) if one.ratio is not None] == []


def test_the_table_counts_lists_and_averages() -> None:
    rows = [
        row("hopper", 1.0), row("flex_attention", 2.0),
        row("hopper", 1.0, mask="sliding"), row("flex_attention", 0.5, mask="sliding"),
    ]  # fmt: skip
    text = "\n".join(target_lines(rows))
    assert "Of the Hopper kernels: 1 met, 1 missed, " in text
    assert (
        "| hstu | 8,192 | 128, bfloat16 | forward | hopper | 1.000 | flex_attention | 2.000 | 2.00x | 1x: met |" in text
    )
    assert (
        "| sliding | 8,192 | 128, bfloat16 | forward | hopper | 1.000 | flex_attention | 0.500 | 0.50x | 1x: missed |"
        in text
    )
    assert "forward: 1.00x of the 2 that are measured: missed, wanted 1.15x." in text
    assert "- hopper against fa4, 128, bfloat16, forward, 1.05x: causal 8,192, causal 32,768" in text
    assert "- hopper against any peer, 128, bfloat16, forward, 1x: sliding 32,768, documents 8,192" in text


def test_losses_are_those_of_the_best_of_ours_the_worst_first() -> None:
    rows = [
        row("hopper", 1.0), row("triton", 0.4), row("flex_attention", 0.5),
        row("hopper", 1.0, mask="sliding"), row("flex_attention", 0.5, mask="sliding"), row("fa4", 0.9, mask="sliding"),
    ]  # fmt: skip
    lines = list(loss_lines(rows))
    assert lines[0] == "In 2 of 3 comparisons of a case a peer is faster than the best of ours:"
    assert [line.split(" | ")[6:] for line in lines[4:]] == [
        ["flex_attention", "0.500", "0.50x |"],
        ["fa4", "0.900", "0.90x |"],
    ]
    assert list(loss_lines(rows[:3])) == ["In none of 1 comparisons of a case is a peer faster."]


def test_presets_have_a_line_for_each_direction_that_was_measured() -> None:
    rows = [
        row("hopper", 1.0),
        row("triton", 0.5),
        row("flex_attention", 2.0),
        row("triton", 3.0, length=1024, run="2"),
    ]
    lines = list(preset_lines(rows, ["causal", "hstu"]))[2:]
    assert lines == ["| hstu | forward | 3.000 |  |  | 0.500, 4.00x |  |  |"]


def test_a_geometric_mean_is_that_of_the_ratios() -> None:
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
