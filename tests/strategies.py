"""Hypothesis strategies for shapes, sets of cells and descriptors."""

from __future__ import annotations

from hypothesis import strategies as st
from oracles_cells import Shape, trapezoids

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import intersection, normalize, rectangle


@st.composite
def shape(draw: st.DrawFn, rows: int = 14, columns: int = 20, steepest: int = 3) -> Shape:
    """One trapezoid, small, of any slopes, possibly without cells in some or all rows."""
    start = draw(st.integers(0, rows))
    stop = draw(st.integers(start, rows))
    ends = []
    for _ in range(2):
        slope = draw(st.integers(-steepest, steepest))
        at, value = draw(st.integers(0, rows)), draw(st.integers(0, columns))
        ends += [slope, value - slope * at]
    return (start, stop, *ends)  # type: ignore[return-value]


def shapes(max_size: int = 7, steepest: int = 3) -> st.SearchStrategy[list[Shape]]:
    """Lists of trapezoids that overlap, touch, cross and vanish."""
    return st.lists(shape(steepest=steepest), max_size=max_size)


@st.composite
def descriptors(draw: st.DrawFn, q_len: int | None = None, kv_len: int | None = None) -> MaskDescriptor:
    """Small masks of any shape, also without rows or columns."""
    rows = draw(st.integers(0, 14)) if q_len is None else q_len
    columns = draw(st.integers(0, 20)) if kv_len is None else kv_len
    runs = normalize(trapezoids(draw(shapes())))
    return MaskDescriptor(rows, columns, intersection(runs, rectangle(0, rows, 0, columns)))
