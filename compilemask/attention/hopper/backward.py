"""The backward kernel for Hopper: a warp that copies and two warpgroups that compute, over the tiles of one plan.

A program owns 128 rows, 64 for each warpgroup, and visits tiles of columns. Rows are queries and columns keys: dq. Or
rows are keys and columns queries (KEY_ROWS): dk and dv, and with FUSED also dq, to which every program adds its part in
float32, in any order; without FUSED no two programs write one element, and equal inputs give equal bits. Either side has
two tensors: "qk" is q or k, which make the scores, "vo" is v or do, which make the weights' gradients.
"""

from compilemask.attention.hopper.backward_copies import produce
from compilemask.attention.hopper.backward_order import locate
from compilemask.attention.hopper.backward_parts import (
    BITS,
    GAPS,
    HALVES,
    ROWS,
    Facts,
    Place,
    load_lists,
    open_buffers,
    open_exchange,
)
from compilemask.attention.hopper.backward_queries import add_to_queries, multiply_for_queries
from compilemask.attention.hopper.backward_weights import (
    load_cells,
    load_gap_words,
    only_rows,
    weigh,
    weigh_halves,
    words_of_cells,
)
from compilemask.attention.hopper.gluon_api import (
    block_boundary,
    fence_async_shared,
    gl,
    gluon,
    mbarrier,
    store_wait,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from compilemask.attention.triton.forward import lists_of


@gluon.jit
def settle(facts, buffers, grad_qk, grad_vo, stage):
    """Await the products that the tile before, in `stage`, left under way, while this tile's scores are."""
    if facts.key_rows:
        grad_qk, grad_vo = warpgroup_mma_wait(1, deps=(grad_qk, grad_vo))
    else:
        grad_qk = warpgroup_mma_wait(1, deps=(grad_qk,))
    buffers.columns.release(stage)
    return grad_qk, grad_vo


@gluon.jit
def visit_tile(
    facts, buffers, exchange, place, grad_qk, grad_vo, before, row_lse, row_delta, kept, dq_desc, sm_scale, softcap, head, start, words, step,
    HALF: gl.constexpr, MASKED: gl.constexpr, AFTER: gl.constexpr, BEFORE: gl.constexpr,
):  # fmt: skip
    """Add what one tile of columns gives to (grad_qk, grad_vo), and to dq where FUSED; returns them, its stage, and the next step.

    words: which of its cells count, as lane words (softmax.interval_words), where MASKED; start: its first column (FUSED).
    BEFORE: its last products stay under way, for the tile after it to settle (AFTER, `before`: the stage of the one before).
    LATE: the product for dp begins when the weights are there: registers hold either it or what weights need on the way.
    """
    LATE: gl.constexpr = facts.has_softcap or facts.silu or (facts.fused and MASKED)
    operand: gl.constexpr = gl.DotOperandLayout(0, facts.sums, 2)
    per_col: gl.constexpr = gl.SliceLayout(0, facts.scores)
    row_qk = buffers.row_qk.index(HALF).reshape([ROWS, facts.dim])
    row_vo = buffers.row_vo.index(HALF).reshape([ROWS, facts.dim])
    zeros = gl.zeros([ROWS, facts.block_n], gl.float32, facts.scores)
    stage = buffers.columns.wait(step)
    col_qk = buffers.columns.buffers.index(stage).reshape([facts.block_n, facts.dim])
    col_vo = buffers.col_vo.index(stage).reshape([facts.block_n, facts.dim])
    s = warpgroup_mma(row_qk, col_qk.permute((1, 0)), zeros, use_acc=False, is_async=True)
    if AFTER:
        grad_qk, grad_vo = settle(facts, buffers, grad_qk, grad_vo, before)
    if LATE:
        s = warpgroup_mma_wait(0, deps=(s,))
    else:
        dp = warpgroup_mma(row_vo, col_vo.permute((1, 0)), zeros, use_acc=False, is_async=True)
        s, dp = warpgroup_mma_wait(1, deps=(s, dp))
    if facts.silu:
        lse = 0.0
    elif not facts.key_rows:
        lse = row_lse[:, None]
    else:
        lse = buffers.lse.index(stage).load(per_col)[None, :]
    if facts.has_softcap or facts.silu:
        weight, slope = weigh_halves(
            s, lse, words, sm_scale, softcap, facts.has_softcap, facts.silu, MASKED, facts.block_n
        )
    else:
        weight, slope = weigh(s, lse, words, sm_scale, softcap, facts.has_softcap, facts.silu, MASKED, facts.block_n)
    block_boundary(step)
    if LATE:
        dp = warpgroup_mma(row_vo, col_vo.permute((1, 0)), zeros, use_acc=False, is_async=True)
    if facts.key_rows:
        weight = gl.convert_layout(weight.to(facts.dtype), operand)
        block_boundary(step)
    dp = warpgroup_mma_wait(0, deps=(dp,))
    if facts.key_rows:
        grad_vo = warpgroup_mma(weight, col_vo, grad_vo, is_async=True)
    if facts.silu:
        ds = slope * dp
    elif facts.key_rows:
        ds = slope * (dp - buffers.delta.index(stage).load(per_col)[None, :])
    else:
        ds = slope * (dp - row_delta[:, None])
    ds = ds.to(facts.dtype)
    if facts.fused:
        # A row that does not exist has a score of 0, whose weight may be infinite, and would reach dq as 0 * inf.
        ds = only_rows(ds, kept)
        exchange.grads.index((step & 1) * HALVES + HALF).store(ds)
        fence_async_shared()
        grad_qk = warpgroup_mma(gl.convert_layout(ds, operand), col_qk, grad_qk, is_async=True)
        mbarrier.arrive(exchange.written.index(0), count=1)
        mbarrier.wait(exchange.written.index(0), step & 1)
        dq = multiply_for_queries(facts, buffers, exchange, HALF, step)
        grad_vo, grad_qk, dq = warpgroup_mma_wait(HALVES, deps=(grad_vo, grad_qk, dq))
        buffers.columns.release(stage)
        dq = warpgroup_mma_wait(0, deps=(dq,))
        add_to_queries(facts, exchange, dq_desc, HALF, place.heads_before + head, start, dq)
    else:
        grad_qk = warpgroup_mma(gl.convert_layout(ds, operand), col_qk, grad_qk, is_async=True)
        if not BEFORE:
            if facts.key_rows:
                grad_vo, grad_qk = warpgroup_mma_wait(0, deps=(grad_vo, grad_qk))
            else:
                grad_qk = warpgroup_mma_wait(0, deps=(grad_qk,))
            buffers.columns.release(stage)
    return grad_qk, grad_vo, stage, step + 1


@gluon.jit
def visit_full(
    facts, buffers, exchange, lists, place, grad_qk, grad_vo, row_lse, row_delta, kept, dq_desc, sm_scale, softcap, head, step,
    HALF: gl.constexpr,
):  # fmt: skip
    """visit_tile for every tile of the full ranges; where pairs, two by two, the first's end under the second's beginning."""
    for r in range(lists.full_begin, lists.full_end):
        start = gl.load(lists.full_start + r)
        count = gl.load(lists.full_count + r)
        singles = count
        if facts.pairs:
            singles = count & 1
            for _ in range(count >> 1):
                grad_qk, grad_vo, stage, step = visit_tile(
                    facts, buffers, exchange, place, grad_qk, grad_vo, 0, row_lse, row_delta, kept, dq_desc, sm_scale, softcap,
                    head, start, 0, step, HALF, False, False, True,
                )  # fmt: skip
                grad_qk, grad_vo, stage, step = visit_tile(
                    facts, buffers, exchange, place, grad_qk, grad_vo, stage, row_lse, row_delta, kept, dq_desc, sm_scale, softcap,
                    head, start, 0, step, HALF, False, True, False,
                )  # fmt: skip
        for _ in range(singles):
            grad_qk, grad_vo, stage, step = visit_tile(
                facts, buffers, exchange, place, grad_qk, grad_vo, 0, row_lse, row_delta, kept, dq_desc, sm_scale, softcap,
                head, start, 0, step, HALF, False, False, False,
            )  # fmt: skip
            start += facts.block_n
    return grad_qk, grad_vo, step


@gluon.jit
def store_rows(ptr, values, place, scale, HALF: gl.constexpr, NUM_COLS: gl.constexpr, facts):
    """Write scale * values [ROWS, dim] to what exists of a contiguous [heads, num_rows, NUM_COLS]."""
    rows = place.first_row + HALF * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, facts.sums))
    cols = gl.arange(0, facts.dim, gl.SliceLayout(0, facts.sums))
    at = (place.grad_head.to(gl.int64) * place.num_rows + rows) * NUM_COLS
    values = (values * scale).to(ptr.dtype.element_ty)
    exists = (rows < place.num_rows)[:, None]
    if facts.dim > NUM_COLS:
        exists = exists & (cols < NUM_COLS)[None, :]
    gl.store(ptr + at[:, None] + cols[None, :], values, mask=exists)


