"""A mask of the command line: its text, its numbers and its messages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from compilemask.compiler import Analysis, MaskProgram, analyse
from compilemask.diagnostics import Diagnostic, render
from compilemask.lowering import Lowered
from compilemask.mask_arguments import UsageError, given_values, read_mask

EXIT_MASK_ERRORS = 1
EXIT_BAD_INPUT = 2


class InvalidMaskError(Exception):
    """A mask has errors; they are printed already."""


def program_of(source: str, filename: str) -> MaskProgram:
    """The checked text; InvalidMaskError, with the messages printed, when it has errors."""
    analysis = analyse(source, filename=filename)
    if analysis.program is None:
        print_messages(analysis.diagnostics, source, filename)
        raise InvalidMaskError
    return analysis.program


def bound_mask(options: argparse.Namespace, item: int = 0, head: int = 0) -> tuple[MaskProgram, Analysis, Lowered]:
    """The program, and its numbers bound, with the messages printed; InvalidMaskError when there is no mask.

    There is one when nothing but assertions failed. item, head: which mask of a batch; UsageError for one it lacks.
    """
    source, filename = read_mask(options.file)
    program = program_of(source, filename)
    values = given_values(program, options.example, options.values)
    for axis, number in (("item", item), ("head", head)):
        if number < 0:
            raise UsageError(f"--{axis} must be 0 or more, got {number}")
    analysis = analyse(source, values, filename=filename, item=item, head=head)
    for axis, number, size in (("item", item, analysis.num_items), ("head", head, analysis.num_heads)):
        if analysis.lowered is not None and number >= size:
            what = f"give a batch of {size} {axis}s" if size > 1 else f"are the same for all {axis}s"
            raise UsageError(f"--{axis} must be less than {size}, got {number}; these values {what}")
    print_messages(analysis.diagnostics, source, filename)
    if analysis.lowered is None:
        raise InvalidMaskError
    if analysis.assumed:
        print(f"note: no value was given for {', '.join(analysis.assumed)}; use --set", file=sys.stderr)
    return program, analysis, analysis.lowered


def print_messages(messages: Sequence[Diagnostic], source: str, filename: str, note: str = "") -> None:
    """To standard error, each with the picture of its place."""
    if messages:
        print("\n\n".join(render(message, source, filename + note) for message in messages), file=sys.stderr)


def write_text(name: str, text: str) -> None:
    """UsageError for a file that cannot be written."""
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot write {name}: {problem.strerror or problem}") from None
