"""Steps of the online softmax on a warpgroup's 64 rows: which cells count, weights, and a rescale that is mostly skipped.

A score tile [64, BLOCK_N] lies in registers as wgmma leaves it: of row r a lane holds the columns 8a + 2*(lane % 4) and
their right neighbours, for every a. So [64, BLOCK_N // 8, 4, 2] is the same tile without a move: eighths a, four lanes, pairs.
Exponentials are base 2 and scores are scaled by log2(e) in the same instruction.
"""

from __future__ import annotations

from compilemask.attention.hopper.gluon_api import gl, gluon

# The reference of a row moves when its maximum has grown by more than this power of two: float32 has the room.
LAZY_GROWTH = gl.constexpr(8.0)
# Of rows that have met no key: finite, so that nothing becomes inf - inf, and below every score.
FLOOR = gl.constexpr(-3.0e38)
# Of hidden cells: the score, whose weight is then 0, or the weight.
MINUS_INFINITY = gl.constexpr("0fFF800000")
ZERO = gl.constexpr("0f00000000")


@gluon.constexpr_function
def lane_layout():
    """[64, 4]: what each lane of a warpgroup holds of a row, one element for the columns 8a + 2*lane + {0, 1}."""
    return gl.DistributedLinearLayout(
        reg_bases=[[8, 0]],
        lane_bases=[[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]],
        warp_bases=[[16, 0], [32, 0]],
        block_bases=[],
        shape=[64, 4],
    )


@gluon.jit
def interval_words(first, length, BLOCK_N: gl.constexpr):
    """The visible columns [first, first + length) of each row as lane words: bit a + PER_LANE * p is column 8a + 2*lane + p.

    first, length: int32 [64] in the row layout of lane_layout. Returns int32 [64, 4].
    """
    PER_LANE: gl.constexpr = BLOCK_N // 8
    LANES: gl.constexpr = lane_layout()
    residue = 2 * gl.arange(0, 4, gl.SliceLayout(0, LANES))[None, :]
    # Column 8a + c is at least `first` from a = ceil((first - c) / 8) on.
    begin = first[:, None] - residue + 7
    end = begin + length[:, None]
    even = (1 << (end >> 3)) - (1 << (begin >> 3))
    odd = (1 << ((end - 1) >> 3)) - (1 << ((begin - 1) >> 3))
    return even | (odd << PER_LANE)


