"""The command line of `compilemask bench`: which cases it asks for."""

from __future__ import annotations

import argparse
import itertools
import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from compilemask.bench.catalog import CATALOG, entry_named
from compilemask.bench.protocol import ACTIVATIONS, DIRECTIONS, DTYPES, CaseSpec
from compilemask.bench.rows import BoundCase
from compilemask.compiler import MaskProgram, analyse, compile
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import MaskError
from compilemask.mask_arguments import UsageError, given_values, read_mask

_DESCRIPTION = """Verify and measure attention under a mask. Every case is compared with float64 attention before it is timed, in a process of its
own. Options that take several values make a case of each combination."""


def parser() -> argparse.ArgumentParser:
    """Of the whole command."""
    made = argparse.ArgumentParser(
        prog="compilemask bench",
        usage="compilemask bench PRESET|FILE [options]; --help tells them",
        description=_DESCRIPTION,
        epilog="providers: " + "; ".join(f"{entry.name} ({entry.title}: {entry.masks})" for entry in CATALOG),
    )
    made.add_argument("mask", metavar="PRESET|FILE", help="the name of a preset, a .mask file, or -")
    made.add_argument("--set", action="extend", nargs="+", default=[], metavar="NAME=VALUE",
                      help="a parameter, such as n=3, flag=true or lengths=1,2,3")  # fmt: skip
    made.add_argument("--example", nargs="+", default=[None], metavar="NAME",
                      help="start from the numbers of an example of the mask, such as large")  # fmt: skip
    made.add_argument("--sweep", action="append", nargs="+", default=[], metavar=("NAME=VALUE", "VALUE"),
                      help="a parameter with several values, such as n=1024 2048 4096")  # fmt: skip
    made.add_argument("--impl", action="extend", nargs="+", metavar="NAME",
                      help="providers (default: torch; on a GPU triton, on one of compute capability 9.0 hopper, too)")  # fmt: skip
    made.add_argument("--direction", nargs="+", choices=DIRECTIONS, default=["forward"], metavar="DIRECTION",
                      help=f"{', '.join(DIRECTIONS)} (default: forward)")  # fmt: skip
    made.add_argument("--dtype", nargs="+", choices=DTYPES, default=["bfloat16"], metavar="DTYPE",
                      help=f"{', '.join(DTYPES)} (default: bfloat16)")  # fmt: skip
    made.add_argument("--head-dim", nargs="+", type=_whole(1), default=[64], metavar="N", help="default: 64")
    made.add_argument("--v-head-dim", type=_whole(1), metavar="N", help="of the values (default: head-dim)")
    made.add_argument("--activation", choices=ACTIVATIONS, default="softmax", help="silu: HSTU's, divided by kv_len")
    made.add_argument("--batch", type=_whole(1), default=1)
    made.add_argument("--heads", type=_whole(1), default=8, help="query heads")
    made.add_argument("--kv-heads", type=_whole(1), help="key heads (default: as many as query heads)")
    made.add_argument("--seed", type=_whole(0), default=0, help="of the inputs, which are normal(0, 1)")
    made.add_argument("--seconds", type=_seconds, default=1.0, help="time to measure each case for")
    made.add_argument("--cold", action="store_true", help="clear the caches before each sample")
    made.add_argument("--cuda-graph", action="store_true", help="replay a captured graph, to leave out launching")
    made.add_argument("--json", metavar="FILE", help="write all rows there as they come, samples included")
    made.add_argument("--table", metavar="FILE", help="write the table there as Markdown")
    made.add_argument("--chart", metavar="FILE", help="write a chart there as an HTML page")
    return made


def cases(arguments: argparse.Namespace) -> list[BoundCase]:
    """All cases, masks bound. Raises UsageError or MaskError."""
    for name in arguments.impl:
        try:
            entry_named(name)
        except ValueError as problem:
            raise UsageError(f"--impl: {problem}") from None
    kv_heads = arguments.kv_heads or arguments.heads
    if arguments.heads % kv_heads:
        raise UsageError(f"--heads must be a multiple of --kv-heads, got {arguments.heads} and {kv_heads}")
    source, filename = read_mask(arguments.mask)
    program = compile(source, filename=filename)
    made: list[BoundCase] = []
    for settings in _settings(arguments):
        values, mask, bind_ms = _bound(program, source, filename, *settings)
        made += _of_mask(arguments, kv_heads, program.name, values, mask, bind_ms, len(made))
    return made


