"""Compiles the kernel of packed tiles for a GPU that is not there; run by test_packed_offline_compile.py.

python packed_offline_compile.py CAPABILITY HEAD_DIM DTYPE UNSEEN_KEYS [CHUNK [WARPS STAGES REGISTERS]]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import triton
from offline_compile import AbsentGpu, CompileOnly, inspect
from triton.runtime import driver

from compilemask.attention.packed_tensors import upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import packed_launch
from compilemask.attention.triton.packed_configs import PACKED_CONFIGS
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import rectangle
from compilemask.plan import plan_packed


def main(
    capability: int, head_dim: int, dtype: str, unseen_keys: bool, chunk: int = 16, *options: int
) -> dict[str, object]:
    driver.set_active(AbsentGpu(capability))
    kernel = CompileOnly(packed_launch.packed_forward_kernel)
    assert not packed_launch.interpreted()
    packed_launch.packed_forward_kernel = kernel
    mask = MaskDescriptor.from_runs(512, 512, rectangle(0, 512, 0, 500))
    q = torch.zeros(1, 2, 512, head_dim, dtype=getattr(torch, dtype))
    config = PACKED_CONFIGS.choose(head_dim, head_dim, q.element_size(), (capability // 10, capability % 10))
    if options:
        warps, stages, registers = options
        config = replace(config, num_warps=warps, num_stages=stages, max_registers=registers or None)
    plan = plan_packed(mask, config.block_m, config.block_n, chunk)
    tensors = upload_packed(plan, np.arange(512) < (500 if unseen_keys else 512), q.device)
    packed_launch.packed_forward(q, q, q, tensors, ScoreOptions(0.1), config)
    return {"config": str(config), **inspect(kernel.compiled), "loops": loops(kernel.compiled)}


def loops(compiled: object) -> list[dict[str, int]]:
    """Of each loop over kv tiles, in order: its instructions, the selects and the reloads of spilled registers among them."""
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled.asm["cubin"])  # type: ignore[attr-defined]
        text = subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True, check=True).stdout
    opcodes: list[str] = []
    label_at: dict[str, int] = {}
    found: list[dict[str, int]] = []
    for line in text.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line.strip()):
            label_at[label[1]] = len(opcodes)
        elif instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+ )?([A-Z0-9_]+)(.*)", line):
            opcodes.append(instruction[1])
            target = re.search(r"\((\.L_x_\d+)\)", instruction[2])
            if instruction[1] == "BRA" and target and target[1] in label_at:
                body = opcodes[label_at[target[1]] :]
                if "MUFU" in body:
                    counts = {"instructions": len(body), "selects": body.count("FSEL"), "reloads": body.count("LDL")}
                    found.append(counts)
    return found


if __name__ == "__main__":
    print(
        json.dumps(
            main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "unseen", *map(int, sys.argv[5:]))
        )
    )
