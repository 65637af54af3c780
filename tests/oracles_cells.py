"""Brute force: sets of cells as Python sets and bool arrays, and the canonical cut, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from compilemask.geometry import RunSet, Trapezoids

Shape = tuple[int, int, int, int, int, int]  # q_start, q_stop, lo_slope, lo_offset, hi_slope, hi_offset
Cells = frozenset[tuple[int, int]]


def trapezoids(shapes: list[Shape]) -> Trapezoids:
    columns = np.array(shapes, np.int64).reshape(-1, 6).T
    return Trapezoids(*(np.ascontiguousarray(column) for column in columns))


def cells_of_shapes(shapes: list[Shape]) -> Cells:
    return frozenset(
        (q, k)
        for start, stop, lo_slope, lo_offset, hi_slope, hi_offset in shapes
        for q in range(start, stop)
        for k in range(lo_slope * q + lo_offset, hi_slope * q + hi_offset)
    )


def cells_of_runs(runs: RunSet) -> Cells:
    cells: list[tuple[int, int]] = []
    for piece in range(runs.num_pieces):
        for run in range(int(runs.indptr[piece]), int(runs.indptr[piece + 1])):
            for q in range(int(runs.piece_start[piece]), int(runs.piece_stop[piece])):
                lo = int(runs.lo_slope[run]) * q + int(runs.lo_offset[run])
                hi = int(runs.hi_slope[run]) * q + int(runs.hi_offset[run])
                cells += [(q, k) for k in range(lo, hi)]
    assert len(set(cells)) == len(cells), "runs overlap"
    return frozenset(cells)


def cells_of_dense(dense: npt.NDArray[np.bool_]) -> Cells:
    return frozenset((int(q), int(k)) for q, k in zip(*np.nonzero(dense), strict=True))


def intervals(columns: list[int]) -> tuple[int, ...]:
    """Flat ends (lo, hi, lo, hi, ...) of the maximal intervals of sorted columns."""
    ends: list[int] = []
    for k in columns:
        if ends and ends[-1] == k:
            ends[-1] = k + 1
        else:
            ends += [k, k + 1]
    return tuple(ends)


def canonical(cells: Cells) -> list[tuple[int, int, tuple[tuple[int, int], ...]]]:
    """The canonical pieces of a set of cells, straight from the words of docs/architecture.md.

    (piece_start, piece_stop, ((slope, value at piece_start) of each end)).
    """
    rows: dict[int, list[int]] = {}
    for q, k in sorted(cells):
        rows.setdefault(q, []).append(k)
    ends = {q: intervals(columns) for q, columns in rows.items()}
    blocks: list[list[int]] = []
    for q in sorted(ends):
        if blocks and blocks[-1][-1] == q - 1 and len(ends[q]) == len(ends[q - 1]):
            blocks[-1].append(q)
        else:
            blocks.append([q])
    pieces: list[Any] = []
    for block in blocks:
        segments: list[list[int]] = []
        steps: list[tuple[int, ...]] = []
        for q in block[:-1]:
            step = tuple(b - a for a, b in zip(ends[q], ends[q + 1], strict=True))
            if steps and steps[-1] == step:
                segments[-1].append(q + 1)
            else:
                segments.append([q, q + 1])
                steps.append(step)
        if not segments:
            segments, steps = [[block[0]]], [tuple(0 for _ in ends[block[0]])]
        lengths = [len(segment) for segment in segments]
        for i, (segment, step) in enumerate(zip(segments, steps, strict=True)):
            lost_first = i > 0 and lengths[i - 1] >= lengths[i]
            lost_last = i + 1 < len(segments) and lengths[i + 1] > lengths[i]
            kept = segment[1 if lost_first else 0 : len(segment) - (1 if lost_last else 0)]
            if kept:
                slopes = step if len(kept) > 1 else tuple(0 for _ in step)
                pieces.append((kept[0], kept[-1] + 1, tuple(zip(slopes, ends[kept[0]], strict=True))))
    return pieces


def pieces_of(runs: RunSet) -> list[tuple[int, int, tuple[tuple[int, int], ...]]]:
    """The pieces of a RunSet in the form of `canonical`."""
    pieces = []
    for piece in range(runs.num_pieces):
        start, stop = int(runs.piece_start[piece]), int(runs.piece_stop[piece])
        ends: list[tuple[int, int]] = []
        for run in range(int(runs.indptr[piece]), int(runs.indptr[piece + 1])):
            for slope, offset in ((runs.lo_slope, runs.lo_offset), (runs.hi_slope, runs.hi_offset)):
                ends.append((int(slope[run]), int(slope[run]) * start + int(offset[run])))
        pieces.append((start, stop, tuple(ends)))
    return pieces


def dense_of(cells: Cells, q_len: int, kv_len: int) -> npt.NDArray[np.bool_]:
    dense = np.zeros((q_len, kv_len), np.bool_)
    for q, k in cells:
        dense[q, k] = True
    return dense
