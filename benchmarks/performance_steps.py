"""Parts of docs/performance.md about masks made anew, and about single kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.result_files import RESULTS, read_json, repeatable
from benchmarks.step_table import PEERS, TARGETS

Row = dict[str, Any]


def step_lines(folder: Path = RESULTS) -> Iterator[str]:
    """Steps whose lengths change every time, ours beside the better of FlexAttention's back ends that were measured."""
    found = read_json("step_table.json", folder)
    if found is None:
        yield "Not measured yet: `python3 benchmarks/step_table.py --out benchmarks/results`."
        return
    yield (
        f"{_where(found)}: `{repeatable(found['command'])}`. Wall time of a step: the mask of new random lengths of the same total, and attention, 16 heads of "
        "128, bfloat16, verified before; beside the better of FlexAttention's back ends that were measured. `bound` makes the mask on the host, `device` from lengths on the GPU; a graph is compared with a graph."
    )
    yield ""
    yield "| family | tokens | direction | way | ms | 90 % below | beside | ms | we are | wanted |"
    yield "| --- | ---: | --- | --- | ---: | ---: | --- | ---: | ---: | --- |"
    rows = [row for row in found["rows"] if row["verdict"] == "passed"]
    for row in rows:
        if row["way"] in PEERS:
            yield _step_line(row, rows)


def _step_line(ours: Row, rows: Sequence[Row]) -> str:
    place = (ours["family"], ours["tokens"], ours["direction"])
    peers = [row for row in rows if (row["family"], row["tokens"], row["direction"]) == place]
    peers = [row for row in peers if row["way"] in PEERS[ours["way"]]]
    start = f"| {ours['family']} | {ours['tokens']:,} | {ours['direction']} | {ours['way']} | {ours['median_ms']:.3f} | {ours['p90_ms']:.3f} "
    if not peers:
        return f"{start}| | | | |"
    peer = min(peers, key=lambda row: row["median_ms"])
    ratio, target = peer["median_ms"] / ours["median_ms"], TARGETS.get((ours["family"], ours["direction"]))
    wanted = "" if target is None else f"{target:g}x: {'met' if ratio >= target else 'missed'}"
    return f"{start}| {peer['way']} | {peer['median_ms']:.3f} | {ratio:.2f}x | {wanted} |"


def replan_lines(folder: Path = RESULTS) -> Iterator[str]:
    """Planning on the GPU beside create_block_mask."""
    found = read_json("replan.json", folder)
    if found is None:
        yield "Planning on the GPU is not measured yet: `python3 benchmarks/replan.py --out benchmarks/results`."
        return
    yield (
        f"{_where(found)}: `{repeatable(found['command'])}`. Tiles of a forward and of a backward made anew from lengths on the GPU, beside create_block_mask compiled "
        "for the length; as calls and as replayed CUDA graphs. Wanted is 3x at 32,768 tokens."
    )
    yield ""
    yield "| family | tokens | ours, ms | create_block_mask, ms | we are | graphs: ours, ms | create_block_mask, ms | we are |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in found["rows"]:
        calls = f"{row['replan_ms']:.3f} | {row['create_block_mask_ms']:.3f} | {row['ratio']:.2f}x"
        theirs = row["create_block_mask_graph_ms"]
        graphs = "- | -" if theirs is None else f"{theirs:.3f} | {row['graph_ratio']:.2f}x"
        yield f"| {row['family']} | {row['tokens']:,} | {calls} | {row['replan_graph_ms']:.3f} | {graphs} |"


def ncu_lines(folder: Path = RESULTS) -> Iterator[str]:
    """What Nsight Compute says about our kernels."""
    found = read_json("ncu.json", folder)
    if found is None:
        yield "Not profiled yet: see `benchmarks/ncu_summary.py`."
        return
    yield f"{_where(found)}: `{repeatable(found['command'])}`; {found['work']}. Percentages are of what the chip can do; spills are requests of all threads."
    yield ""
    yield "| kernel | ms | SM clock, GHz | tensor or busiest pipe | issue slots | L1 | L2 | DRAM | registers | shared, kB | warps an SM | spills |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in found["rows"]:
        pipe = f"{row['busiest_pipeline']} {row['pipeline_percent']:.1f} %" if "busiest_pipeline" in row else "-"
        percent = " | ".join(f"{row[f'{name}_percent']:.1f} %" for name in ("issue", "l1", "l2", "dram"))
        yield (
            f"| {row['kernel']} | {row['duration']:.3f} | {row['sm_clock']:.2f} | {pipe} | {percent} | {row['registers']:.0f} | "
            f"{row['shared_kbytes']:.1f} | {row['active_warps']:.1f} | {row['spill_requests']:,.0f} |"
        )


def _where(found: Row) -> str:
    known = found["environment"]
    return f"{known['device']}, torch {known['torch']}, triton {known.get('triton', 'none')}, {found['date'][:10]}"
