"""JSON of a descriptor, version 1: lengths and merged trapezoids, nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from compilemask.geometry import Trapezoids
from compilemask.geometry.runs import SHAPE_ARRAYS

FORMAT = "compilemask.descriptor"
VERSION = 1


def dumps(q_len: int, kv_len: int, shapes: Trapezoids) -> str:
    """One line of ASCII; equal masks give equal text."""
    value = {"format": FORMAT, "version": VERSION, "q_len": q_len, "kv_len": kv_len, "trapezoids": rows_of(shapes)}
    return json.dumps(value, separators=(",", ":"))


def loads(text: str) -> tuple[int, int, Trapezoids]:
    """(q_len, kv_len, shapes) of a text written by `dumps`; raises ValueError saying what is wrong with it.

    Checks the form only: the shapes may still overlap or lie outside of the mask.
    """
    value = read_object(text, FORMAT, VERSION, "a descriptor", ("q_len", "kv_len", "trapezoids"))
    return read_length(value, "q_len"), read_length(value, "kv_len"), read_shapes(value["trapezoids"], '"trapezoids"')


def rows_of(shapes: Trapezoids) -> list[list[int]]:
    """Trapezoids as lists of six integers."""
    rows: list[list[int]] = np.stack([getattr(shapes, name) for name in SHAPE_ARRAYS], axis=1).tolist()
    return rows


def read_object(text: str, format: str, version: int, noun: str, keys: Sequence[str]) -> dict[str, object]:
    """The JSON object of this format, with exactly these keys; ValueError, beginning with the noun, for anything else."""
    if not isinstance(text, str):
        raise ValueError(f"{noun} is read from text, got {type(text).__name__}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{noun} must be JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{noun} must be a JSON object, got {kind(value)}")
    if value.get("format") != format:
        raise ValueError(f'{noun} has "format": "{format}", got {show(value.get("format"))}')
    found = value.get("version")
    if not is_int(found) or found < 1:
        raise ValueError(f'"version" must be a positive integer, got {show(found)}')
    if found > version:
        raise ValueError(f"this {noun.split()[-1]} has version {found}, this program reads up to {version}; upgrade it")
    expected = {"format", "version", *keys}
    if value.keys() != expected:
        odd = sorted(value.keys() ^ expected)[0]
        raise ValueError(f"{show(odd)} is {'missing' if odd in expected else f'not a key of {noun}'}")
    return value


def read_length(value: dict[str, object], name: str) -> int:
    length = value[name]
    if not is_int(length) or not 0 <= length < 2**31:
        raise ValueError(f'"{name}" must be an integer from 0 to {2**31 - 1}, got {show(length)}')
    return length


def read_shapes(rows: object, name: str) -> Trapezoids:
    if not isinstance(rows, list):
        raise ValueError(f"{name} must be a list, got {kind(rows)}")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(SHAPE_ARRAYS):
            raise ValueError(f"trapezoid {number} must be a list of {len(SHAPE_ARRAYS)} integers, got {show(row)}")
        for end, item in zip(SHAPE_ARRAYS, row, strict=True):
            if not is_int(item) or abs(item) >= 2**62:
                raise ValueError(f"{end} of trapezoid {number} must be an integer within 2**62, got {show(item)}")
    columns = np.array(rows, np.int64).reshape(-1, len(SHAPE_ARRAYS)).T
    return Trapezoids(*(np.ascontiguousarray(column) for column in columns))


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
