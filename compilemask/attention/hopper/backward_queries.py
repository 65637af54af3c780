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
def add_to_queries(facts, exchange, dq_desc, HALF: gl.constexpr, head, start, dq):
    """Add this warpgroup's part to the sum of a head, which counts over the batch, from query `start` on."""
    store_wait(0)
    exchange.sums.index(HALF).reshape([ROWS, SUM_COLS]).store(dq)
    fence_async_shared()
    if facts.block_n == ROWS:
        add_box(dq_desc, [head, start, HALF * SUM_COLS], exchange.sums.index(HALF))
    else:
        add_box(dq_desc, [head, start + HALF * ROWS, 0], exchange.sums.index(HALF))
