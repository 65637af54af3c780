"""What the command line accepts."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from compilemask import __version__
from compilemask.cli.check import check
from compilemask.cli.export import export
from compilemask.cli.layout import layout
from compilemask.cli.plan import plan
from compilemask.cli.show import explain, show
from compilemask.presets import preset_names

DELEGATED = {
    "bench": ("compilemask.bench.command", "attention", "verify and measure attention under masks"),
    "studio": ("compilemask_studio.launcher", "studio", "design masks in the browser"),
}
"""Commands with a parser of their own: the module of each, the extra that it needs, and what it does."""

_Commands = argparse._SubParsersAction
_Command = Callable[[argparse.Namespace], int]


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compilemask",
        description="Attention masks as a few lines of a region language.",
        epilog=f"FILE is a mask text, - for standard input, or a preset: {', '.join(preset_names())}.",
    )
    parser.add_argument("--version", action="version", version=f"compilemask {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _command(commands, "check", check, "print what is wrong with a mask; exit code 1 on errors")
    picture = _command(commands, "show", show, "draw a mask and give its statistics", one=True)
    picture.add_argument("--width", type=int, default=64, help="columns of the drawing (64)")
    picture.add_argument("--families", action="store_true", help="list the runs of the mask, those that repeat once")
    cell = _command(commands, "explain", explain, "say which rules make a cell visible, or why none does", one=True)
    cell.add_argument("q", type=int, help="the query, counted from 0 as the mask stores it")
    cell.add_argument("k", type=int, help="the key, counted from 0 as the mask stores it")
    _add_plan(commands)
    module = _command(commands, "export", export, "write a module that rebuilds the mask")
    module.add_argument("--to", choices=("python", "numpy"), default="python", help="needs compilemask, or NumPy only")
    module.add_argument("-o", "--output", metavar="OUT", help="the file to write (standard output)")
    text = commands.add_parser("format", help="write a mask text in its canonical layout", description=layout.__doc__)
    _add_file(text)
    how = text.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="change the file instead of printing the text")
    how.add_argument("--check", action="store_true", help="print nothing; exit code 1 when the text would change")
    text.set_defaults(command=layout)
    for name, (_, _, words) in DELEGATED.items():
        commands.add_parser(name, help=words, add_help=False)
    return parser


def _add_plan(commands: _Commands[argparse.ArgumentParser]) -> None:
    words = "say how a mask is tiled, what that costs, and how many bytes it takes here and in other formats"
    parser = _command(commands, "plan", plan, words, one=True)
    parser.add_argument("--block-m", type=int, default=128, metavar="ROWS", help="queries of a tile (128)")
    parser.add_argument("--block-n", type=int, default=64, metavar="KEYS", help="keys of a tile (64)")
    parser.add_argument("--heads", type=int, default=16, help="query heads of all batch items together (16)")
    parser.add_argument("--head-dim", type=int, default=128, help="numbers of a query and of a key (128)")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def _command(
    commands: _Commands[argparse.ArgumentParser], name: str, command: _Command, words: str, one: bool = False
) -> argparse.ArgumentParser:
    """A command about a bound mask. one: about one mask, so that one of a batch can be chosen."""
    parser = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
    _add_file(parser)
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
    if one:
        parser.add_argument("--item", type=int, default=0, help="of a batch, the item whose mask is meant (0)")
        parser.add_argument("--head", type=int, default=0, help="of a batch, the head whose mask is meant (0)")
    parser.set_defaults(command=command)
    return parser


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a mask text, - for standard input, or the name of a preset")
