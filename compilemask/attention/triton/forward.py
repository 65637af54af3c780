"""The forward kernel: one program per q tile and query head, over the kv tiles its plan lists."""

from __future__ import annotations

import triton
import triton.language as tl

from compilemask.attention.triton.primitives import (
    ALL,
    GAPS,
    ONE_INTERVAL,
    dot,
    finish,
    fold,
    hide_gaps,
    inside,
    load_box,
    load_chosen_rows,
    load_rows,
    tanh,
)


@triton.jit
def locate(
    pid, tile_order_ptr, num_heavy, num_q_tiles, num_q_heads, num_heads_all, mask_of_head_ptr, heads_each,
    GROUP: tl.constexpr,
):  # fmt: skip
    """(q tile, batch, q head, number of its mask) of a program.

    mask_of_head_ptr: the number of each head's mask, of all items, or None where all have mask 0; of these heads there are
    heads_each for one that is counted here. Each mask has an order of its own.
    The num_heavy outstanding q tiles of all heads come first, so that none of them ends the launch alone; the rest goes
    key head by key head, heavy tiles first, the query heads that share keys side by side: their K and V stay in L2.
    """
    num_first = num_heavy * num_heads_all
    first_rank = 0
    count = num_heavy
    if pid >= num_first:
        pid -= num_first
        first_rank = num_heavy
        count = num_q_tiles - num_heavy
    per_kv_head = count * GROUP
    kv_head = pid // per_kv_head
    inner = pid % per_kv_head
    if mask_of_head_ptr is None:
        number = 0
        tile = tl.load(tile_order_ptr + first_rank + inner // GROUP)
        head = kv_head * GROUP + inner % GROUP
    else:
        head = kv_head * GROUP + inner % GROUP
        number = tl.load(mask_of_head_ptr + head * heads_each)
        tile = tl.load(tile_order_ptr + number * num_q_tiles + first_rank + inner // GROUP)
    return tile, head // num_q_heads, head % num_q_heads, number


@triton.jit
def lists_of(tile, number, num_tiles, mask_of_head_ptr):
    """Where the lists of a tile of the mask of this number begin in the indptr arrays, which hold all masks one by one."""
    if mask_of_head_ptr is None:
        return tile
    else:
        return number * num_tiles + tile


@triton.jit
def seen_by(seen_ptr, number, length, mask_of_head_ptr):
    """The bytes that say which of `length` rows or columns the mask of this number sees."""
    if mask_of_head_ptr is None:
        return seen_ptr
    else:
        return seen_ptr + number.to(tl.int64) * length


@triton.jit
def visit_tile(
    acc, l_i, m_i, q, k_desc, v_desc, k_ptr, v_ptr, k_stride, v_stride, batch, kv_head, start, kv_len, seen_ptr,
    ends_ptr, gap_ends_ptr, ends_begin, ends_end, qk_scale, cap_scale, SILU: tl.constexpr,
    TEST: tl.constexpr, UNROLL: tl.constexpr, TMA: tl.constexpr, UNSEEN_KEYS: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
):  # fmt: skip
    """Fold the kv tile that begins at column `start` into (acc, l_i, m_i); TEST says which of its cells count.

    ends_begin: ONE_INTERVAL: the tile's row of `ends`. ends_begin, ends_end: GAPS: its range of gap_ends, UNROLL long unless that is 0.
    """
    if TMA:
        k = load_box(k_desc, batch, kv_head, start, BLOCK_N, BLOCK_D)
    else:
        k = load_rows(k_ptr, start, kv_len, k_stride[2], k_stride[3], BLOCK_N, DIM, BLOCK_D)
    qk = dot(q, k.T, None, PRECISION)
    if cap_scale is not None:
        qk = tanh(qk * cap_scale, v_ptr.dtype.element_ty == tl.float32)
    if TEST == ONE_INTERVAL:
        ends = tl.load(ends_ptr + ends_begin.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))
        qk = tl.where(inside(ends, BLOCK_N), qk, float("-inf"))
    elif TEST == GAPS:
        qk = hide_gaps(qk, ends_ptr, gap_ends_ptr, ends_begin, ends_end, UNROLL, BLOCK_M, BLOCK_N)
    if TEST != ALL and UNSEEN_KEYS:
        # A key that no row sees may hold NaN, and 0 * NaN = NaN: its values are not read.
        rows = start + tl.arange(0, BLOCK_N)
        seen = tl.load(seen_ptr + rows, mask=rows < kv_len, other=0) != 0
        v = load_chosen_rows(v_ptr, rows, seen, v_stride[2], v_stride[3], V_DIM, BLOCK_DV)
    elif TMA:
        v = load_box(v_desc, batch, kv_head, start, BLOCK_N, BLOCK_DV)
    else:
        v = load_rows(v_ptr, start, kv_len, v_stride[2], v_stride[3], BLOCK_N, V_DIM, BLOCK_DV)
    return fold(acc, l_i, m_i, qk, v, qk_scale, SILU, TEST != ALL, PRECISION)


@triton.jit(do_not_specialize=["q_len", "kv_len", "num_heavy", "num_q_tiles", "num_heads_all"])
def attention_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, sinks_ptr, q_desc, k_desc, v_desc, q_stride, k_stride, v_stride, o_stride,
    tile_order_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr,
    interval_indptr_ptr, interval_start_ptr, interval_ends_ptr,
    gap_indptr_ptr, gap_start_ptr, gap_ends_indptr_ptr, gap_ends_ptr, ends_ptr, seen_ptr, mask_of_head_ptr,
    q_len, kv_len, num_heavy, num_q_tiles, num_q_heads, num_heads_all, qk_scale, cap_scale, inv_norm,
    SILU: tl.constexpr, GROUP: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr, V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, TMA: tl.constexpr, HAS_GAPS: tl.constexpr,
    UNROLL_GAPS: tl.constexpr, UNSEEN_KEYS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """o and lse of one q tile of one head. Grid: num_q_tiles * batch * num_q_heads programs, one axis.

    Pointers and strides of tensors [batch, heads, len, dim]; *_desc: tensor descriptors of the same when TMA, else None.
    lse [batch, q heads, q_len] is contiguous, natural logarithm, not written when SILU.
    qk_scale > 0: of raw scores, times log2(e) for softmax. cap_scale: None, or of raw scores inside tanh; qk_scale is then
    of its result. sinks_ptr, inv_norm: see primitives.finish.
    Plan arrays: plan.TilePlan and tile_masks.TileMasks, of
    several masks one after the other where there is mask_of_head_ptr [batch, q heads]. seen_ptr: one byte a key of each mask, read when UNSEEN_KEYS.
    """
    tile, batch, head, number = locate(
        tl.program_id(0), tile_order_ptr, num_heavy, num_q_tiles, num_q_heads, num_heads_all, mask_of_head_ptr, 1, GROUP
    )
    lists = lists_of(tile, number, num_q_tiles, mask_of_head_ptr)
    if UNSEEN_KEYS:
        seen_ptr = seen_by(seen_ptr, number, kv_len, mask_of_head_ptr)
    kv_head = head // GROUP
    batch64, head64, kv_head64 = batch.to(tl.int64), head.to(tl.int64), kv_head.to(tl.int64)
    q_ptr += batch64 * q_stride[0] + head64 * q_stride[1]
    k_ptr += batch64 * k_stride[0] + kv_head64 * k_stride[1]
    v_ptr += batch64 * v_stride[0] + kv_head64 * v_stride[1]
    o_ptr += batch64 * o_stride[0] + head64 * o_stride[1]
    lse_ptr += (batch64 * num_q_heads + head64) * q_len

    if TMA:
        q = load_box(q_desc, batch, head, tile * BLOCK_M, BLOCK_M, BLOCK_D)
    else:
        q = load_rows(q_ptr, tile * BLOCK_M, q_len, q_stride[2], q_stride[3], BLOCK_M, DIM, BLOCK_D)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DV], tl.float32)

    for r in range(tl.load(full_indptr_ptr + lists), tl.load(full_indptr_ptr + lists + 1)):
        first = tl.load(full_start_ptr + r)
        for start in range(first, first + tl.load(full_count_ptr + r) * BLOCK_N, BLOCK_N):
            acc, l_i, m_i = visit_tile(
                acc, l_i, m_i, q, k_desc, v_desc, k_ptr, v_ptr, k_stride, v_stride, batch, kv_head, start, kv_len,
                seen_ptr, ends_ptr, gap_ends_ptr, 0, 0, qk_scale, cap_scale, SILU,
                ALL, 0, TMA, UNSEEN_KEYS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
            )  # fmt: skip
    for p in range(tl.load(interval_indptr_ptr + lists), tl.load(interval_indptr_ptr + lists + 1)):
        acc, l_i, m_i = visit_tile(
            acc, l_i, m_i, q, k_desc, v_desc, k_ptr, v_ptr, k_stride, v_stride, batch, kv_head,
            tl.load(interval_start_ptr + p), kv_len, seen_ptr, ends_ptr, gap_ends_ptr,
            tl.load(interval_ends_ptr + p), 0, qk_scale, cap_scale, SILU,
            ONE_INTERVAL, 0, TMA, UNSEEN_KEYS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
        )  # fmt: skip
    if HAS_GAPS:
        for g in range(tl.load(gap_indptr_ptr + lists), tl.load(gap_indptr_ptr + lists + 1)):
            acc, l_i, m_i = visit_tile(
                acc, l_i, m_i, q, k_desc, v_desc, k_ptr, v_ptr, k_stride, v_stride, batch, kv_head,
                tl.load(gap_start_ptr + g), kv_len, seen_ptr, ends_ptr, gap_ends_ptr,
                tl.load(gap_ends_indptr_ptr + g), tl.load(gap_ends_indptr_ptr + g + 1), qk_scale, cap_scale, SILU,
                GAPS, UNROLL_GAPS, TMA, UNSEEN_KEYS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
            )  # fmt: skip

    acc, lse = finish(acc, l_i, m_i, head, sinks_ptr, inv_norm, qk_scale, SILU)
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    exists = rows < q_len
    if not SILU:
        tl.store(lse_ptr + rows, lse, mask=exists)
    cols = tl.arange(0, BLOCK_DV)
    o_at = o_ptr + rows.to(tl.int64)[:, None] * o_stride[2] + cols[None, :]
    tl.store(o_at, acc.to(o_ptr.dtype.element_ty), mask=exists[:, None] & (cols < V_DIM)[None, :])
