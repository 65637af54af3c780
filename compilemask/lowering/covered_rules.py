"""Rules that change nothing with the bound numbers, because other rules show all of their cells already."""

from __future__ import annotations

import numpy as np

from compilemask.diagnostics import Diagnostic, Label, line_column
from compilemask.geometry import RunSet, combine
from compilemask.geometry.ragged import BoolArray
from compilemask.lowering.lower import Lowered
from compilemask.semantics.program import CheckedMask

MAX_SHAPES = 2**16
"""Shapes of all rules up to which covered rules are looked for: this is one more sweep, for a warning."""
MAX_RUNS_SWEPT = 2**20
"""Runs of all pieces of the mask up to which they are looked for: few shapes that cross make many."""
MAX_MEMBERSHIPS = 2**25
"""Rules times ends of shapes up to which they are looked for."""
MAX_LOOKED_UP = 2**14
"""Numbers of columns up to which a byte more is looked up in a list of all; beyond, numbers are sorted."""


def covered_rules(mask: CheckedMask, lowered: Lowered) -> tuple[Diagnostic, ...]:
    """A warning for each rule whose cells the others have; of rules that cover each other the later ones are named."""
    total = sum(len(shapes) for shapes in lowered.rule_shapes)
    used = [number for number, shapes in enumerate(lowered.rule_shapes) if len(shapes)]
    if len(used) < 2 or total > MAX_SHAPES or 2 * len(used) * total > MAX_MEMBERSHIPS:
        return ()
    if len(lowered.descriptor.runs.lo_slope) > MAX_RUNS_SWEPT:
        return ()
    patterns = _patterns([lowered.rule_sets[number] for number in used])
    found = []
    alive = np.ones(len(used), np.bool_)
    for place in reversed(range(len(used))):
        own = patterns[:, patterns[place]]
        alive[place] = False
        if own.shape[1] and own[alive].any(axis=0).all():
            found.append(_warning(mask, used[place], [used[other] for other in _cover(own, alive)]))
        else:
            alive[place] = True
    return tuple(reversed(found))


def _patterns(sets: list[RunSet]) -> BoolArray:
    """bool[rules, n]: every combination of rules that some cell lies in, once."""
    seen: list[BoolArray] = []

    def note(inside: BoolArray) -> BoolArray:
        seen.append(distinct_columns(inside))
        return np.zeros(inside.shape[1], np.bool_)

    combine(sets, note)
    return distinct_columns(np.concatenate(seen, axis=1))


def distinct_columns(table: BoolArray) -> BoolArray:
    """Each column once. Eight rows are a byte, and columns are numbered byte by byte; np.unique would sort whole columns."""
    place = np.arange(table.shape[1])
    number, found = np.zeros(len(place), np.int64), place[:1]
    for byte in np.packbits(table, axis=0):
        number = number * 256 + byte
        if len(found) <= MAX_LOOKED_UP:
            first = np.full(len(found) * 256, -1)
            first[number] = place
            used = first >= 0
            found, number = first[used], (np.cumsum(used) - 1)[number]
        else:
            _, found, number = np.unique(number, return_index=True, return_inverse=True)
    return table[:, found]


def _cover(own: BoolArray, alive: BoolArray) -> list[int]:
    """Few of the living rules that together have all cells of a rule, in the order of the text; one if one is enough.

    own: bool[rules, n], the combinations that the rule is part of.
    """
    chosen: list[int] = []
    left = np.ones(own.shape[1], np.bool_)
    while left.any():
        counts = np.where(alive, (own & left).sum(axis=1), 0)
        chosen.append(int(np.argmax(counts)))
        left &= ~own[chosen[-1]]
    return sorted(chosen)


def _warning(mask: CheckedMask, number: int, others: list[int]) -> Diagnostic:
    lines = [line_column(mask.source, mask.rules[other].span.start)[0] for other in others]
    shown = [f"line {line}" for line in dict.fromkeys(lines)]
    words = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    labels = tuple(Label(mask.rules[other].span, "shows these cells already") for other in others)
    message = f"with these numbers this rule adds no cell to {words}"
    return Diagnostic(
        *("CM514", "warning", message, mask.rules[number].span, labels),
        "remove it, or narrow it to the cells that are meant",
    )
