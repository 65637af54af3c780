"""Sets of cells (q, k) as rows of intervals whose ends are affine in q."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Trapezoids:
    """Shapes {(q, k): q_start <= q < q_stop, lo(q) <= k < hi(q)}, lo(q) = lo_slope*q + lo_offset, hi likewise.

    Six int64 arrays of one length. Shapes may overlap or touch, in any order; a row with lo(q) >= hi(q) has no cell.
    """

    q_start: IntArray
    q_stop: IntArray
    lo_slope: IntArray
    lo_offset: IntArray
    hi_slope: IntArray
    hi_offset: IntArray

    def __len__(self) -> int:
        return len(self.q_start)


@dataclass(frozen=True, slots=True, eq=False)
class RunSet:
    """The canonical form of a set of cells: equal sets have equal arrays (docs/architecture.md, Geometry).

    Piece p is the rows [piece_start[p], piece_stop[p]); its intervals are indptr[p]:indptr[p+1], at least one, ascending,
    neither touching nor empty in any of its rows. Pieces are ascending and disjoint; rows in no piece have no cell.
    All arrays are int64 and read-only.
    """

    piece_start: IntArray
    piece_stop: IntArray
    indptr: IntArray
    lo_slope: IntArray
    lo_offset: IntArray
    hi_slope: IntArray
    hi_offset: IntArray

    @property
    def num_pieces(self) -> int:
        return len(self.piece_start)

    @property
    def num_runs(self) -> int:
        return len(self.lo_slope)
