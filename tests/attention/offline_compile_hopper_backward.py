"""Compiles the Hopper backward for a GPU that is not there and prints what it takes; run by test_hopper_backward_offline.py.

python offline_compile_hopper_backward.py FORM HEAD_DIM DTYPE [softcap] [silu] [gaps] [bits] [config=JSON] [sass=PATH]; FORM: dq, dkv or fused.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch
import triton
from offline_compile import AbsentGpu, CompileOnly
from triton.runtime import driver

from compilemask.attention.hopper import backward_configs as configs
from compilemask.attention.hopper import backward_launch as launch
from compilemask.attention.hopper.configs import padded_dim
from compilemask.attention.mask_tensors import upload
from compilemask.attention.reordered_tensors import upload_reordered
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton import RowTerms
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan import cut_tiles, plan_tiles, reorder

TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"


def main(form: str, head_dim: int, dtype: str, words: list[str]) -> dict[str, object]:
    """Registers, spills, shared memory and instruction counts of one kernel, of 4 query heads in groups of 2."""
    driver.set_active(AbsentGpu(90))
    kernel = CompileOnly(launch.attention_backward_kernel)
    launch.attention_backward_kernel = kernel
    table = {"dq": configs.QUERY_ROWS, "dkv": configs.KEY_ROWS, "fused": configs.FUSED}[form]
    config = table[padded_dim(head_dim)]
    if sizes := next((word[7:] for word in words if word.startswith("config=")), None):
        config = configs.HopperBackwardConfig(*json.loads(sizes))
    options = ScoreOptions(
        0.1, softcap=30.0 if "softcap" in words else None, activation="silu" if "silu" in words else "softmax"
    )
    q = torch.zeros(1, 4, 512, head_dim, dtype=getattr(torch, dtype))
    k = torch.zeros(1, 2, 512, head_dim, dtype=q.dtype)
    terms = RowTerms(*(torch.zeros(4, 1, 4, 660) for _ in range(2))) if options.has_lse else None
    mask = _mask("gaps" in words)
    tiles: Tiles = upload(
        plan_tiles(mask if form == "dq" else mask.transpose(), configs.BLOCK_M, config.block_n),
        np.ones(512, bool),
        q.device,
    )
    if "bits" in words:
        blocks = reorder(mask, (), ())
        tiles = upload_reordered(cut_tiles(blocks, configs.BLOCK_M, config.block_n, transposed=form != "dq"), q.device)
    match form:
        case "dq":
            launch.query_gradient(q, k, k, q, terms, tiles, options, config)
        case "dkv":
            launch.key_gradients(q, k, k, q, terms, tiles, options, config)
        case "fused":
            launch.convert = lambda sums, _scale, _dtype: sums
            launch.all_gradients(q, k, k, q, terms, tiles, options, config)
    assert (tiles.max_gaps > 0) == ("gaps" in words)
    path = next((word[5:] for word in words if word.startswith("sass=")), None)
    return {"config": str(config), **inspect(kernel.compiled, path)}


def _mask(gaps: bool) -> MaskDescriptor:
    """Causal; with gaps: every query sees two stretches of keys, every key is seen by two stretches of queries."""
    one, two = np.ones(1, np.int64), np.ones(2, np.int64)
    if not gaps:
        return MaskDescriptor.from_trapezoids(512, 512, Trapezoids(one * 0, one * 512, one * 0, one * 0, one, one))
    bands = Trapezoids(two * 100, two * 450, two, np.array([-100, 0]), two, np.array([-60, 40]))
    return MaskDescriptor.from_trapezoids(512, 512, bands)


def inspect(compiled: object, sass_path: str | None) -> dict[str, object]:
    """What the compiled kernel takes, and what its innermost loops with matrix products do, in the order of the code."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled.asm["cubin"])  # type: ignore[attr-defined]
        usage = subprocess.run([TOOLS / "cuobjdump", "-res-usage", cubin], capture_output=True, text=True, check=True)
        sass = subprocess.run([TOOLS / "nvdisasm", "-c", cubin], capture_output=True, text=True, check=True).stdout
    if sass_path:
        Path(sass_path).write_text(sass)
    found = {name: int(number) for name, number in re.findall(r"(REG|STACK|LOCAL):(\d+)", usage.stdout)}
    return {
        "registers": found["REG"],
        "spilled_bytes": found["STACK"] + found["LOCAL"],
        "shared_bytes": compiled.metadata.shared,  # type: ignore[attr-defined]
        "reductions": sass.count("UTMAREDG"),
        "loops": [_count(loop) for loop in product_loops(sass)],
    }


def product_loops(sass: str) -> list[list[str]]:
    """The instructions of each innermost loop that holds matrix products."""
    code: list[str] = []
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for line in sass.splitlines():
        if label := re.match(r"\s*(\.L_\w+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?(\S[^;]*)", line):
            target = re.search(r"\.L_\w+", instruction[1]) if instruction[1].startswith("BRA") else None
            if target and labels.get(target[0], len(code)) < len(code):
                loops.append((labels[target[0]], len(code)))
            code.append(instruction[1])
    loops = [loop for loop in loops if any(x.startswith("HGMMA") for x in code[slice(*loop)])]
    inner = [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return [code[begin : end + 1] for begin, end in sorted(set(inner))]


def _count(loop: list[str]) -> dict[str, int]:
    """late: exponentials after the second wait, which no product is left to hide."""
    waits = [at for at, x in enumerate(loop) if x.startswith("WARPGROUP.DEPBAR")]
    exponentials = [at for at, x in enumerate(loop) if x.startswith("MUFU.EX2")]
    names = {"products": "HGMMA", "stores": "STL", "loads": "LDL"}
    return {
        "instructions": len(loop),
        "waits": len(waits),
        "exponentials": len(exponentials),
        "late": sum(at > waits[1] for at in exponentials),
        **{name: sum(x.startswith(word) for x in loop) for name, word in names.items()},
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])))
