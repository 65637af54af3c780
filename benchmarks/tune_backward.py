"""Times of the backward kernel under lists of configurations, to choose the tables in attention/triton/backward_configs.py.

    python3 benchmarks/tune_backward.py --out results/ [--head-dims 64 128] [--lengths 8192 32768] [--flex]

dq on the one hand, dk and dv on the other are tuned apart. Every configuration is verified before it is timed, against
float64 autograd on the same mask in small. For each mask and length it prints both lists, fastest first, with TFLOP/s of the
products that the kernel does (6 and 8 * head_dim a visible pair), and what the fastest two give together with the row terms,
counted as usual (10 * head_dim).
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

from benchmarks.conditions import conditions
from benchmarks.masks import MASKS
from compilemask.attention import reference
from compilemask.attention.mask_tensors import cache
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import (
    BackwardConfig,
    choose_config,
    forward,
    key_gradients,
    query_gradient,
    row_terms,
)
from compilemask.bench import flex_peers
from compilemask.bench.case import default_device
from compilemask.bench.errors import ulp
from compilemask.bench.flex_peers import MaskMod
from compilemask.bench.inputs import attention_inputs
from compilemask.bench.measure import measure
from compilemask.bench.problem import Problem
from compilemask.bench.protocol import CaseSpec, MeasureOptions
from compilemask.bench.verify import dense
from compilemask.descriptor import MaskDescriptor

VERIFIED_LENGTH = 1000
VERIFIED_HEADS = 2
SIZES: dict[int, dict[str, list[tuple[int, int, int, int]]]] = {
    64: {
        "dq": [(128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3), (64, 128, 4, 2)],
        "dkv": [(128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3), (64, 128, 4, 2)],
    },
    128: {
        "dq": [(128, 64, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (128, 32, 8, 3)],
        "dkv": [(128, 64, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2), (128, 32, 8, 3), (64, 128, 8, 2)],
    },
}
MATRIX_PRODUCTS = {"dq": 3, "dkv": 4}


@dataclass(frozen=True, slots=True, eq=False)
class Backward:
    """What the backward of one case starts from."""

    problem: Problem
    o: Tensor
    lse: Tensor
    do: Tensor

    def runner(self, kernel: str, config: Any) -> Callable[[], Any]:
        """One launch of a kernel: of "dq", "dkv" or "terms"."""
        q, k, v, mask, sm_scale = (getattr(self.problem, name) for name in ("q", "k", "v", "mask", "sm_scale"))
        if kernel == "terms":
            return lambda: row_terms(self.o, self.lse, self.do, None, config)
        terms = row_terms(self.o, self.lse, self.do, None, config)
        queries = cache.get(mask, config.block_m, config.block_n, q.device)
        keys = cache.get(mask, config.block_m, config.block_n, q.device, transposed=True)
        launch: Callable[..., Any] = query_gradient if kernel == "dq" else key_gradients
        options = ScoreOptions(sm_scale)
        return lambda: launch(q, k, v, self.do, terms, queries, keys, options, config)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for tune_backward.json")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=["causal", "shared_prompt"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[8192, 32768])
    parser.add_argument("--head-dims", nargs="+", type=int, choices=SIZES, default=[128, 64])
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int)
    parser.add_argument("--dtype", choices=("bfloat16", "float16"), default="bfloat16")
    parser.add_argument("--pointers", action="store_true", help="load by pointers instead of tensor descriptors")
    parser.add_argument("--flex", action="store_true", help="time compiled FlexAttention's backward too")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each configuration")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("tuning needs a CUDA device")
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    wrong: dict[tuple[object, ...], str | None] = {}
    for head_dim, name, length in itertools.product(arguments.head_dims, arguments.masks, arguments.lengths):
        found = _tune(name, length, head_dim, arguments, wrong)
        rows += found
        _print(f"{name} {length}, head_dim {head_dim}, {arguments.dtype}", found)
        result = {**conditions(default_device()), "rows": rows}
        (arguments.out / "tune_backward.json").write_text(json.dumps(result, indent=1))
    return 0 if all("ms" in row for row in rows) else 1


def _tune(
    name: str, length: int, head_dim: int, arguments: argparse.Namespace, wrong: dict[tuple[object, ...], str | None]
) -> list[dict[str, Any]]:
    """One row for each configuration of each kernel. wrong: what verification found so far."""
    case = case_of(MASKS[name].descriptor(length), head_dim, arguments.heads, arguments)
    pairs = case.problem.mask.visible_pairs * arguments.heads
    rows: list[dict[str, Any]] = []
    for kernel, sizes in SIZES[head_dim].items():
        for size in sizes:
            config = BackwardConfig(*size, tma=not arguments.pointers)
            row: dict[str, Any] = {
                "mask": name,
                "length": length,
                "head_dim": head_dim,
                "kernel": kernel,
                "config": size,
            }
            rows.append(row)
            key = (name, head_dim, kernel, config)
            if key not in wrong:
                wrong[key] = verify(
                    case_of(MASKS[name].descriptor(VERIFIED_LENGTH), head_dim, 0, arguments), kernel, config
                )
            if wrong[key]:
                row["reason"] = wrong[key]
                continue
            row["ms"] = milliseconds_of(case.runner(kernel, config), arguments.seconds)
            row["tflops"] = 2 * MATRIX_PRODUCTS[kernel] * head_dim * pairs / row["ms"] / 1e9
    terms = {"mask": name, "length": length, "head_dim": head_dim, "kernel": "terms", "config": ()}
    config = BackwardConfig(*SIZES[head_dim]["dkv"][0], tma=not arguments.pointers)
    rows.append({**terms, "ms": milliseconds_of(case.runner("terms", config), arguments.seconds), "pairs": pairs})
    if arguments.flex:
        mask_mod = MASKS[name].mask_mod(length, case.o.device)
        rows.append(
            {**terms, "kernel": "flex", "ms": milliseconds_of(_flex(case, mask_mod), arguments.seconds), "pairs": pairs}
        )
    return rows


def _flex(case: Backward, mask_mod: MaskMod | None) -> Callable[[], Any]:
    """The whole backward of compiled FlexAttention."""
    p = case.problem
    leaves = [x.detach().requires_grad_() for x in (p.q, p.k, p.v)]
    built = flex_peers.flex(Problem(*leaves, p.mask, p.sm_scale, case.do), mask_mod)
    return built.timed_call("backward", case.do)


def case_of(mask: MaskDescriptor, head_dim: int, heads: int, arguments: argparse.Namespace) -> Backward:
    """heads: 0 for the few of a verification, in groups of the same size."""
    group = arguments.heads // (arguments.kv_heads or arguments.heads)
    num_kv_heads = heads // group if heads else VERIFIED_HEADS
    spec = CaseSpec("", "triton", "", 1, num_kv_heads * group, num_kv_heads, head_dim, arguments.dtype)
    q, k, v = attention_inputs(spec, mask, default_device())
    config = choose_config(q, k, v)
    o, lse = forward(
        q, k, v, cache.get(mask, config.block_m, config.block_n, q.device), ScoreOptions(head_dim**-0.5), config
    )
    return Backward(Problem(q, k, v, mask, head_dim**-0.5), o, lse, torch.randn_like(o))


def verify(case: Backward, kernel: str, config: Any) -> str | None:
    """None, or what is wrong: the error exceeds twice that of dense autograd in the inputs' dtype plus one ulp."""
    try:
        got = case.runner(kernel, config)()
    except Exception as found:
        return str(found).strip().splitlines()[0][:120]
    p = case.problem
    leaves = [x.detach().clone().requires_grad_() for x in (p.q, p.k, p.v)]
    doubles = [x.detach().double().requires_grad_() for x in leaves]
    exact = torch.autograd.grad(
        reference.forward(*doubles, p.mask, ScoreOptions(p.sm_scale))[0], doubles, case.do.double()
    )
    visible = torch.from_numpy(p.mask.dense()).to(p.q.device)
    plain = torch.autograd.grad(dense(*leaves, visible, p.sm_scale)[0], leaves, case.do)
    which = {"dq": slice(0, 1), "dkv": slice(1, 3), "all": slice(0, 3)}[kernel]
    results = (got,) if kernel == "dq" else got
    for gradient, rounded, wanted in zip(results, plain[which], exact[which], strict=True):
        error = float((gradient.double() - wanted).abs().max())
        allowed = 2 * float((rounded.double() - wanted).abs().max()) + ulp(gradient.dtype, float(wanted.abs().max()))
        if not error <= allowed:
            return f"error {error:.3g} exceeds {allowed:.3g}"
    return None