@gluon.jit
def consume(
    facts, buffers, exchange, lists, place, dq_desc, grad_qk_ptr, grad_vo_ptr, lse_ptr, delta_ptr, num_terms,
    sm_scale, softcap, inv_norm, HALF: gl.constexpr,
):  # fmt: skip
    """One of the two warpgroups that compute: gradients of its 64 rows."""
    per_row: gl.constexpr = gl.SliceLayout(1, facts.scores)
    row = HALF * ROWS + gl.arange(0, ROWS, per_row)
    exists = place.first_row + row < place.num_rows
    row_lse = 0.0
    row_delta = 0.0
    grad_vo = 0.0
    if facts.key_rows:
        grad_vo = gl.zeros([ROWS, facts.dim], gl.float32, facts.sums)
    elif not facts.silu:
        at = place.grad_head.to(gl.int64) * num_terms + place.first_row + row
        row_lse = gl.load(lse_ptr + at, mask=exists, other=float("inf"))
        row_delta = gl.load(delta_ptr + at, mask=exists, other=0.0)
    grad_qk = gl.zeros([ROWS, facts.dim], gl.float32, facts.sums)
    mbarrier.wait(buffers.rows_full.index(0), 0)
    step = 0
    kept = 0
    if facts.fused:
        kept = gl.where(exists, -1, 0).to(gl.int16)
    for head in range(place.col_head, place.col_head + place.num_visited):
        grad_qk, grad_vo, step = visit_full(
            facts, buffers, exchange, lists, place, grad_qk, grad_vo, row_lse, row_delta, kept, dq_desc, sm_scale, softcap,
            head, step, HALF,
        )  # fmt: skip
        # What the next tile's rows see is on its way while this tile is computed.
        end = gl.maximum(lists.interval_end - 1, 0)
        vector = gl.load(lists.interval_ends + gl.minimum(lists.interval_begin, end))
        cells = load_cells(lists.ends, vector, HALF * ROWS, ROWS, HALVES * ROWS, facts.block_n, facts.has_gaps == BITS)
        vector = gl.load(lists.interval_ends + gl.minimum(lists.interval_begin + 1, end))
        for t in range(lists.interval_begin, lists.interval_end):
            words = words_of_cells(cells, facts.block_n, facts.has_gaps == BITS)
            cells = load_cells(
                lists.ends, vector, HALF * ROWS, ROWS, HALVES * ROWS, facts.block_n, facts.has_gaps == BITS
            )
            vector = gl.load(lists.interval_ends + gl.minimum(t + 2, end))
            start = gl.load(lists.interval_start + t)
            grad_qk, grad_vo, _, step = visit_tile(
                facts, buffers, exchange, place, grad_qk, grad_vo, 0, row_lse, row_delta, kept, dq_desc, sm_scale, softcap,
                head, start, words, step, HALF, True, False, False,
            )  # fmt: skip
        if facts.has_gaps == GAPS:
            for g in range(lists.gap_begin, lists.gap_end):
                begin = gl.load(lists.gap_ends_indptr + g)
                end = gl.load(lists.gap_ends_indptr + g + 1)
                words = load_gap_words(
                    lists.ends, lists.gap_ends, begin, end, HALF * ROWS, ROWS, HALVES * ROWS, facts.block_n
                )
                start = gl.load(lists.gap_start + g)
                grad_qk, grad_vo, _, step = visit_tile(
                    facts, buffers, exchange, place, grad_qk, grad_vo, 0, row_lse, row_delta, kept, dq_desc, sm_scale, softcap,
                    head, start, words, step, HALF, True, False, False,
                )  # fmt: skip
    store_rows(grad_qk_ptr, grad_qk, place, sm_scale * inv_norm, HALF, facts.qk_dim, facts)
    if facts.key_rows:
        store_rows(grad_vo_ptr, grad_vo, place, inv_norm, HALF, facts.vo_dim, facts)
    store_wait(0)


