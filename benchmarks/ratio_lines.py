"""Ratios of a speed table as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.speed_rows import OURS, key_of, pairs, timed
from benchmarks.targets import wanted_ratio
from compilemask.bench.rows import Row


def ratio_lines(rows: Sequence[Row]) -> Iterator[str]:
    """How many times faster the first of ours is than each peer, case by case, with the target where there is one."""
    yield f"{'workload':16}{'length':>7}{'dim':>5} {'direction':18}{'peer':22}{'ours, ms':>10}{'peer, ms':>10}{'ratio':>7}"
    for ours, peer in pairs(rows):
        ratio = peer["median_ms"] / ours["median_ms"]
        wanted = wanted_ratio(ours, peer)
        verdict = "" if wanted is None else f"  {'met' if ratio >= wanted else 'MISSED'}, wanted {wanted:g}"
        yield (
            f"{ours['mask']:16}{ours['length']:7}{ours['head_dim']:5} {ours['direction']:18}{peer['provider']:22}"
            f"{ours['median_ms']:10.3f}{peer['median_ms']:10.3f}{ratio:7.2f}{verdict}"
        )


def silu_lines(rows: Sequence[Row]) -> Iterator[str]:
    """HSTU with SiLU beside the same mask with softmax, both ours: SiLU is not to be slower."""
    softmax = {key_of({**row, "mask": "hstu_silu"}): row for row in timed(rows) if row["mask"] == "hstu"}
    for row in timed(rows):
        other = softmax.get(key_of(row))
        if other is not None and row["provider"] in OURS:
            factor = other["median_ms"] / row["median_ms"]
            yield (
                f"SiLU at {row['length']:,}, head_dim {row['head_dim']}, {row['direction']}, {row['provider']}: {row['median_ms']:.3f} ms, "
                f"softmax {other['median_ms']:.3f} ms, {factor:.2f}x, {'met' if factor >= 1 else 'missed'}"
            )