def milliseconds_of(run: Callable[[], Any], seconds: float) -> float:
    """The median over this many seconds, after a pause in which the GPU cools."""
    time.sleep(0.1)
    return measure(lambda: run, default_device(), MeasureOptions(target_seconds=seconds)).median_ms


def _print(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"{title}:", flush=True)
    fastest: dict[str, float] = {}
    for kernel in ("dq", "dkv"):
        own = sorted((row for row in rows if row["kernel"] == kernel), key=lambda row: row.get("ms", float("inf")))
        fastest[kernel] = own[0].get("ms", float("inf"))
        for row in own:
            words = f"{row['ms']:8.3f} ms {row['tflops']:7.1f} TFLOP/s" if "ms" in row else row["reason"]
            print(f"   {kernel:4}{row['config']!s:20}{words}", flush=True)
    terms = next(row for row in rows if row["kernel"] == "terms")
    flops = 10 * terms["head_dim"] * terms["pairs"]
    total = terms["ms"] + sum(fastest.values())
    print(f"   row terms {terms['ms']:.3f} ms; together {total:.3f} ms, {flops / total / 1e9:.1f} TFLOP/s", flush=True)
    for row in (row for row in rows if row["kernel"] == "flex"):
        print(f"   FlexAttention {row['ms']:.3f} ms, {flops / row['ms'] / 1e9:.1f} TFLOP/s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
