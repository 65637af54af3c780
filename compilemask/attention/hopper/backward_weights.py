"""From scores to weights and their slopes, and what a partial tile hides: the elementwise part of the backward."""

from compilemask.attention.hopper.gluon_api import gl, gluon
from compilemask.attention.triton.primitives import silu, tanh, unpack_ends

# How the cells of a tile are tested.
ALL = gl.constexpr(0)
ONE_INTERVAL = gl.constexpr(1)
GAPS = gl.constexpr(2)


@gluon.jit
def inside(ends, BLOCK_N: gl.constexpr, layout: gl.constexpr):
    """bool [rows, BLOCK_N]: column j of the tile lies in row i's packed interval (tile_masks.TileMasks.ends)."""
    lo, length = unpack_ends(ends)
    cols = gl.arange(0, BLOCK_N, gl.SliceLayout(0, layout))
    # One comparison: columns before lo wrap around to huge unsigned numbers.
    return (cols[None, :] - lo[:, None]).to(gl.uint32, bitcast=True) < length[:, None].to(gl.uint32, bitcast=True)


@gluon.jit
def load_ends(ends_ptr, vector, first_row, ROWS: gl.constexpr, BLOCK_M: gl.constexpr, layout: gl.constexpr):
    """int32 [ROWS]: the packed intervals of rows [first_row, first_row + ROWS) of a tile, from this row of `ends`."""
    rows = first_row + gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    return gl.load(ends_ptr + vector.to(gl.int64) * BLOCK_M + rows)


@gluon.jit
def hide_gaps(
    exponent, ends_ptr, gap_ends_ptr, begin, end, first_row, ROWS: gl.constexpr, BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr, layout: gl.constexpr,
):  # fmt: skip
    """exponent with -inf in the gaps [begin, end) of the rows."""
    for g in range(begin, end):
        ends = load_ends(ends_ptr, gl.load(gap_ends_ptr + g), first_row, ROWS, BLOCK_M, layout)
        exponent = gl.where(inside(ends, BLOCK_N, layout), float("-inf"), exponent)
    return exponent


@gluon.jit
def exponent_of(s, lse, sm_scale, softcap, HAS_SOFTCAP: gl.constexpr, SILU: gl.constexpr):
    """(exponent, slope of the cap or 1.0) of raw products s [rows, BLOCK_N].

    exponent: log2 of the weight for softmax, lse being base 2 and broadcast to s; the score itself for SILU.
    """
    cap_slope = 1.0
    scale = sm_scale
    if HAS_SOFTCAP:
        s = tanh(s * (sm_scale / softcap), False)
        cap_slope = 1.0 - s * s
        scale = softcap
    if SILU:
        return s * scale, cap_slope
    else:
        return s * (scale * 1.4426950408889634) - lse, cap_slope


@gluon.jit
def weigh(exponent, cap_slope, MASKED: gl.constexpr, HAS_SOFTCAP: gl.constexpr, SILU: gl.constexpr):
    """(weight, slope): d loss / d score is slope * (dp - delta) for softmax, slope * dp for SILU; both 0 in hidden cells."""
    if SILU:
        weight, slope = silu(exponent, MASKED)
    else:
        weight = gl.exp2(exponent)
        slope = weight
    if HAS_SOFTCAP:
        slope = slope * cap_slope
    return weight, slope
