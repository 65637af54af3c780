"""`compilemask bench`: verify and measure a mask from a shell."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from compilemask.bench.protocol import CaseResult, CaseSpec, MeasureOptions
from compilemask.compiler import analyse, compile
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import MaskError
from compilemask.mask_arguments import UsageError, given_values, read_mask
from compilemask.presets import preset_names

_COLUMNS = ("provider", "verdict", "ms", "rate", "plan ms", "error", "allowed", "rows", "how")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 when every case passed, 1 when one failed or could not run, 2 for input that cannot be read."""
    arguments = _parser().parse_args(argv)
    try:
        mask, title = _mask(arguments)
    except (MaskError, UsageError) as problem:
        print(problem, file=sys.stderr)
        return 2
    options = MeasureOptions(target_seconds=arguments.seconds, cold_l2=arguments.cold)
    outcomes = [_outcome(spec, options) for spec in _specs(arguments, mask)]
    results = [outcome for outcome in outcomes if isinstance(outcome, CaseResult)]
    shape = (
        f"{arguments.batch} x {arguments.heads}/{arguments.kv_heads or arguments.heads} heads x {arguments.head_dim}"
    )
    print(
        f"{title}: {mask.q_len} x {mask.kv_len}, {mask.visible_pairs:,} visible pairs ({mask.density:.1%}); {shape}, {arguments.dtype}"
    )
    if results:
        print(f"on {results[0].device}, cache {'cold' if arguments.cold else 'warm'}; rates count visible pairs only")
    print(table([_row(name, outcome) for name, outcome in zip(_impls(arguments), outcomes, strict=True)]))
    if arguments.json:
        rows = [dataclasses.asdict(result) for result in results]
        Path(arguments.json).write_text(json.dumps({"mask": mask.to_json(), "title": title, "results": rows}, indent=1))
    return 0 if len(results) == len(outcomes) and all(result.verdict == "passed" for result in results) else 1


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, under the headings."""
    lines = [_COLUMNS, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="compilemask bench", description="Verify and measure attention under a mask.")
    parser.add_argument("mask", metavar="PRESET|FILE", help=f"a preset ({', '.join(preset_names())}) or a .mask file")
    parser.add_argument(
        "--set",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter, such as n=3, flag=true or lengths=1,2,3",
    )
    parser.add_argument(
        "--example", metavar="NAME", help="start from the numbers of an example of the mask, such as large"
    )
    parser.add_argument(
        "--impl",
        action="append",
        metavar="NAME",
        help="a provider; may be repeated (default: torch, and triton on a GPU)",
    )
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), default="bfloat16")
    parser.add_argument("--batch", type=_positive, default=1)
    parser.add_argument("--heads", type=_positive, default=8, help="query heads")
    parser.add_argument("--kv-heads", type=_positive, help="key heads (default: as many as query heads)")
    parser.add_argument("--head-dim", type=_positive, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1.0, help="time to measure each provider for")
    parser.add_argument("--cold", action="store_true", help="clear the caches before each sample")
    parser.add_argument("--json", metavar="FILE", help="write all results there, samples included")
    return parser


def _mask(arguments: argparse.Namespace) -> tuple[MaskDescriptor, str]:
    """The descriptor to measure and a title with its numbers; numbers as the other commands take them."""
    source, filename = read_mask(arguments.mask)
    program = compile(source, filename=filename)
    given = given_values(program, arguments.example, arguments.set)
    analysis = analyse(source, given, filename=filename)
    if errors := [message for message in analysis.diagnostics if message.severity == "error"]:
        raise MaskError(errors, source, filename)
    values = analysis.values
    words = ", ".join(
        f"{name} = {list(value) if isinstance(value, tuple) else value}" for name, value in values.items()
    )
    mask = program.bind(**values)
    if isinstance(mask, MaskBatch):
        if len(mask.masks) > 1:
            raise UsageError(
                f"bench measures one mask, and these values give {len(mask.masks)}; give `per item` and `per head` "
                f"parameters of {program.name} a single value"
            )
        mask = mask.masks[0]
    return mask, f"{program.name}({words})"


def _impls(arguments: argparse.Namespace) -> list[str]:
    if arguments.impl:
        return list(arguments.impl)
    import torch

    return ["torch", "triton"] if torch.cuda.is_available() else ["torch"]


def _specs(arguments: argparse.Namespace, mask: MaskDescriptor) -> list[CaseSpec]:
    return [
        CaseSpec(
            case_id=name,
            provider=name,
            mask=mask.to_json(),
            batch=arguments.batch,
            num_q_heads=arguments.heads,
            num_kv_heads=arguments.kv_heads or arguments.heads,
            head_dim=arguments.head_dim,
            dtype=arguments.dtype,
            seed=arguments.seed,
        )
        for name in _impls(arguments)
    ]


def _outcome(spec: CaseSpec, options: MeasureOptions) -> CaseResult | str:
    """The result, or one line that says why there is none."""
    from compilemask.bench.case import run_case

    try:
        return run_case(spec, options)
    except (ValueError, RuntimeError) as problem:
        return str(problem).strip().splitlines()[0]


def _row(name: str, outcome: CaseResult | str) -> tuple[str, ...]:
    if isinstance(outcome, str):
        return (name, "error", "-", "-", "-", "-", "-", "-", outcome)

    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    rows = f"{outcome.rows_checked}/{outcome.rows_total}"
    how = outcome.impl_detail if outcome.reason is None else f"{outcome.impl_detail}; {outcome.reason}"
    return (
        name,
        outcome.verdict,
        number(outcome.median_ms, ".3f"),
        _rate(outcome.tflops),
        number(outcome.plan_ms, ".1f"),
        number(outcome.max_error, ".2e"),
        number(outcome.tolerance, ".2e"),
        rows,
        how,
    )


def _rate(tflops: float | None) -> str:
    """A rate in the unit that leaves its digits before the point."""
    if tflops is None:
        return "-"
    if tflops >= 1:
        return f"{tflops:.1f} TFLOP/s"
    return f"{tflops * 1e3:.1f} GFLOP/s" if tflops >= 1e-3 else f"{tflops * 1e6:.1f} MFLOP/s"


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value
