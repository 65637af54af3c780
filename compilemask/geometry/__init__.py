"""Integers and sets of cells; NumPy only (docs/architecture.md, Geometry)."""

from compilemask.geometry.algebra import (
    combine,
    complement,
    difference,
    intersection,
    normalize,
    rectangle,
    slice_columns,
    slice_rows,
    union,
)
from compilemask.geometry.canonical import recut
from compilemask.geometry.families import RunFamilies, fold
from compilemask.geometry.runs import RunSet, Trapezoids
from compilemask.geometry.transform import shift, split_rows, transpose

__all__ = [
    "RunFamilies",
    "RunSet",
    "Trapezoids",
    "combine",
    "complement",
    "difference",
    "fold",
    "intersection",
    "normalize",
    "rectangle",
    "recut",
    "shift",
    "slice_columns",
    "slice_rows",
    "split_rows",
    "transpose",
    "union",
]
