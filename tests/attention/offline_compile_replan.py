"""Compiles the two kernels of a replan for a GPU that is not there and prints what they take; run by test_replan_offline.py.

python offline_compile_replan.py CAPABILITY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
import triton
from offline_compile import AbsentGpu, CompileOnly, inspect
from triton.runtime import driver

from compilemask.attention.device_plan import plan_intervals
from compilemask.attention.length_masks import FAMILIES
from compilemask.attention.triton import device_plan

TOTAL, BLOCKS = 1000, (128, 64)


def main(capability: int) -> dict[str, dict[str, dict[str, object]]]:
    """What each kernel takes for each family, and its instructions that write to and read from global memory."""
    driver.set_active(AbsentGpu(capability))
    assert isinstance(device_plan.sides_kernel, triton.JITFunction)
    sides, fill = CompileOnly(device_plan.sides_kernel), CompileOnly(device_plan.fill_kernel)
    device_plan.sides_kernel, device_plan.fill_kernel = sides, fill
    found = {}
    for name, kind in FAMILIES.items():
        own = {
            part: torch.tensor(100) if part in kind.scalars else torch.tensor([100, 130]) for part in kind.parameters
        }
        seen = torch.ones(TOTAL, dtype=torch.uint8)
        rows = kind.visibility(TOTAL, *own.values())
        tiles = {
            False: [plan_intervals(rows.queries, TOTAL, *BLOCKS, seen, tested=True)],
            True: [plan_intervals(rows.keys, TOTAL, *BLOCKS, seen)],
        }
        device_plan.Replan(name, TOTAL, own, seen, tiles)(list(own.values()))
        found[name] = {"sides": described(sides.compiled), "fill": described(fill.compiled)}
    return found


def described(compiled: object) -> dict[str, object]:
    ptx = compiled.asm["ptx"]  # type: ignore[attr-defined]
    return {**inspect(compiled), "stores": ptx.count("st.global"), "loads": ptx.count("ld.global")}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
