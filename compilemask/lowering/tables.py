"""Conditions on several quantities: tried on the numbers that occur, once for each combination."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.ragged import BoolArray, IntArray, offsets, spread
from compilemask.geometry.runs import Trapezoids
from compilemask.lowering.bands import Bands, band_cells, bands_where
from compilemask.lowering.binding import Binding
from compilemask.lowering.domain import Blocks, blocks_by_group, check_runs
from compilemask.lowering.failure import BindError
from compilemask.lowering.forms import Form, Variable
from compilemask.lowering.level_sets import Runs, interval_cells, runs_of
from compilemask.lowering.limits import MAX_CELLS, MAX_NUMBER, MAX_RUNS, MAX_TABLE, UNBOUNDED
from compilemask.lowering.numbers import Numbers, evaluate, numbers_of
from compilemask.lowering.pieces import Pieces

FREE_OPERATIONS = 4
"""Operations of a condition that cost no more than trying it at all."""

MAX_PROJECTED = 2**22
"""Combinations of values that are tried only to see which pairs of lines can hold a cell at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A condition on numbered quantities: `skeleton` of their values lies in `bands`."""

    skeleton: Form
    bands: Bands
    binding: Binding
    span: Span

    def holds(self, values: list[IntArray]) -> BoolArray:
        """For arrays of the quantities' values that broadcast together."""

        tried = math.prod(np.broadcast_shapes(*(value.shape for value in values)))
        self.binding.spend(tried * (1 + self.skeleton.num_operations // FREE_OPERATIONS), self.span)

        def lookup(variable: Variable) -> Numbers:
            return numbers_of(values[variable.axis])

        number = evaluate(self.skeleton, lookup, self.binding, self.span).array
        if len(self.bands) == 1:
            lo, hi = self.bands.lo[0], self.bands.hi[0]
            if lo == -UNBOUNDED or hi == UNBOUNDED:
                return np.asarray(number < hi if lo == -UNBOUNDED else number >= lo)
        band = np.searchsorted(self.bands.lo, number, side="right") - 1
        found: BoolArray = (band >= 0) & (number < np.append(self.bands.hi, 0)[band])
        return found


def bands_of_one(trial: Trial, least: int, greatest: int) -> Bands:
    """The values of the only quantity, between least and greatest, for which the trial holds."""
    count = greatest - least + 1
    if count > MAX_TABLE:
        raise _too_many(trial.span, count, MAX_TABLE)
    truth = np.broadcast_to(trial.holds([np.arange(least, greatest + 1)]), (count,))
    return bands_where(truth, least)


def projections(trial: Trial, least: list[int], greatest: list[int], wanted: list[int]) -> list[Bands] | None:
    """For each wanted quantity the values for which the trial holds with some values of the others.

    Quantity r has values from least[r] to greatest[r]. None when there are too many combinations.
    """
    sizes = [hi - lo + 1 for lo, hi in zip(least, greatest, strict=True)]
    if math.prod(sizes) > MAX_PROJECTED:
        return None
    axes = np.ix_(*(np.arange(lo, hi + 1) for lo, hi in zip(least, greatest, strict=True)))
    truth = np.broadcast_to(trial.holds(list(axes)), sizes)
    others = [tuple(axis for axis in range(len(sizes)) if axis != row) for row in wanted]
    return [bands_where(np.any(truth, axis=axes), least[row]) for row, axes in zip(wanted, others, strict=True)]


def table_cells(trial: Trial, q: Pieces, k: Pieces, blocks: Blocks, inner: int | None) -> Trapezoids | None:
    """Cells of all pairs of pieces on which every quantity but `inner` is constant.

    One table over (combination of the constant ones, value of the inner one); None when it would be too large.
    """
    if len(q) == 0 or len(k) == 0:
        return Trapezoids.empty()
    if blocks.num_pairs > MAX_CELLS:
        return None
    base = 0 if inner is None else int(q.least()[inner].min() + k.least()[inner].min())
    top = 0 if inner is None else int(q.greatest()[inner].max() + k.greatest()[inner].max())
    parts: list[Trapezoids] = []
    total = 0
    for a, b in blocks.pairs():
        outer = np.stack([q.offset[row, a] + k.offset[row, b] for row in range(len(q.offset)) if row != inner])
        combinations, number = _distinct_columns(outer, always=inner is not None)
        if combinations.shape[1] * (top - base + 2) > MAX_CELLS:
            return None
        row_of = [row for row in range(len(q.offset)) if row != inner]
        lo, hi = _table_bands(trial, combinations, row_of, inner, base, top - base + 1)
        found = _place(q, k, a, b, number, lo, hi, inner, base, top - base + 2)
        if found is None:
            return None
        total += len(found)
        check_runs(total, trial.span)
        parts.append(found)
    return Trapezoids.concat(parts)


def _table_bands(
    trial: Trial, combinations: IntArray, row_of: list[int], inner: int | None, base: int, width: int
) -> tuple[IntArray, IntArray]:
    """Bands of the inner quantity, as ends in combination * (width + 1) + (value - base)."""
    rows = max(1, MAX_TABLE // max(width, 1))
    edges_lo, edges_hi = [], []
    for first in range(0, combinations.shape[1], rows):
        chosen = combinations[:, first : first + rows]
        values: list[IntArray] = [np.zeros(1, np.int64)] * (len(row_of) + (inner is not None))
        for place, row in enumerate(row_of):
            values[row] = chosen[place][:, None]
        if inner is not None:
            values[inner] = np.arange(base, base + width)[None, :]
        # the column behind the table is False, so that no band runs on into the next combination
        truth = np.zeros((chosen.shape[1], width + 1), np.bool_)
        truth[:, :width] = trial.holds(values)
        found = bands_where(truth.ravel(), first * (width + 1))
        edges_lo.append(found.lo)
        edges_hi.append(found.hi)
    return np.concatenate(edges_lo), np.concatenate(edges_hi)


def _place(
    q: Pieces,
    k: Pieces,
    a: IntArray,
    b: IntArray,
    number: IntArray,
    lo: IntArray,
    hi: IntArray,
    inner: int | None,
    base: int,
    stride: int,
) -> Trapezoids | None:
    """The bands of each pair's combination, cut by the pair's rectangle."""
    zero = np.zeros(len(q) + len(k), np.int64)
    q_slope, q_offset = (zero[: len(q)],) * 2 if inner is None else (q.slope[inner], q.offset[inner])
    k_slope, k_offset = (zero[: len(k)],) * 2 if inner is None else (k.slope[inner], k.offset[inner])
    least = _ends(q_slope, q_offset, q, np.minimum)[a] + _ends(k_slope, k_offset, k, np.minimum)[b]
    greatest = _ends(q_slope, q_offset, q, np.maximum)[a] + _ends(k_slope, k_offset, k, np.maximum)[b]
    shift = number * stride - base
    first = np.searchsorted(hi, shift + least, side="right")
    last = np.searchsorted(lo, shift + greatest, side="right")
    pair, band = spread(first, np.maximum(last - first, 0))
    check = a[pair], b[pair]
    return band_cells(
        (q.start[check[0]], q.stop[check[0]]),
        (k.start[check[1]], k.stop[check[1]]),
        q_slope[check[0]],
        k_slope[check[1]],
        q_offset[check[0]] + k_offset[check[1]],
        (lo[band] - shift[pair], hi[band] - shift[pair]),
    )


def _ends(slope: IntArray, offset: IntArray, pieces: Pieces, choose: np.ufunc) -> IntArray:
    ends: IntArray = choose(slope * pieces.start, slope * (pieces.stop - 1)) + offset
    return ends


def class_cells(trial: Trial, q: Pieces, k: Pieces) -> Trapezoids:
    """Any condition: tried for each distinct row and each run of equal keys of its group."""
    rows, keys = runs_of(q, MAX_RUNS), runs_of(k, MAX_RUNS)
    if rows is None or keys is None:
        raise _too_many(trial.span, int((q.stop - q.start).sum()) * int((k.stop - k.start).sum()), MAX_CELLS)
    columns, row_class = _distinct_columns(np.concatenate([rows.group[None, :], rows.values]), always=True)
    none = np.zeros((0, columns.shape[1]), np.int64)
    place = np.arange(columns.shape[1])
    classes = Pieces(place, place + 1, place, columns[0], none, none)
    none = np.zeros((0, len(keys)), np.int64)
    place = np.arange(len(keys))
    runs = Pieces(place, place + 1, place, keys.group, none, none)
    classes, runs, blocks = blocks_by_group(classes, runs)
    if blocks.num_pairs > MAX_CELLS:
        raise _too_many(trial.span, blocks.num_pairs, MAX_CELLS)
    indptr, start, stop = _tried_intervals(trial, columns[1:], keys, classes, runs, blocks)
    return interval_cells(rows, row_class, indptr, start, stop, trial.span)


def _tried_intervals(
    trial: Trial, columns: IntArray, keys: Runs, classes: Pieces, runs: Pieces, blocks: Blocks
) -> tuple[IntArray, IntArray, IntArray]:
    """(indptr, start, stop): the key intervals of each class. Classes come by group, so pairs come by class and key run."""
    owner, start, stop = [], [], []
    before, last_run = False, 0
    for a, b in blocks.pairs():
        row, run = classes.start[a], runs.start[b]
        values = [columns[n][row] + keys.values[n][run] for n in range(len(columns))]
        holds = np.broadcast_to(trial.holds(values), (len(row),))
        previous = np.append(before, holds[:-1])
        # the first run of a group is fresh, so every class starts anew
        continues = holds & previous & ~keys.fresh[run]
        begins = np.flatnonzero(holds & ~continues)
        owner.append(row[begins])
        start.append(keys.start[run[begins]])
        stop.append(keys.stop[np.append(last_run, run[:-1])[previous & ~continues]])
        before, last_run = bool(holds[-1]), int(run[-1])
    if before:
        stop.append(keys.stop[[last_run]])
    none = np.zeros(0, np.int64)
    row = np.concatenate([none, *owner])
    order = np.argsort(row, kind="stable")
    indptr = offsets(np.bincount(row, minlength=columns.shape[1]))
    return indptr, np.concatenate([none, *start])[order], np.concatenate([none, *stop])[order]


def _distinct_columns(table: IntArray, always: bool) -> tuple[IntArray, IntArray]:
    """The distinct columns, and which of them each column is; unless `always`, as they are where most are distinct."""
    key = _column_keys(table)
    ordered = np.sort(key)
    fresh = np.append(True, ordered[1:] != ordered[:-1])
    if not always and 2 * np.count_nonzero(fresh) > len(key):
        return table, np.arange(len(key))
    number = np.searchsorted(ordered[fresh], key)
    place = np.empty(np.count_nonzero(fresh), np.int64)
    place[number] = np.arange(len(key))
    return table[:, place], number


def _column_keys(table: IntArray) -> IntArray:
    """A number for each column, equal for equal columns alone: the rows as digits, in ranks where they would not fit."""
    key = np.zeros(table.shape[1], np.int64)
    top = 0
    for row in table:
        least = int(row.min())
        width = int(row.max()) - least + 1
        if (top + 1) * width > MAX_NUMBER:
            key, top = _ranks(key)
            row, width = _ranks(row)
            least, width = 0, width + 1
        key = key * width + (row - least)
        top = (top + 1) * width - 1
    return key


def _ranks(values: IntArray) -> tuple[IntArray, int]:
    """The place of each value among the distinct ones, and the last place."""
    distinct, rank = np.unique(values, return_inverse=True)
    return rank, len(distinct) - 1


def _too_many(span: Span, cells: int, limit: int) -> BindError:
    return BindError(
        "CM411",
        f"this condition has no closed form and would be tried on {cells:,} pairs; the limit is {limit:,}",
        span,
        "split it into linear comparisons joined by and / or, or bind smaller numbers",
    )
