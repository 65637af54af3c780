"""Grids of tokens behind a mask, read off its runs: where they start and how long their lines are."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import RunSet
from compilemask.geometry.projection import merge_intervals
from compilemask.geometry.ragged import BoolArray, IntArray, offsets

MAX_PITCHES = 4  # different line lengths looked for in one mask
MIN_LINE = 4  # shorter lines are no use for patches
MIN_SHARE = 0.02  # of the rows must be spaced by a pitch, or it is a coincidence


@dataclass(frozen=True, slots=True)
class GridStructure:
    """Queries [start, start + prod(shape)) form a row-major grid of the shape (2 or 3 sides, lines last).

    A hint that steers which queries share a tile: a plan is exact whatever it says, and queries beyond q_len are left
    out. Raises ValueError for a negative start, other numbers of sides, and sides below 1.
    """

    start: int
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.start < 0 or len(self.shape) not in (2, 3) or min(self.shape) < 1:
            raise ValueError(
                f"a grid needs a start of at least 0 and 2 or 3 sides of at least 1, "
                f"got start {self.start} and shape {self.shape}"
            )

    @property
    def stop(self) -> int:
        """One past the last query of the grid."""
        return self.start + prod(self.shape)


def infer_structure(descriptor: MaskDescriptor) -> tuple[GridStructure, ...]:
    """The grids that the runs show, ascending and disjoint; queries in none of them (such as text) keep own tiles.

    A query of a grid sees its neighbours on several lines, so its intervals stand one line length apart: the commonest
    distance of intervals of equal slopes is the pitch of a grid. Where the ends jump from row to row a line begins;
    clusters of intervals that are themselves equally spaced show the planes of a third dimension. O(runs * log).
    """
    runs = descriptor.runs
    if runs.num_pieces == 0:
        return ()
    spacing = _Spacing.of(runs)
    free = np.ones(runs.num_pieces, np.bool_)  # pieces in no grid yet
    grids: list[GridStructure] = []
    for _ in range(MAX_PITCHES):
        pitch = _commonest(spacing.centre[free[spacing.piece]], spacing.rows[free[spacing.piece]])
        if pitch is None:
            break
        linked = spacing.linked(pitch)
        spaced = np.zeros(runs.num_pieces, np.bool_)
        spaced[spacing.piece[linked]] = True
        spaced &= free
        rows = int(np.sum((runs.piece_stop - runs.piece_start)[spaced]))
        if rows < MIN_SHARE * descriptor.q_len:
            break
        grids += _grids_of_pitch(descriptor, pitch, spaced, spacing, linked)
        free &= ~spaced
    return _disjoint(grids)


@dataclass(frozen=True, slots=True, eq=False)
class _Spacing:
    """How far each run stands behind the run before it in its piece, in columns; 0 where slopes differ."""

    piece: IntArray
    run: IntArray  # the later one of the two
    rows: IntArray  # of the piece
    lo: IntArray
    hi: IntArray
    centre: IntArray

    @classmethod
    def of(cls, runs: RunSet) -> _Spacing:
        piece = np.repeat(np.arange(runs.num_pieces), np.diff(runs.indptr))
        run = np.flatnonzero(piece[1:] == piece[:-1]) + 1 if len(piece) else piece
        same_lo = runs.lo_slope[run] == runs.lo_slope[run - 1]
        same_hi = runs.hi_slope[run] == runs.hi_slope[run - 1]
        lo = np.where(same_lo, runs.lo_offset[run] - runs.lo_offset[run - 1], 0)
        hi = np.where(same_hi, runs.hi_offset[run] - runs.hi_offset[run - 1], 0)
        centre = np.where(same_lo & same_hi & ((lo + hi) % 2 == 0), (lo + hi) // 2, 0)
        rows = (runs.piece_stop - runs.piece_start)[piece[run]]
        return cls(piece[run], run, rows, lo, hi, centre)

    def linked(self, pitch: int) -> BoolArray:
        """Whether the two runs lie on neighbouring lines: at a border only one of their ends may show the pitch."""
        linked: BoolArray = (self.lo == pitch) | (self.hi == pitch) | (self.centre == pitch)
        return linked


def _commonest(values: IntArray, weights: IntArray) -> int | None:
    """The value with the greatest weight among those that can be a pitch; the least of equals."""
    used = values >= MIN_LINE
    if not used.any():
        return None
    found, number = np.unique(values[used], return_inverse=True)
    return int(found[np.argmax(np.bincount(number, weights[used]))])


def _grids_of_pitch(
    descriptor: MaskDescriptor, pitch: int, spaced: BoolArray, spacing: _Spacing, linked: BoolArray
) -> list[GridStructure]:
    """One grid for each stretch of rows in which the pieces are spaced by the pitch (of the lines of keys)."""
    runs = descriptor.runs
    breaks, weight = _line_breaks(runs)
    # a few rows may see one line alone, so gaps shorter than a line do not end a grid
    stretch_start, stretch_stop = merge_intervals(runs.piece_start[spaced], runs.piece_stop[spaced] + pitch - 1)
    grids = []
    for first, last in zip(stretch_start.tolist(), (stretch_stop - pitch + 1).tolist(), strict=True):
        inside = (breaks >= first) & (breaks < last)
        line = _line_length(breaks[inside], pitch)
        phase = _phase(breaks[inside], weight[inside], line, first)
        start = first - (first - phase) % line
        start = start if start >= 0 else start + line
        lines = min(-(-(last - start) // line), (descriptor.q_len - start) // line)
        if lines < 2:
            continue
        pieces = spaced & (runs.piece_start >= first) & (runs.piece_stop <= last)
        plane = _plane(runs, pitch, pieces, spacing, linked) if line == pitch else None
        depth = -(-lines * line // plane) if plane else 0
        if plane and depth >= 2 and start + depth * plane <= descriptor.q_len:
            grids.append(GridStructure(start, (depth, plane // line, line)))
        else:
            grids.append(GridStructure(start, (lines, line)))
    return grids


def _line_length(breaks: IntArray, otherwise: int) -> int:
    """The distance of most breaks: queries of a finer grid than that of the keys have longer lines."""
    distance = np.diff(breaks)
    commonest = _commonest(distance, np.ones(len(distance), np.int64))
    if commonest is None or 2 * int(np.count_nonzero(distance == commonest)) <= len(distance):
        return otherwise
    return commonest


def _line_breaks(runs: RunSet) -> tuple[IntArray, IntArray]:
    """(row, weight) of the rows where an end steps farther than by one column or its slope; weight: how far at most."""
    count = np.diff(runs.indptr)
    touching = (runs.piece_stop[:-1] == runs.piece_start[1:]) & (count[:-1] == count[1:])
    before = np.flatnonzero(touching)
    if len(before) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    indptr = offsets(count[before])
    owner = np.repeat(before, count[before])
    run = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - runs.indptr[before], count[before])
    after = run + count[owner]
    row = runs.piece_start[owner + 1]
    jump = np.zeros(len(run), np.int64)
    for slope, offset in ((runs.lo_slope, runs.lo_offset), (runs.hi_slope, runs.hi_offset)):
        step = slope[after] * row + offset[after] - slope[run] * (row - 1) - offset[run]
        usual = np.maximum(np.abs(slope[after]), np.abs(slope[run]))
        jump = np.maximum(jump, np.where(np.abs(step) > np.maximum(usual, 1), np.abs(step), 0))
    weight = np.maximum.reduceat(jump, indptr[:-1])
    found = weight > 0
    return runs.piece_start[before + 1][found], weight[found]


def _phase(breaks: IntArray, weight: IntArray, pitch: int, otherwise: int) -> int:
    """The remainder of the rows at which lines begin, by the weight of the breaks."""
    if len(breaks) == 0:
        return otherwise % pitch
    remainder, number = np.unique(breaks % pitch, return_inverse=True)
    return int(remainder[np.argmax(np.bincount(number, weight))])


def _plane(runs: RunSet, pitch: int, pieces: BoolArray, spacing: _Spacing, linked: BoolArray) -> int | None:
    """Tokens of a plane, when most rows see several clusters of lines that stand equally far apart; else None."""
    used = pieces[spacing.piece]
    head = np.ones(runs.num_runs, np.bool_)  # the first run of its cluster
    head[spacing.run[linked]] = False
    first = np.flatnonzero(head)
    last = np.append(first[1:], runs.num_runs) - 1
    piece = np.repeat(np.arange(runs.num_pieces), np.diff(runs.indptr))[first]
    same = (piece[1:] == piece[:-1]) & pieces[piece[1:]]
    same &= runs.lo_slope[first[1:]] == runs.lo_slope[first[:-1]]
    same &= runs.hi_slope[last[1:]] == runs.hi_slope[last[:-1]]
    ends = runs.lo_offset[first] + runs.hi_offset[last]
    distance = (ends[1:] - ends[:-1])[same]
    rows = (runs.piece_stop - runs.piece_start)[piece[1:][same]]
    whole = (distance % (2 * pitch) == 0) & (distance >= 4 * pitch)
    plane = _commonest(distance[whole] // 2, rows[whole])
    if plane is None:
        return None
    shown = np.unique(piece[1:][same][whole & (distance == 2 * plane)])
    share = int(np.sum((runs.piece_stop - runs.piece_start)[shown]))
    total = int(np.sum((runs.piece_stop - runs.piece_start)[np.unique(spacing.piece[used])]))
    return plane if 2 * share >= total else None


def _disjoint(grids: list[GridStructure]) -> tuple[GridStructure, ...]:
    """The grids ascending, without those that overlap one found before."""
    kept: list[GridStructure] = []
    for grid in grids:
        if all(grid.stop <= other.start or other.stop <= grid.start for other in kept):
            kept.append(grid)
    return tuple(sorted(kept, key=lambda grid: grid.start))
