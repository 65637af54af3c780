"""Times of the Hopper backward under lists of configurations, to choose the tables in attention/hopper/backward_configs.py.

    python3 benchmarks/tune_hopper_backward.py --out results/ [--head-dims 128 64] [--lengths 8192 32768] [--masks causal]

The fused form, dk and dv, and dq are tuned apart, on row tiles. Every configuration is verified before it is timed, as tune_backward.py does it. TFLOP/s are
of the products that a form does: 10, 8 and 6 * head_dim a visible pair.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks import tune_backward
from benchmarks.conditions import conditions
from benchmarks.masks import MASKS
from benchmarks.tune_backward import VERIFIED_LENGTH, Backward
from compilemask.attention.hopper.backward_configs import (
    BLOCK_M,
    FUSED,
    KEY_ROWS,
    QUERY_ROWS,
    HopperBackwardConfig,
)
from compilemask.attention.hopper.backward_launch import all_gradients, key_gradients, query_gradient
from compilemask.attention.hopper.configs import SHARED_BYTES
from compilemask.attention.mask_tensors import cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import BackwardConfig, row_terms
from compilemask.bench.case import default_device

PRODUCTS = {"all": 10, "dkv": 8, "dq": 6}
COMMITTED = {"all": FUSED, "dkv": KEY_ROWS, "dq": QUERY_ROWS}
BARRIER_BYTES = 2048


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HopperBackward(Backward):
    """What the backward of one case starts from."""

    def runner(self, kernel: str, config: Any) -> Callable[[], Any]:
        """One launch of a form: "all", "dkv" or "dq"; its row terms are computed once, before."""
        q, k, v, mask = (getattr(self.problem, name) for name in ("q", "k", "v", "mask"))
        terms = row_terms(self.o, self.lse, self.do, None, BackwardConfig(64, 64, 4, 1, tma=False))
        tiles = cache.get(mask, BLOCK_M, config.block_n, q.device, transposed=kernel != "dq")
        launches: dict[str, Callable[..., Any]] = {"all": all_gradients, "dkv": key_gradients, "dq": query_gradient}
        options = ScoreOptions(self.problem.sm_scale)
        return lambda: launches[kernel](q, k, v, self.do, terms, tiles, options, config)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for tune_hopper_backward.json")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=["causal", "documents"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[8192, 32768])
    parser.add_argument("--head-dims", nargs="+", type=int, choices=FUSED, default=[128, 64])
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int)
    parser.add_argument("--dtype", choices=("bfloat16", "float16"), default="bfloat16")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each configuration")
    arguments = parser.parse_args()
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        parser.error("tuning needs a GPU of compute capability 9.0")
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for head_dim, name, length in itertools.product(arguments.head_dims, arguments.masks, arguments.lengths):
        rows += tune(name, length, head_dim, arguments)
        result = {**conditions(default_device()), "rows": rows}
        (arguments.out / "tune_hopper_backward.json").write_text(json.dumps(result, indent=1))
    return 0 if all("ms" in row for row in rows) else 1


def configurations(head_dim: int, kernel: str) -> list[HopperBackwardConfig]:
    """The committed one, then its neighbours that shared memory has room for: tiles, stages, pairs."""
    first = COMMITTED[kernel][head_dim]
    pairs = (False,) if kernel == "all" else (False, True)
    near = [
        dataclasses.replace(first, block_n=block_n, num_stages=stages, pairs=together)
        for block_n, stages, together in itertools.product((64, 128), (2, 3, 4), pairs)
    ]
    fit = [c for c in near if c.shared_bytes(head_dim, fused=kernel == "all") + BARRIER_BYTES <= SHARED_BYTES]
    return [first, *(config for config in fit if config != first)]


def tune(name: str, length: int, head_dim: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One row for each configuration of each form, printed as it comes."""
    case = case_of(name, length, head_dim, arguments.heads, arguments)
    small = case_of(name, VERIFIED_LENGTH, head_dim, 0, arguments)
    pairs = case.problem.mask.visible_pairs * arguments.heads
    rows = []
    for kernel in PRODUCTS:
        for config in configurations(head_dim, kernel):
            row: dict[str, Any] = {"mask": name, "length": length, "head_dim": head_dim, "kernel": kernel}
            row |= {"config": astuple(config), "committed": config == COMMITTED[kernel][head_dim]}
            rows.append(row)
            wrong = tune_backward.verify(small, kernel, config)
            if wrong:
                row["reason"] = wrong
            else:
                row["ms"] = tune_backward.milliseconds_of(case.runner(kernel, config), arguments.seconds)
                row["tflops"] = PRODUCTS[kernel] * head_dim * pairs / row["ms"] / 1e9
            figures = row.get("reason") or f"{row['ms']:8.4f} ms {row['tflops']:6.0f} TFLOP/s"
            print(f"{name} {length} {head_dim} {kernel:4}{row['config']!s:40}{figures}", flush=True)
    return rows


def case_of(name: str, length: int, head_dim: int, heads: int, arguments: argparse.Namespace) -> HopperBackward:
    """heads: 0 for the few of a verification."""
    found = tune_backward.case_of(MASKS[name].descriptor(length), head_dim, heads, arguments)
    return HopperBackward(found.problem, found.o, found.lse, found.do)


if __name__ == "__main__":
    sys.exit(main())