@gluon.jit(
    do_not_specialize=[
        "num_rows",
        "num_heavy",
        "num_light",
        "num_tiles",
        "num_heads",
        "num_heads_all",
        "num_visited",
        "num_terms",
    ]
)
def attention_backward_kernel(
    row_qk_desc, row_vo_desc, col_qk_desc, col_vo_desc, lse_desc, delta_desc, dq_desc, grad_qk_ptr, grad_vo_ptr, lse_ptr, delta_ptr,
    tile_order_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr, interval_indptr_ptr, interval_start_ptr, interval_ends_ptr,
    gap_indptr_ptr, gap_start_ptr, gap_ends_indptr_ptr, gap_ends_ptr, ends_ptr, mask_of_head_ptr,
    num_rows, num_heavy, num_light, num_tiles, num_heads, num_heads_all, num_visited, num_terms, sm_scale, softcap, inv_norm,
    KEY_ROWS: gl.constexpr, FUSED: gl.constexpr, PAIRS: gl.constexpr, GROUP: gl.constexpr, DIM: gl.constexpr, QK_DIM: gl.constexpr, VO_DIM: gl.constexpr, BLOCK_N: gl.constexpr,
    NUM_STAGES: gl.constexpr, HAS_SOFTCAP: gl.constexpr, SILU: gl.constexpr, HAS_GAPS: gl.constexpr,
    TERM_LAYOUT: gl.constexpr, CONSUMER_REGISTERS: gl.constexpr, PRODUCER_REGISTERS: gl.constexpr,
):  # fmt: skip
    """Gradients of one tile of 128 rows. Grid: num_tiles * num_heads_all programs, one axis.

    Descriptors load [1, 1, ROWS or BLOCK_N, DIM] of [batch, heads, len, QK_DIM or VO_DIM]; what lies beyond is 0. A program visits num_visited column heads
    of one group. num_heads: of the gradients grad_qk and grad_vo, a batch item, num_heads_all: of all items; they are
    contiguous. lse, delta [4, batch, q heads, num_terms]: triton.row_terms', lse base 2. dq_desc: of the float32 sum
    [batch, q heads, q_len, QK_DIM] that FUSED adds to. Plan arrays, mask_of_head_ptr: as in the kernels of impl triton, of a
    plan of 128 x BLOCK_N tiles.
    """
    facts = Facts(row_qk_desc.dtype, BLOCK_N, DIM, QK_DIM, VO_DIM, KEY_ROWS, FUSED, PAIRS, HAS_SOFTCAP, SILU, HAS_GAPS)
    tile, batch, head, number = locate(
        gl.program_id(0), tile_order_ptr, num_heavy, num_light, num_tiles, num_heads, num_heads_all, mask_of_head_ptr, num_visited,
        1 if KEY_ROWS else GROUP,
    )  # fmt: skip
    lists = load_lists(
        lists_of(tile, number, num_tiles, mask_of_head_ptr), full_indptr_ptr, full_start_ptr, full_count_ptr,
        interval_indptr_ptr, interval_start_ptr, interval_ends_ptr, gap_indptr_ptr, gap_start_ptr, gap_ends_indptr_ptr, gap_ends_ptr, ends_ptr,
    )  # fmt: skip
    if KEY_ROWS:
        row_head = head * num_visited // GROUP
        col_head = head * num_visited
        heads_before = batch * num_heads * num_visited
    else:
        row_head = head
        col_head = head // GROUP
        heads_before = batch * num_heads // GROUP
    place = Place(
        tile * (HALVES * ROWS), num_rows, batch, row_head, col_head, num_visited, batch * num_heads + head, heads_before,
        num_heads_all * num_visited,
    )  # fmt: skip
    buffers = open_buffers(facts, row_qk_desc, col_qk_desc, TERM_LAYOUT, NUM_STAGES)
    if FUSED:
        exchange = open_exchange(facts, dq_desc)
    else:
        exchange = buffers
    fence_async_shared()
    gl.warp_specialize(
        [
            (consume, (
                facts, buffers, exchange, lists, place, dq_desc, grad_qk_ptr, grad_vo_ptr, lse_ptr, delta_ptr, num_terms,
                sm_scale, softcap, inv_norm, 0,
            )),
            (consume, (
                facts, buffers, exchange, lists, place, dq_desc, grad_qk_ptr, grad_vo_ptr, lse_ptr, delta_ptr, num_terms,
                sm_scale, softcap, inv_norm, 1,
            )),
            (produce, (
                facts, buffers, lists, place, row_qk_desc, row_vo_desc, col_qk_desc, col_vo_desc, lse_desc, delta_desc,
                num_terms,
            )),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )  # fmt: skip
