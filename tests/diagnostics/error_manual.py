"""Makes docs/errors.md from the table of codes and the example programs. `python tests/diagnostics/error_manual.py` writes it."""

from __future__ import annotations

from pathlib import Path

from compilemask.diagnostics import Diagnostic, render
from compilemask.semantics import check
from compilemask.semantics.codes import CODES, Code
from compilemask.syntax import parse

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "docs" / "errors.md"
PROGRAMS = Path(__file__).parent / "programs"
MAX_LINES = 12
MAX_COLUMNS = 100

_HEAD = "mask causal(n: int)\ntokens { S: n }\n"
BIG_PROGRAMS = {
    "CM107": _HEAD + "S sees S causal\n" + "# a very long comment\n" * 3_000,
    "CM108": "mask causal(n: int)\ntokens { S: n" + ";" * 20_000 + " }\nS sees S causal\n",
    "CM212": _HEAD + "S sees S " + "(" * 65 + "causal" + ")" * 65 + "\n",
    "CM213": _HEAD + "S sees S k < 1" + " + 1" * 128 + "\n",
    "CM217": _HEAD + ", ".join(["S"] * 65) + " sees S causal\n",
}
"""Programs that are over a limit, and too long to be read."""

SECTIONS = {
    "CM1": "Characters",
    "CM2": "Grammar",
    "CM3": "Names and types",
    "CM4": "Binding",
    "CM5": "Warnings",
}


def program(code: str) -> str:
    """The example program of a code."""
    if code in BIG_PROGRAMS:
        return BIG_PROGRAMS[code]
    return (PROGRAMS / f"{code}.mask").read_text(encoding="utf-8")


def messages(source: str) -> tuple[Diagnostic, ...]:
    """All messages about a text, in order."""
    tree, syntax = parse(source)
    _, semantic = check(tree, source)
    return syntax + semantic


def shortened(text: str) -> str:
    lines = [
        line if len(line) <= MAX_COLUMNS else line[: MAX_COLUMNS - 4] + " ..." for line in text.rstrip("\n").split("\n")
    ]
    return "\n".join(lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 3], "...", *lines[-2:]])


def entry(code: Code) -> str:
    source = program(code.code)
    shown = [m for m in messages(source) if m.code == code.code]
    fixes = [fix.title for fix in shown[0].fixes]
    quick = f"\nQuick fix: {' / '.join(fixes)}.\n" if fixes else ""
    return (
        f"### {code.code}: {code.title}\n\n{code.doc}\n\n```mask\n{shortened(source)}\n```\n\n"
        f"```text\n{render(shown[0], source, 'example.mask')}\n```\n{quick}"
    )


def manual() -> str:
    """The whole page."""
    parts = [
        "# Messages\n",
        "Every message has a code that never changes its meaning. Errors stop a mask; warnings do not.\n"
        "Each entry shows a text, and the picture that the command line draws of it. The editor shows the same as a\n"
        "squiggle, with the quick fixes.\n\n"
        "This page is made from the table of codes by `python tests/diagnostics/error_manual.py`, and a test compares them.\n",
    ]
    for family, title in SECTIONS.items():
        codes = [code for code in CODES if code.code.startswith(family)]
        if codes:
            parts.append(f"## {title}\n")
            parts += [entry(code) for code in codes]
    return "\n".join(parts)


if __name__ == "__main__":
    MANUAL.write_text(manual(), encoding="utf-8")
