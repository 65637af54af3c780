"""`compilemask format`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from compilemask.cli.masks import EXIT_MASK_ERRORS, InvalidMaskError, print_messages, write_text
from compilemask.diagnostics import MaskError
from compilemask.mask_arguments import UsageError, read_mask
from compilemask.syntax import format


def layout(options: argparse.Namespace) -> int:
    """Prints a mask text in its canonical layout."""
    source, filename = read_mask(options.file)
    try:
        formatted = format(source)
    except MaskError as error:
        print_messages(error.diagnostics, source, filename)
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
        write_text(options.file, formatted)
    return 0
