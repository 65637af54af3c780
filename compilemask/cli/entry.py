"""One command of the command line, from its arguments to its exit code."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence

from compilemask.cli.masks import EXIT_BAD_INPUT, EXIT_MASK_ERRORS, InvalidMaskError
from compilemask.cli.parser import DELEGATED, build_parser
from compilemask.mask_arguments import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 1 when a mask has errors, or 2 when the command line cannot be used."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that cannot show a sign gets a question mark instead of a crash
            stream.reconfigure(errors="replace")
    try:
        if arguments and arguments[0] in DELEGATED:
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


def _delegate(name: str, arguments: list[str]) -> int:
    module, extra, _ = DELEGATED[name]
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
