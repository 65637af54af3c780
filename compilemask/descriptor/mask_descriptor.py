"""The narrow waist: the exact set of visible cells of one mask, as plain integers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from compilemask.arguments import as_index, show
from compilemask.descriptor import serial
from compilemask.descriptor.merge import merge_runs
from compilemask.descriptor.tokens import new_token
from compilemask.geometry import (
    RunFamilies,
    RunSet,
    Trapezoids,
    complement,
    difference,
    fold,
    intersection,
    normalize,
    shift,
    slice_columns,
    slice_rows,
    transpose,
    union,
)
from compilemask.geometry.canonical import check_canonical, recut
from compilemask.geometry.projection import hull, merge_intervals, solid
from compilemask.geometry.ragged import IntArray, offsets, spread
from compilemask.geometry.runs import RUN_ARRAYS
from compilemask.geometry.transform import stack

HASH_VERSION = 1
"""Of the bytes that are hashed; a newer JSON form of the same cells does not change their hash."""

MAX_LENGTH = 2**31 - 1
MAX_DENSE_CELLS = 2**28
MAX_ROW_INTERVALS = 2**26


@dataclass(frozen=True, eq=False, repr=False)
class MaskDescriptor:
    """Which of q_len x kv_len cells (query, key) are visible; immutable, equal and hashed by its cells.

    runs: their canonical form. Refuses, at birth, lengths outside of [0, 2**31), runs outside of the mask and runs that
    are not canonical (ValueError). `a & b`, `a | b`, `a - b`, `~a` are set algebra.
    token: names this object in compiled graphs (descriptor/tokens.py).
    """

    q_len: int
    kv_len: int
    runs: RunSet
    token: IntArray = field(init=False)

    def __post_init__(self) -> None:
        for name, length in (("q_len", self.q_len), ("kv_len", self.kv_len)):
            wanted = f"an integer from 0 to {MAX_LENGTH}"
            number = as_index(length, name, wanted)
            if not 0 <= number <= MAX_LENGTH:
                raise ValueError(f"{name} must be {wanted}, got {show(number)}")
            object.__setattr__(self, name, number)
        object.__setattr__(self, "token", new_token(self))
        check_canonical(self.runs)
        if self.runs.num_pieces == 0:
            return
        first_row, last_row = int(self.runs.piece_start[0]), int(self.runs.piece_stop[-1]) - 1
        if first_row < 0 or last_row >= self.q_len:
            raise ValueError(f"rows must lie in [0, {self.q_len}), got rows {first_row} to {last_row}")
        lo, hi = hull(self.runs.trapezoids())
        if lo.min() < 0 or hi.max() > self.kv_len:
            raise ValueError(f"keys must lie in [0, {self.kv_len}), got keys {lo.min()} to {hi.max() - 1}")

    def __reduce__(self) -> tuple[object, ...]:
        # a copy needs a token of its own, and a stored one is checked again
        return MaskDescriptor, (self.q_len, self.kv_len, self.runs)

    @classmethod
    def from_runs(cls, q_len: int, kv_len: int, runs: RunSet) -> MaskDescriptor:
        """The mask of a canonical set of cells, such as `normalize` and `combine` return."""
        return cls(q_len, kv_len, runs)

    @classmethod
    def from_trapezoids(cls, q_len: int, kv_len: int, shapes: Trapezoids) -> MaskDescriptor:
        """The mask that sees the cells of any shapes; they may overlap, but not leave the mask."""
        return cls(q_len, kv_len, normalize(shapes))

    # ------------------------------------------------------------ statistics, all exact

    @cached_property
    def visible_pairs(self) -> int:
        """Visible cells."""
        return self.runs.num_cells

    @property
    def density(self) -> float:
        """Visible share of all cells; 0.0 when there is no cell."""
        cells = self.q_len * self.kv_len
        return self.visible_pairs / cells if cells else 0.0

    @property
    def empty_rows(self) -> int:
        """Queries that see no key."""
        return self.q_len - int(np.sum(self.runs.piece_stop - self.runs.piece_start))

    @property
    def first_empty_row(self) -> int | None:
        """The first query that sees no key, or None."""
        starts = np.append(self.runs.piece_start, self.q_len)
        stops = np.append(0, self.runs.piece_stop)
        gaps = np.flatnonzero(starts > stops)
        return int(stops[gaps[0]]) if len(gaps) else None

    @cached_property
    def unseen_keys(self) -> int:
        """Keys that no query sees."""
        shapes, _ = solid(self.trapezoids())
        lo, hi = merge_intervals(*hull(shapes))
        return self.kv_len - int(np.sum(hi - lo))

    @property
    def num_pieces(self) -> int:
        """Row ranges of the canonical form."""
        return self.runs.num_pieces

    @property
    def num_runs(self) -> int:
        """Trapezoids, counted across pieces: causal 1, a sliding window 2."""
        return len(self.trapezoids())

    @property
    def runs_per_row_max(self) -> int:
        """Most intervals that any query sees."""
        return int(np.diff(self.runs.indptr).max(initial=0))

    @property
    def runs_per_row_mean(self) -> float:
        """Intervals per query, over all queries; 0.0 without queries."""
        rows = self.runs.piece_stop - self.runs.piece_start
        return int(np.sum(rows * np.diff(self.runs.indptr))) / self.q_len if self.q_len else 0.0

    @property
    def num_families(self) -> int:
        """Compact regions of the mask: runs, each with how it repeats. A staircase of any number of steps has one."""
        return len(self.families())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory; `families().nbytes` are those that tell the mask."""
        return self.runs.nbytes

    # ------------------------------------------------------------ the cells in other forms

    def trapezoids(self) -> Trapezoids:
        """Disjoint shapes of the visible cells, runs followed across pieces; ordered by (first row, first column)."""
        return self._trapezoids

    @cached_property
    def _trapezoids(self) -> Trapezoids:
        return merge_runs(self.runs).frozen()

    def families(self) -> RunFamilies:
        """`trapezoids`, those that repeat at equal steps folded into one entry."""
        return self._families

    @cached_property
    def _families(self) -> RunFamilies:
        return fold(self.trapezoids()).frozen()

    def row_intervals(self, start: int = 0, stop: int | None = None) -> tuple[IntArray, IntArray, IntArray]:
        """(indptr, lo, hi): row start + i sees the columns [lo[j], hi[j]) for indptr[i] <= j < indptr[i + 1]; int64.

        Raises ValueError when the rows hold more than MAX_ROW_INTERVALS intervals in all.
        """
        start, stop = self._bounds("row", start, self.q_len if stop is None else stop, self.q_len)
        runs = self.runs
        piece_start = np.clip(runs.piece_start, start, stop)
        rows = np.clip(runs.piece_stop, start, stop) - piece_start
        count = np.diff(runs.indptr)
        total = int(np.sum(rows * count)) + stop - start
        if total > MAX_ROW_INTERVALS:
            raise ValueError(
                f"rows [{start}, {stop}) hold {total} rows and intervals, more than {MAX_ROW_INTERVALS}; "
                f"ask for fewer rows at a time"
            )
        piece, row = spread(piece_start, rows)
        per_row = np.zeros(stop - start, np.int64)
        per_row[row - start] = count[piece]
        owner, run = spread(runs.indptr[piece], count[piece])
        q = row[owner]
        lo = runs.lo_slope[run] * q + runs.lo_offset[run]
        hi = runs.hi_slope[run] * q + runs.hi_offset[run]
        return offsets(per_row), lo, hi

    def dense(self) -> npt.NDArray[np.bool_]:
        """bool[q_len, kv_len], True where visible. Raises ValueError above MAX_DENSE_CELLS cells."""
        if self.q_len * self.kv_len > MAX_DENSE_CELLS:
            raise ValueError(
                f"a dense mask of {self.q_len} x {self.kv_len} cells is larger than {MAX_DENSE_CELLS} cells; "
                f"slice it with slice_queries and slice_keys, or use row_intervals"
            )
        indptr, lo, hi = self.row_intervals()
        row = np.repeat(np.arange(self.q_len), np.diff(indptr))
        # intervals of one row do not touch, so no cell is written twice
        change = np.zeros((self.q_len, self.kv_len + 1), np.int8)
        change[row, lo] = 1
        change[row, hi] = -1
        visible = np.cumsum(change, axis=1, dtype=np.int8, out=change)[:, : self.kv_len]
        return visible.astype(np.bool_)

    # ------------------------------------------------------------ identity

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the lengths and the canonical arrays, in hex: the same for equal masks on every machine."""
        digest = hashlib.sha256(f"{serial.FORMAT} {HASH_VERSION} {self.q_len} {self.kv_len}".encode())
        for name in RUN_ARRAYS:
            array = getattr(self.runs, name)
            digest.update(f" {name} {len(array)} ".encode())
            digest.update(array.astype("<i8").tobytes())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MaskDescriptor):
            return NotImplemented
        return (self.q_len, self.kv_len) == (other.q_len, other.kv_len) and self.runs.equal(other.runs)

    def __repr__(self) -> str:
        return (
            f"MaskDescriptor({self.q_len} x {self.kv_len}, {self.visible_pairs} visible, "
            f"{_counted(self.num_runs, self.num_families)}, hash {self.hash[:12]})"
        )

    def to_json(self) -> str:
        """Versioned JSON in one line of ASCII; equal masks give equal text. ValueError for more than serial.MAX_RUNS runs."""
        return serial.dumps(self.q_len, self.kv_len, self.families())

    @classmethod
    def from_json(cls, text: str) -> MaskDescriptor:
        """Reads `to_json` of this version and of older ones; ValueError, saying what is wrong, for any other text.

        Shapes are normalised again, so that their order and how they are cut and folded do not matter.
        """
        q_len, kv_len, shapes = serial.loads(text)
        mask = cls.from_trapezoids(q_len, kv_len, shapes)
        serial.check_cells(shapes, mask.visible_pairs)
        return mask

    # ------------------------------------------------------------ algebra

    def __and__(self, other: MaskDescriptor) -> MaskDescriptor:
        return self._like(intersection(self.runs, self._same_shape(other, "&")))

    def __or__(self, other: MaskDescriptor) -> MaskDescriptor:
        return self._like(union(self.runs, self._same_shape(other, "|")))

    def __sub__(self, other: MaskDescriptor) -> MaskDescriptor:
        return self._like(difference(self.runs, self._same_shape(other, "-")))

    def __invert__(self) -> MaskDescriptor:
        return self._like(complement(self.runs, self.q_len, self.kv_len))

    def __bool__(self) -> bool:
        raise TypeError("a mask is neither true nor false; use & for and, | for or, ~ for not, == to compare")

    def transpose(self) -> MaskDescriptor:
        """Queries and keys swapped."""
        return MaskDescriptor(self.kv_len, self.q_len, transpose(self.runs))

    def slice_queries(self, start: int, stop: int) -> MaskDescriptor:
        """The rows [start, stop), counted from 0 again."""
        start, stop = self._bounds("query", start, stop, self.q_len)
        return MaskDescriptor(stop - start, self.kv_len, shift(slice_rows(self.runs, start, stop), -start, 0))

    def slice_keys(self, start: int, stop: int) -> MaskDescriptor:
        """The columns [start, stop), counted from 0 again."""
        start, stop = self._bounds("key", start, stop, self.kv_len)
        return MaskDescriptor(self.q_len, stop - start, shift(slice_columns(self.runs, start, stop), 0, -start))

    def for_decode(self, q_start: int, q_stop: int, kv_len: int | None = None) -> MaskDescriptor:
        """The queries [q_start, q_stop) against the first kv_len keys: a decoding step, or a chunk of a prompt.

        Rows and keys of the same mask, so that all chunks together see exactly what the whole sees. kv_len: keys in the
        cache so far; all of them unless given. ValueError when these queries see a key that is not in the cache yet.
        """
        q_start, q_stop = as_index(q_start, "q_start"), as_index(q_stop, "q_stop")
        rows = self.slice_queries(q_start, q_stop)
        if kv_len is None:
            return rows
        kv_len = as_index(kv_len, "kv_len")
        cached = rows.slice_keys(0, kv_len)
        if cached.visible_pairs != rows.visible_pairs:
            raise ValueError(
                f"queries [{q_start}, {q_stop}) see {rows.visible_pairs - cached.visible_pairs} pairs with keys from "
                f"{kv_len} on; put these keys into the cache first, or give a larger kv_len"
            )
        return cached

    def pad_to(self, q_len: int, kv_len: int) -> MaskDescriptor:
        """The same cells in a larger mask: queries added at the end see nothing, keys added at the end are not seen."""
        q_len, kv_len = as_index(q_len, "q_len"), as_index(kv_len, "kv_len")
        if q_len < self.q_len or kv_len < self.kv_len:
            raise ValueError(
                f"pad_to makes a mask larger; {self.q_len} x {self.kv_len} does not fit {show(q_len)} x {show(kv_len)}"
            )
        return MaskDescriptor(q_len, kv_len, self.runs)

    @classmethod
    def concatenate(cls, masks: Sequence[MaskDescriptor]) -> MaskDescriptor:
        """Packed sequences: the masks along the diagonal, in this order; nothing sees across. O(runs).

        Lengths are the sums of the masks' lengths. No masks give the mask of 0 x 0.
        """
        if not isinstance(masks, Iterable):
            raise TypeError(f"concatenate takes a list of MaskDescriptors, got {show(masks)}")
        q_len = kv_len = 0
        parts = []
        for number, mask in enumerate(masks):
            if not isinstance(mask, MaskDescriptor):
                raise TypeError(f"concatenate takes MaskDescriptors, got {type(mask).__name__} at place {number}")
            parts.append(shift(mask.runs, q_len, kv_len))
            q_len, kv_len = q_len + mask.q_len, kv_len + mask.kv_len
            if max(q_len, kv_len) > MAX_LENGTH:
                raise ValueError(
                    f"the first {number + 1} masks are {q_len} x {kv_len} together, more than {MAX_LENGTH}"
                )
        return cls(q_len, kv_len, recut(stack(parts)))

    def _like(self, runs: RunSet) -> MaskDescriptor:
        return MaskDescriptor(self.q_len, self.kv_len, runs)

    def _same_shape(self, other: MaskDescriptor, operator: str) -> RunSet:
        if not isinstance(other, MaskDescriptor):
            raise TypeError(f"{operator} needs a MaskDescriptor on both sides, got {type(other).__name__}")
        if (self.q_len, self.kv_len) != (other.q_len, other.kv_len):
            raise ValueError(
                f"{operator} needs masks of one shape, "
                f"got {self.q_len} x {self.kv_len} and {other.q_len} x {other.kv_len}"
            )
        return other.runs

    @staticmethod
    def _bounds(axis: str, start: int, stop: int, length: int) -> tuple[int, int]:
        start, stop = as_index(start, "start"), as_index(stop, "stop")
        if not 0 <= start <= stop <= length:
            got = f"[{show(start)}, {show(stop)})"
            raise ValueError(f"{axis} range must satisfy 0 <= start <= stop <= {length}, got {got}")
        return start, stop


def _counted(runs: int, families: int) -> str:
    words = f"{runs} run{'' if runs == 1 else 's'}"
    return words if families == runs else f"{words} in {families} famil{'y' if families == 1 else 'ies'}"
