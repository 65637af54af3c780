"""Tables of docs/performance.md: what each provider reached under each workload, targets, losses, presets by length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.masks import MASKS
from benchmarks.ratio_lines import silu_lines
from benchmarks.result_files import Row, case_key, newest, passed
from benchmarks.speed_rows import OURS, pairs
from benchmarks.targets import (
    ANY_PEER,
    HOPPER_TARGETS,
    STRUCTURED,
    TRITON_TARGETS,
    Outcome,
    Target,
    geometric_mean,
    outcomes,
    wanted_ratio,
)
from compilemask.bench.tables import rate

PRESET_LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
_WORKLOAD_LENGTHS = (8192, 32768)


def workload_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Every provider's newest row of each case; a peer with its ratio to the first of ours of its own run."""
    yield "| workload | length | heads x dim, dtype | provider | ms | rate | we are | wanted | mask cold, warm, ms |"
    yield "| --- | ---: | --- | --- | ---: | ---: | ---: | --- | --- |"
    ratios: dict[int, Row] = {}
    for ours, peer in sorted(pairs(rows), key=lambda pair: -OURS.index(pair[0]["provider"])):
        ratios[id(peer)] = ours
    for row in sorted((row for row in newest(rows) if _in_table(row)), key=_order):
        yield _row_line(row, ratios.get(id(row)))
    if silu := list(silu_lines(rows)):
        yield ""
        yield "HSTU's SiLU beside softmax under the same mask, in one run; wanted is 1x:"
        yield ""
        yield from (f"- {line}" for line in silu)


def target_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Every case of every target that was measured, with the rows that decide it; the others in short."""
    for title, targets in (("Hopper", HOPPER_TARGETS), ("Triton", TRITON_TARGETS)):
        found = outcomes(targets, rows)
        count = {verdict: sum(one.verdict == verdict for one in found) for verdict in ("met", "missed", "not measured")}
        yield (
            f"Of the {title} kernels: {count['met']} met, {count['missed']} missed, {count['not measured']} not measured. The peer is the "
            "fastest of those that can express the mask and were measured."
        )
        yield ""
        yield "| workload | length | head_dim, dtype | direction | ours | ms | peer | ms | we are | wanted |"
        yield "| --- | ---: | --- | --- | --- | ---: | --- | ---: | ---: | --- |"
        yield from (_outcome_line(one.ours, one.peer, one) for one in found if one.ours and one.peer)
        yield ""
        yield from _mean_lines(targets, found)
        yield from _missing_lines(targets, found)


def _missing_lines(targets: Sequence[Target], found: Sequence[Outcome]) -> Iterator[str]:
    """One line for each target that has cases without rows."""
    if any(one.ratio is None for one in found):
        yield "Not measured yet:"
        yield ""
    for target in targets:
        cases = [f"{one.mask} {one.length:,}" for one in found if one.target is target and one.ratio is None]
        if cases:
            against = "any peer" if target.against == ANY_PEER else " or ".join(target.against)
            shape = f"{target.head_dim}, {target.dtype}, {target.direction}"
            yield f"- {target.ours} against {against}, {shape}, {target.wanted:g}x: {', '.join(cases)}"
    yield ""


def _mean_lines(targets: Sequence[Target], found: Sequence[Outcome]) -> Iterator[str]:
    for target in targets:
        if target.mean is None:
            continue
        ratios = [one.ratio for one in found if one.target is target and one.ratio is not None]
        said = "not measured"
        if ratios:
            mean = geometric_mean(ratios)
            some = "" if len(ratios) == len(list(target.cases())) else f" of the {len(ratios)} that are measured"
            said = f"{mean:.2f}x{some}: {'met' if mean >= target.mean else 'missed'}"
        yield f"Geometric mean over {', '.join(STRUCTURED)}, {target.direction}: {said}, wanted {target.mean:g}x."
        yield ""


def _outcome_line(ours: Row, peer: Row, outcome: Outcome) -> str:
    target = outcome.target
    return (
        f"| {outcome.mask} | {outcome.length:,} | {target.head_dim}, {target.dtype} | {target.direction} | {target.ours} | "
        f"{ours['median_ms']:.3f} | {peer['provider']} | {peer['median_ms']:.3f} | {outcome.ratio:.2f}x | {target.wanted:g}x: {outcome.verdict} |"
    )


def loss_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Cases where a peer's newest row is faster than the best of ours in its run, the worst first."""
    shown = {id(row) for row in newest(rows)}
    best: dict[int, tuple[Row, Row]] = {}
    for ours, peer in pairs(rows):
        if id(peer) in shown and (id(peer) not in best or ours["median_ms"] < best[id(peer)][0]["median_ms"]):
            best[id(peer)] = (ours, peer)
    lost = [(peer["median_ms"] / ours["median_ms"], ours, peer) for ours, peer in best.values()]
    lost = sorted((one for one in lost if one[0] < 1), key=lambda one: one[0])
    if not lost:
        yield f"In none of {len(best)} comparisons of a case is a peer faster."
        return
    yield f"In {len(lost)} of {len(best)} comparisons of a case a peer is faster than the best of ours:"
    yield ""
    yield "| mask | length | head_dim, dtype | direction | ours | ms | peer | ms | we are |"
    yield "| --- | ---: | --- | --- | --- | ---: | --- | ---: | ---: |"
    for ratio, ours, peer in lost:
        yield (
            f"| {ours['mask']} | {ours['length']:,} | {ours['head_dim']}, {ours['dtype']} | {ours['direction']} | {ours['provider']} | "
            f"{ours['median_ms']:.3f} | {peer['provider']} | {peer['median_ms']:.3f} | {ratio:.2f}x |"
        )


