"""`compilemask check`."""

from __future__ import annotations

import argparse

from compilemask.cli.masks import EXIT_MASK_ERRORS, print_messages, program_of
from compilemask.compiler import Analysis, MaskProgram, analyse
from compilemask.diagnostics import Diagnostic, MaskError
from compilemask.mask_arguments import given_values, read_mask


def check(options: argparse.Namespace) -> int:
    """Binds the numbers given, or else every example, and prints all that is wrong."""
    source, filename = read_mask(options.file)
    program = program_of(source, filename)
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
        print_messages(fresh, source, filename, note=words)
        failed |= any(message.severity == "error" for message in found)
    if not cases:
        print_messages(program.warnings, source, filename)
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
