"""Plans read as kernels read them, in NumPy: their tiles, and attention over any list of tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from compilemask.plan import PackedPlan, TilePlan

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Tile = tuple[IntArray, IntArray, BoolArray | None]
"""(queries, keys, cells): all cells where cells is None."""


def tile_columns(plan: PackedPlan, tile: int) -> IntArray:
    """The key of each column of a kv tile; -1 where there is none, so that it must be filled with zeros."""
    starts = np.repeat(plan.chunk_start[tile].astype(np.int64), plan.chunk)
    keys = starts + np.tile(np.arange(plan.chunk), plan.block_n // plan.chunk)
    return np.where((starts >= 0) & (keys < plan.kv_len), keys, -1)


def tile_bits(plan: PackedPlan, tile: int) -> BoolArray:
    """bool[block_m, block_n]: the mask of a partial kv tile."""
    column = np.arange(plan.block_n)
    words = plan.masks[plan.mask_id[tile]][:, column // 32]
    return (words >> (column % 32).astype(np.uint32) & 1).astype(np.bool_)


def run_cells(plan: TilePlan, run: int, rows: IntArray, columns: IntArray) -> BoolArray:
    """The cells of one run among the rows and columns of a tile."""
    lo = plan.run_lo_slope[run] * rows + plan.run_lo_offset[run]
    hi = plan.run_hi_slope[run] * rows + plan.run_hi_offset[run]
    inside = (rows >= plan.run_q_start[run]) & (rows < plan.run_q_stop[run])
    cells: BoolArray = inside[:, None] & (columns >= lo[:, None]) & (columns < hi[:, None])
    return cells


def tiles_of(plan: TilePlan | PackedPlan, *, force_partial: bool = False) -> Iterator[Tile]:
    """The tiles in the order in which the plan wants them. force_partial: full ones test their cells, too."""
    return _row_tiles(plan, force_partial) if isinstance(plan, TilePlan) else _packed_tiles(plan, force_partial)


def _row_tiles(plan: TilePlan, force_partial: bool) -> Iterator[Tile]:
    for t in plan.tile_order.tolist():
        rows = np.arange(t * plan.block_m, min((t + 1) * plan.block_m, plan.q_len))
        for r in range(plan.full_indptr[t], plan.full_indptr[t + 1]):
            for n in range(plan.full_count[r]):
                keys = plan.full_start[r] + n * plan.block_n + np.arange(plan.block_n)
                yield rows, keys, np.ones((len(rows), len(keys)), bool) if force_partial else None
        for p in range(plan.partial_indptr[t], plan.partial_indptr[t + 1]):
            keys = np.arange(plan.partial_start[p], plan.partial_stop[p])
            runs = plan.partial_run[plan.partial_run_indptr[p] : plan.partial_run_indptr[p + 1]]
            yield rows, keys, np.logical_or.reduce([run_cells(plan, int(run), rows, keys) for run in runs])


def _packed_tiles(plan: PackedPlan, force_partial: bool) -> Iterator[Tile]:
    slots = plan.row_index.reshape(plan.num_q_tiles, plan.block_m).astype(np.int64)
    for t in plan.tile_order.tolist():
        held = slots[t] >= 0
        for tile in range(plan.kv_indptr[t], plan.kv_indptr[t + 1]):
            keys = tile_columns(plan, tile)
            exists = keys >= 0
            full = plan.mask_id[tile] < 0
            bits = np.ones((plan.block_m, plan.block_n), bool) if full else tile_bits(plan, tile)
            cells = bits[held][:, exists]
            yield slots[t][held], keys[exists], None if full and not force_partial else cells


def attend(q: FloatArray, k: FloatArray, v: FloatArray, tiles: Iterable[Tile]) -> tuple[FloatArray, FloatArray]:
    """(o, lse) by online softmax over tiles in any order; queries in no tile see nothing: o = 0, lse = -inf."""
    m_i, l_i = np.full(len(q), -np.inf), np.zeros(len(q))
    acc = np.zeros((len(q), v.shape[1]))
    for rows, keys, cells in tiles:
        scores = q[rows] @ k[keys].T
        if cells is not None:
            scores = np.where(cells, scores, -np.inf)
        m_new = np.maximum(m_i[rows], scores.max(axis=1, initial=-np.inf))
        base = np.where(np.isfinite(m_new), m_new, 0.0)
        kept, p = np.exp(m_i[rows] - base), np.exp(scores - base[:, None])
        l_i[rows] = l_i[rows] * kept + p.sum(axis=1)
        acc[rows] = acc[rows] * kept[:, None] + p @ v[keys]
        m_i[rows] = m_new
    seen = l_i > 0
    lse = np.where(seen, m_i + np.log(np.where(seen, l_i, 1.0)), -np.inf)
    return acc / np.where(seen, l_i, 1.0)[:, None], lse


def value_gradient(q: FloatArray, k: FloatArray, lse: FloatArray, do: FloatArray, tiles: Iterable[Tile]) -> FloatArray:
    """dV over the tiles of the transposed mask, whose queries are keys."""
    dv = np.zeros((len(k), do.shape[1]))
    for keys, rows, cells in tiles:
        p = np.exp(q[rows] @ k[keys].T - np.where(np.isfinite(lse[rows]), lse[rows], 0.0)[:, None])
        if cells is not None:
            p = np.where(cells.T, p, 0.0)
        dv[keys] += p.T @ do[rows]
    return dv


def merge(parts: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """One (o, lse) of several over disjoint keys."""
    lses = np.stack([lse for _, lse in parts])
    top = lses.max(axis=0)
    weights = np.exp(lses - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=0)
    seen = total > 0
    o = sum(weight[:, None] * o for weight, (o, _) in zip(weights, parts, strict=True))
    lse = np.where(seen, np.where(seen, top, 0.0) + np.log(np.where(seen, total, 1.0)), -np.inf)
    return o / np.where(seen, total, 1.0)[:, None], lse
