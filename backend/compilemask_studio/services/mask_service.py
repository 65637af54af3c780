"""Views of one mask by hash. A hash that was forgotten is looked up among stored runs and saved masks and compiled again."""

from __future__ import annotations

import math

import numpy as np
from sqlmodel import Session, col, select

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.geometry.ragged import IntArray
from compilemask_studio.errors import StudioError
from compilemask_studio.models import MaskVersion, Run
from compilemask_studio.schemas import (
    ColumnIntervals,
    FamilyRepeat,
    FamilyTable,
    RowIntervals,
    RunFamily,
    RunPlace,
    RunRow,
    RunTable,
)
from compilemask_studio.services.compile_service import CompileService

MAX_LISTED = 20_000


def find_mask(compiler: CompileService, session: Session, hash: str) -> MaskDescriptor:
    """The descriptor with this hash; StudioError 404 `mask_unknown` when neither memory, a stored run nor a saved mask has it."""
    known = compiler.known(hash)
    if known is not None:
        return known
    stored = (
        session.exec(select(Run).where(Run.mask_hash == hash).order_by(col(Run.id).desc()).limit(1)).first(),
        session.exec(select(MaskVersion).where(MaskVersion.mask_hash == hash).limit(1)).first(),
    )
    for row in stored:
        if row is not None:
            bound = compiler.bind(row.source, row.values)
            if bound.descriptor.hash == hash:
                return bound.descriptor
    raise StudioError(404, "mask_unknown", "the server does not know this mask any more", "compile its text again")


def tile(compiler: CompileService, session: Session, hash: str, z: int, y: int, x: int) -> bytes:
    return compiler.tile(find_mask(compiler, session, hash), z, y, x)


def descriptor_json(compiler: CompileService, session: Session, hash: str) -> str:
    return find_mask(compiler, session, hash).to_json()


def run_table(compiler: CompileService, session: Session, hash: str, offset: int, limit: int) -> RunTable:
    """Trapezoids offset .. offset+limit, in the descriptor's order, each with its number of cells."""
    shapes = find_mask(compiler, session, hash).trapezoids()
    part = shapes.take(np.arange(offset, min(offset + limit, len(shapes))))
    return RunTable(total=len(shapes), offset=offset, rows=_run_rows(part))


def family_table(compiler: CompileService, session: Session, hash: str, offset: int, limit: int) -> FamilyTable:
    """Families offset .. offset+limit, in the descriptor's order."""
    families = find_mask(compiler, session, hash).families()
    chosen = families.take(np.arange(offset, min(offset + limit, len(families))))
    rows = zip(_run_rows(chosen.first), chosen.counts.tolist(), chosen.steps.tolist(), strict=True)
    return FamilyTable(total=len(families), offset=offset, families=[_family(*row) for row in rows])


def _family(first: RunRow, counts: list[int], steps: list[list[int]]) -> RunFamily:
    repeats = [
        FamilyRepeat(count=count, rows=rows, rows_stop=rows_stop, lo=lo, hi=hi)
        for count, (rows, rows_stop, lo, hi) in zip(counts, steps, strict=True)
        if count > 1
    ]
    return RunFamily(first=first, repeats=repeats, runs=math.prod(counts))


def _run_rows(shapes: Trapezoids) -> list[RunRow]:
    arrays = (
        shapes.q_start,
        shapes.q_stop,
        shapes.lo_slope,
        shapes.lo_offset,
        shapes.hi_slope,
        shapes.hi_offset,
    )
    return [_run_row(*row) for row in zip(*(array.tolist() for array in arrays), strict=True)]


def _run_row(q_start: int, q_stop: int, lo_slope: int, lo_offset: int, hi_slope: int, hi_offset: int) -> RunRow:
    rows = q_stop - q_start
    # The widths of a run are an arithmetic series over its rows, none of which is empty.
    sum_of_rows = rows * (q_start + q_stop - 1) // 2
    return RunRow(
        q_start=q_start,
        q_stop=q_stop,
        lo_slope=lo_slope,
        lo_offset=lo_offset,
        hi_slope=hi_slope,
        hi_offset=hi_offset,
        pairs=(hi_slope - lo_slope) * sum_of_rows + (hi_offset - lo_offset) * rows,
    )


def row_intervals(compiler: CompileService, session: Session, hash: str, q: int) -> RowIntervals:
    """The visible intervals of query row q, ascending."""
    descriptor = find_mask(compiler, session, hash)
    if q >= descriptor.q_len:
        raise StudioError(
            404, "row_unknown", f"row {q} is outside of the mask, which has {descriptor.q_len} query rows"
        )
    _, lo, hi = descriptor.row_intervals(q, q + 1)
    return RowIntervals(q=q, total=len(lo), pairs=int((hi - lo).sum()), intervals=_listed(lo, hi))


def column_intervals(compiler: CompileService, session: Session, hash: str, k: int) -> ColumnIntervals:
    """The intervals of query rows that see key k, ascending."""
    descriptor = find_mask(compiler, session, hash)
    if k >= descriptor.kv_len:
        raise StudioError(404, "column_unknown", f"key {k} is outside of the mask, which has {descriptor.kv_len} keys")
    column = descriptor.slice_keys(k, k + 1).transpose()
    _, lo, hi = column.row_intervals(0, 1)
    return ColumnIntervals(k=k, total=len(lo), pairs=int((hi - lo).sum()), intervals=_listed(lo, hi))


def run_place(compiler: CompileService, session: Session, hash: str, q: int, k: int) -> RunPlace:
    """Which trapezoid of the descriptor's order has the cell (q, k)."""
    shapes = find_mask(compiler, session, hash).trapezoids()
    at = np.full(len(shapes), q)
    inside = (shapes.q_start <= q) & (q < shapes.q_stop) & (shapes.lo(at) <= k) & (k < shapes.hi(at))
    found = np.flatnonzero(inside)
    return RunPlace(number=int(found[0]) if len(found) else None)


def _listed(lo: IntArray, hi: IntArray) -> list[tuple[int, int]]:
    return list(zip(lo[:MAX_LISTED].tolist(), hi[:MAX_LISTED].tolist(), strict=True))
