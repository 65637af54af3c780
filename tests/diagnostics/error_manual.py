"""Makes docs/errors.md from the table of codes and the example programs. `python tests/diagnostics/error_manual.py` writes it."""

from __future__ import annotations

from pathlib import Path

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import Diagnostic, MaskError, render
from compilemask.lowering.codes import BIND_CODES
from compilemask.semantics import check
from compilemask.semantics.codes import CODES, Code
from compilemask.syntax import parse

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "docs" / "errors.md"
PROGRAMS = Path(__file__).parent / "programs"
MAX_LINES = 12
MAX_COLUMNS = 100

_HEAD = "mask causal(n: int)\ntokens { S: n }\n"
_ALL = ", ".join(f"S{i}" for i in range(64))
BIG_PROGRAMS = {
    "CM107": _HEAD + "S sees S causal\n" + "# a very long comment\n" * 3_000,
    "CM108": "mask causal(n: int)\ntokens { S: n" + ";" * 20_000 + " }\nS sees S causal\n",
    "CM212": _HEAD + "S sees S " + "(" * 65 + "causal" + ")" * 65 + "\n",
    "CM213": _HEAD + "S sees S k < 1" + " + 1" * 128 + "\n",
    "CM217": _HEAD + ", ".join(["S"] * 65) + " sees S causal\n",
    "CM412": "mask many(n: int)\n"
    + f"tokens {{ {'; '.join(f'S{i}: n' for i in range(64))} }}\n"
    + f"{_ALL} sees {_ALL}\n{_ALL} sees {_ALL} causal\n{_ALL} sees {_ALL} where k < 3\n",
}
"""Programs that are over a limit, and too long to be read."""

VALUES: dict[str, dict[str, object]] = {
    "CM401": {"sink": 2},
    "CM402": {"n": 64, "sinks": 2},
    "CM403": {"n": 64.0},
    "CM404": {"n": 64, "targets": 100},
    "CM405": {"frames": 100_000, "height": 1_000, "width": 1_000},
    "CM406": {"blocks": 10_000_000, "size": 4},
    "CM407": {"lengths": [3, 4]},
    "CM408": {"n": 64, "stride": 0},
    "CM409": {"n": 10_000_000},
    "CM410": {"n": 131_072},
    "CM411": {"n": 16_384},
    "CM412": {"n": 4},
    "CM420": {"questions": [12, 5, 8], "answers": [30, 41]},
    "CM421": {"height": 64, "width": 12, "kernel": 17},
    "CM422": {"parent": [-1, 0, 3, 1]},
    "CM423": {"n": 8_200, "ranks": 8},
    "CM511": {"q_len": 8, "kv_len": 3},
    "CM512": {"n": 8, "unused": 2},
    "CM513": {"n": 8, "window": 8},
    "CM514": {"n": 16, "window": 4},
    "CM515": {"n": 16, "ranks": 2},
    "CM430": {"lengths": [3, 4], "n": 8},
    "CM440": {"n": 4096, "window": 128},
    "CM441": {"lengths": [8, 5, 7], "prefix": [2, 1]},
    "CM540": {"lengths": [8, 5, 7], "prefix": [2, 1, 1]},
    "CM601": {"n": 8},
    "CM602": {"n": 8, "unused": 2},
    "CM603": {"n": 8, "unused": 2},
    "CM604": {"prompt": 4, "responses": [3, 2]},
    "CM605": {"context": 2, "history": 6},
    "CM606": {"n": 64, "window": 32},
    "CM607": {"n": 8, "window": 4},
    "CM520": {"questions": [12, 5, 8], "answers": [30, 41]},
}
"""The numbers that are wrong, for the messages about numbers."""

ALL_CODES = tuple(sorted((*CODES, *BIND_CODES), key=lambda code: code.code))

SECTIONS = {
    "CM1": "Characters",
    "CM2": "Grammar",
    "CM3": "Names and types",
    "CM4": "Binding",
    "CM5": "Warnings",
    "CM6": "Assertions",
}


def program(code: str) -> str:
    """The example program of a code."""
    if code in BIG_PROGRAMS:
        return BIG_PROGRAMS[code]
    return (PROGRAMS / f"{code}.mask").read_text(encoding="utf-8")


def messages(code: str) -> tuple[Diagnostic, ...]:
    """All messages about the example of a code, in order."""
    source = program(code)
    if code in VALUES:
        mask = compile(source)
        if mask.is_batch:
            return analyse(source, VALUES[code]).diagnostics
        try:
            lowered = mask.lower(**VALUES[code])
            return mask.warnings + mask.assertion_failures(lowered) + mask.bind_warnings(lowered)
        except MaskError as error:
            return error.diagnostics
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
    shown = [m for m in messages(code.code) if m.code == code.code]
    values = ", ".join(f"{name} = {value}" for name, value in VALUES.get(code.code, {}).items())
    bound = f"\nBound to `{values}`:\n" if values else ""
    fixes = [fix.title for fix in shown[0].fixes]
    quick = f"\nQuick fix: {' / '.join(fixes)}.\n" if fixes else ""
    return (
        f"### {code.code}: {code.title}\n\n{code.doc}\n\n```mask\n{shortened(source)}\n```\n{bound}\n"
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
        codes = [code for code in ALL_CODES if code.code.startswith(family)]
        if codes:
            parts.append(f"## {title}\n")
            parts += [entry(code) for code in codes]
    return "\n".join(parts)


if __name__ == "__main__":
    MANUAL.write_text(manual(), encoding="utf-8")
