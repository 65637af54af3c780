"""The compact form of a mask as lines to read: rows, the keys they see, and how that repeats."""

from __future__ import annotations

from compilemask.geometry import RunFamilies
from compilemask.geometry.families import LEVELS, MOVING

MAX_LINES = 40


def family_lines(families: RunFamilies) -> list[str]:
    """One line for each family, of MAX_LINES at most, and one that counts the others."""
    shown = min(len(families), MAX_LINES)
    columns = [(_rows(families, n), _keys(families, n), _repeats(families, n)) for n in range(shown)]
    widths = [max((len(row[place]) for row in columns), default=0) for place in range(2)]
    lines = [f"{rows:<{widths[0]}}  {keys:<{widths[1]}}  {repeats}".rstrip() for rows, keys, repeats in columns]
    left = len(families) - shown
    return [*lines, f"and {left:,} more"] if left else lines


def _rows(families: RunFamilies, n: int) -> str:
    start, stop = int(families.first.q_start[n]), int(families.first.q_stop[n])
    return f"query {start:,}" if stop - start == 1 else f"queries [{start:,}, {stop:,})"


def _keys(families: RunFamilies, n: int) -> str:
    first = families.first
    lo = _affine(int(first.lo_slope[n]), int(first.lo_offset[n]))
    hi = _affine(int(first.hi_slope[n]), int(first.hi_offset[n]))
    return f"keys [{lo}, {hi})"


def _affine(slope: int, offset: int) -> str:
    if slope == 0:
        return f"{offset:,}"
    times = {1: "q", -1: "-q"}.get(slope, f"{slope}*q")
    return times if offset == 0 else f"{times} {'+' if offset > 0 else '-'} {abs(offset):,}"


def _repeats(families: RunFamilies, n: int) -> str:
    """What moves from one repetition to the next: rows, and the keys that the first row sees."""
    words = []
    for level in range(LEVELS):
        count = int(families.counts[n, level])
        if count == 1:
            continue
        step = dict(zip(MOVING, families.steps[n, level].tolist(), strict=True))
        lo = step["lo_offset"] + int(families.first.lo_slope[n]) * step["q_start"]
        hi = step["hi_offset"] + int(families.first.hi_slope[n]) * step["q_start"]
        words.append(f"{count:,} times, {_moves('queries', step['q_start'], step['q_stop'])}, {_moves('keys', lo, hi)}")
    return "; ".join(words)


def _moves(what: str, start: int, stop: int) -> str:
    return f"{what} {start:+,}" if start == stop else f"{what} [{start:+,}, {stop:+,})"
