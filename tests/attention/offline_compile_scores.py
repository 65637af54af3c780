"""Compiles what the row kernels do besides plain softmax for a Hopper GPU that is not there; run by test_scores_offline.py.

python offline_compile_scores.py HEAD_DIM DTYPE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from offline_compile import AbsentGpu, CompileOnly, inspect
from triton.runtime import driver

from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import tiles_of
from compilemask.attention.triton import backward_launch, launch
from compilemask.attention.triton.backward_configs import BACKWARD_CONFIGS
from compilemask.attention.triton.configs import FORWARD_CONFIGS
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import rectangle

CAPABILITY = (9, 0)


def main(head_dim: int, dtype: str) -> dict[str, dict[str, object]]:
    """What the forward takes with a cap and sinks, dq and dkv with SiLU, of 4 query heads in pairs with masks of their own."""
    driver.set_active(AbsentGpu(90))
    assert not launch.interpreted()
    forward = launch.attention_forward_kernel = CompileOnly(launch.attention_forward_kernel)
    launch.interpreted = lambda: False
    backward = backward_launch.attention_backward_kernel = CompileOnly(backward_launch.attention_backward_kernel)
    one, other = (MaskDescriptor.from_runs(512, 512, rectangle(0, 512, 0, stop)) for stop in (500, 512))
    q = torch.zeros(1, 4, 512, head_dim, dtype=getattr(torch, dtype))
    kv, sinks = q[:, :2].contiguous(), torch.zeros(4)
    masks = MaskBatch.of([[one, other, one, other]])
    config = FORWARD_CONFIGS.choose(head_dim, head_dim, q.element_size(), CAPABILITY, tma=True)
    tiles = tiles_of(masks, config.block_m, config.block_n, q.device)
    launch.forward(q, kv, kv, tiles, ScoreOptions(0.1, softcap=50.0), config, sinks)
    found = {"forward": inspect(forward.compiled)}
    configs = BACKWARD_CONFIGS.choose(head_dim, head_dim, q.element_size(), CAPABILITY, tma=True)
    for name, config, run in zip(
        ("dq", "dkv"), configs, (backward_launch.query_gradient, backward_launch.key_gradients), strict=True
    ):
        both = [
            tiles_of(masks, config.block_m, config.block_n, q.device, transposed=turned) for turned in (False, True)
        ]
        run(q, kv, kv, q, None, *both, ScoreOptions(0.1, activation="silu", norm=512.0), config)
        found[name] = inspect(backward.compiled)
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2])))
