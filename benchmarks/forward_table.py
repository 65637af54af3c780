"""Forward times of CompileMask, compiled FlexAttention and cuDNN SDPA on one GPU, in one process.

    python3 benchmarks/forward_table.py --out results/

Every output is verified against float64 before it is timed. Providers of one mask take turns, so that heat and clocks hit
all alike; the ratio of medians is what to read. Writes forward_table.json: one row a mask, length and provider.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks.conditions import conditions
from benchmarks.masks import MASKS, BenchmarkMask
from compilemask.bench import flex_peers
from compilemask.bench.case import default_device, verify_built
from compilemask.bench.flops import case_flops
from compilemask.bench.mask_forms import Causal, recognise
from compilemask.bench.measure import measure
from compilemask.bench.problem import Built, Problem, problem_of
from compilemask.bench.protocol import CaseSpec, MeasureOptions
from compilemask.bench.providers import provider_named

ROUNDS = 3
PAUSE_SECONDS = 0.5
VERIFIED_CELLS = 1 << 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for forward_table.json")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=list(MASKS))
    parser.add_argument("--lengths", nargs="+", type=int, default=[8192, 32768])
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--dtype", choices=("bfloat16", "float16"), default="bfloat16")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each provider and round")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("this table needs a CUDA device")
    arguments.out.mkdir(parents=True, exist_ok=True)
    measured_under = {
        **conditions(default_device()),
        "method": f"median over {ROUNDS} rounds of {arguments.seconds} s each, warm caches, CUDA events, "
        f"TFLOP/s = 4 * head_dim * visible pairs * heads / time",
    }
    rows: list[dict[str, object]] = []
    for length in arguments.lengths:
        for name in arguments.masks:
            rows += _rows(name, MASKS[name], length, arguments)
            (arguments.out / "forward_table.json").write_text(json.dumps({**measured_under, "rows": rows}, indent=1))
            torch.compiler.reset()
    return 0 if all(row.get("verdict") == "passed" for row in rows) else 1


def _rows(name: str, mask: BenchmarkMask, length: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """One row for each provider of this mask, printed as it goes."""
    device = default_device()
    began = time.perf_counter()
    descriptor = mask.descriptor(length)
    compile_ms = (time.perf_counter() - began) * 1e3
    kv_heads = arguments.kv_heads or arguments.heads
    spec = CaseSpec(name, "triton", "", 1, arguments.heads, kv_heads, arguments.head_dim, arguments.dtype)
    problem = problem_of(spec, descriptor, device)
    rows: list[dict[str, object]] = []
    ready: list[tuple[dict[str, object], Built]] = []
    for provider, build in _builders(mask, length, problem).items():
        row: dict[str, object] = {
            "mask": name, "length": length, "provider": provider, "heads": arguments.heads, "kv_heads": kv_heads,
            "head_dim": arguments.head_dim, "dtype": arguments.dtype, "visible_pairs": descriptor.visible_pairs,
            "density": descriptor.density, "mask_compile_ms": compile_ms, "hash": descriptor.hash,
        }  # fmt: skip
        rows.append(row)
        try:
            built = build()
            check = verify_built(built, problem, max_cells=VERIFIED_CELLS)
        except Exception as problem_found:
            row |= {"verdict": "error", "reason": str(problem_found).strip().splitlines()[0]}
            print(f"{name:14}{length:7} {provider:15} error: {row['reason']}", flush=True)
            continue
        row |= {"verdict": "passed" if check.passed else "failed", "detail": built.detail, "plan_ms": built.plan_ms}
        row["check"] = dataclasses.asdict(check)
        if check.passed:
            ready.append((row, built))
        else:
            print(f"{name:14}{length:7} {provider:15} FAILED: {check.reason}", flush=True)
    _time_in_turns(ready, case_flops(spec, descriptor), arguments.seconds)
    return rows


def _time_in_turns(ready: list[tuple[dict[str, object], Built]], flops: int, seconds: float) -> None:
    """Add times to the rows: ROUNDS times every provider in turn, each after a pause."""
    options = MeasureOptions(target_seconds=seconds)
    samples: list[list[float]] = [[] for _ in ready]
    for _ in range(ROUNDS):
        for own, (_, built) in zip(samples, ready, strict=True):
            time.sleep(PAUSE_SECONDS)
            own += measure(partial(built.timed_call, "forward", None), default_device(), options).samples_ms
    median = [sorted(own)[len(own) // 2] for own in samples]
    for ms, own, (row, _) in zip(median, samples, ready, strict=True):
        row |= {"median_ms": ms, "min_ms": min(own), "num_samples": len(own), "tflops": flops / ms / 1e9}
        row["speed_of_triton_over_this"] = ms / median[0] if ready[0][0]["provider"] == "triton" else None
        ratio = row["speed_of_triton_over_this"]
        words = f"{row['mask']:14}{row['length']:7} {row['provider']:15}{ms:9.3f} ms {row['tflops']:7.1f} TFLOP/s"
        print(f"{words}  triton is {ratio:.2f}x  {row['detail']}" if ratio else words, flush=True)


def _builders(mask: BenchmarkMask, length: int, problem: Problem) -> dict[str, Callable[[], Built]]:
    """What is compared on this mask; cuDNN only where it needs no dense mask."""

    def flex() -> Built:
        return flex_peers.flex(problem, mask.mask_mod(length, problem.q.device))

    builders = {"triton": lambda: provider_named("triton").build(problem), "flex_attention": flex}
    if isinstance(recognise(problem.mask), Causal):
        builders["sdpa_cudnn"] = lambda: provider_named("sdpa_cudnn").build(problem)
    return builders


if __name__ == "__main__":
    sys.exit(main())
