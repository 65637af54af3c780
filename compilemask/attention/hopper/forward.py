"""The forward kernel: a persistent program on each multiprocessor, one warp that copies and warpgroups that compute.

A program walks its list of items, each one q tile of one head. Per item the producer brings the queries, then K and V of
one kv tile after the other; each consumer warpgroup owns 64 rows. While a consumer's weights of one tile multiply V, the
scores of the next tile are computed and turned into weights (FlashAttention-3, Shah et al., 2024).
"""

from __future__ import annotations

from compilemask.attention.hopper.channel import open_channel
from compilemask.attention.hopper.gather import copy_packed_tile, gather_rows, scatter_rows
from compilemask.attention.hopper.gluon_api import (
    block_boundary,
    fence_async_shared,
    gl,
    gluon,
    load_box,
    store_box,
    store_wait,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from compilemask.attention.hopper.softmax import (
    FLOOR,
    MINUS_INFINITY,
    ZERO,
    hide,
    lane_layout,
    lane_sums,
    load_words,
    rescale,
    silu_weights,
    softmax_weights,
    tanh,
)


@gluon.constexpr_function
def product_layout(columns):
    """Of a [64, columns] product in the registers of a warpgroup."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns, 16])


@gluon.jit
def listed_tile(items_ptr, tile_order_ptr, item):
    """The q tile of an item, among those of all masks. tile_order_ptr: where the item has its rank only, else None."""
    tile = gl.load(items_ptr + 3 * item)
    if tile_order_ptr is not None:
        tile = gl.load(tile_order_ptr + tile)
    return tile


@gluon.jit
def first_row_of(items_ptr, tile_order_ptr, item, tile, BLOCK_M: gl.constexpr):
    """The first query of an item, whose listed_tile is `tile`."""
    if tile_order_ptr is None:
        tile = gl.load(items_ptr + 3 * item + 2)
    return tile * BLOCK_M


@gluon.jit
def produce(
    q_desc, k_desc, v_desc, queries, keys, values, program_indptr_ptr, items_ptr, tile_order_ptr,
    tested_indptr_ptr, tested_start_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr, chunk_indptr_ptr, chunk_start_ptr,
    num_q_heads, GROUP: gl.constexpr, CHUNK: gl.constexpr, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, DIM: gl.constexpr,
):  # fmt: skip
    """Copy what the consumers will read, in their order: queries, then K and V of one kv tile after the other.

    CHUNK: keys of a chunk where kv tiles are packed; consumers then bring their queries themselves. 0: consecutive keys.
    """
    QUERY_BYTES: gl.constexpr = 64 * DIM * 2
    query_step = 0
    step = 0
    for item in range(
        gl.load(program_indptr_ptr + gl.program_id(0)), gl.load(program_indptr_ptr + gl.program_id(0) + 1)
    ):
        tile = listed_tile(items_ptr, tile_order_ptr, item)
        flat_head = gl.load(items_ptr + 3 * item + 1)
        batch = flat_head // num_q_heads
        head = flat_head % num_q_heads
        kv_head = head // GROUP
        if CHUNK:
            for i in range(gl.load(chunk_indptr_ptr + tile), gl.load(chunk_indptr_ptr + tile + 1)):
                step = copy_packed_tile(
                    k_desc, v_desc, keys, values, batch, kv_head, chunk_start_ptr + i * (BLOCK_N // CHUNK), step,
                    CHUNK, BLOCK_N, DIM,
                )  # fmt: skip
        else:
            first_row = first_row_of(items_ptr, tile_order_ptr, item, tile, BLOCK_M)
            for part in gl.static_range(BLOCK_M // 64):
                stage = queries.acquire(query_step, QUERY_BYTES)
                load_box(
                    q_desc, [batch, head, first_row + part * 64, 0], queries.full.index(stage),
                    queries.buffers.index(stage),
                )  # fmt: skip
                query_step += 1
            for i in range(gl.load(tested_indptr_ptr + tile), gl.load(tested_indptr_ptr + tile + 1)):
                start = gl.load(tested_start_ptr + i)
                step = copy_tile(k_desc, v_desc, keys, values, batch, kv_head, start, step, BLOCK_N, DIM)
            for r in range(gl.load(full_indptr_ptr + tile), gl.load(full_indptr_ptr + tile + 1)):
                first = gl.load(full_start_ptr + r)
                for j in range(gl.load(full_count_ptr + r)):
                    start = first + j * BLOCK_N
                    step = copy_tile(k_desc, v_desc, keys, values, batch, kv_head, start, step, BLOCK_N, DIM)


@gluon.jit
def copy_tile(
    k_desc, v_desc, keys, values, batch, kv_head, start, step, BLOCK_N: gl.constexpr, DIM: gl.constexpr
):  # fmt: skip
    """Copy K and V of the kv tile from column `start` on into the stages of `step`; what lies outside is 0."""
    stage = keys.acquire(step, BLOCK_N * DIM * 2)
    load_box(k_desc, [batch, kv_head, start, 0], keys.full.index(stage), keys.buffers.index(stage))
    stage = values.acquire(step, BLOCK_N * DIM * 2)
    load_box(v_desc, [batch, kv_head, start, 0], values.full.index(stage), values.buffers.index(stage))
    return step + 1


@gluon.jit
def begin_scores(q, keys, stage, BLOCK_N: gl.constexpr, DIM: gl.constexpr):
    """Start q k^T of the kv tile in a stage."""
    k = keys.buffers.index(stage).reshape([BLOCK_N, DIM]).permute((1, 0))
    zero = gl.zeros([64, BLOCK_N], gl.float32, product_layout(BLOCK_N))
    return warpgroup_mma(q, k, zero, use_acc=False, is_async=True)


@gluon.jit
def begin_output(o, p, values, stage, BLOCK_N: gl.constexpr, DIM: gl.constexpr):
    """Start o + p v of the kv tile in a stage. p: float32 in the layout of a product; turned into v's type here."""
    v = values.buffers.index(stage).reshape([BLOCK_N, DIM])
    weights = gl.convert_layout(p.to(v.dtype), gl.DotOperandLayout(0, product_layout(DIM), 2))
    return warpgroup_mma(weights, v, o, is_async=True)


@gluon.jit
def weigh(
    s, m, words, qk_scale, cap_scale, SILU: gl.constexpr, MASKED: gl.constexpr, BLOCK_N: gl.constexpr
):  # fmt: skip
    """(p, m, alpha) of a tile of raw scores, cells hidden by `words` where MASKED; see softmax_weights."""
    if cap_scale is not None:
        s = tanh(s * cap_scale)
    if SILU:
        p = silu_weights(s, qk_scale)
        if MASKED:
            # Weights rather than scores: what is hidden need not be held next to what it becomes.
            p = hide(p, words, ZERO, BLOCK_N)
        return p, m, m
    else:
        if MASKED:
            s = hide(s, words, MINUS_INFINITY, BLOCK_N)
        return softmax_weights(s, m, qk_scale, BLOCK_N)


@gluon.jit
def add_weights(total, p, alpha, BLOCK_N: gl.constexpr):
    """Sums of weights [64, 4] with those of one more tile."""
    factor = gl.convert_layout(alpha, gl.SliceLayout(1, lane_layout()))
    return total * factor[:, None] + lane_sums(p, BLOCK_N)


@gluon.jit
def advance(
    o, p, m, total, step, words, q, keys, values, qk_scale, cap_scale,
    SILU: gl.constexpr, MASKED: gl.constexpr, BLOCK_N: gl.constexpr, DIM: gl.constexpr,
):  # fmt: skip
    """One step of the loop: p, the weights of the tile of `step`, goes into o; the next tile's take its place.

    words: of the next tile, read where MASKED.
    """
    k_stage = keys.wait(step + 1)
    s = begin_scores(q, keys, k_stage, BLOCK_N, DIM)
    v_stage = values.wait(step)
    o = begin_output(o, p, values, v_stage, BLOCK_N, DIM)
    s, o = warpgroup_mma_wait(1, deps=(s, o))
    keys.release(k_stage)
    p, m, alpha = weigh(s, m, words, qk_scale, cap_scale, SILU, MASKED, BLOCK_N)
    if not SILU:
        total = add_weights(total, p, alpha, BLOCK_N)
    block_boundary(step)
    o, p = warpgroup_mma_wait(0, deps=(o, p))
    values.release(v_stage)
    if not SILU:
        o = rescale(o, alpha, DIM)
    return o, p, m, total, step + 1


@gluon.jit
def finish(o, m, total, head, sinks_ptr, inv_norm, SILU: gl.constexpr):
    """(o, lse [64], natural logarithm) of a whole row; rows without keys: 0 and -inf. SILU has no lse."""
    if SILU:
        if inv_norm is not None:
            o = o * inv_norm
        return o, m
    else:
        sums = gl.convert_layout(gl.sum(total, 1), m.type.layout)
        factor = gl.full([64], 1.0, gl.float32, m.type.layout)
        if sinks_ptr is not None:
            sink = gl.load(sinks_ptr + head).to(gl.float32) * 1.4426950408889634
            pivot = gl.maximum(m, sink)
            factor = gl.exp2(m - pivot)
            sums = sums * factor + gl.exp2(sink - pivot)
            m = pivot
        empty = sums == 0.0
        sums = gl.where(empty, 1.0, sums)
        lse = gl.where(empty, float("-inf"), (m + gl.log2(sums)) * 0.6931471805599453)
        o = o * gl.convert_layout(factor / sums, gl.SliceLayout(1, o.type.layout))[:, None]
        return o, lse


@gluon.jit
def consume(
    NUMBER: gl.constexpr, q_ptr, o_ptr, o_desc, lse_ptr, queries, keys, values, outputs, program_indptr_ptr, items_ptr,
    tile_order_ptr, row_index_ptr, tested_indptr_ptr, tested_mask_ptr, full_total_ptr, interval_ptr, words_ptr, q_len, num_q_heads, qk_scale,
    cap_scale, sinks_ptr, inv_norm, SILU: gl.constexpr, SHARE_OUTPUT: gl.constexpr,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, DIM: gl.constexpr,
):  # fmt: skip
    """Compute 64 rows, those of warpgroup NUMBER, of each item of this program. row_index_ptr: None where rows follow."""
    ROWS: gl.constexpr = gl.SliceLayout(1, product_layout(BLOCK_N))
    query_step = NUMBER
    step = 0
    for item in range(
        gl.load(program_indptr_ptr + gl.program_id(0)), gl.load(program_indptr_ptr + gl.program_id(0) + 1)
    ):
        tile = listed_tile(items_ptr, tile_order_ptr, item)
        flat_head = gl.load(items_ptr + 3 * item + 1)
        head = flat_head % num_q_heads
        tested = gl.load(tested_indptr_ptr + tile)
        tested_end = gl.load(tested_indptr_ptr + tile + 1)
        num_full = gl.load(full_total_ptr + tile)
        words = load_words(interval_ptr, words_ptr, gl.load(tested_mask_ptr + tested), NUMBER * 64, BLOCK_M, BLOCK_N)

        if row_index_ptr is None:
            first_row = first_row_of(items_ptr, tile_order_ptr, item, tile, BLOCK_M) + NUMBER * 64
            q_stage = queries.wait(query_step)
            q = queries.buffers.index(q_stage).reshape([64, DIM])
        else:
            q = queries.buffers.index(NUMBER).reshape([64, DIM])
            slots_ptr = row_index_ptr + (tile * BLOCK_M + NUMBER * 64)
            gather_rows(q_ptr, slots_ptr, flat_head, q_len, q, DIM)
        k_stage = keys.wait(step)
        s = warpgroup_mma_wait(0, deps=(begin_scores(q, keys, k_stage, BLOCK_N, DIM),))
        keys.release(k_stage)
        m = gl.full([64], FLOOR, gl.float32, ROWS)
        p, m, _ = weigh(s, m, words, qk_scale, cap_scale, SILU, True, BLOCK_N)
        total = lane_sums(p, BLOCK_N)
        o = gl.zeros([64, DIM], gl.float32, product_layout(DIM))
        for i in range(tested + 1, tested_end):
            words = load_words(interval_ptr, words_ptr, gl.load(tested_mask_ptr + i), NUMBER * 64, BLOCK_M, BLOCK_N)
            o, p, m, total, step = advance(
                o, p, m, total, step, words, q, keys, values, qk_scale, cap_scale, SILU, True, BLOCK_N, DIM
            )
        for _ in range(num_full):
            o, p, m, total, step = advance(
                o, p, m, total, step, words, q, keys, values, qk_scale, cap_scale, SILU, False, BLOCK_N, DIM
            )
        if row_index_ptr is None and not SHARE_OUTPUT:
            queries.release(q_stage)
        v_stage = values.wait(step)
        o = warpgroup_mma_wait(0, deps=(begin_output(o, p, values, v_stage, BLOCK_N, DIM),))
        values.release(v_stage)
        step += 1
        query_step += BLOCK_M // 64

        o, lse = finish(o, m, total, head, sinks_ptr, inv_norm, SILU)
        if not SILU:
            if row_index_ptr is None:
                rows = first_row + gl.arange(0, 64, ROWS)
                exists = rows < q_len
            else:
                rows = gl.load(slots_ptr + gl.arange(0, 64, ROWS))
                exists = rows >= 0
            gl.store(lse_ptr + flat_head.to(gl.int64) * q_len + rows, lse, mask=exists)
        staged = outputs.index(NUMBER)
        if row_index_ptr is None:
            store_wait(0)
            staged.reshape([64, DIM]).store(o.to(staged.dtype))
            fence_async_shared()
            store_box(o_desc, [flat_head // num_q_heads, head, first_row, 0], staged)
            if SHARE_OUTPUT:
                store_wait(0)
                queries.release(q_stage)
        else:
            scatter_rows(o, o_ptr, slots_ptr, flat_head, q_len, staged.reshape([64, DIM]), DIM)
    if row_index_ptr is None:
        store_wait(0)


@gluon.jit(do_not_specialize=["q_len", "num_q_heads"])
def hopper_forward_kernel(
    q_ptr, o_ptr, q_desc, k_desc, v_desc, o_desc, lse_ptr, sinks_ptr, program_indptr_ptr, items_ptr,
    tested_indptr_ptr, tested_start_ptr, tested_mask_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr, full_total_ptr,
    row_index_ptr, chunk_indptr_ptr, chunk_start_ptr,
    intervals_ptr, words_ptr, tile_order_ptr, q_len, num_q_heads, qk_scale, cap_scale, inv_norm,
    SILU: gl.constexpr, GROUP: gl.constexpr, CHUNK: gl.constexpr, DIM: gl.constexpr, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr,
    NUM_STAGES: gl.constexpr, CONSUMER_REGISTERS: gl.constexpr, PRODUCER_REGISTERS: gl.constexpr,
    SHARE_OUTPUT: gl.constexpr, KEYS_LAYOUT: gl.constexpr,
):  # fmt: skip
    """o and lse of all items. Grid: the programs of the schedule, one axis. num_warps is 4, of the first consumer.

    *_desc: descriptors of [batch, heads, len, DIM] in boxes of 64 rows (q, o) or BLOCK_N rows (k, v). lse [batch, q heads,
    q_len], contiguous, natural logarithm, not written when SILU. Work arrays: work_list.ForwardWork and schedule.Schedule,
    or device_work.DeviceWork, which has a tile_order.
    qk_scale > 0, cap_scale, sinks_ptr, inv_norm: as in the Triton kernel.
    Packed, CHUNK > 0: work_list.PackedWork; q and o contiguous, through q_ptr, o_ptr; boxes of CHUNK rows and 64 columns.
    """
    CONSUMERS: gl.constexpr = BLOCK_M // 64
    DTYPE: gl.constexpr = k_desc.dtype
    ROWS_LAYOUT: gl.constexpr = o_desc.layout
    queries = open_channel(DTYPE, [1, 1, 64, DIM], ROWS_LAYOUT, CONSUMERS, 1)
    keys = open_channel(DTYPE, [1, 1, BLOCK_N, DIM], KEYS_LAYOUT, NUM_STAGES, CONSUMERS)
    values = open_channel(DTYPE, [1, 1, BLOCK_N, DIM], KEYS_LAYOUT, NUM_STAGES, CONSUMERS)
    if SHARE_OUTPUT:
        outputs = queries.buffers
    else:
        outputs = gl.allocate_shared_memory(DTYPE, [CONSUMERS, 1, 1, 64, DIM], ROWS_LAYOUT)
    fence_async_shared()
    if CONSUMERS == 2:
        gl.warp_specialize([
                (consume, (
                    0, q_ptr, o_ptr, o_desc, lse_ptr, queries, keys, values, outputs, program_indptr_ptr, items_ptr,
                    tile_order_ptr, row_index_ptr, tested_indptr_ptr, tested_mask_ptr, full_total_ptr, intervals_ptr, words_ptr, q_len,
                    num_q_heads, qk_scale, cap_scale, sinks_ptr, inv_norm, SILU, SHARE_OUTPUT, BLOCK_M, BLOCK_N, DIM,
                )),
                (consume, (
                    1, q_ptr, o_ptr, o_desc, lse_ptr, queries, keys, values, outputs, program_indptr_ptr, items_ptr,
                    tile_order_ptr, row_index_ptr, tested_indptr_ptr, tested_mask_ptr, full_total_ptr, intervals_ptr, words_ptr, q_len,
                    num_q_heads, qk_scale, cap_scale, sinks_ptr, inv_norm, SILU, SHARE_OUTPUT, BLOCK_M, BLOCK_N, DIM,
                )),
                (produce, (
                    q_desc, k_desc, v_desc, queries, keys, values, program_indptr_ptr, items_ptr,
                    tile_order_ptr, tested_indptr_ptr, tested_start_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr,
                    chunk_indptr_ptr, chunk_start_ptr, num_q_heads, GROUP, CHUNK, BLOCK_M, BLOCK_N, DIM,
                )),
        ], [4, 1], [CONSUMER_REGISTERS, PRODUCER_REGISTERS])  # fmt: skip
    else:
        gl.static_assert(CONSUMERS == 3)
        gl.warp_specialize([
                (consume, (
                    0, q_ptr, o_ptr, o_desc, lse_ptr, queries, keys, values, outputs, program_indptr_ptr, items_ptr,
                    tile_order_ptr, row_index_ptr, tested_indptr_ptr, tested_mask_ptr, full_total_ptr, intervals_ptr, words_ptr, q_len,
                    num_q_heads, qk_scale, cap_scale, sinks_ptr, inv_norm, SILU, SHARE_OUTPUT, BLOCK_M, BLOCK_N, DIM,
                )),
                (consume, (
                    1, q_ptr, o_ptr, o_desc, lse_ptr, queries, keys, values, outputs, program_indptr_ptr, items_ptr,
                    tile_order_ptr, row_index_ptr, tested_indptr_ptr, tested_mask_ptr, full_total_ptr, intervals_ptr, words_ptr, q_len,
                    num_q_heads, qk_scale, cap_scale, sinks_ptr, inv_norm, SILU, SHARE_OUTPUT, BLOCK_M, BLOCK_N, DIM,
                )),
                (consume, (
                    2, q_ptr, o_ptr, o_desc, lse_ptr, queries, keys, values, outputs, program_indptr_ptr, items_ptr,
                    tile_order_ptr, row_index_ptr, tested_indptr_ptr, tested_mask_ptr, full_total_ptr, intervals_ptr, words_ptr, q_len,
                    num_q_heads, qk_scale, cap_scale, sinks_ptr, inv_norm, SILU, SHARE_OUTPUT, BLOCK_M, BLOCK_N, DIM,
                )),
                (produce, (
                    q_desc, k_desc, v_desc, queries, keys, values, program_indptr_ptr, items_ptr,
                    tile_order_ptr, tested_indptr_ptr, tested_start_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr,
                    chunk_indptr_ptr, chunk_start_ptr, num_q_heads, GROUP, CHUNK, BLOCK_M, BLOCK_N, DIM,
                )),
        ], [4, 4, 1], [CONSUMER_REGISTERS, CONSUMER_REGISTERS, PRODUCER_REGISTERS])  # fmt: skip
