"""A tile's part of dq, which two warpgroups make together and add to a sum in global memory."""

from __future__ import annotations

from compilemask.attention.hopper.backward_parts import HALVES, ROWS, SUM_COLS
from compilemask.attention.hopper.gluon_api import add_box, fence_async_shared, gl, gluon, store_wait, warpgroup_mma


@gluon.jit
def multiply_for_queries(facts, buffers, exchange, HALF: gl.constexpr, step):
    """A [ROWS, SUM_COLS] part of dq from the grads of both halves, not awaited: of all queries and a half of dim, or reverse."""
    slot = (step & 1) * HALVES
    dq = gl.zeros([ROWS, SUM_COLS], gl.float32, facts.parts)
    for half in gl.static_range(HALVES):
        grads = exchange.grads.index(slot + half)
        keys = buffers.row_qk.index(half).reshape([ROWS, facts.dim])
        if facts.block_n == ROWS:
            keys = keys.slice(HALF * SUM_COLS, SUM_COLS, dim=1)
        else:
            grads = grads.slice(HALF * ROWS, ROWS, dim=1)
        dq = warpgroup_mma(grads.permute((1, 0)), keys, dq, use_acc=half > 0, is_async=True)
    return dq


@gluon.jit
def add_to_queries(facts, exchange, dq_desc, HALF: gl.constexpr, place, dq):
    """Add this warpgroup's part to dq in global memory."""
    store_wait(0)
    exchange.sums.index(HALF).reshape([ROWS, SUM_COLS]).store(dq)
    fence_async_shared()
    if facts.block_n == ROWS:
        add_box(dq_desc, [place[0], place[1], HALF * SUM_COLS], exchange.sums.index(HALF))
    else:
        add_box(dq_desc, [place[0], place[1] + HALF * ROWS, 0], exchange.sums.index(HALF))


@gluon.constexpr_function
def _additions(blocks):
    """Assembly of one thread's additions of [64, 64] values: of blocks of 8 columns, in each of them a pair in two rows."""
    values, pointers = 8, 40
    text = "{ .reg .pred p; "
    for row in range(2):
        text += f"setp.eq.u64 p, ${pointers + 2 * row}, 0; @p bra row{row}; "
        for block in range(blocks):
            at = values + 4 * block + 2 * row
            text += f"red.global.add.v2.f32 [${pointers + 2 * row} + {32 * block}], {{${at}, ${at + 1}}}; "
        text += f"row{row}: "
    return text + " ".join(f"mov.u32 ${i}, 0;" for i in range(8)) + " }"


@gluon.constexpr_function
def _clamp(blocks):
    return min(max(blocks, 0), 8)


@gluon.constexpr_function
def _addition_constraints():
    return ",".join(["=r"] * 8 + ["f"] * 32 + ["l"] * 32)


@gluon.jit
def add_registers_to_queries(facts, dq_ptr, num_cols, HALF: gl.constexpr, place, dq):
    """add_to_queries from registers, two columns an instruction. dq_ptr: contiguous, of num_cols rows of qk_dim columns a head."""
    FIRST: gl.constexpr = HALF * SUM_COLS if facts.block_n == ROWS else 0
    # Dimensions are multiples of 8.
    BLOCKS: gl.constexpr = _clamp((facts.qk_dim - FIRST) // 8)
    by_lane = gl.reshape(dq, [ROWS, SUM_COLS // 8, 4, 2])
    LANES: gl.constexpr = by_lane.type.layout
    row = place[1] + gl.arange(0, ROWS, gl.SliceLayout(1, gl.SliceLayout(1, gl.SliceLayout(3, LANES))))
    lane = gl.arange(0, 4, gl.SliceLayout(0, gl.SliceLayout(1, gl.SliceLayout(3, LANES))))
    first = FIRST + 2 * lane
    if facts.block_n != ROWS:
        row += HALF * ROWS
    at = place[0].to(gl.int64) * num_cols * facts.qk_dim + row[:, None] * facts.qk_dim + first[None, :]
    exists = (row >= 0) & (row < num_cols)
    pointer = gl.where(exists[:, None], (dq_ptr + at).to(gl.int64), 0)[:, None, :, None]
    by_lane, pointer = gl.broadcast(by_lane, pointer)
    gl.inline_asm_elementwise(
        _additions(BLOCKS), _addition_constraints(), [by_lane, pointer],
        dtype=gl.int8, is_pure=False, pack=32,
    )  # fmt: skip
