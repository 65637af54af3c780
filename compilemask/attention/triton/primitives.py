"""Steps of the attention kernels: loads, and one visit of a kv tile by the online softmax.

Addresses are 64-bit. Sizes that are powers of two (BLOCK_*) pad the real ones; padded lanes are loaded as 0.
"""

from __future__ import annotations

import triton
import triton.language as tl

# How the cells of a kv tile are tested.
ALL = tl.constexpr(0)
ONE_INTERVAL = tl.constexpr(1)
GAPS = tl.constexpr(2)


@triton.jit
def dot(a, b, acc, PRECISION: tl.constexpr):
    """acc + a @ b in float32. PRECISION: tl.dot's input_precision, or "widened": operands turned into float32 first.

    Triton's interpreter multiplies bfloat16 by its bit patterns; widened operands give what the hardware gives.
    """
    if PRECISION == "widened":
        return tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")
    else:
        return tl.dot(a, b, acc, input_precision=PRECISION)


@triton.jit
def load_rows(
    ptr, first, num_rows, row_stride, col_stride, ROWS: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr
):
    """[ROWS, BLOCK_D]: rows [first, first + ROWS) of a matrix [num_rows, DIM]; what lies outside is 0."""
    rows = first + tl.arange(0, ROWS)
    return load_chosen_rows(ptr, rows, rows < num_rows, row_stride, col_stride, DIM, BLOCK_D)


@triton.jit
def load_chosen_rows(ptr, rows, chosen, row_stride, col_stride, DIM: tl.constexpr, BLOCK_D: tl.constexpr):
    """[len(rows), BLOCK_D]: the rows of a matrix where `chosen`, 0 elsewhere."""
    cols = tl.arange(0, BLOCK_D)
    at = ptr + rows.to(tl.int64)[:, None] * row_stride + cols.to(tl.int64)[None, :] * col_stride
    if DIM == BLOCK_D:
        return tl.load(at, mask=chosen[:, None], other=0.0)
    else:
        return tl.load(at, mask=chosen[:, None] & (cols < DIM)[None, :], other=0.0)


@triton.jit
def load_box(desc, batch, head, first, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    """[ROWS, BLOCK_D]: rows [first, first + ROWS) of one head through a tensor descriptor [batch, heads, len, dim]."""
    return desc.load([batch, head, first, 0]).reshape(ROWS, BLOCK_D)


@triton.jit
def unpack_ends(ends):
    """(lo, length) of packed row intervals (tile_masks.TileMasks.ends)."""
    return ends & 0xFFFF, ends >> 16


@triton.jit
def inside(ends, BLOCK_N: tl.constexpr):
    """bool [BLOCK_M, BLOCK_N]: column j of the tile lies in row i's interval."""
    lo, length = unpack_ends(ends)
    cols = tl.arange(0, BLOCK_N)
    # One comparison: columns before lo wrap around to huge unsigned numbers.
    return (cols[None, :] - lo[:, None]).to(tl.uint32, bitcast=True) < length[:, None].to(tl.uint32, bitcast=True)


@triton.jit
def hide_gaps(
    qk, ends_ptr, gap_ends_ptr, begin, end, UNROLL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Scores with -inf in every gap of the tile's rows; in place, so that many gaps need no more registers than one.

    UNROLL: end - begin when it is the same for all tiles, else 0. Only loops without loops in them are pipelined.
    """
    if UNROLL > 0:
        for g in tl.static_range(UNROLL):
            qk = hide_gap(qk, ends_ptr, gap_ends_ptr + begin + g, BLOCK_M, BLOCK_N)
    else:
        for g in range(begin, end):
            qk = hide_gap(qk, ends_ptr, gap_ends_ptr + g, BLOCK_M, BLOCK_N)
    return qk


@triton.jit
def hide_gap(qk, ends_ptr, vector_ptr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Scores with -inf in one gap of each row."""
    ends = tl.load(ends_ptr + tl.load(vector_ptr).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))
    return tl.where(inside(ends, BLOCK_N), float("-inf"), qk)


@triton.jit
def fold_scores(acc, l_i, m_i, qk, v, qk_scale, MASKED: tl.constexpr, PRECISION: tl.constexpr):
    """One step of the online softmax: fold a tile of raw scores and its values into (acc, l_i, m_i).

    m_i is a maximum of raw scores; exponentials are base 2, qk_scale includes log2(e).
    """
    m_new = tl.maximum(m_i, tl.max(qk, 1))
    if MASKED:
        # A row with no key yet keeps m_i = -inf; a finite pivot avoids -inf - (-inf) = nan.
        pivot = tl.where(m_new == float("-inf"), 0.0, m_new)
    else:
        pivot = m_new
    if v.dtype == tl.float32:
        # The difference first: its rounding error does not grow with the scores.
        p = tl.exp2((qk - pivot[:, None]) * qk_scale)
    else:
        # One fused multiply-add; half-precision weights do not show the difference.
        p = tl.exp2(qk * qk_scale - (pivot * qk_scale)[:, None])
    alpha = tl.exp2((m_i - pivot) * qk_scale)
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = dot(p.to(v.dtype), v, acc * alpha[:, None], PRECISION)
    return acc, l_i, m_new


@triton.jit
def normalize(acc, l_i, m_i, qk_scale):
    """(o, lse) of folded tiles: acc / l_i, and the natural logarithm of the sum; 0 and -inf for rows without keys."""
    empty = l_i == 0.0
    l_i = tl.where(empty, 1.0, l_i)
    lse = tl.where(empty, float("-inf"), (m_i * qk_scale + tl.log2(l_i)) * 0.6931471805599453)
    return acc / l_i[:, None], lse
