"""Compiles the two kernels of a replan for a GPU that is not there and prints what they take; run by test_replan_offline.py.

python offline_compile_replan.py CAPABILITY FAMILY [BLOCK_M BLOCK_N]...
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
import triton
from offline_compile import AbsentGpu, CompileOnly, inspect
from triton.runtime import driver

from compilemask.attention.device_plan import plan_intervals
from compilemask.attention.length_masks import FAMILIES
from compilemask.attention.triton import device_plan

TOTAL = 1000


class CompileSides(CompileOnly):
    """Leaves counts of 0 where the kernel would write its counts: what follows reads them."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        compile_only = super().__getitem__(grid)

        def compile_and_clear(*args: object, **options: object) -> None:
            compile_only(*args, **options)
            count = args[6]
            assert isinstance(count, torch.Tensor)
            count.zero_()

        return compile_and_clear


def main(capability: int, family: str, tilings: list[tuple[int, int]]) -> list[dict[str, dict[str, object]]]:
    """What each kernel takes under each tiling, and its instructions that write to and read from global memory."""
    driver.set_active(AbsentGpu(capability))
    assert isinstance(device_plan.sides_kernel, triton.JITFunction)
    sides, fill = CompileSides(device_plan.sides_kernel), CompileOnly(device_plan.fill_kernel)
    device_plan.sides_kernel, device_plan.fill_kernel = sides, fill
    kind = FAMILIES[family]
    lengths = [torch.tensor(100) if name in kind.scalars else torch.tensor([100, 130]) for name in kind.parameters]
    rows = kind.visibility(TOTAL, *lengths).queries
    found = []
    for block_m, block_n in tilings:
        device_plan.rewrite(plan_intervals(rows, TOTAL, block_m, block_n, None), rows, None)
        found.append({"sides": described(sides.compiled), "fill": described(fill.compiled)})
    return found


def described(compiled: object) -> dict[str, object]:
    ptx = compiled.asm["ptx"]  # type: ignore[attr-defined]
    return {**inspect(compiled), "stores": ptx.count("st.global"), "loads": ptx.count("ld.global")}


if __name__ == "__main__":
    sizes = list(map(int, sys.argv[3:]))
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], list(zip(sizes[::2], sizes[1::2], strict=True)))))
