"""Times of packed tiles under a list of configurations, beside row tiles, to choose attention/triton/packed_configs.py.

    python3 benchmarks/tune_packed.py --out results/

Masks that cut rows into many short intervals: CLEAR discs at 32K tokens, neighbourhood windows in two and three dimensions.
Everything is verified before it is timed. Prints one block a mask: row tiles first, then packed tiles, fastest first.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

import compilemask
from benchmarks.conditions import conditions
from compilemask.attention.packed_tensors import PackedTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, Route, choose_route, packed_route, row_route
from compilemask.attention.triton.packed_launch import choose_packed_config
from compilemask.bench.case import default_device
from compilemask.bench.flops import case_flops
from compilemask.bench.measure import measure
from compilemask.bench.problem import Problem, problem_of
from compilemask.bench.protocol import CaseSpec, MeasureOptions
from compilemask.bench.verify import verify_forward
from compilemask.plan import Candidate, TilingChoice, choose_plan

CHUNKS = (16, 8)
VERIFIED_CELLS = 1 << 28
PAUSE_SECONDS = 0.1
WINDOW_3D = """
mask window(frames: int, height: int, width: int, reach: int)
tokens { video: frames x height x width }
video sees video where abs(k.z - min(max(q.z, reach), frames - 1 - reach)) <= reach
    and abs(k.y - min(max(q.y, reach), height - 1 - reach)) <= reach
    and abs(k.x - min(max(q.x, reach), width - 1 - reach)) <= reach
"""


def preset(name: str, **values: int) -> Callable[[], compilemask.MaskDescriptor]:
    return lambda: compilemask.compile(compilemask.preset_source(name)).bind(**values)


MASKS = {
    "clear r16 32K": preset("clear", text=512, height=252, width=128, radius=16),
    "clear r8 32K": preset("clear", text=512, height=252, width=128, radius=8),
    "clear r32 32K": preset("clear", text=512, height=252, width=128, radius=32),
    "window 13x13 16K": preset("neighborhood", height=128, width=128, radius=6),
    "window 7x7x7 16K": lambda: compilemask.compile(WINDOW_3D).bind(frames=16, height=32, width=32, reach=3),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to time: a mask's route, and the figures of its plan."""

    route: Route
    figures: dict[str, object]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for tune_packed_DIM_DTYPE.json")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=list(MASKS))
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), default="bfloat16")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each configuration")
    parser.add_argument(
        "--committed", action="store_true", help="time only the committed configuration, with each chunk"
    )
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("tuning needs a CUDA device")
    arguments.out.mkdir(parents=True, exist_ok=True)
    target = arguments.out / f"tune_packed_{arguments.head_dim}_{arguments.dtype}.json"
    measured_under = conditions(default_device())
    rows: list[dict[str, object]] = []
    for name in arguments.masks:
        began = time.perf_counter()
        found = _tune(name, arguments)
        rows += found
        target.write_text(json.dumps({**measured_under, "rows": rows}, indent=1))
        print(f"{name}, head_dim {arguments.head_dim}, {arguments.dtype} ({time.perf_counter() - began:.0f} s):")
        for row in [found[0], *sorted(found[1:], key=lambda row: row.get("ms", float("inf")))]:  # type: ignore[arg-type, return-value]
            chosen = "*" if row["committed"] else " "
            print(f" {chosen} {row.get('ms', 0):8.3f} ms {row.get('tflops', 0):6.0f} TFLOP/s visible "
                  f"{row.get('tflops_processed', 0):6.0f} processed  {row['detail']}  {row.get('reason', '')}", flush=True)  # fmt: skip
    return 0 if all("ms" in row for row in rows if row["committed"]) else 1


def configurations(committed: ForwardConfig) -> Iterator[ForwardConfig]:
    """The committed one first, then others of the same tiles, so that one plan serves all."""
    yield committed
    # Four warps keep twice as much in each thread; 128 registers would only spill.
    options = [*itertools.product((8,), (2, 3, 4), (None, 128)), (4, 3, None)]
    for warps, stages, registers in options:
        config = dataclasses.replace(committed, num_warps=warps, num_stages=stages, max_registers=registers)
        if config != committed:
            yield config


def _tune(name: str, arguments: argparse.Namespace) -> list[dict[str, object]]:
    device = default_device()
    descriptor = MASKS[name]()
    heads = arguments.heads
    spec = CaseSpec(name, "triton", "", 1, heads, heads, arguments.head_dim, arguments.dtype)
    problem = problem_of(spec, descriptor, device)
    flops = case_flops(spec, descriptor)
    rows: list[dict[str, object]] = []
    for entry in _entries(problem, arguments.committed):
        route = entry.route
        row: dict[str, object] = {"mask": name, "detail": route.detail, "config": str(route.config), **entry.figures}
        rows.append(row)

        def run(route: Route = route) -> tuple[torch.Tensor, torch.Tensor]:
            return route.run(problem.q, problem.k, problem.v, ScoreOptions(problem.sm_scale))

        try:
            check = verify_forward(*run(), problem, max_cells=VERIFIED_CELLS)
        except Exception as found:
            row["reason"] = str(found).strip().splitlines()[0][:120]
            continue
        row["max_error"] = check.errors[0].max_error
        if not check.passed:
            row["reason"] = check.reason
            continue
        time.sleep(PAUSE_SECONDS)
        timing = measure(lambda: run, device, MeasureOptions(target_seconds=arguments.seconds))
        row |= {"ms": timing.median_ms, "min_ms": timing.quantile_ms(0.0), "tflops": flops / timing.median_ms / 1e9}
        if isinstance(route.tensors, PackedTensors):
            processed = flops / descriptor.visible_pairs * route.tensors.plan.processed_pairs
            row["tflops_processed"] = processed / timing.median_ms / 1e9
    return rows


def _entries(problem: Problem, committed_only: bool) -> Iterator[Entry]:
    """Row tiles, then packed tiles in the patches that the planner finds, with each chunk and configuration."""
    q, k, v, mask = problem.q, problem.k, problem.v, problem.mask
    rows = row_route(q, k, v, mask)
    route = choose_route(q, k, v, mask)
    yield Entry(rows, {"committed": route.kind == "rows", "plan_ms": rows.plan_ms, "choice": route.reason})
    committed = choose_packed_config(q, v)
    choice = choose_plan(mask, committed.block_m, committed.block_n, num_heads=q.shape[1], head_dim=q.shape[3])
    for chunk in CHUNKS:
        best = _best_packed(choice, chunk)
        packed = packed_route(q, v, mask, chunk=chunk, grids=best.grids, config=committed)
        plan = packed.tensors.plan
        figures = {
            "chunk": chunk, "predicted_ms": best.milliseconds, "fill": plan.fill, "kv_tiles": plan.num_kv_tiles,
            "full_tiles": plan.num_full, "masks": plan.num_masks, "nbytes": plan.nbytes, "plan_ms": packed.plan_ms,
        }  # fmt: skip
        for config in [committed] if committed_only else configurations(committed):
            taken = config == committed and route.kind == "packed" and route.tensors.plan.chunk == chunk
            yield Entry(dataclasses.replace(packed, config=config), {"committed": taken, **figures})


def _best_packed(choice: TilingChoice, chunk: int) -> Candidate:
    """The planner's favourite with this chunk."""
    return min((one for one in choice.candidates if one.chunk == chunk), key=lambda one: one.milliseconds)


if __name__ == "__main__":
    sys.exit(main())
