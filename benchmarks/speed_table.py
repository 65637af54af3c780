"""Times of CompileMask and its peers in one process, forward and forward+backward; the ratios are what to read.

    python3 benchmarks/speed_table.py --out benchmarks/results --head-dims 128 --compile-ahead 12 --time-limit 460
    python3 benchmarks/speed_table.py --out benchmarks/results --head-dims 64 --compile-ahead 12 --time-limit 460
    python3 benchmarks/speed_table.py --out benchmarks/results --presets --lengths 1024 2048 4096 8192 16384 32768

The first two make the table of the workloads against compiled FlexAttention on one GPU. Every output and gradient is verified against float64
before it is timed. Providers of a case take turns, so that heat and clocks hit all alike. Rows are written to speed_table_DEVICE.json
after each case; started again, it goes on with the cases that are missing or were measured with other code or versions. Exit code 3: the time
was up before the last case.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks.compile_ahead import compile_ahead
from benchmarks.conditions import conditions
from benchmarks.masks import MASKS, preset_masks
from benchmarks.speed_cases import Case, Inputs, measure_case
from benchmarks.speed_rows import SpeedRows, ratio_lines, silu_lines
from compilemask.bench.case import default_device
from compilemask.bench.catalog import PROVIDER_NAMES
from compilemask.bench.protocol import DIRECTIONS, DTYPES

INCOMPLETE = 3
NAMED_PEERS = {
    "causal": ("sdpa_cudnn", "fa4"),
    "full": ("sdpa_cudnn", "fa4"),
    "sliding": ("fa4",),
    "sliding_window": ("fa4",),
    "documents": ("varlen", "fa4"),
    "short_documents": ("varlen", "fa4"),
    "document_full": ("varlen", "fa4"),
}


def main() -> int:
    arguments = _parser().parse_args()
    device = default_device()
    path = arguments.out / f"speed_table_{_file_word(device)}.json"
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = SpeedRows(path, conditions(device), method=_method(arguments))
    left = [case for case in _cases(arguments, device) if not rows.has(case)]
    began = time.monotonic()
    if arguments.compile_ahead:
        compile_ahead(left, arguments.compile_ahead, seconds=arguments.compile_seconds or arguments.time_limit * 0.6)
    inputs = Inputs(device)
    done = 0
    for case in left:
        if time.monotonic() - began > arguments.time_limit:
            break
        rows.add(measure_case(case, inputs, seconds=arguments.seconds, verified_cells=arguments.verified_cells))
        torch.compiler.reset()
        done += 1
    print("\n".join(["", *ratio_lines(rows.rows), *silu_lines(rows.rows)]))
    print(f"{done} of {len(left)} cases measured in {time.monotonic() - began:.0f} s; {path}")
    if done < len(left):
        print("the time was up; run the same command again for the rest")
        return INCOMPLETE
    return 0 if all(row["verdict"] in ("passed", "unsupported") for row in rows.rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for speed_table_DEVICE.json")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=list(MASKS), help="workloads")
    parser.add_argument("--presets", nargs="*", metavar="NAME", help="presets in place of workloads; all unless named")
    parser.add_argument("--providers", nargs="+", choices=PROVIDER_NAMES)
    parser.add_argument("--lengths", nargs="+", type=int, default=[32768, 8192])
    parser.add_argument("--head-dims", nargs="+", type=int, default=[128, 64])
    parser.add_argument("--directions", nargs="+", choices=DIRECTIONS, default=["forward", "forward+backward"])
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int, help="default: as many as heads")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each provider in each of its turns")
    parser.add_argument("--time-limit", type=float, default=86_400.0, help="seconds after which no case is begun")
    parser.add_argument(
        "--compile-ahead", type=int, default=0, metavar="N", help="fill the compilers' caches first, in N processes"
    )
    parser.add_argument("--compile-seconds", type=float, help="for that, at most; default: 0.6 of the time limit")
    parser.add_argument(
        "--verified-cells", type=int, default=1 << 29, help="cells above which only some rows are verified"
    )
    return parser


def _cases(arguments: argparse.Namespace, device: torch.device) -> Iterator[Case]:
    """Shapes outermost, so that masks of one shape share their inputs."""
    shapes = itertools.product(arguments.lengths, arguments.head_dims)
    for (length, head_dim), name, direction in itertools.product(shapes, _names(arguments), arguments.directions):
        yield Case(
            name, arguments.presets is not None, length, head_dim, arguments.heads, arguments.kv_heads or arguments.heads, arguments.dtype,
            direction, tuple(arguments.providers or _usual_providers(name, device)),
        )  # fmt: skip


def _names(arguments: argparse.Namespace) -> list[str]:
    if arguments.presets is None:
        return list(arguments.masks)
    known = preset_masks()
    if unknown := [name for name in arguments.presets if name not in known]:
        raise SystemExit(f"--presets: {unknown[0]!r} has no sizes; those that have are {', '.join(known)}")
    return list(arguments.presets or known)


def _usual_providers(name: str, device: torch.device) -> list[str]:
    """Ours, FlexAttention, and on a GPU the peers that have a word for the mask; a dense mask there is nobody's best."""
    if device.type != "cuda":
        return ["torch", "sdpa", "dense"]
    ours = ["hopper", "triton"] if torch.cuda.get_device_capability(device) == (9, 0) else ["triton"]
    return [*ours, "flex_attention", "flex_attention_flash", *NAMED_PEERS.get(name, ())]


def _method(arguments: argparse.Namespace) -> str:
    return (
        f"median over 3 rounds in turn, {arguments.seconds:g} s each and warm caches; CUDA events on a GPU, wall clock on a CPU; "
        "inputs normal(0, 1); TFLOP/s count visible pairs only"
    )


def _file_word(device: torch.device) -> str:
    """A word for file names: the model of a GPU, "cpu" for any CPU."""
    if device.type != "cuda":
        return "cpu"
    words = torch.cuda.get_device_name(device).lower().replace("nvidia", "").split()
    return "_".join(words)


if __name__ == "__main__":
    sys.exit(main())
