"""Host time of a mask whose lengths are new: bind, and what attention plans for the Hopper kernels on first sight of it.

    python3 benchmarks/step_plan.py --out benchmarks/results

In every step other random lengths of the same total (benchmarks/step_masks.py). bind_ms: MaskProgram.bind. forward_ms: choice of the
tiles, work list and schedule for 16 heads of 128 on 132 multiprocessors. backward_ms: the transposed mask's tiles. Milliseconds of the
thread's own processor time, so that a busy machine counts little: median and quickest of 50 steps after 10. Nothing is computed, and
arrays stay on the CPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

import compilemask
from benchmarks.conditions import conditions
from benchmarks.step_masks import STEP_FAMILIES
from compilemask.attention.hopper import FORWARD_CONFIGS, costs_of, work_cache
from compilemask.attention.hopper.backward_configs import BLOCK_M, FUSED
from compilemask.attention.mask_tensors import cache

TOTALS = (4096, 8192)
STEPS, WARM_STEPS = 50, 10
NUM_HEADS, HEAD_DIM, MULTIPROCESSORS = 16, 128, 132
CPU = torch.device("cpu")
Made = TypeVar("Made")


def timed(work: Callable[[], Made]) -> tuple[Made, float]:
    """What it made, and the milliseconds of this thread that it took."""
    began = time.thread_time_ns()
    made = work()
    return made, (time.thread_time_ns() - began) / 1e6


def row(family: str, total: int) -> dict[str, object]:
    """Times of one family at one total."""
    program = compilemask.compile(compilemask.preset_source(family))
    random = torch.Generator().manual_seed(0)
    config = FORWARD_CONFIGS[HEAD_DIM][0]
    model = costs_of(HEAD_DIM, config.block_m, config.block_n)
    found: dict[str, list[float]] = {"bind": [], "forward": [], "backward": [], "whole": []}
    for step in range(WARM_STEPS + STEPS):
        numbers = {name: x.tolist() for name, x in STEP_FAMILIES[family].lengths(total, random).items()}
        mask, bind_ms = timed(lambda numbers=numbers: program.bind(**numbers))
        key = (1, NUM_HEADS, NUM_HEADS, 4 * total * HEAD_DIM, MULTIPROCESSORS, model)
        _, forward_ms = timed(lambda mask=mask, key=key: work_cache.get(mask, HEAD_DIM, True, CPU).schedule(key))
        _, backward_ms = timed(
            lambda mask=mask: cache.get(mask, BLOCK_M, FUSED[HEAD_DIM].block_n, CPU, transposed=True)
        )
        if step >= WARM_STEPS:
            for name, each in zip(
                found, (bind_ms, forward_ms, backward_ms, bind_ms + forward_ms + backward_ms), strict=True
            ):
                found[name].append(each)
    medians = {f"{name}_ms": statistics.median(times) for name, times in found.items()}
    return {"family": family, "tokens": total, **medians, "quickest_ms": min(found["whole"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for step_plan.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    head = conditions(CPU)
    rows = []
    for total in TOTALS:
        for family in STEP_FAMILIES:
            rows.append(row(family, total))
            print(rows[-1], flush=True)
    (arguments.out / "step_plan.json").write_text(json.dumps({**head, "method": __doc__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