def shown(values: Mapping[str, object]) -> str:
    """Parameters and their values, for a title."""
    return ", ".join(f"{name} = {list(value) if isinstance(value, tuple) else value}" for name, value in values.items())


def _settings(arguments: argparse.Namespace) -> Iterator[tuple[str | None, list[str]]]:
    """(example, NAME=VALUE settings) of each mask."""
    fixed = {setting.partition("=")[0].strip() for setting in arguments.set}
    swept: list[list[str]] = []
    for first, *more in arguments.sweep:
        name, equals, text = first.partition("=")
        name = name.strip()
        if not equals:
            raise UsageError(f"--sweep wants NAME=VALUE VALUE ..., got {first!a}; for example --sweep n=1024 2048")
        if name in fixed:
            raise UsageError(f"{name} is given twice, by --sweep and by another option; give it once")
        fixed.add(name)
        swept.append([f"{name}={value}" for value in (text, *more)])
    for example, *chosen in itertools.product(arguments.example, *swept):
        yield example, [*arguments.set, *chosen]


def _bound(
    program: MaskProgram, source: str, filename: str, example: str | None, settings: Sequence[str]
) -> tuple[Mapping[str, object], MaskDescriptor, float]:
    """(all values, the mask, milliseconds that binding took); numbers as the other commands take them."""
    analysis = analyse(source, given_values(program, example, settings), filename=filename)
    if errors := [message for message in analysis.diagnostics if message.severity == "error"]:
        raise MaskError(errors, source, filename)
    began = time.perf_counter()
    mask = program.bind(**analysis.values)
    bind_ms = (time.perf_counter() - began) * 1e3
    if isinstance(mask, MaskBatch):
        if len(mask.masks) > 1:
            raise UsageError(
                f"bench measures one mask, and these values give {len(mask.masks)}; give `per item` and `per head` "
                f"parameters of {program.name} a single value"
            )
        mask = mask.masks[0]
    return analysis.values, mask, bind_ms


def _of_mask(
    arguments: argparse.Namespace, kv_heads: int, name: str, values: Mapping[str, object], mask: MaskDescriptor,
    bind_ms: float, first_id: int,
) -> Iterator[BoundCase]:  # fmt: skip
    text = mask.to_json()
    combinations = itertools.product(arguments.direction, arguments.dtype, arguments.head_dim, arguments.impl)
    for number, (direction, dtype, head_dim, provider) in enumerate(combinations, first_id):
        spec = CaseSpec(
            case_id=str(number), provider=provider, mask=text, batch=arguments.batch, num_q_heads=arguments.heads,
            num_kv_heads=kv_heads, head_dim=head_dim, dtype=dtype, seed=arguments.seed, direction=direction,
            v_head_dim=arguments.v_head_dim,
            activation=arguments.activation,
        )  # fmt: skip
        yield BoundCase(spec, name, values, mask, bind_ms, _command(arguments, values, spec))


def _command(arguments: argparse.Namespace, values: Mapping[str, object], spec: CaseSpec) -> str:
    """The command of one case alone."""
    words = ["compilemask", "bench", arguments.mask]
    if values:
        words += ["--set", *(f"{name}={json.dumps(value, separators=(',', ':'))}" for name, value in values.items())]
    words += ["--impl", spec.provider, "--direction", spec.direction, "--dtype", spec.dtype]
    words += ["--head-dim", str(spec.head_dim), "--batch", str(spec.batch), "--heads", str(spec.num_q_heads)]
    words += ["--kv-heads", str(spec.num_kv_heads), "--seed", str(spec.seed), "--seconds", f"{arguments.seconds:g}"]
    if spec.v_head_dim is not None:
        words += ["--v-head-dim", str(spec.v_head_dim)]
    if spec.activation != "softmax":
        words += ["--activation", spec.activation]
    words += ["--cold"] * arguments.cold + ["--cuda-graph"] * arguments.cuda_graph
    return shlex.join(words)


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.lstrip("-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {text!a}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 0 to 3600, got {text!a}")
    return value
