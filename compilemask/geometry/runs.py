"""Sets of cells (q, k) as rows of intervals whose ends are affine in q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.geometry.ragged import spread

IntArray = npt.NDArray[np.int64]
_INT64 = np.dtype(np.int64)
MAX_ROW = 2**31 - 1
MAX_VALUE = 2**61

SHAPE_ARRAYS = ("q_start", "q_stop", "lo_slope", "lo_offset", "hi_slope", "hi_offset")
RUN_ARRAYS = ("piece_start", "piece_stop", "indptr", "lo_slope", "lo_offset", "hi_slope", "hi_offset")

IntLike = int | npt.NDArray[np.integer] | Sequence[int]


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

    def __post_init__(self) -> None:
        arrays = (self.q_start, self.q_stop, self.lo_slope, self.lo_offset, self.hi_slope, self.hi_offset)
        for name, array in zip(SHAPE_ARRAYS, arrays, strict=True):
            _check_array(name, array)
            if len(array) != len(self.q_start):
                raise ValueError(
                    f"all six arrays need one length, got {len(self.q_start)} q_start, {len(array)} {name}"
                )

    @classmethod
    def of(
        cls,
        q_start: IntLike,
        q_stop: IntLike,
        lo_slope: IntLike,
        lo_offset: IntLike,
        hi_slope: IntLike,
        hi_offset: IntLike,
    ) -> Trapezoids:
        """From integers or arrays of integers that broadcast to one length (a lone set of scalars gives one shape)."""
        given = [np.asarray(a) for a in (q_start, q_stop, lo_slope, lo_offset, hi_slope, hi_offset)]
        for name, array in zip(SHAPE_ARRAYS, given, strict=True):
            if array.size and array.dtype.kind not in "iu":
                raise ValueError(f"{name} must hold integers, got {array.dtype}")
        arrays = [np.atleast_1d(array.astype(np.int64)) for array in given]
        sizes = {array.shape for array in arrays} - {(1,)}
        if len(sizes) > 1 or any(len(size) > 1 for size in sizes):
            return cls(*np.broadcast_arrays(*arrays))
        # Of one length, or lone numbers, as nearly always: numpy's broadcasting takes longer than all the rest.
        size = sizes.pop()[0] if sizes else 1
        return cls(*[array if len(array) == size else array.repeat(size) for array in arrays])

    @classmethod
    def rectangle(cls, q_start: IntLike, q_stop: IntLike, k_start: IntLike, k_stop: IntLike) -> Trapezoids:
        """Rows [q_start, q_stop) x columns [k_start, k_stop); arrays give one rectangle per element."""
        return cls.of(q_start, q_stop, 0, k_start, 0, k_stop)

    @classmethod
    def empty(cls) -> Trapezoids:
        """No shape."""
        return cls(*(np.zeros(0, np.int64),) * 6)

    @classmethod
    def concat(cls, parts: Sequence[Trapezoids]) -> Trapezoids:
        """All shapes of all parts, in order; a lone part as it is."""
        if not parts:
            return cls.empty()
        if len(parts) == 1:
            return parts[0]
        columns = zip(
            *[(x.q_start, x.q_stop, x.lo_slope, x.lo_offset, x.hi_slope, x.hi_offset) for x in parts], strict=True
        )
        return cls(*[np.concatenate(column) for column in columns])

    def take(self, index: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Trapezoids:
        """The shapes at the given indices, or where the given mask is True."""
        return Trapezoids(*(getattr(self, name)[index] for name in SHAPE_ARRAYS))

    def frozen(self) -> Trapezoids:
        """These shapes, their arrays made read-only."""
        for name in SHAPE_ARRAYS:
            getattr(self, name).setflags(write=False)
        return self

    def lo(self, q: IntArray) -> IntArray:
        """First column of each shape at the given row of each shape."""
        return self.lo_slope * q + self.lo_offset

    def hi(self, q: IntArray) -> IntArray:
        """One past the last column of each shape at the given row of each shape."""
        return self.hi_slope * q + self.hi_offset

    def __len__(self) -> int:
        return len(self.q_start)


@dataclass(frozen=True, slots=True, eq=False)
class RunSet:
    """The canonical form of a set of cells: equal sets have equal arrays (docs/architecture.md, Geometry).

    Piece p is the rows [piece_start[p], piece_stop[p]); its intervals are indptr[p]:indptr[p+1], at least one,
    ascending, neither touching nor empty in any of its rows. Pieces are ascending and disjoint; rows in no piece have
    no cell.
    All arrays are int64 and read-only.
    """

    piece_start: IntArray
    piece_stop: IntArray
    indptr: IntArray
    lo_slope: IntArray
    lo_offset: IntArray
    hi_slope: IntArray
    hi_offset: IntArray

    def __post_init__(self) -> None:
        for name in RUN_ARRAYS:
            array = getattr(self, name)
            _check_array(name, array)
            array.setflags(write=False)

    @classmethod
    def empty(cls) -> RunSet:
        """The set without cells."""
        none = np.zeros(0, np.int64)
        return cls(none, none, np.zeros(1, np.int64), none, none, none, none)

    @property
    def num_pieces(self) -> int:
        return len(self.piece_start)

    @property
    def num_runs(self) -> int:
        return len(self.lo_slope)

    @property
    def num_cells(self) -> int:
        """How many cells the set has, exactly."""
        shapes = self.trapezoids()
        rows = shapes.q_stop - shapes.q_start
        first, last = shapes.q_start, shapes.q_stop - 1
        ends = shapes.hi(first) - shapes.lo(first) + shapes.hi(last) - shapes.lo(last)
        # one factor is even; halving it first keeps the product within int64
        even = rows % 2 == 0
        return int(np.sum(np.where(even, rows // 2, rows) * np.where(even, ends, ends // 2)))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory."""
        return sum(getattr(self, name).nbytes for name in RUN_ARRAYS)

    def trapezoids(self) -> Trapezoids:
        """One shape per run, in the order of the runs; they are disjoint."""
        owner = np.repeat(np.arange(self.num_pieces), np.diff(self.indptr))
        return Trapezoids(
            self.piece_start[owner],
            self.piece_stop[owner],
            self.lo_slope,
            self.lo_offset,
            self.hi_slope,
            self.hi_offset,
        )

    def pieces(self, first: int, last: int) -> tuple[IntArray, IntArray]:
        """(piece number, run index) of every run of the pieces [first, last)."""
        owner, run = spread(self.indptr[first:last], np.diff(self.indptr[first : last + 1]))
        return owner + first, run

    def equal(self, other: RunSet) -> bool:
        """Whether both hold the same cells."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in RUN_ARRAYS)


def _check_array(name: str, array: IntArray) -> None:
    # the one dtype object that nearly every array has is told by identity, which costs a third of a comparison
    if array.ndim != 1 or (array.dtype is not _INT64 and array.dtype != _INT64):
        raise ValueError(f"{name} must be a one-dimensional int64 array, got {array.dtype}{array.shape}")


def check_magnitudes(shapes: Trapezoids) -> None:
    """Raises ValueError for rows beyond 2**31 - 1 and ends beyond 2**61, so that sums of two ends stay within int64."""
    if len(shapes) == 0:
        return
    rows = max(int(np.abs(shapes.q_start).max()), int(np.abs(shapes.q_stop).max()))
    if rows > MAX_ROW:
        raise ValueError(f"rows must lie within 2**31 - 1, got row {rows}")
    for slope, offset in ((shapes.lo_slope, shapes.lo_offset), (shapes.hi_slope, shapes.hi_offset)):
        steepest = max(abs(int(slope.min())), abs(int(slope.max())))
        farthest = max(abs(int(offset.min())), abs(int(offset.max())))
        if steepest * rows + farthest >= MAX_VALUE:
            raise ValueError(f"ends must lie within 2**61, got slope {steepest} and offset {farthest} at row {rows}")
