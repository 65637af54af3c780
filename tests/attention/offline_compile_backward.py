"""Compiles the backward for a GPU that is not there and prints what it takes; run by test_backward_offline.py.

python offline_compile_backward.py CAPABILITY HEAD_DIM DTYPE TMA UNSEEN_KEYS [BLOCK_M BLOCK_N WARPS STAGES]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch
import triton
from offline_compile import AbsentGpu, CompileOnly, inspect
from triton.runtime import driver

from compilemask.attention.mask_tensors import upload
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import backward_launch as launch
from compilemask.attention.triton.backward_configs import BACKWARD_CONFIGS, BackwardConfig
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import plan_tiles


def main(
    capability: int, head_dim: int, dtype: str, tma: bool, unseen_keys: bool, sizes: tuple[int, ...] = ()
) -> dict[str, dict[str, object]]:
    """What dq and dkv take, and in float32 the sums of rows before them, of 4 query heads in groups of 2.

    sizes: of another configuration than the committed one.
    """
    driver.set_active(AbsentGpu(capability))
    assert not launch.interpreted()
    launch.precision = lambda _q: "ieee"
    kernel = CompileOnly(launch.attention_backward_kernel)
    launch.attention_backward_kernel, launch.row_terms_kernel = kernel, CompileOnly(launch.row_terms_kernel)
    one = np.ones(1, np.int64)
    mask = MaskDescriptor.from_trapezoids(512, 512, Trapezoids(one * 0, one * 512, one * 0, one * 0, one, one))
    q, kv = torch.zeros(1, 4, 512, head_dim, dtype=getattr(torch, dtype)), torch.zeros(1, 2, 512, head_dim)
    kv = kv.to(q.dtype)
    seen = np.arange(512) < (500 if unseen_keys else 512)
    configs = BACKWARD_CONFIGS.choose(
        head_dim, head_dim, q.element_size(), (capability // 10, capability % 10), tma=tma
    )
    if sizes:
        configs = (BackwardConfig(*sizes[:4], tma, *sizes[4:]),) * 2
    terms = launch.row_terms(q, q[..., 0].float().contiguous(), q, None, configs[1])
    queries = upload(plan_tiles(mask, configs[0].block_m, configs[0].block_n), seen, q.device)
    keys = upload(plan_tiles(mask.transpose(), configs[1].block_m, configs[1].block_n), seen, q.device)
    result = {}
    if dtype == "float32":
        sums = launch.row_sums_kernel = CompileOnly(launch.row_sums_kernel)
        terms = launch.exact_terms(q, kv, kv, q, None, terms, None, queries, keys, ScoreOptions(0.1), configs[0])
        result["sums"] = inspect(sums.compiled)
    inputs = (q, kv, kv, q, terms, queries, keys, ScoreOptions(0.1))
    launch.query_gradient(*inputs, configs[0])
    result |= {"dq": {"config": str(configs[0]), **inspect(kernel.compiled), **waits(kernel.compiled)}}
    launch.key_gradients(*inputs, configs[1])
    return {**result, "dkv": {"config": str(configs[1]), **inspect(kernel.compiled), **waits(kernel.compiled)}}


def waits(compiled: object) -> dict[str, int]:
    """How many asynchronous matrix products there are in the machine code, and how many waits for them.

    Where the assembler gives up their asynchrony, it waits after each product.
    """
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        Path(cubin.name).write_bytes(compiled.asm["cubin"])  # type: ignore[attr-defined]
        code = subprocess.run([disassembler, cubin.name], capture_output=True, text=True, check=True).stdout
    return {"products": code.count("HGMMA."), "waits": code.count("WARPGROUP.DEPBAR")}


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers = tuple(map(int, words[5:]))
    print(json.dumps(main(int(words[0]), int(words[1]), words[2], words[3] == "tma", words[4] == "unseen", numbers)))
