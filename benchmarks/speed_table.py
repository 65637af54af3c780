"""Times of CompileMask and its peers side by side, forward and forward+backward; the ratios are what to read.

    python3 benchmarks/speed_table.py --out benchmarks/results --headline --processes 13 --time-limit 280
    python3 benchmarks/speed_table.py --out benchmarks/results --presets --lengths 1024 2048 4096 8192 16384 32768 --head-dims 128 --processes 12

Every output and gradient is verified against float64 before it is timed. Providers of a case take turns in one process, so that heat and clocks hit
all alike; with --processes cases are compiled side by side, and all other processes rest while one measures. Rows are written to
speed_table_DEVICE.json after each case; started again, it goes on with the cases that are missing or were measured with other code or versions.
Cases come in the order of the lengths, head dimensions and masks that are asked for. Exit code 3: the time was up before the last.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks.ceiling import ALONE_FROM, alone, product_tflops
from benchmarks.conditions import conditions
from benchmarks.headline_cases import headline_cases
from benchmarks.masks import MASKS, preset_masks
from benchmarks.ratio_lines import ratio_lines, silu_lines
from benchmarks.speed_cases import REMADE_BELOW_MS, Case, HowToMeasure, Inputs, mask_named, measure_case
from benchmarks.speed_rows import SpeedRows
from benchmarks.speed_workers import Workers
from compilemask.bench.case import default_device
from compilemask.bench.catalog import PROVIDER_NAMES
from compilemask.bench.protocol import DIRECTIONS, DTYPES
from compilemask.bench.providers import provider_named
from compilemask.bench.rows import Row

INCOMPLETE = 3
NAMED_PEERS = {
    "causal": ("sdpa_cudnn", "fa4"),
    "full": ("sdpa_cudnn", "fa4"),
    "sliding": ("fa4",),
    "sliding_window": ("fa4",),
    "documents": ("varlen", "fa4"),
    "short_documents_128": ("varlen", "fa4"),
    "short_documents_256": ("varlen", "fa4"),
    "short_documents_512": ("varlen", "fa4"),
    "document_full": ("varlen", "fa4"),
}

DETERMINISTIC = ("causal", "full")
"""Masks whose deterministic backward is measured beside the other."""


def main() -> int:
    arguments = _parser().parse_args()
    device = default_device()
    path = arguments.out / f"speed_table_{_file_word(device)}.json"
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = SpeedRows(path, conditions(device), method=_method(arguments))
    wanted = headline_cases(lambda name: provider_named(name).usable()[0]) if arguments.headline else None
    asked = _cases(arguments, device) if wanted is None else wanted
    cases = [case for case in asked if not rows.has(case, of_any_code=arguments.keep)]
    began = time.monotonic()
    done = 0
    for found in _measured(cases, arguments, device):
        rows.add(found)
        done += 1
    print("\n".join(["", *ratio_lines(rows.rows), *silu_lines(rows.rows)]))
    print(f"{done} of {len(cases)} cases measured in {time.monotonic() - began:.0f} s; {path}")
    if done < len(cases):
        print("the time was up; run the same command again for the rest")
        return INCOMPLETE
    return 0 if all(row["verdict"] in ("passed", "unsupported") for row in rows.rows) else 1


def _measured(cases: Sequence[Case], arguments: argparse.Namespace, device: torch.device) -> Iterator[list[Row]]:
    """The rows of each case until the time is up, each with the rate of a large matrix product measured shortly before."""
    deadline = time.monotonic() + arguments.time_limit
    how = HowToMeasure(arguments.seconds, arguments.verified_cells, arguments.rounds, arguments.heat)
    roofs: list[float] = []

    def roof_of() -> float:
        roofs.append(product_tflops(device))
        return roofs[-1]

    if arguments.processes:
        workers = Workers(arguments.processes, how, arguments.time_limit, arguments.gate)
        for rows in workers.measured(cases, roof_of):
            yield [row | {"gemm_tflops": roofs[-1]} for row in rows]
        return
    inputs = Inputs(device)
    roof = roof_of() if cases else None
    for case in cases:
        if time.monotonic() > deadline:
            return
        found = alone(partial(measure_case, case, inputs, how), device, roof)
        yield [row | {"gemm_tflops": roof} for row in found]
        torch.compiler.reset()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for speed_table_DEVICE.json")
    parser.add_argument("--headline", action="store_true", help="what the targets need, in their order; a GPU's")
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=list(MASKS), help="workloads")
    parser.add_argument("--presets", nargs="*", metavar="NAME", help="presets in place of workloads; all unless named")
    parser.add_argument("--providers", nargs="+", choices=PROVIDER_NAMES, help="default: those that suit each mask")
    parser.add_argument("--without", nargs="+", choices=PROVIDER_NAMES, default=[], help="leave these out")
    parser.add_argument("--lengths", nargs="+", type=int, default=[32768, 8192])
    parser.add_argument("--head-dims", nargs="+", type=int, default=[128, 64])
    parser.add_argument("--directions", nargs="+", choices=DIRECTIONS, default=["forward", "forward+backward"])
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int, help="default: as many as heads")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each provider in each of its turns")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each provider")
    parser.add_argument("--heat", type=float, default=0.4, help="seconds that all providers run in turn before")
    parser.add_argument("--time-limit", type=float, default=86_400.0, help="seconds after which no case is begun")
    parser.add_argument(
        "--processes", type=int, default=0, metavar="N", help="compile in N processes side by side; 0: all in this one"
    )
    parser.add_argument(
        "--gate",
        type=Path,
        help="with --processes: a folder; measure when a file `measure` is in it, rest while `pause` is",
    )
    parser.add_argument("--keep", action="store_true", help="do not measure again what other code has measured")
    parser.add_argument(
        "--verified-cells", type=int, default=1 << 28, help="cells above which only some rows are verified"
    )
    return parser


def _cases(arguments: argparse.Namespace, device: torch.device) -> Iterator[Case]:
    """In the order of what is asked for, masks innermost, both directions of one together. A mask with a length of its own is
    measured at that one, in the place of the first length."""
    presets = arguments.presets is not None
    kv_heads = arguments.kv_heads or arguments.heads
    met: set[Case] = set()
    for length, head_dim, name in itertools.product(arguments.lengths, arguments.head_dims, _names(arguments)):
        own_length = mask_named(name, presets).own_length or length
        for direction in arguments.directions:
            chosen = arguments.providers or _usual_providers(name, direction, device)
            providers = tuple(provider for provider in chosen if provider not in arguments.without)
            case = Case(
                name, presets, own_length, head_dim, arguments.heads, kv_heads, arguments.dtype, direction, providers
            )
            if case not in met:
                met.add(case)
                yield case


def _names(arguments: argparse.Namespace) -> list[str]:
    if arguments.presets is None:
        return list(arguments.masks)
    known = preset_masks()
    if unknown := [name for name in arguments.presets if name not in known]:
        raise SystemExit(f"--presets: {unknown[0]!r} has no sizes; those that have are {', '.join(known)}")
    return list(arguments.presets or known)


def _usual_providers(name: str, direction: str, device: torch.device) -> list[str]:
    """Ours, FlexAttention, and on a GPU the peers that have a word for the mask; a dense mask there is nobody's best."""
    if device.type != "cuda":
        return ["torch", "sdpa", "dense"]
    ours = ["hopper", "triton"] if torch.cuda.get_device_capability(device) == (9, 0) else ["triton"]
    if "hopper" in ours and direction != "forward" and name in DETERMINISTIC:
        ours.append("hopper_deterministic")
    return [*ours, "flex_attention", "flex_attention_flash", *NAMED_PEERS.get(name, ())]


def _method(arguments: argparse.Namespace) -> str:
    beside = (
        f"; cases were compiled in {arguments.processes} processes side by side, which rested while one measured; `cold`, and `warm` above "
        f"{REMADE_BELOW_MS:g} ms, are of the busy machine"
        if arguments.processes
        else ""
    )
    return (
        f"median over {arguments.rounds} rounds in turn, {arguments.seconds:g} s each and warm caches, after {arguments.heat:g} s of all providers in turn; CUDA "
        f"events on a GPU, wall clock on a CPU; above {arguments.verified_cells:,} cells of all heads the first and last 16 rows and 16 of each of "
        f"equal bands are verified, with the gradients of all keys from them; inputs normal(0, 1); TFLOP/s count visible pairs only; on a GPU a product of two matrices before and "
        f"after each case reached at least {ALONE_FROM:g} of what it did at the beginning, so that nothing else used the GPU{beside}"
    )


def _file_word(device: torch.device) -> str:
    """A word for file names: the model of a GPU, "cpu" for any CPU."""
    if device.type != "cuda":
        return "cpu"
    words = torch.cuda.get_device_name(device).lower().replace("nvidia", "").split()
    return "_".join(words)


if __name__ == "__main__":
    sys.exit(main())
