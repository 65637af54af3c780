"""Compiles the Hopper forward for a GPU that is not there and prints what became of its loops; run by test_hopper_offline.py.

python offline_compile_hopper.py HEAD_DIM DTYPE TILES [softcap] [sinks] [silu] [packed] [device]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch
import triton
from loop_bounds import foreign_bounds
from offline_compile import AbsentGpu, CompileOnly, inspect
from triton.runtime import driver

from compilemask.attention import DeviceMask, hopper
from compilemask.attention.hopper import launch
from compilemask.attention.hopper.device_work import device_work
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import plan_packed, plan_tiles


def main(head_dim: int, dtype: str, tiles: str, *words: str) -> dict[str, object]:
    """What the kernel takes, and its loops that hold matrix products; 4 query heads in pairs."""
    driver.set_active(AbsentGpu(90))
    kernel = CompileOnly(launch.hopper_forward_kernel)
    launch.hopper_forward_kernel = kernel
    launch._multiprocessors = lambda _device: 132
    one = np.ones(1, np.int64)
    mask = MaskDescriptor.from_trapezoids(512, 512, Trapezoids(one * 0, one * 512, one * 0, one * 0, one, one))
    q = torch.zeros(1, 4, 512, head_dim, dtype=getattr(torch, dtype))
    kv = q[:, :2].contiguous()
    (config,) = (one for one in hopper.FORWARD_CONFIGS[head_dim] if f"{one.block_m}x{one.block_n}" == tiles)
    if "packed" in words:
        plan = plan_packed(mask, config.block_m, config.block_n, 16)
        work = hopper.upload_work(hopper.packed_work(plan), np.ones(512, bool), q.device)
    elif "device" in words:
        own = DeviceMask.from_lengths("causal", 512, padded=False, length=torch.tensor(512))
        work = device_work(own, config.block_m, config.block_n)
    else:
        rows = plan_tiles(mask, config.block_m, config.block_n)
        work = hopper.upload_work(hopper.forward_work(rows), np.ones(512, bool), q.device)
    options = ScoreOptions(
        0.1,
        softcap=50.0 if "softcap" in words else None,
        activation="silu" if "silu" in words else "softmax",
        norm=512.0 if "silu" in words else None,
    )
    launch.run(q, kv, kv, work, options, config, torch.zeros(4) if "sinks" in words else None)
    bounds = foreign_bounds(kernel.compiled.asm["ttgir"])  # type: ignore[attr-defined]
    return {
        "foreign_bounds": bounds,
        "config": str(config),
        **inspect(kernel.compiled),
        "loops": product_loops(machine_code(kernel.compiled)),
    }


def machine_code(compiled: object) -> str:
    """The kernel, disassembled."""
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        Path(cubin.name).write_bytes(compiled.asm["cubin"])  # type: ignore[attr-defined]
        return subprocess.run([disassembler, "-c", cubin.name], capture_output=True, text=True, check=True).stdout


def product_loops(code: str) -> list[dict[str, object]]:
    """The main loops: those that wait twice, for the scores of one tile and for the output of the one before.

    The assembler puts what is rarely run, such as the second try at a barrier, behind everything and jumps back: these jumps
    span other waits. overlapped: all exponentials stand before the last wait.
    """
    labels: dict[str, int] = {}
    instructions: list[str] = []
    for line in code.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(instructions)
        elif instruction := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?);", line):
            instructions.append(instruction[1])
    loops = []
    for end, text in enumerate(instructions):
        target = re.search(r"BRA.*`\((\.L_x_\d+)\)", text)
        if target and labels.get(target[1], end + 1) <= end:
            loops.append((labels[target[1]], end + 1))
    found = [_describe(instructions[slice(*span)]) for span in loops]
    return [loop for loop in found if loop["products"] and loop["waits"] == 2]


def _describe(body: list[str]) -> dict[str, object]:
    waits = [at for at, text in enumerate(body) if "WARPGROUP.DEPBAR" in text]
    exponentials = [at for at, text in enumerate(body) if "MUFU.EX2" in text]
    return {
        "instructions": len(body),
        "products": sum("HGMMA" in text for text in body),
        "exponentials": len(exponentials),
        "waits": len(waits),
        "spills": sum(bool(re.search(r"\b(STL|LDL)\b", text)) for text in body),
        "overlapped": bool(waits) and max(exponentials, default=len(body)) < waits[-1],
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), *sys.argv[2:]), indent=1))
