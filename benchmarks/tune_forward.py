"""Times of the forward kernel under a list of configurations, to choose the table in attention/triton/configs.py.

    python3 benchmarks/tune_forward.py --out results/ [--head-dim 128] [--lengths 32768]

Every configuration is verified before it is timed. Prints one line a mask and length, fastest first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks.conditions import conditions
from benchmarks.masks import MASKS
from compilemask.attention.mask_tensors import cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, forward
from compilemask.bench.case import default_device
from compilemask.bench.flops import case_flops
from compilemask.bench.measure import measure
from compilemask.bench.problem import problem_of
from compilemask.bench.protocol import CaseSpec, MeasureOptions
from compilemask.bench.verify import verify_forward

BLOCKS = [(128, 128), (128, 64), (64, 64)]
VERIFIED_CELLS = 1 << 28


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for tune_forward.json")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=list(MASKS))
    parser.add_argument("--lengths", nargs="+", type=int, default=[8192, 32768])
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), default="bfloat16")
    parser.add_argument("--seconds", type=float, default=0.15)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("tuning needs a CUDA device")
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for length, name in itertools.product(arguments.lengths, arguments.masks):
        found = _tune(name, length, arguments)
        rows += found
        print(f"{name} {length}, head_dim {arguments.head_dim}, {arguments.dtype}:", flush=True)
        for row in sorted(found, key=lambda row: row.get("ms", float("inf"))):  # type: ignore[arg-type, return-value]
            print(f"   {row['config']}  {row.get('tflops', 0):7.1f} TFLOP/s  {row.get('reason', '')}", flush=True)
        result = {**conditions(default_device()), "rows": rows}
        (arguments.out / f"tune_forward_{arguments.head_dim}_{arguments.dtype}.json").write_text(
            json.dumps(result, indent=1)
        )
    return 0


def configurations(head_dim: int, dtype: str) -> list[ForwardConfig]:
    """A short list: what can fit registers and shared memory at all."""
    if dtype == "float32":
        return [ForwardConfig(m, n, w, 1) for m, n, w in itertools.product((16, 32, 64), (16, 32, 64), (4, 8))]
    small = [(m, n) for m, n in BLOCKS if (m * head_dim <= 128 * 256 and n * head_dim <= 64 * 256) or n <= 64]
    wide = [
        ForwardConfig(m, n, 8, s, tma) for (m, n), s, tma in itertools.product(small, (2, 3), (True, False)) if m == 128
    ]
    narrow = [ForwardConfig(m, n, 4, s, True) for (m, n), s in itertools.product(small, (2, 3))]
    packed = [ForwardConfig(128, 64, 8, s, True, max_registers=128) for s in (2, 3)]
    return wide + narrow + packed


def _tune(name: str, length: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    device = default_device()
    descriptor = MASKS[name].descriptor(length)
    spec = CaseSpec(name, "triton", "", 1, arguments.heads, arguments.heads, arguments.head_dim, arguments.dtype)
    problem = problem_of(spec, descriptor, device)
    rows: list[dict[str, object]] = []
    for config in configurations(arguments.head_dim, arguments.dtype):
        row: dict[str, object] = {"mask": name, "length": length, "config": str(config)}
        rows.append(row)
        tensors = cache.get(descriptor, config.block_m, config.block_n, device)

        def run(config: ForwardConfig = config, tensors=tensors):  # type: ignore[no-untyped-def]
            return forward(problem.q, problem.k, problem.v, tensors, ScoreOptions(problem.sm_scale), config)

        try:
            check = verify_forward(*run(), problem, max_cells=VERIFIED_CELLS)
        except Exception as found:
            row["reason"] = str(found).strip().splitlines()[0][:120]
            continue
        if not check.passed:
            row["reason"] = check.reason
            continue
        time.sleep(0.2)
        timing = measure(lambda: run, device, MeasureOptions(target_seconds=arguments.seconds))
        row |= {"ms": timing.median_ms, "tflops": case_flops(spec, descriptor) / timing.median_ms / 1e9}
    return rows


if __name__ == "__main__":
    sys.exit(main())
