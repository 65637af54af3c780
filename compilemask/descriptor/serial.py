"""JSON of a descriptor, version 1: lengths and merged trapezoids, nothing else."""

from __future__ import annotations

import json

import numpy as np

from compilemask.geometry import Trapezoids
from compilemask.geometry.runs import SHAPE_ARRAYS

FORMAT = "compilemask.descriptor"
VERSION = 1


def dumps(q_len: int, kv_len: int, shapes: Trapezoids) -> str:
    """One line of ASCII; equal masks give equal text."""
    rows = np.stack([getattr(shapes, name) for name in SHAPE_ARRAYS], axis=1).tolist()
    value = {"format": FORMAT, "version": VERSION, "q_len": q_len, "kv_len": kv_len, "trapezoids": rows}
    return json.dumps(value, separators=(",", ":"))


def loads(text: str) -> tuple[int, int, Trapezoids]:
    """(q_len, kv_len, shapes) of a text written by `dumps`; raises ValueError saying what is wrong with it.

    Checks the form only: the shapes may still overlap or lie outside of the mask.
    """
    if not isinstance(text, str):
        raise ValueError(f"a descriptor is read from text, got {type(text).__name__}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a descriptor must be JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"a descriptor must be a JSON object, got {_kind(value)}")
    if value.get("format") != FORMAT:
        raise ValueError(f'a descriptor has "format": "{FORMAT}", got {_show(value.get("format"))}')
    version = value.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f'"version" must be a positive integer, got {_show(version)}')
    if version > VERSION:
        raise ValueError(f"this descriptor has version {version}, this program reads up to {VERSION}; upgrade it")
    expected = {"format", "version", "q_len", "kv_len", "trapezoids"}
    if value.keys() != expected:
        odd = sorted(value.keys() ^ expected)[0]
        raise ValueError(f"{_show(odd)} is {'missing' if odd in expected else 'not a key of a descriptor'}")
    return _length(value, "q_len"), _length(value, "kv_len"), _shapes(value["trapezoids"])


def _length(value: dict[str, object], name: str) -> int:
    length = value[name]
    if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < 2**31:
        raise ValueError(f'"{name}" must be an integer from 0 to {2**31 - 1}, got {_show(length)}')
    return length


def _shapes(rows: object) -> Trapezoids:
    if not isinstance(rows, list):
        raise ValueError(f'"trapezoids" must be a list, got {_kind(rows)}')
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(SHAPE_ARRAYS):
            raise ValueError(f"trapezoid {number} must be a list of {len(SHAPE_ARRAYS)} integers, got {_show(row)}")
        for name, item in zip(SHAPE_ARRAYS, row, strict=True):
            if not _is_int(item) or abs(item) >= 2**62:
                raise ValueError(f"{name} of trapezoid {number} must be an integer within 2**62, got {_show(item)}")
    columns = np.array(rows, np.int64).reshape(-1, len(SHAPE_ARRAYS)).T
    return Trapezoids(*(np.ascontiguousarray(column) for column in columns))


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(type(value), _show(value))


def _show(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
