"""Bounds of loops in Triton's intermediate code."""

from __future__ import annotations

import re


def foreign_bounds(text: str) -> list[str]:
    """Loops inside others whose bounds come from outside all of them, numbers apart; each as the line that begins it.

    Bounds of such loops change from item to item here, so there must be none: Triton 3.6 loses the values that a loop hands on when only
    bounds of inner loops depend on them.
    """
    found: list[str] = []
    open_loops: list[int] = []
    outside: set[str] = set()
    for line in text.splitlines():
        indent, words = len(line) - len(line.lstrip()), line.strip()
        while open_loops and words.startswith("}") and indent <= open_loops[-1]:
            open_loops.pop()
        if loop := re.match(r"(?:%\w+(?::\d+)? = )?scf\.for %\w+ = %(\w+)[#\d]* to %(\w+)[#\d]* step", words):
            if open_loops and outside & {loop[1], loop[2]}:
                found.append(words[:120])
            open_loops.append(indent)
        elif made := re.match(r"%(\w+)(?::\d+)? = (\S+)", words):
            (outside.discard if open_loops or made[2] == "arith.constant" else outside.add)(made[1])
    return found
