"""From scores to weights and their slopes, and what a partial tile hides: the elementwise part of the backward."""

from __future__ import annotations

from compilemask.attention.hopper.gluon_api import block_boundary, gl, gluon
from compilemask.attention.hopper.softmax import (
    MINUS_INFINITY,
    ZERO,
    hide,
    interval_words,
    lane_layout,
    reciprocal,
    tanh,
)
from compilemask.attention.triton.primitives import unpack_ends


@gluon.jit
def load_ends(ends_ptr, vector, first_row, ROWS: gl.constexpr, BLOCK_M: gl.constexpr):
    """The packed intervals of rows [first_row, first_row + ROWS) of a tile, from a row of `ends` (tile_masks.TileMasks)."""
    rows = first_row + gl.arange(0, ROWS, gl.SliceLayout(1, lane_layout()))
    return gl.load(ends_ptr + vector.to(gl.int64) * BLOCK_M + rows)


@gluon.jit
def words_of(ends, BLOCK_N: gl.constexpr):
    """Packed intervals as lane words."""
    lo, length = unpack_ends(ends)
    return interval_words(lo, length, BLOCK_N)


@gluon.jit
def load_bits(masks_ptr, number, first_row, ROWS: gl.constexpr, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr):
    """Lane words of rows [first_row, first_row + ROWS) of a bit mask, stored in the order of packed_tensors.bits_by_lane."""
    WORDS: gl.constexpr = BLOCK_N // 32
    rows = first_row + gl.arange(0, ROWS, gl.SliceLayout(1, lane_layout()))
    lane = gl.arange(0, 4, gl.SliceLayout(0, lane_layout()))
    at = number.to(gl.int64) * (BLOCK_M * WORDS) + rows[:, None] * WORDS + (lane * WORDS // 4)[None, :]
    words = gl.load(masks_ptr + at)
    if WORDS < 4:
        words = words >> (lane % (4 // WORDS) * (8 * WORDS))[None, :]
    return words


@gluon.jit
def load_cells(
    ptr, number, first_row, ROWS: gl.constexpr, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BITS: gl.constexpr
):
    """What tells a partial tile's cells, number `number` at ptr: a bit mask where BITS, else packed intervals."""
    if BITS:
        return load_bits(ptr, number, first_row, ROWS, BLOCK_M, BLOCK_N)
    else:
        return load_ends(ptr, number, first_row, ROWS, BLOCK_M)


@gluon.jit
def words_of_cells(cells, BLOCK_N: gl.constexpr, BITS: gl.constexpr):
    """Lane words of what load_cells loads."""
    if BITS:
        return cells
    else:
        return words_of(cells, BLOCK_N)


@gluon.jit
def load_gap_words(
    ends_ptr, gap_ends_ptr, begin, end, first_row, ROWS: gl.constexpr, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr
):
    """What the rows see between their gaps, the vectors [begin, end) of gap_ends, as lane words.

    To be called with no product under way: ptxas 12.8 miscompiles loops of unknown length between asynchronous products.
    """
    words = gl.full([ROWS, 4], -1, gl.int32, lane_layout())
    for g in range(begin, end):
        ends = load_ends(ends_ptr, gl.load(gap_ends_ptr + g), first_row, ROWS, BLOCK_M)
        words &= ~words_of(ends, BLOCK_N)
    return words


@gluon.jit
def only_rows(values, kept):
    """values [rows, columns] of 16 bits with zeros in rows whose kept, int16, is 0 and not -1: two cells an instruction."""
    values, kept = gl.broadcast(values, kept[:, None])
    return gl.inline_asm_elementwise(
        "and.b32 $0, $1, $2;", "=r,r,r", [values, kept], dtype=values.dtype, is_pure=True, pack=2
    )


@gluon.jit
def halve(x):
    """The left and the right half of x [rows, columns], which lie in the same lanes: no value moves."""
    rows: gl.constexpr = x.shape[0]
    cols: gl.constexpr = x.shape[1]
    pair = gl.permute(gl.reshape(x, [rows, 2, cols // 2]), [0, 2, 1])
    return gl.split(pair)


@gluon.jit
def unite(left, right, layout: gl.constexpr):
    """What halve was given, in `layout`."""
    rows: gl.constexpr = left.shape[0]
    cols: gl.constexpr = left.shape[1]
    whole = gl.reshape(gl.permute(gl.join(left, right), [0, 2, 1]), [rows, 2 * cols])
    return gl.convert_layout(whole, layout)


@gluon.jit
def weigh_halves(
    s, lse, words, sm_scale, softcap, HAS_SOFTCAP: gl.constexpr, SILU: gl.constexpr, MASKED: gl.constexpr,
    BLOCK_N: gl.constexpr,
):  # fmt: skip
    """weigh, the left half of s before the right one: what a cell needs on the way does not fit for all cells at once."""
    if SILU:
        left_lse = 0.0
        right_lse = 0.0
    else:
        _, lse = gl.broadcast(s, lse)
        left_lse, right_lse = halve(lse)
    left, right = halve(s)
    HALF: gl.constexpr = BLOCK_N // 2
    left_weight, left_slope = weigh(left, left_lse, 0, sm_scale, softcap, HAS_SOFTCAP, SILU, False, HALF)
    block_boundary(0)
    right_weight, right_slope = weigh(right, right_lse, 0, sm_scale, softcap, HAS_SOFTCAP, SILU, False, HALF)
    LAYOUT: gl.constexpr = s.type.layout
    weight = unite(left_weight, right_weight, LAYOUT)
    slope = unite(left_slope, right_slope, LAYOUT)
    if MASKED:
        weight = hide(weight, words, ZERO, BLOCK_N)
        slope = hide(slope, words, ZERO, BLOCK_N)
    return weight, slope


@gluon.jit
def weigh(
    s, lse, words, sm_scale, softcap, HAS_SOFTCAP: gl.constexpr, SILU: gl.constexpr, MASKED: gl.constexpr,
    BLOCK_N: gl.constexpr,
):  # fmt: skip
    """(weight, slope) of raw products s [rows, BLOCK_N]; both 0 in cells that `words` hides where MASKED.

    d loss / d score is slope * (dp - delta) for softmax, slope * dp for SILU. lse: base 2, broadcast to s; not for SILU.
    """
    scale = sm_scale
    if HAS_SOFTCAP:
        s = tanh(s * (sm_scale / softcap))
        cap_slope = 1.0 - s * s
        scale = softcap
    if SILU:
        score = s * scale
        sigmoid = reciprocal(1.0 + gl.exp2(score * -1.4426950408889634))
        weight = score * sigmoid
        slope = sigmoid + weight * (1.0 - sigmoid)
        if MASKED:
            weight = hide(weight, words, ZERO, BLOCK_N)
            slope = hide(slope, words, ZERO, BLOCK_N)
    else:
        exponent = s * (scale * 1.4426950408889634) - lse
        if MASKED:
            exponent = hide(exponent, words, MINUS_INFINITY, BLOCK_N)
        weight = gl.exp2(exponent)
        slope = weight
    if HAS_SOFTCAP:
        slope = slope * cap_slope
    return weight, slope
