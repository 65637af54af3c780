"""`compilemask bench`: verify and measure masks from a shell."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from compilemask.bench import chart, runner
from compilemask.bench.arguments import cases, parser, shown
from compilemask.bench.protocol import CaseSpec, MeasureOptions
from compilemask.bench.rows import BoundCase, Row, now, row_of, write_rows
from compilemask.bench.tables import markdown_table, text_table
from compilemask.diagnostics import MaskError
from compilemask.mask_arguments import UsageError

INTERRUPTED = 130
HOPPER_CAPABILITY = (9, 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 when every case passed, 1 when one failed or could not run, 2 for input that cannot be read, 130 when
    interrupted. Rows that were measured are never lost."""
    words = list(sys.argv[2:] if argv is None else argv)
    arguments = parser().parse_args(words)
    arguments.impl = list(dict.fromkeys(arguments.impl or _usual_impls()))
    try:
        asked = cases(arguments)
        _check_outputs(arguments)
        rows, interrupted = _measured(arguments, asked, shlex.join(["compilemask", "bench", *words]))
        _report(arguments, asked, rows)
    except (MaskError, UsageError) as problem:
        print(problem, file=sys.stderr)
        return 2
    if interrupted:
        print(f"interrupted after {len(rows)} of {len(asked)} cases", file=sys.stderr)
        return INTERRUPTED
    return 0 if all(row["verdict"] == "passed" for row in rows) else 1


def _usual_impls() -> list[str]:
    """Ours that this machine has use for: the one that runs anywhere, and the kernels made for its GPU."""
    import torch

    if not torch.cuda.is_available():
        return ["torch"]
    return ["torch", "triton", *(["hopper"] if torch.cuda.get_device_capability() == HOPPER_CAPABILITY else [])]


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Before anything is measured: a file that cannot be written afterwards would lose it all."""
    for name in (arguments.json, arguments.table, arguments.chart):
        if name is not None and not Path(name).resolve().parent.is_dir():
            raise UsageError(f"cannot write {name}: there is no folder {Path(name).resolve().parent}; make it first")
    if arguments.chart is not None:
        try:
            import plotly  # noqa: F401
        except ModuleNotFoundError:
            raise UsageError(
                "--chart needs plotly, which is not installed; install it with `pip install 'compilemask-studio[studio]'`"
            ) from None


def _measured(arguments: argparse.Namespace, asked: Sequence[BoundCase], command: str) -> tuple[list[Row], bool]:
    """(rows, whether the user stopped it). Each row is in the JSON file before the next case begins."""
    options = MeasureOptions(
        target_seconds=arguments.seconds, cold_l2=arguments.cold, cuda_graph=arguments.cuda_graph,
    )  # fmt: skip
    head = {"command": command, "date": now()}
    rows: list[Row] = []

    def started(spec: CaseSpec) -> None:
        if len(asked) > 1 and sys.stderr.isatty():
            print(f"\r\033[K[{len(rows) + 1}/{len(asked)}] {spec.provider}", end="", file=sys.stderr, flush=True)

    try:
        with closing(runner.outcomes([case.spec for case in asked], options, started=started)) as coming:
            for case, (_, outcome) in zip(asked, coming, strict=True):
                rows.append(row_of(case, outcome))
                if arguments.json:
                    _write(lambda: write_rows(Path(arguments.json), head, rows), arguments.json)
    except KeyboardInterrupt:
        return rows, True
    finally:
        if len(asked) > 1 and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    return rows, False


def _report(arguments: argparse.Namespace, asked: Sequence[BoundCase], rows: Sequence[Row]) -> None:
    shape = f"{arguments.batch} x {arguments.heads}/{arguments.kv_heads or arguments.heads} heads x "
    shape += f"{'|'.join(map(str, arguments.head_dim))}, {'|'.join(arguments.dtype)}, {'|'.join(arguments.direction)}"
    bound: dict[str, BoundCase] = {}
    for case in asked:
        bound.setdefault(case.mask.hash, case)
    for case in bound.values():
        mask = case.mask
        print(
            f"{case.mask_name}({shown(case.values)}): {mask.q_len} x {mask.kv_len}, {mask.visible_pairs:,} visible pairs "
            f"({mask.density:.1%}), bound in {case.bind_ms:.1f} ms; {shape}"
        )
    devices = dict.fromkeys(row["device"] for row in rows if "device" in row)
    if devices:
        state = f"cache {'cold' if arguments.cold else 'warm'}{', CUDA graph' if arguments.cuda_graph else ''}"
        print(f"on {', '.join(devices)}, {state}; rates count visible pairs only")
    if not rows:
        return
    print(text_table(rows))
    title = f"{asked[0].mask_name}, {shape}"
    if arguments.table:
        _write(lambda: Path(arguments.table).write_text(markdown_table(rows), encoding="utf-8"), arguments.table)
    if arguments.chart:
        _write(lambda: chart.write_chart(Path(arguments.chart), title, rows), arguments.chart)


def _write(write: Callable[[], object], name: str) -> None:
    try:
        write()
    except OSError as problem:
        raise UsageError(f"cannot write {name}: {problem.strerror or problem}") from None
