"""The tile plan in plain torch operations, on any device, forward and backward: impl "torch".

Per q tile, the visited kv tiles are joined into blocks of columns; each block is one batched product over (batch, heads),
masked only where its tiles are partial. Memory follows the blocks, never q_len x kv_len.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compilemask.attention.mask_tensors import MaskTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import LENGTH_SHIFT
from compilemask.plan.tile_plan import TilePlan

BLOCK_M = 128
BLOCK_N = 64
_MAX_COLUMNS = 8192
_SCORES_PER_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Columns of one q tile: `ranges` of keys, joined in this order; hidden bool [rows, width] begins at `offset` in them."""

    ranges: tuple[tuple[int, int], ...]
    hidden: tuple[tuple[int, Tensor], ...]

    def take(self, rows: Tensor) -> Tensor:
        """The block's keys out of [heads, kv_len, dim]; a view when they are consecutive."""
        parts = [rows[:, start:stop] for start, stop in self.ranges]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def add_to(self, total: Tensor, part: Tensor) -> None:
        """total[keys of the block] += part, in [heads, kv_len, dim]."""
        offset = 0
        for start, stop in self.ranges:
            total[:, start:stop] += part[:, offset : offset + stop - start]
            offset += stop - start


def forward(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskTensors, options: ScoreOptions, sinks: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(o, lse) of q [batch, q heads, q_len, dim] and k, v [batch, kv heads, kv_len, dim or v dim]; sinks [q heads].

    o has v's dtype; lse is float32 (float64 for float64 inputs), natural logarithm, of the sink too; NaN where the options
    have none. Sums are float32 at least.
    """
    heads = _Heads.of(q, k, v, mask, sinks)
    o = q.new_zeros(*heads.q.shape[:-1], v.shape[-1], dtype=heads.q.dtype)
    lse = heads.sinks[..., None].expand(heads.q.shape[:-1]).clone()
    if not options.has_lse:
        lse.fill_(math.nan)
    for rows, blocks in _q_tiles(mask):
        for chunk in _head_chunks(heads, rows, blocks):
            if options.has_lse:
                o[chunk, :, rows], lse[chunk, :, rows] = _fold(heads, chunk, rows, blocks, options)
            else:
                o[chunk, :, rows] = _add_up(heads, chunk, rows, blocks, options)
    shape = (*q.shape[:-1], v.shape[-1])
    return o.reshape(shape).to(v.dtype), lse.reshape(shape[:-1])


def gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None,
    mask: MaskTensors, options: ScoreOptions, sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """(dq, dk, dv, dsinks) of sum(o * do) + sum(lse * dlse), contiguous, in the inputs' dtypes; do, dlse: None for zeros.

    o and lse are the forward's; dsinks is None without sinks. The weights are computed again from lse (Dao et al., 2022).
    q and do of rows that see no key are not read, nor is dlse except for sinks: dq is 0 there, whatever they hold.
    """
    empty = torch.from_numpy(~_rows_with_keys(mask.plan)).to(q.device)
    heads = _Heads.of(q.masked_fill(empty[:, None], 0.0), k, v, mask, sinks)
    lse = lse.to(heads.q.dtype).reshape(heads.q.shape[:-1])
    o = o.to(heads.q.dtype).reshape(*lse.shape, v.shape[-1])
    do = torch.zeros_like(o) if do is None else do.to(heads.q.dtype).reshape(o.shape)
    do = do.masked_fill(empty[:, None], 0.0).contiguous()
    # d score = p * (do . v - delta), and d lse / d score = p.
    dlse = torch.zeros_like(lse) if dlse is None or not options.has_lse else dlse.to(heads.q.dtype).reshape(lse.shape)
    dsinks = None if sinks is None else _sinks_gradient(heads, lse, (do * o).sum(-1) - dlse, sinks)
    dlse = dlse.masked_fill(empty, 0.0)
    delta = (do * o).sum(-1) - dlse
    pivot = torch.where(torch.isinf(lse), 0.0, lse)
    dq, dk, dv = torch.zeros_like(heads.q), torch.zeros_like(heads.k), torch.zeros_like(heads.v)
    for rows, blocks in _q_tiles(mask):
        for chunk in _head_chunks(heads, rows, blocks):
            do_rows = do[chunk, :, rows].flatten(1, 2)
            delta_rows, pivot_rows = _per_row(delta[chunk, :, rows]), _per_row(pivot[chunk, :, rows])
            q_rows = heads.q[chunk, :, rows].flatten(1, 2) * options.sm_scale
            dq_rows = torch.zeros_like(q_rows)
            for block in blocks:
                k_cols, v_cols = block.take(heads.k[chunk]), block.take(heads.v[chunk])
                scores, slope = _scores(q_rows, k_cols, block, options.softcap)
                ds = do_rows @ v_cols.transpose(1, 2)
                if options.has_lse:
                    p = scores.sub_(pivot_rows).exp_()
                    if len(blocks) == 1:
                        sink_rows = _per_row(heads.sinks[chunk, :, None] - pivot[chunk, :, rows]).exp()
                        delta_rows = _renormalise(p, ds, sink_rows) - _per_row(dlse[chunk, :, rows])
                    ds.sub_(delta_rows).mul_(p)
                else:
                    p, silu_slope = _silu(scores, options.norm)
                    ds.mul_(silu_slope)
                if slope is not None:
                    ds.mul_(slope)
                block.add_to(dv[chunk], p.transpose(1, 2) @ do_rows)
                block.add_to(dk[chunk], ds.transpose(1, 2) @ q_rows)
                dq_rows += ds @ k_cols
            dq[chunk, :, rows] = (dq_rows * options.sm_scale).view(dq[chunk, :, rows].shape)
    dq, dk, dv = (grad.reshape(x.shape).to(x.dtype) for grad, x in ((dq, q), (dk, k), (dv, v)))
    return dq, dk, dv, dsinks


def _rows_with_keys(plan: TilePlan) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """bool [q_len]: the rows that a run or a full tile shows some key."""
    has_full = np.diff(plan.full_indptr) > 0
    runs = np.bincount(plan.run_q_start, minlength=plan.q_len + 1) - np.bincount(
        plan.run_q_stop, minlength=plan.q_len + 1
    )
    return (np.cumsum(runs)[: plan.q_len] > 0) | np.repeat(has_full, plan.block_m)[: plan.q_len]


def _per_row(values: Tensor) -> Tensor:
    """[heads, group, rows] as a column beside [heads, group * rows, columns]."""
    return values.flatten(1, 2)[..., None]


def _renormalise(p: Tensor, dp: Tensor, sink_weight: Tensor) -> Tensor:
    """Divides p by its own sum, in place, and returns delta, the sum of p * dp; for rows whose keys are all in p.

    The rounding of lse is one relative error of a whole row, and that of o makes p * dp miss delta: a row of one key would
    get a gradient of its query, which is exactly 0.
    """
    total = p.sum(-1, keepdim=True) + sink_weight
    p.div_(torch.where(total == 0, 1.0, total))
    return (p * dp).sum(-1, keepdim=True)


def _sinks_gradient(heads: _Heads, lse: Tensor, delta: Tensor, sinks: Tensor) -> Tensor:
    """Of a sink as one more key of value 0, weight exp(sink - lse): the sum of -weight * delta. A sink of -inf is none."""
    shares = torch.exp(heads.sinks[..., None] - lse) * delta
    dsinks = -shares.masked_fill_(torch.isneginf(heads.sinks)[..., None], 0.0).sum(-1)
    return dsinks.reshape(-1, len(sinks)).sum(0).to(sinks.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class _Heads:
    """q [batch * kv heads, group, q_len, dim], k and v [batch * kv heads, kv_len, dim], in the dtype of the sums.

    sinks [batch * kv heads, group]: -inf where there are none.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    sinks: Tensor

    @classmethod
    def of(cls, q: Tensor, k: Tensor, v: Tensor, mask: MaskTensors, sinks: Tensor | None) -> _Heads:
        dtype = torch.promote_types(q.dtype, torch.float32)
        batch, num_q_heads, q_len, head_dim = q.shape
        num_kv_heads, kv_len = k.shape[1:3]
        logits = q.new_full((num_q_heads,), -math.inf, dtype=dtype) if sinks is None else sinks.to(dtype)
        q = q.to(dtype).reshape(batch * num_kv_heads, num_q_heads // num_kv_heads, q_len, head_dim)
        k, v = (x.to(dtype).reshape(batch * num_kv_heads, kv_len, x.shape[3]) for x in (k, v))
        if mask.seen is not None:
            # A key that no row sees may hold NaN, and 0 * NaN = NaN.
            seen = mask.seen.bool()[:, None]
            k, v = torch.where(seen, k, 0.0), torch.where(seen, v, 0.0)
        return cls(q, k, v, logits.reshape(num_kv_heads, -1).repeat(batch, 1))


def _fold(
    heads: _Heads, chunk: slice, rows: slice, blocks: list[Block], options: ScoreOptions
) -> tuple[Tensor, Tensor]:
    """o [heads, group, rows, dim] and lse of one q tile: the online softmax over its blocks, which begins with the sink."""
    q_rows = heads.q[chunk, :, rows].flatten(1, 2) * options.sm_scale
    acc = q_rows.new_zeros(*q_rows.shape[:-1], heads.v.shape[-1])
    m_i = heads.sinks[chunk, :, None].expand(-1, -1, rows.stop - rows.start).flatten(1, 2)[..., None]
    l_i = torch.where(m_i == -math.inf, 0.0, torch.ones_like(m_i))
    for block in blocks:
        scores, _ = _scores(q_rows, block.take(heads.k[chunk]), block, options.softcap)
        m_new = torch.maximum(m_i, scores.amax(-1, keepdim=True))
        # A row with no key yet keeps m_i = -inf; a finite pivot avoids -inf - (-inf) = nan.
        pivot = torch.where(m_new == -math.inf, 0.0, m_new)
        p = scores.sub_(pivot).exp_()
        alpha = (m_i - pivot).exp_()
        l_i = l_i * alpha + p.sum(-1, keepdim=True)
        acc = torch.baddbmm(acc * alpha, p, block.take(heads.v[chunk]))
        m_i = m_new
    o = acc / torch.where(l_i == 0, 1.0, l_i)
    lse = (m_i + l_i.log()).squeeze(-1)
    by_head = (len(o), heads.q.shape[1], -1)
    return o.view(*by_head, o.shape[-1]), lse.view(by_head)


def _add_up(heads: _Heads, chunk: slice, rows: slice, blocks: list[Block], options: ScoreOptions) -> Tensor:
    """o [heads, group, rows, dim] of one q tile: the weighted sum of silu."""
    q_rows = heads.q[chunk, :, rows].flatten(1, 2) * options.sm_scale
    acc = q_rows.new_zeros(*q_rows.shape[:-1], heads.v.shape[-1])
    for block in blocks:
        scores, _ = _scores(q_rows, block.take(heads.k[chunk]), block, options.softcap)
        weights, _ = _silu(scores, options.norm)
        acc.baddbmm_(weights, block.take(heads.v[chunk]))
    return acc.view(len(acc), heads.q.shape[1], -1, acc.shape[-1])


def _scores(q_rows: Tensor, k_cols: Tensor, block: Block, softcap: float | None) -> tuple[Tensor, Tensor | None]:
    """([heads, group * rows, columns] with -inf in hidden cells, the cap's derivative or None); q_rows are scaled already."""
    scores = q_rows @ k_cols.transpose(1, 2)
    slope = None
    if softcap is not None:
        share = scores.div_(softcap).tanh_()
        slope, scores = 1 - share * share, share * softcap
    for offset, hidden in block.hidden:
        num_rows, width = hidden.shape
        by_head = scores.view(len(scores), -1, num_rows, scores.shape[2])
        by_head[..., offset : offset + width].masked_fill_(hidden, -math.inf)
    return scores, slope


def _silu(scores: Tensor, norm: float | None) -> tuple[Tensor, Tensor]:
    """(weights, their derivatives) of scores, both 0 where the score is -inf."""
    hidden = scores == -math.inf
    sigmoid = torch.sigmoid(scores)
    weights = scores * sigmoid
    slope = sigmoid + weights * (1 - sigmoid)
    return tuple(x.masked_fill_(hidden, 0.0).div_(norm or 1.0) for x in (weights, slope))  # type: ignore[return-value]


def _head_chunks(heads: _Heads, rows: slice, blocks: list[Block]) -> Iterator[slice]:
    """Slices of the head axis whose scores stay within the caches."""
    if not blocks:
        return
    columns = max(sum(stop - start for start, stop in block.ranges) for block in blocks)
    per_head = heads.q.shape[1] * (rows.stop - rows.start) * columns
    step = max(1, _SCORES_PER_CHUNK // per_head)
    for start in range(0, heads.q.shape[0], step):
        yield slice(start, start + step)


def _q_tiles(mask: MaskTensors) -> Iterator[tuple[slice, list[Block]]]:
    """Every q tile: its rows and its blocks of columns, left to right."""
    plan = mask.plan
    for t in range(plan.num_q_tiles):
        rows = slice(t * plan.block_m, min((t + 1) * plan.block_m, plan.q_len))
        yield rows, list(_blocks(_tiles(mask, t, rows.stop - rows.start)))


def _tiles(mask: MaskTensors, t: int, num_rows: int) -> list[tuple[int, int, Tensor | None]]:
    """(start, stop, hidden cells or None) of the column ranges that q tile t visits, ascending."""
    plan, masks = mask.plan, mask.masks
    found: list[tuple[int, int, Tensor | None]] = []
    for r in range(plan.full_indptr[t], plan.full_indptr[t + 1]):
        start, stop = int(plan.full_start[r]), int(plan.full_start[r] + plan.full_count[r] * plan.block_n)
        found += [(a, min(a + _MAX_COLUMNS, stop), None) for a in range(start, stop, _MAX_COLUMNS)]
    partial = range(plan.partial_indptr[t], plan.partial_indptr[t + 1])
    stop_of = {int(plan.partial_start[p]): int(plan.partial_stop[p]) for p in partial}
    columns = torch.arange(plan.block_n, device=mask.device, dtype=torch.int32)

    def inside(vectors: np.ndarray[Any, np.dtype[np.int32]]) -> Tensor:
        ends = mask.ends[torch.from_numpy(vectors.astype(np.int64)).to(mask.device), :num_rows, None]
        lo = ends & ((1 << LENGTH_SHIFT) - 1)
        return (columns >= lo) & (columns < lo + (ends >> LENGTH_SHIFT))

    first, last = masks.interval_indptr[t], masks.interval_indptr[t + 1]
    hidden = ~inside(masks.interval_ends[first:last])
    for i, start in enumerate(masks.interval_start[first:last].tolist()):
        found.append((start, stop_of[start], hidden[i, :, : stop_of[start] - start]))
    for g in range(masks.gap_indptr[t], masks.gap_indptr[t + 1]):
        start = int(masks.gap_start[g])
        gaps = inside(masks.gap_ends[masks.gap_ends_indptr[g] : masks.gap_ends_indptr[g + 1]])
        found.append((start, stop_of[start], gaps.any(0)[:, : stop_of[start] - start]))
    return sorted(found, key=lambda tile: tile[0])


def _blocks(tiles: list[tuple[int, int, Tensor | None]]) -> Iterator[Block]:
    """Neighbouring tiles joined into blocks of at most _MAX_COLUMNS columns."""
    ranges: list[tuple[int, int]] = []
    hidden: list[tuple[int, Tensor]] = []
    width = 0
    for start, stop, cells in tiles:
        if width and width + stop - start > _MAX_COLUMNS:
            yield Block(tuple(ranges), tuple(hidden))
            ranges, hidden, width = [], [], 0
        if cells is not None:
            hidden.append((width, cells))
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((start, stop))
        width += stop - start
    if ranges:
        yield Block(tuple(ranges), tuple(hidden))
