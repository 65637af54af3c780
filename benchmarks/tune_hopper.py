"""Times of the Hopper forward under its configurations, and the costs that follow, for plan/kernel_costs.py.

    python3 benchmarks/tune_hopper.py --out results/ [--head-dims 128 64] [--cases causal@32768 clear@32768] [--all]

Kernels are compiled side by side first, then every configuration is verified and timed on every case: row tiles, and packed ones where
few pairs of row tiles are visible. Prints one line for each, and the times of a kv tile and a q tile that fit them best.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch

from benchmarks.conditions import conditions
from benchmarks.masks import MASKS
from benchmarks.processes import outcomes
from compilemask.attention import hopper
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.score_options import ScoreOptions
from compilemask.bench.case import default_device
from compilemask.bench.flops import case_flops
from compilemask.bench.measure import measure
from compilemask.bench.problem import Problem, problem_of
from compilemask.bench.protocol import CaseSpec, Dtype, MeasureOptions
from compilemask.bench.verify import verify_forward
from compilemask.plan import CostModel, PackedPlan, choose_plan, plan_tiles

CASES = (
    "causal@8192", "causal@32768", "full@8192", "sliding@8192", "sliding@32768", "documents@8192", "documents@32768",
    "short_documents_128@16384", "short_documents_256@16384", "short_documents_512@16384", "clear@32768", "clear_r8@8192",
    "natten_64_k17@4096", "natten_128_k33@16384",
)  # fmt: skip
OTHERS = {
    64: (hopper.HopperForwardConfig(128, 128, 2), hopper.HopperForwardConfig(192, 64, 4, 160)),
    128: (hopper.HopperForwardConfig(192, 64, 2, 160),),
    256: (),
}
"""Configurations that are not in the table."""
SPARSE = 0.75  # visible share of the pairs of row tiles from which on packed ones are not tried
VERIFIED_CELLS = 1 << 24
CHUNK = 16
COMPILE_SECONDS = 120.0
Row = dict[str, Any]
Work = hopper.ForwardWork | hopper.PackedWork


@dataclass(frozen=True, slots=True)
class Variant:
    """A configuration of the kernel for one head dimension, over row tiles or packed ones."""

    head_dim: int
    dtype: Dtype
    heads: int
    config: hopper.HopperForwardConfig
    packed: bool

    def spec(self, name: str) -> CaseSpec:
        """Of a case of this name; without the mask's text, which nobody reads here."""
        return CaseSpec(name, "hopper", "", 1, self.heads, self.heads, self.head_dim, self.dtype)

    def ready(self, problem: Problem) -> Ready | None:
        """None where packed tiles are asked for and most pairs of row tiles are visible."""
        mask, config = problem.mask, self.config
        work: Work
        rows = plan_tiles(mask, config.block_m, config.block_n)
        if not self.packed:
            work = hopper.forward_work(rows)
        elif mask.visible_pairs > SPARSE * rows.processed_pairs:
            return None
        else:
            dear = CostModel(contiguous_us=1e3)
            plan = choose_plan(mask, config.block_m, config.block_n, chunks=(CHUNK,), model=dear).plan
            assert isinstance(plan, PackedPlan)
            work = hopper.packed_work(plan)
        tensors = hopper.upload_work(work, seen_keys(mask), problem.q.device)
        options = ScoreOptions(problem.sm_scale)
        return Ready(work, hopper.ForwardLaunch(problem.q, problem.k, problem.v, tensors, options, config))

    def imbalance(self, work: Work) -> float:
        """What the busiest program takes over the mean of all, at least."""
        model = hopper.costs_of(self.head_dim, self.config.block_m, self.config.block_n)
        costs, programs = work.costs(model), model.multiprocessors
        return model.balanced_milliseconds(costs, self.heads) * 1e3 * programs / (float(costs.sum()) * self.heads)


@dataclass(frozen=True, slots=True)
class Ready:
    """A variant for one mask."""

    work: Work
    launch: hopper.ForwardLaunch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for tune_hopper_DIM_DTYPE.json")
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="MASK@LENGTH")
    parser.add_argument("--head-dims", nargs="+", type=int, choices=OTHERS, default=[128, 64])
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dtype", choices=("bfloat16", "float16"), default="bfloat16")
    parser.add_argument("--all", action="store_true", help="configurations that are not in the table, too")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each configuration and case")
    parser.add_argument("--processes", type=int, default=12, help="that compile at the same time")
    arguments = parser.parse_args()
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        parser.error("tuning needs a GPU of compute capability 9.0")
    arguments.out.mkdir(parents=True, exist_ok=True)
    tried = {dim: variants(dim, arguments) for dim in arguments.head_dims}
    everything = list(itertools.chain(*tried.values()))
    for variant, failure in outcomes(compile_one, everything, arguments.processes, seconds=COMPILE_SECONDS):
        if failure is not None:
            print(f"{variant.head_dim} {variant.config}: {failure.reason}", flush=True)
    for head_dim, some in tried.items():
        rows = [row for case in arguments.cases for row in tune(case, some, arguments.seconds)]
        costs = [fitted(rows, variant) for variant in some]
        result = {**conditions(default_device()), "rows": rows, "costs": [one for one in costs if one]}
        path = arguments.out / f"tune_hopper_{head_dim}_{arguments.dtype}.json"
        path.write_text(json.dumps(result, indent=1))
    return 0


