"""Compiles the kernel for a GPU that is not there and prints what it takes; run by test_offline_compile.py.

python offline_compile.py CAPABILITY HEAD_DIM DTYPE TMA UNSEEN_KEYS
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from compilemask.attention.mask_tensors import upload
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import launch
from compilemask.attention.triton.configs import FORWARD_CONFIGS
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import plan_tiles


class AbsentGpu:
    """As much of a driver as compiling asks for."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0


class CompileOnly:
    """Stands for the kernel; keeps what would have been launched."""

    def __init__(self, kernel: triton.JITFunction) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: tuple[int, ...]):  # type: ignore[no-untyped-def]
        def compile_only(*args: object, **options: object) -> None:
            self.compiled = self.kernel.warmup(*args, grid=grid, **options)

        return compile_only


def main(capability: int, head_dim: int, dtype: str, tma: bool, unseen_keys: bool) -> dict[str, object]:
    driver.set_active(AbsentGpu(capability))
    kernel = CompileOnly(launch.attention_forward_kernel)
    assert not launch.interpreted()
    launch.attention_forward_kernel, launch.interpreted = kernel, lambda: False
    one = np.ones(1, np.int64)
    mask = MaskDescriptor.from_trapezoids(512, 512, Trapezoids(one * 0, one * 512, one * 0, one * 0, one, one))
    q = torch.zeros(1, 2, 512, head_dim, dtype=getattr(torch, dtype))
    config = FORWARD_CONFIGS.choose(head_dim, head_dim, q.element_size(), (capability // 10, capability % 10), tma=tma)
    plan = plan_tiles(mask, config.block_m, config.block_n)
    tensors = upload(plan, np.arange(512) < (500 if unseen_keys else 512), q.device)
    launch.forward(q, q, q, tensors, ScoreOptions(0.1), config)
    return {"config": str(config), **inspect(kernel.compiled)}


def inspect(compiled: object) -> dict[str, object]:
    """Registers, bytes of local memory, shared memory, and which matrix and copy instructions there are."""
    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled.asm["cubin"])  # type: ignore[attr-defined]
        usage = subprocess.run(
            [tools / "cuobjdump", "-res-usage", cubin], capture_output=True, text=True, check=True
        ).stdout
    found = {name: int(number) for name, number in re.findall(r"(REG|STACK|LOCAL):(\d+)", usage)}
    ptx = compiled.asm["ptx"]  # type: ignore[attr-defined]
    return {
        "registers": found["REG"],
        "spilled_bytes": found["STACK"] + found["LOCAL"],
        "shared_bytes": compiled.metadata.shared,  # type: ignore[attr-defined]
        "wgmma": ptx.count("wgmma.mma_async"),
        "mma": ptx.count("mma.sync"),
        "bulk_copies": ptx.count("cp.async.bulk.tensor"),
    }


if __name__ == "__main__":
    print(
        json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "tma", sys.argv[5] == "unseen"))
    )
