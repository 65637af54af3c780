"""Steps of the attention kernels: loads, scores and weights, and one visit of a kv tile by the online softmax.

Addresses are 64-bit. Sizes that are powers of two (BLOCK_*) pad the real ones; padded lanes are loaded as 0.
"""

from __future__ import annotations

import triton
import triton.language as tl

# How the cells of a kv tile are tested.
ALL = tl.constexpr(0)
ONE_INTERVAL = tl.constexpr(1)
GAPS = tl.constexpr(2)
# One bit for each cell; by assembly or not, see packed.hide.
BITS = tl.constexpr(3)
BITS_BY_ASSEMBLY = tl.constexpr(4)


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
def tanh(x, EXACT: tl.constexpr):
    """The hyperbolic tangent by one exponential. EXACT: to float32's last places near 0 too, else to 1e-7 absolutely."""
    if EXACT:
        size = tl.abs(x)
        e = tl.exp2(size * -2.8853900817779268)
        far = (1.0 - e) / (1.0 + e)
        # 1 - e cancels near 0: the series to x^9 there.
        square = x * x
        series = -0.33333333333 + square * (0.13333333333 + square * (-0.05396825397 + square * 0.02186948854))
        return tl.where(size < 0.25, x + x * square * series, tl.where(x < 0, -far, far))
    else:
        return 1.0 - 2.0 / (tl.exp2(x * 2.8853900817779268) + 1.0)


@triton.jit
def silu(score, MASKED: tl.constexpr):
    """(weight, its derivative) of scores: score * sigmoid(score); both 0 for hidden cells, whose score is -inf."""
    sigmoid = 1.0 / (1.0 + tl.exp2(score * -1.4426950408889634))
    weight = score * sigmoid
    slope = sigmoid + weight * (1.0 - sigmoid)
    if MASKED:
        hidden = score == float("-inf")
        weight = tl.where(hidden, 0.0, weight)
        slope = tl.where(hidden, 0.0, slope)
    return weight, slope


@triton.jit
def fold(acc, l_i, m_i, qk, v, qk_scale, SILU: tl.constexpr, MASKED: tl.constexpr, PRECISION: tl.constexpr):
    """Fold a tile of scores and its values into (acc, l_i, m_i). SILU: into acc alone; qk_scale is then without log2(e)."""
    if SILU:
        weight, _ = silu(qk * qk_scale, MASKED)
        return dot(weight.to(v.dtype), v, acc, PRECISION), l_i, m_i
    else:
        return fold_scores(acc, l_i, m_i, qk, v, qk_scale, MASKED, PRECISION)


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


@triton.jit
def add_sink(acc, l_i, m_i, sink, qk_scale):
    """(acc, l_i, m_i) with one more term exp(sink) in the sum, of value 0; m_i is then base 2, its scale 1."""
    m_i = m_i * qk_scale
    sink = sink.to(tl.float32) * 1.4426950408889634
    m_new = tl.maximum(m_i, sink)
    # Neither a key nor a sink: a finite pivot as in fold_scores.
    pivot = tl.where(m_new == float("-inf"), 0.0, m_new)
    alpha = tl.exp2(m_i - pivot)
    return acc * alpha[:, None], l_i * alpha + tl.exp2(sink - pivot), m_new


@triton.jit
def finish(acc, l_i, m_i, head, sinks_ptr, inv_norm, qk_scale, SILU: tl.constexpr):
    """(o, lse) of folded tiles, see normalize. sinks_ptr: a logit for each query head or None; inv_norm: of SILU, or None.

    SILU has no lse; what stands for it is not to be stored.
    """
    if SILU:
        if inv_norm is not None:
            acc *= inv_norm
        return acc, l_i
    elif sinks_ptr is not None:
        acc, l_i, m_i = add_sink(acc, l_i, m_i, tl.load(sinks_ptr + head), qk_scale)
        return normalize(acc, l_i, m_i, 1.0)
    else:
        return normalize(acc, l_i, m_i, qk_scale)
