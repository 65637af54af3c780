"""Counts the variants of the kernels that lengths of many kinds ask for, for a GPU that is not there; run by test_launches.py.

Nothing is compiled: what would be is kept apart by the key that Triton keeps it by.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from offline_compile import AbsentGpu, CompileOnly
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from compilemask.attention.gradients import gradients
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import tiles_of
from compilemask.attention.triton import backward_launch, launch
from compilemask.attention.triton.configs import FORWARD_CONFIGS
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids

LENGTHS = (1, 2, 15, 16, 17, 48, 64, 65, 127, 128, 129, 192, 250, 256, 320, 500, 1000, 1024)
KERNELS = {launch: ("attention_forward_kernel",), backward_launch: ("attention_backward_kernel", "row_terms_kernel")}


def main() -> dict[str, int]:
    """How many variants of each kernel."""
    driver.set_active(AbsentGpu(90))
    variants: Counter[str] = Counter()

    def count(kernel: JITFunction, key: object, _signature: object, device: int, *_rest: object) -> object:
        variants[kernel.__name__] += 1
        kernel.device_caches[device][0][key] = kernel
        return kernel

    JITFunction._do_compile = count
    for module, names in KERNELS.items():
        module.interpreted = lambda: False
        for name in names:
            setattr(module, name, CompileOnly(getattr(module, name)))
    for length in LENGTHS:
        mask = MaskDescriptor.from_trapezoids(length, length, Trapezoids.of([0], [length], 0, 0, 1, 1))
        q, k, v = (torch.zeros(1, heads, length, 64, dtype=torch.bfloat16) for heads in (4, 2, 2))
        config = FORWARD_CONFIGS.choose(64, 64, 2, (9, 0))
        o, lse = launch.forward(
            q, k, v, tiles_of(mask, config.block_m, config.block_n, q.device), ScoreOptions(0.1), config
        )
        gradients(q, k, v, o, lse, torch.zeros_like(o), None, mask, ScoreOptions(0.1))
    return dict(variants)


if __name__ == "__main__":
    print(json.dumps(main()))