def preset_lines(rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    """Presets by length: the best of ours in ms, and how many times faster than compiled FlexAttention in that run."""
    yield "| preset | direction | " + " | ".join(f"{length // 1024}K" for length in PRESET_LENGTHS) + " |"
    yield "| --- | --- |" + " ---: |" * len(PRESET_LENGTHS)
    own = [
        row for row in passed(rows) if row["mask"] in names and row["dtype"] == "bfloat16" and row["head_dim"] == 128
    ]
    for name in names:
        for direction in ("forward", "forward+backward"):
            mine = [row for row in own if row["mask"] == name and row["direction"] == direction]
            cells = [_preset_cell([row for row in mine if row["length"] == length]) for length in PRESET_LENGTHS]
            if any(cells):
                yield f"| {name} | {direction} | {' | '.join(cells)} |"


def _preset_cell(rows: Sequence[Row]) -> str:
    both = [(ours, peer) for ours, peer in pairs(rows) if peer["provider"] == "flex_attention"]
    if both:
        ours, peer = min(both, key=lambda pair: pair[0]["median_ms"])
        return f"{ours['median_ms']:.3f}, {peer['median_ms'] / ours['median_ms']:.2f}x"
    ours_alone = [row["median_ms"] for row in rows if row["provider"] in OURS]
    return f"{min(ours_alone):.3f}" if ours_alone else ""


def _in_table(row: Row) -> bool:
    """Workloads at the lengths of the tables; on a CPU at any."""
    mask = MASKS.get(row["mask"])
    if mask is None:
        return False
    return row["device"].startswith("CPU") or row["length"] in (mask.own_length, *_WORKLOAD_LENGTHS)


def _row_line(row: Row, ours: Row | None) -> str:
    """A row and, where it is a peer's, its ratio to ours."""
    heads = f"{row['num_q_heads']}/{row['num_kv_heads']} x {row['head_dim']}, {row['dtype']}"
    place = f"| {row['mask']} | {row['length']:,} | {heads} | {row['provider']} "
    if row["verdict"] != "passed" or not row["median_ms"]:
        return f"{place}| {row['verdict']}: {row['reason']} | | | | |"
    ratio = wanted = ""
    if ours is not None:
        factor = row["median_ms"] / ours["median_ms"]
        ratio = f"{factor:.2f}x"
        aim = wanted_ratio(ours, row)
        wanted = "" if aim is None else f"{aim:g}x: {'met' if factor >= aim else 'missed'}"
    made = ", ".join("-" if row[name] is None else f"{row[name]:.1f}" for name in ("plan_cold_ms", "plan_ms"))
    return f"{place}| {row['median_ms']:.3f} | {rate(row['tflops'])} | {ratio} | {wanted} | {made} |"


def _order(row: Row) -> tuple[object, ...]:
    ours = OURS.index(row["provider"]) if row["provider"] in OURS else len(OURS)
    return (*case_key(row)[1:3], -row["head_dim"], row["dtype"], ours, row["provider"])
