"""Dense attention in float64: the specification, differentiable, for small sizes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from compilemask.attention.dense_mask import dense_rows, seen_keys
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskDescriptor

MAX_CELLS = 1 << 28
_CELLS_PER_CHUNK = 1 << 24


def forward(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor, options: ScoreOptions, sinks: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(o, lse) of q [batch, q heads, q_len, dim] and k, v [batch, kv heads, kv_len, dim or v dim]; both float64.

    o[row] = sum over visible keys of weight * v, see ScoreOptions; lse[row] = log of the sum of exp(score), NaN where the
    options have none. sinks [q heads]: one more term exp(sink) in each row's sum. A row without visible keys has o = 0,
    lse = sink or -inf, and gradients of q, k, v that are 0. Keys that no row sees are not read, nor are q and the gradient
    of o in rows that see no key.
    Raises ValueError above MAX_CELLS = 2^28 cells over all heads.
    """
    batch, num_q_heads, q_len, _ = q.shape
    num_kv_heads, kv_len, v_head_dim = k.shape[1], k.shape[2], v.shape[3]
    cells = batch * num_q_heads * q_len * kv_len
    if cells > MAX_CELLS:
        raise ValueError(
            f"impl 'reference' computes every cell and stops at {MAX_CELLS:,} of them, "
            f"got batch x heads x q_len x kv_len = {cells:,}; use impl='torch' or 'triton'"
        )
    seen = torch.from_numpy(seen_keys(mask)).to(q.device)[:, None]
    # 0 * NaN = NaN, so what a key hidden from all rows holds is replaced, in both products.
    k = torch.where(seen, k.double(), 0.0)
    v = torch.where(seen, v.double(), 0.0)
    q = q.double().reshape(batch, num_kv_heads, num_q_heads // num_kv_heads, q_len, q.shape[3])
    logits = None if sinks is None else sinks.double().reshape(num_kv_heads, -1, 1)
    step = max(1, _CELLS_PER_CHUNK // max(1, batch * num_q_heads * kv_len))
    # At least one, so that results without rows can be differentiated too.
    starts = range(0, max(1, q_len), step)
    chunks = [_rows(q[..., a : a + step, :], k, v, mask, a, options, logits) for a in starts]
    o, lse = (torch.cat(parts, 3) for parts in zip(*chunks, strict=True))
    return o.reshape(batch, num_q_heads, q_len, v_head_dim), lse.reshape(batch, num_q_heads, q_len)


def _rows(
    q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor, q_start: int, options: ScoreOptions, sinks: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Rows from q_start on; q [batch, kv heads, group, rows, dim], sinks [kv heads, group, 1]."""
    visible = torch.from_numpy(dense_rows(mask, q_start, q_start + q.shape[3])).to(q.device)
    filled = visible.any(-1, keepdim=True)
    q = torch.where(filled, q, 0.0)
    scores = q @ k[:, :, None].transpose(-1, -2) * options.sm_scale
    if options.softcap is not None:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    if options.activation == "silu":
        weights = torch.where(visible, scores * torch.sigmoid(scores), 0.0) / (options.norm or 1.0)
        return torch.where(filled, weights @ v[:, :, None], 0.0), scores.new_full(scores.shape[:-1], math.nan)
    if sinks is not None:
        # The sink is one more column: a key whose score is the sink and whose value is 0.
        column = sinks[..., None].expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, column], -1)
        v = torch.cat([v, v.new_zeros(*v.shape[:2], 1, v.shape[3])], 2)
        some = filled[:, 0] | ~torch.isneginf(sinks)
        visible = torch.cat([visible, visible.new_ones(len(visible), 1)], -1)
    else:
        some = filled[:, 0]
    # Empty rows see every key here and are replaced afterwards: their softmax then has finite derivatives.
    scores = scores.masked_fill(~visible & some[..., None], -math.inf)
    scores = torch.where(some[..., None], scores, 0.0)
    o = torch.softmax(scores, -1) @ v[:, :, None]
    return torch.where(filled, o, 0.0), torch.where(some, torch.logsumexp(scores, -1), -math.inf)