@gluon.jit
def load_words(interval_ptr, words_ptr, mask, row0, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr):
    """Lane words of rows [row0, row0 + 64) of a tile whose cells `mask` tells, as work_list.ForwardWork says.

    interval_ptr, words_ptr: its intervals and words; offsets are 32-bit.
    """
    WORDS: gl.constexpr = BLOCK_N // 32
    LANES: gl.constexpr = lane_layout()
    rows = row0 + gl.arange(0, 64, gl.SliceLayout(1, LANES))
    if mask >= 0:
        ends = gl.load(interval_ptr + (mask * BLOCK_M + rows))
        words = interval_words(ends & 0xFFFF, ends >> 16, BLOCK_N)
    else:
        lane = gl.arange(0, 4, gl.SliceLayout(0, LANES))
        at = rows[:, None] * WORDS + (lane * WORDS // 4)[None, :]
        words = gl.load(words_ptr + (~mask * (BLOCK_M * WORDS) + at))
        if WORDS < 4:
            words = words >> (lane % (4 // WORDS) * (8 * WORDS))[None, :]
    return words


@gluon.jit
def hide(s, words, HIDDEN: gl.constexpr, BLOCK_N: gl.constexpr):
    """Scores or weights with HIDDEN (float32, as PTX writes it) where the cell's bit is 0: one test and one select a cell.

    In assembly: LLVM would vectorise the tests and pack and unpack them, which takes twice the instructions.
    """
    PER_LANE: gl.constexpr = BLOCK_N // 8
    by_lane = gl.reshape(s, [64, PER_LANE, 4, 2])
    LANES: gl.constexpr = by_lane.type.layout
    eighth = gl.arange(0, PER_LANE, gl.SliceLayout(0, gl.SliceLayout(2, gl.SliceLayout(3, LANES))))
    pair = gl.arange(0, 2, gl.SliceLayout(0, gl.SliceLayout(1, gl.SliceLayout(2, LANES))))
    bit = 1 << (eighth[None, :, None, None] + PER_LANE * pair[None, None, None, :])
    word = gl.convert_layout(words, gl.SliceLayout(1, gl.SliceLayout(3, LANES)))[:, None, :, None]
    by_lane, word = gl.broadcast(by_lane, word)
    by_lane, bit = gl.broadcast(by_lane, bit)
    shown = gl.inline_asm_elementwise(
        "{.reg .pred p; .reg .b32 t; and.b32 t, $2, $3; setp.ne.b32 p, t, 0; selp.f32 $0, $1, " + HIDDEN + ", p;}",
        "=f,f,r,r", [by_lane, word, bit], dtype=gl.float32, is_pure=True, pack=1,
    )  # fmt: skip
    return gl.convert_layout(gl.reshape(shown, [64, BLOCK_N]), s.type.layout)


@gluon.jit
def row_max(s, BLOCK_N: gl.constexpr):
    """[64]: maximum of each row, by a tree: a chain of comparisons would be as long as the row."""
    t = gl.max(gl.reshape(s, [64, 4, BLOCK_N // 4]), 1)
    t = gl.max(gl.reshape(t, [64, BLOCK_N // 32, 8]), 1)
    return gl.convert_layout(gl.max(t, 1), gl.SliceLayout(1, s.type.layout))


@gluon.jit
def lane_sums(p, BLOCK_N: gl.constexpr):
    """[64, 4]: sums of what each lane holds of a row; the lanes are added once, at the end."""
    t = gl.sum(gl.reshape(p, [64, 4, BLOCK_N // 32, 4, 2]), 1)
    t = gl.sum(t, 1)
    return gl.convert_layout(gl.sum(t, 2), lane_layout())


@gluon.jit
def reciprocal(x):
    """1 / x to one unit in the last place, in one instruction; 0 for infinity. x is normal or infinite."""
    return gl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=gl.float32, is_pure=True, pack=1
    )  # fmt: skip


@gluon.jit
def tanh(x):
    """The hyperbolic tangent by one exponential, to 1e-7 absolutely."""
    return 1.0 - 2.0 * reciprocal(gl.exp2(x * 2.8853900817779268) + 1.0)


@gluon.jit
def softmax_weights(s, m, qk_scale, BLOCK_N: gl.constexpr):
    """(p, m, alpha): weights of scores against the reference m, the new reference, and what older sums must be scaled by.

    The reference is base 2, of scaled scores, and moves only when a row's maximum exceeds it by LAZY_GROWTH.
    """
    highest = row_max(s, BLOCK_N) * qk_scale
    m_new = gl.where(highest - m > LAZY_GROWTH, highest, m)
    alpha = gl.exp2(m - m_new)
    p = gl.exp2(s * qk_scale - m_new[:, None])
    return p, m_new, alpha


@gluon.jit
def silu_weights(s, qk_scale):
    """Weights score * sigmoid(score)."""
    score = s * qk_scale
    return score * reciprocal(1.0 + gl.exp2(score * -1.4426950408889634))


@gluon.constexpr_function
def _rescale_assembly(n):
    products = "".join(f"mul.f32 ${i}, ${i}, ${2 * n + i}; " for i in range(n))
    return (
        f"{{ .reg .pred p, q; setp.neu.f32 p, ${2 * n}, 0f3F800000; setp.neu.f32 q, ${2 * n + 2}, 0f3F800000; "
        f"or.pred p, p, q; vote.sync.any.pred p, p, 0xffffffff; @!p bra.uni skip; {products} skip: }}"
    )


@gluon.constexpr_function
def _rescale_constraints(n):
    return ",".join(["=f"] * n + [str(i) for i in range(n)] + ["f"] * n)


@gluon.jit
def rescale(o, alpha, DIM: gl.constexpr):
    """o * alpha, skipped by a warp whose rows all have alpha = 1. o: [64, DIM], DIM // 2 elements a lane, of two rows."""
    factor = gl.convert_layout(alpha, gl.SliceLayout(1, o.type.layout))
    factor, o = gl.broadcast(gl.expand_dims(factor, 1), o)
    return gl.inline_asm_elementwise(
        _rescale_assembly(DIM // 2), _rescale_constraints(DIM // 2), [o, factor],
        dtype=gl.float32, is_pure=False, pack=DIM // 2,
    )  # fmt: skip
