"""JSON of a descriptor, version 2: lengths and families of runs, nothing else. Version 1 had the runs one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np

from compilemask.geometry import RunFamilies, Trapezoids
from compilemask.geometry.families import LEVELS, MOVING
from compilemask.geometry.runs import SHAPE_ARRAYS

FORMAT = "compilemask.descriptor"
VERSION = 2

FIRST, REPEAT = len(SHAPE_ARRAYS), 1 + len(MOVING)
"""Numbers of a run, and of each level on which it repeats: how often, and the step of q_start, q_stop, lo_offset, hi_offset."""

MAX_RUNS = 2**22
"""Runs that a text may stand for, however few families it has: the compiler makes no more, and they take seconds to read."""


def dumps(q_len: int, kv_len: int, families: RunFamilies) -> str:
    """One line of ASCII; equal masks give equal text. ValueError for more than MAX_RUNS runs."""
    check_total(families.num_runs)
    value = {"format": FORMAT, "version": VERSION, "q_len": q_len, "kv_len": kv_len, "runs": rows_of(families)}
    return json.dumps(value, separators=(",", ":"))


def loads(text: str) -> tuple[int, int, Trapezoids]:
    """(q_len, kv_len, shapes) of a text written by `dumps`; raises ValueError saying what is wrong with it.

    Checks the form only; `check_cells` checks the shapes, when their mask is made.
    """
    keys = {version: ("q_len", "kv_len", runs_key(version)) for version in range(1, VERSION + 1)}
    version, value = read_object(text, FORMAT, keys, "a descriptor")
    q_len, kv_len, key = read_length(value, "q_len"), read_length(value, "kv_len"), runs_key(version)
    families = read_families(value[key], f'"{key}"', version)
    check_total(families.num_runs)
    return q_len, kv_len, families.unfold()


def runs_key(version: int) -> str:
    """What the list of runs is called in a descriptor of this version."""
    return "trapezoids" if version == 1 else "runs"


def rows_of(families: RunFamilies) -> list[list[int]]:
    """Each family as a list: FIRST integers, and REPEAT more for each level on which it repeats."""
    first = np.stack([getattr(families.first, name) for name in SHAPE_ARRAYS], axis=1).tolist()
    repeats = np.concatenate([families.counts[:, :, None], families.steps], axis=2).tolist()
    return [
        run + [number for level in levels if level[0] > 1 for number in level]
        for run, levels in zip(first, repeats, strict=True)
    ]


def read_object(text: str, format: str, keys: Mapping[int, Sequence[str]], noun: str) -> tuple[int, dict[str, object]]:
    """(version, JSON object) of this format; ValueError, beginning with the noun, for anything else.

    keys: of each version that is read, exactly those that its object has.
    """
    if not isinstance(text, str):
        raise ValueError(f"{noun} is read from text, got {type(text).__name__}")
    try:
        value = json.loads(text, object_pairs_hook=_object_of)
    except _RepeatedKeyError as repeated:
        raise ValueError(f"{noun} has {repeated}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{noun} must be JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{noun} must be a JSON object, got {kind(value)}")
    if value.get("format") != format:
        raise ValueError(f'{noun} has "format": "{format}", got {show(value.get("format"))}')
    version = value.get("version")
    if not is_int(version) or version < 1:
        raise ValueError(f'"version" must be a positive integer, got {show(version)}')
    if version > max(keys):
        raise ValueError(
            f"this {noun.split()[-1]} has version {show(version)}, this program reads up to {max(keys)}; upgrade it"
        )
    expected = {"format", "version", *keys[version]}
    if value.keys() != expected:
        odd = sorted(value.keys() ^ expected)[0]
        raise ValueError(f"{show(odd)} is {'missing' if odd in expected else f'not a key of {noun}'}")
    return version, value


class _RepeatedKeyError(ValueError):
    """A JSON object with one key twice, of which a reader would have to take one."""


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _RepeatedKeyError(f"the key {show(key)} more than once")
        found[key] = value
    return found


def read_length(value: dict[str, object], name: str) -> int:
    length = value[name]
    if not is_int(length) or not 0 <= length < 2**31:
        raise ValueError(f'"{name}" must be an integer from 0 to {2**31 - 1}, got {show(length)}')
    return length


def check_total(runs: int) -> None:
    """ValueError when a text would stand for more than MAX_RUNS; to be called before they are unfolded."""
    if runs > MAX_RUNS:
        raise ValueError(
            f"the text stands for {show(runs)} runs, more than {MAX_RUNS}; save parts of the mask, cut with slice_queries"
        )


def check_cells(shapes: Trapezoids, visible_pairs: int) -> None:
    """ValueError for runs that no writer makes: without rows or keys, or with a cell twice.

    visible_pairs: the cells of the mask that was made of them, so that their numbers are known to be within bounds.
    """
    place = np.flatnonzero(shapes.q_start >= shapes.q_stop)
    if len(place):
        start, stop = int(shapes.q_start[place[0]]), int(shapes.q_stop[place[0]])
        raise ValueError(f"a run needs rows, got one that starts at row {start} and stops before row {stop}")
    widths = []
    for row in (shapes.q_start, shapes.q_stop - 1):
        lo, hi = shapes.lo(row), shapes.hi(row)
        place = np.flatnonzero(lo >= hi)
        if len(place):
            at, first, stop = (int(numbers[place[0]]) for numbers in (row, lo, hi))
            raise ValueError(f"a run needs keys in each row, got [{first}, {stop}) in row {at}")
        widths.append(hi - lo)
    rows, ends = shapes.q_stop - shapes.q_start, widths[0] + widths[1]
    even = rows % 2 == 0
    cells = np.where(even, rows // 2, rows) * np.where(even, ends, ends // 2)
    # in two halves, because 2**22 runs of 2**62 cells do not fit into int64
    total = (int(np.sum(cells >> 31)) << 31) + int(np.sum(cells & (2**31 - 1)))
    if total != visible_pairs:
        raise ValueError(f"runs must not overlap, got {total} cells of which {visible_pairs} are different")


def read_families(rows: object, name: str, version: int) -> RunFamilies:
    """The families of a list in the form of the version; of at most MAX_RUNS runs each."""
    if not isinstance(rows, list):
        raise ValueError(f"{name} must be a list, got {kind(rows)}")
    noun, levels = ("trapezoid", 0) if version == 1 else ("run", LEVELS)
    numbers = np.zeros((len(rows), FIRST + LEVELS * REPEAT), np.int64)
    numbers[:, FIRST::REPEAT] = 1
    for place, row in enumerate(rows):
        label = f"{noun} {place} of {name}"
        _check_row(row, label, levels)
        numbers[place, : len(row)] = row
        _check_repeats(row, label)
    repeats = numbers[:, FIRST:].reshape(len(rows), LEVELS, REPEAT)
    first = Trapezoids(*np.ascontiguousarray(numbers[:, :FIRST].T))
    return RunFamilies(first, repeats[:, :, 0], repeats[:, :, 1:])


def _check_row(row: object, name: str, levels: int) -> None:
    lengths = [FIRST + REPEAT * level for level in range(levels + 1)]
    if not isinstance(row, list) or len(row) not in lengths:
        raise ValueError(f"{name} must be a list of {' or '.join(map(str, lengths))} integers, got {show(row)}")
    for number, item in enumerate(row):
        if not is_int(item) or abs(item) >= 2**62:
            raise ValueError(f"{_number_name(number)} of {name} must be an integer within 2**62, got {show(item)}")


def _check_repeats(row: list[int], name: str) -> None:
    """ValueError for counts below 1 or of too many runs, and for numbers that leave 2**62 on the way."""
    runs = 1
    reach = {moving: abs(row[SHAPE_ARRAYS.index(moving)]) for moving in MOVING}
    for at in range(FIRST, len(row), REPEAT):
        count, steps = row[at], row[at + 1 : at + REPEAT]
        if count < 1:
            raise ValueError(f"{_number_name(at)} of {name} must be 1 or more, got {show(count)}")
        runs *= count
        for moving, step in zip(MOVING, steps, strict=True):
            reach[moving] += abs(step) * (count - 1)
    check_total(runs)
    for moving, farthest in reach.items():
        if farthest >= 2**62:
            raise ValueError(f"{moving} of {name} must stay within 2**62, and its repetitions reach {show(farthest)}")


def _number_name(place: int) -> str:
    """What the integer at this place of a row is."""
    if place < FIRST:
        return SHAPE_ARRAYS[place]
    level, number = divmod(place - FIRST, REPEAT)
    return f"{'count' if number == 0 else f'step of {MOVING[number - 1]}'} {level + 1}"


def is_int(value: object) -> TypeGuard[int]:
    """Whether a JSON value is an integer; true and 1.0 are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def kind(value: object) -> str:
    """What a JSON value is, for a message."""
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(type(value), show(value))


def show(value: object) -> str:
    """A JSON value for a message, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
