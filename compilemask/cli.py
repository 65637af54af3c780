"""The command line: check, show, explain, export and format masks; bench and studio hand over to their own rooms."""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from compilemask import __version__
from compilemask.compiler import Analysis, MaskProgram, analyse
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.diagnostics import Diagnostic, MaskError, render
from compilemask.export import numpy_source, python_source
from compilemask.mask_arguments import UsageError, given_values, read_mask
from compilemask.plan import grid_counts, plan_tiles
from compilemask.presets import preset_names
from compilemask.preview import text_preview
from compilemask.syntax import format

EXIT_MASK_ERRORS = 1
EXIT_BAD_INPUT = 2

_DELEGATED = {
    "bench": ("compilemask.bench.command", "attention", "verify and measure attention under masks"),
    "studio": ("compilemask_studio.launcher", "studio", "design masks in the browser"),
}


class InvalidMaskError(Exception):
    """A mask has errors; they are printed already."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 1 when a mask has errors, or 2 when the command line cannot be used."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that cannot show a sign gets a question mark instead of a crash
            stream.reconfigure(errors="replace")
    try:
        if arguments and arguments[0] in _DELEGATED:
            return _delegate(arguments[0], arguments[1:])
        options = build_parser().parse_args(arguments)
        command: int = options.command(options)
        sys.stdout.flush()
        return command
    except UsageError as problem:
        print(f"compilemask: {problem}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except InvalidMaskError:
        return EXIT_MASK_ERRORS
    except BrokenPipeError:
        # the reader of a pipe has gone; Python would complain again when it closes the stream
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        return 130


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compilemask",
        description="Attention masks as a few lines of a region language.",
        epilog=f"FILE is a mask text, - for standard input, or a preset: {', '.join(preset_names())}.",
    )
    parser.add_argument("--version", action="version", version=f"compilemask {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _command(commands, "check", _check, "print what is wrong with a mask; exit code 1 on errors")
    show = _command(commands, "show", _show, "draw a mask and give its statistics")
    show.add_argument("--width", type=int, default=64, help="columns of the drawing (64)")
    explain = _command(commands, "explain", _explain, "say which rules make a cell visible, or why none does")
    explain.add_argument("q", type=int, help="the query, counted from 0")
    explain.add_argument("k", type=int, help="the key, counted from 0")
    export = _command(commands, "export", _export, "write a module that rebuilds the mask")
    export.add_argument("--to", choices=("python", "numpy"), default="python", help="needs compilemask, or NumPy only")
    export.add_argument("-o", "--output", metavar="OUT", help="the file to write (standard output)")
    layout = commands.add_parser(
        "format", help="write a mask text in its canonical layout", description=_format.__doc__
    )
    layout.add_argument("file", metavar="FILE", help="a mask text, - for standard input, or the name of a preset")
    how = layout.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="change the file instead of printing the text")
    how.add_argument("--check", action="store_true", help="print nothing; exit code 1 when the text would change")
    layout.set_defaults(command=_format)
    for name, (_, _, words) in _DELEGATED.items():
        commands.add_parser(name, help=words, add_help=False)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: object, words: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
    parser.add_argument("file", metavar="FILE", help="a mask text, - for standard input, or the name of a preset")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        dest="values",
        nargs="+",
        action="extend",
        default=[],
        help="numbers of parameters: n=4096, flag=true, lengths=3,4,5 (else the first example's, else the defaults)",
    )
    parser.add_argument("--example", metavar="NAME", help="start from the numbers of this example of the mask")
    parser.set_defaults(command=command)
    return parser


# ---------------------------------------------------------------- commands


def _check(options: argparse.Namespace) -> int:
    source, filename = read_mask(options.file)
    program = _program(source, filename)
    chosen = options.values or options.example is not None
    cases = [("", given_values(program, options.example, options.values))] if chosen else []
    if not cases:
        cases = [(f" with example {example.name}", dict(example.values)) for example in program.examples]
    failed = False
    shown: set[Diagnostic] = set()
    for words, values in cases:
        analysis = analyse(source, values, filename=filename)
        found = _of_all_items(program, analysis) if program.is_batch else analysis.diagnostics
        fresh = [message for message in found if message not in shown]
        shown.update(fresh)
        _print(fresh, source, filename, note=words)
        failed |= any(message.severity == "error" for message in found)
    if not cases:
        _print(program.warnings, source, filename)
    if failed:
        return EXIT_MASK_ERRORS
    bound = f", {len(cases)} example{'' if len(cases) == 1 else 's'} bound" if cases and not chosen else ""
    print(f"{filename}: mask {program.name} is correct{bound}")
    return 0


def _of_all_items(program: MaskProgram, analysis: Analysis) -> tuple[Diagnostic, ...]:
    """The messages about all masks of a batch; an analysis has looked at the first only."""
    found = tuple(message for message in analysis.diagnostics if message.code != "CM540")
    if not analysis.failed:
        try:
            program.bind(**analysis.values)
        except MaskError as error:
            found += error.diagnostics
    return found


def _show(options: argparse.Namespace) -> int:
    if options.width < 2:
        raise UsageError(f"--width must be at least 2, got {options.width}")
    program, analysis = _bound(options)
    assert analysis.lowered is not None
    mask = analysis.lowered.descriptor
    drawing = text_preview(mask, options.width)
    if drawing:
        print(drawing)
    tiles, plan = grid_counts(mask, 128, 128), plan_tiles(mask, 128, 128)
    work = f", {mask.visible_pairs / plan.processed_pairs:.1%} of their pairs visible" if plan.processed_pairs else ""
    lines = {
        "mask": program.name,
        "values": ", ".join(f"{name} = {_shown(value)}" for name, value in analysis.values.items()) or "none",
        "size": f"{mask.q_len:,} queries x {mask.kv_len:,} keys",
        "visible": f"{mask.visible_pairs:,} pairs, {mask.density:.3%}",
        "runs": f"{mask.num_runs:,} in all, up to {mask.runs_per_row_max:,} a row, {mask.nbytes:,} bytes",
        "empty": f"{mask.empty_rows:,} queries see no key, {mask.unseen_keys:,} keys are seen by none",
        "tiles": f"128 x 128: {tiles.full:,} full, {tiles.partial:,} partial, {tiles.empty:,} empty",
        "kernel": f"visits {plan.num_full:,} full and {plan.num_partial:,} partial tiles{work}",
        "hash": mask.hash,
    }
    for name, words in lines.items():
        print(f"{name:>8}  {words}")
    for result in analysis.lowered.assertions:
        print(f"{'assert':>8}  {result.text}: {'holds' if result.holds else 'does not hold'}")
    return EXIT_MASK_ERRORS if analysis.failed else 0


def _explain(options: argparse.Namespace) -> int:
    program, analysis = _bound(options)
    assert analysis.lowered is not None
    try:
        print(program.explain_lowered(analysis.lowered, options.q, options.k))
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    return 0


def _export(options: argparse.Namespace) -> int:
    program, analysis = _bound(options)
    if analysis.failed:
        raise InvalidMaskError
    assert analysis.lowered is not None
    mask: MaskDescriptor | MaskBatch = analysis.lowered.descriptor
    try:
        if program.is_batch:
            mask = program.bind(**analysis.values)
        match options.to:
            case "numpy":
                if isinstance(mask, MaskBatch) and len(mask.masks) > 1:
                    raise UsageError("a NumPy module holds one mask, and these values give several; give single values")
                text = numpy_source(mask.masks[0] if isinstance(mask, MaskBatch) else mask)
            case _:
                text = python_source(program.name, program.source, analysis.values, mask)
    except MaskError as error:
        _print(error.diagnostics, program.source, program.filename)
        raise InvalidMaskError from None
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    if options.output is None:
        print(text, end="")
        return 0
    _write(options.output, text)
    print(f"wrote {options.output}: {mask.q_len:,} x {mask.kv_len:,}, {mask.visible_pairs:,} visible pairs")
    return 0


def _format(options: argparse.Namespace) -> int:
    """Prints a mask text in its canonical layout."""
    source, filename = read_mask(options.file)
    try:
        formatted = format(source)
    except MaskError as error:
        _print(error.diagnostics, source, filename)
        raise InvalidMaskError from None
    if options.check:
        if formatted != source:
            print(f"{filename} would change", file=sys.stderr)
        return EXIT_MASK_ERRORS if formatted != source else 0
    if not options.write:
        print(formatted, end="")
    elif not Path(options.file).is_file():
        raise UsageError(f"--write changes a file, and {options.file!a} is none")
    elif formatted != source:
        _write(options.file, formatted)
    return 0


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot write {name}: {problem.strerror or problem}") from None


def _delegate(name: str, arguments: list[str]) -> int:
    module, extra, _ = _DELEGATED[name]
    try:
        command = importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("compilemask"):
            raise
        raise UsageError(
            f"`{name}` needs {problem.name}, which is not installed; "
            f"install it with `pip install 'compilemask-studio[{extra}]'`"
        ) from None
    return int(command.main(arguments) or 0)


# ---------------------------------------------------------------- masks and values


def _program(source: str, filename: str) -> MaskProgram:
    analysis = analyse(source, filename=filename)
    if analysis.program is None:
        _print(analysis.diagnostics, source, filename)
        raise InvalidMaskError
    return analysis.program


def _bound(options: argparse.Namespace) -> tuple[MaskProgram, Analysis]:
    """The program and its numbers, with the messages printed; InvalidMaskError when there is no mask.

    There is one when nothing but assertions failed.
    """
    source, filename = read_mask(options.file)
    program = _program(source, filename)
    analysis = analyse(source, given_values(program, options.example, options.values), filename=filename)
    _print(analysis.diagnostics, source, filename)
    if analysis.lowered is None:
        raise InvalidMaskError
    if analysis.assumed:
        print(f"note: no value was given for {', '.join(analysis.assumed)}; use --set", file=sys.stderr)
    return program, analysis


def _print(messages: Sequence[Diagnostic], source: str, filename: str, note: str = "") -> None:
    if messages:
        print("\n\n".join(render(message, source, filename + note) for message in messages), file=sys.stderr)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(map(_shown, value[:12]))
        return (
            f"[{inside}, ... {len(value):,} {'rows' if isinstance(value[0], tuple) else 'numbers'}]"
            if len(value) > 12
            else f"[{inside}]"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