def variants(head_dim: int, arguments: argparse.Namespace) -> list[Variant]:
    """What is tried: the table's configurations, and the others where --all was given."""
    configs = hopper.FORWARD_CONFIGS[head_dim] + (OTHERS[head_dim] if arguments.all else ())
    return [
        Variant(head_dim, arguments.dtype, arguments.heads, config, packed)
        for config, packed in itertools.product(configs, (False, True))
        if not (packed and config.share_output)
    ]


def compile_one(variant: Variant) -> None:
    """Launch a variant once on a small mask, so that Triton's cache has it."""
    mask = MASKS["natten_64_k17" if variant.packed else "causal"].descriptor(4096)
    problem = problem_of(variant.spec("small"), mask, default_device())
    ready = variant.ready(problem)
    assert ready is not None
    ready.launch(problem.q, problem.k, problem.v)
    torch.cuda.synchronize()


def tune(case: str, tried: list[Variant], seconds: float) -> list[Row]:
    """One row for each variant that the case suits."""
    name, length = case.split("@")
    mask = MASKS[name].descriptor(int(length))
    problem = problem_of(tried[0].spec(name), mask, default_device())
    rows: list[Row] = []
    for variant in tried:
        began = time.perf_counter()
        ready = variant.ready(problem)
        if ready is None:
            continue
        row = measured(case, variant, ready, problem, seconds)
        row["host_ms"] = (time.perf_counter() - began) * 1e3
        rows.append(row)
        figures = f"{row['ms']:8.4f} ms {row['tflops']:6.0f} TFLOP/s" if "ms" in row else row["reason"]
        kind = "packed" if variant.packed else "rows"
        print(f"{case:27} {variant.head_dim:4} {kind:7}{astuple(variant.config)!s:44}{figures}", flush=True)
    return rows


def measured(case: str, variant: Variant, ready: Ready, problem: Problem, seconds: float) -> Row:
    """What a variant walks through, and its time, or why there is none."""
    work, launch = ready.work, ready.launch
    row: Row = {
        "case": case, "head_dim": variant.head_dim, "dtype": variant.dtype, "heads": variant.heads, "config": astuple(variant.config),
        "packed": variant.packed, "q_tiles": work.num_q_tiles,
        "tested": int(work.tested_indptr[-1]), "full": int(work.full_total.sum()),
        "imbalance": variant.imbalance(work),
    }  # fmt: skip
    check = verify_forward(*launch(problem.q, problem.k, problem.v), problem, max_cells=VERIFIED_CELLS)
    if not check.passed:
        return row | {"reason": check.reason}
    time.sleep(0.1)
    options = MeasureOptions(min_samples=3, target_seconds=seconds, warmup_seconds=seconds)
    timing = measure(lambda: lambda: launch(problem.q, problem.k, problem.v), problem.q.device, options)
    flops = case_flops(variant.spec(case), problem.mask)
    return row | {"ms": timing.median_ms, "tflops": flops / timing.median_ms / 1e9}


def fitted(rows: list[Row], variant: Variant) -> Row | None:
    """Microseconds of a full kv tile, a tested one and a q tile that fit a variant's rows best, relative errors counted.

    None for fewer rows than unknowns.
    """
    own = [r for r in rows if (r["config"], r["packed"]) == (astuple(variant.config), variant.packed) and "ms" in r]
    if len(own) < 3:
        return None
    programs = torch.cuda.get_device_properties(default_device()).multi_processor_count
    counts = np.array([[r["full"], r["tested"], r["q_tiles"]] for r in own]) * variant.heads / programs
    times = np.array([r["ms"] * 1e3 / r["imbalance"] for r in own])
    shares = counts / times[:, None]
    (full, tested, q_tile), *_ = np.linalg.lstsq(shares, np.ones(len(own)), rcond=None)
    worst = float(np.abs(shares @ (full, tested, q_tile) - 1).max())
    found = {
        "head_dim": variant.head_dim, "config": astuple(variant.config), "packed": variant.packed, "full_us": float(full),
        "tested_us": float(tested), "q_tile_us": float(q_tile), "largest_error": worst,
    }  # fmt: skip
    print("fitted", found, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
