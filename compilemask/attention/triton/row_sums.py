"""Sums of each query row over its keys: what makes the weights of a float32 backward add up to 1, and their gradients to 0.

The backward computes the weights again from lse, whose rounding is one relative error of a whole row, and takes o . do for
the sum of weight * gradient, whose rounding is another. Half-precision products hide both. In float32 they are most of
the error: a row of one key would get a gradient of its query, which is exactly 0. So float32 adds both up first.
"""

from __future__ import annotations

import triton
import triton.language as tl

from compilemask.attention.triton.backward import tile_exponent
from compilemask.attention.triton.forward import lists_of, locate, seen_by
from compilemask.attention.triton.primitives import ALL, GAPS, ONE_INTERVAL, dot, load_chosen_rows


@triton.jit
def sum_tile(
    sums, q, do, lse, total, k_ptr, v_ptr, k_stride, v_stride, start, num_cols, seen_ptr, ends_ptr, gap_ends_ptr, ends_begin,
    ends_end, sm_scale, softcap, OF_GRADIENTS: tl.constexpr, TEST: tl.constexpr, UNROLL: tl.constexpr, UNSEEN_COLS: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
):  # fmt: skip
    """Add to the sums of the rows what the keys from `start` on give; arguments as in backward.visit_tile."""
    cols = start + tl.arange(0, BLOCK_N)
    if TEST != ALL and UNSEEN_COLS:
        # What no row sees may hold NaN, and 0 * NaN = NaN: it is not read.
        seen = tl.load(seen_ptr + cols, mask=cols < num_cols, other=0) != 0
    else:
        seen = cols < num_cols
    k = load_chosen_rows(k_ptr, cols, seen, k_stride[2], k_stride[3], DIM, BLOCK_D)
    p, _ = tile_exponent(
        dot(q, k.T, None, PRECISION), lse[:, None], sm_scale, softcap, ends_ptr, gap_ends_ptr, ends_begin, ends_end,
        True, False, TEST, UNROLL, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    p = tl.exp2(p)
    if OF_GRADIENTS:
        v = load_chosen_rows(v_ptr, cols, seen, v_stride[2], v_stride[3], V_DIM, BLOCK_DV)
        p = p / total[:, None] * dot(do, v.T, None, PRECISION)
    return sums + tl.sum(p, 1)


@triton.jit(do_not_specialize=["q_len", "kv_len", "num_heavy", "num_tiles", "num_heads", "num_heads_all", "num_terms"])
def row_sums_kernel(
    q_ptr, do_ptr, k_ptr, v_ptr, lse_ptr, total_ptr, sums_ptr, q_stride, do_stride, k_stride, v_stride,
    tile_order_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr,
    interval_indptr_ptr, interval_start_ptr, interval_ends_ptr,
    gap_indptr_ptr, gap_start_ptr, gap_ends_indptr_ptr, gap_ends_ptr, ends_ptr, row_seen_ptr, col_seen_ptr, mask_of_head_ptr,
    q_len, kv_len, num_heavy, num_tiles, num_heads, num_heads_all, num_terms, sm_scale, softcap,
    GROUP: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr, V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HAS_GAPS: tl.constexpr, UNROLL_GAPS: tl.constexpr,
    UNSEEN_ROWS: tl.constexpr, UNSEEN_COLS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Of each row the sum of exp(score - lse); where there is total_ptr, of exp(score - lse) / total * (do . v).

    lse, total, sums [batch, q heads, num_terms], float32; total is never 0. Grid and plan arrays: as for
    backward.attention_backward_kernel with the queries as rows.
    """
    tile, batch, head, number = locate(
        tl.program_id(0), tile_order_ptr, num_heavy, num_tiles, num_heads, num_heads_all, mask_of_head_ptr, 1, GROUP
    )
    lists = lists_of(tile, number, num_tiles, mask_of_head_ptr)
    if UNSEEN_ROWS:
        row_seen_ptr = seen_by(row_seen_ptr, number, q_len, mask_of_head_ptr)
    if UNSEEN_COLS:
        col_seen_ptr = seen_by(col_seen_ptr, number, kv_len, mask_of_head_ptr)
    batch64, head64, kv_head64 = batch.to(tl.int64), head.to(tl.int64), (head // GROUP).to(tl.int64)
    q_ptr += batch64 * q_stride[0] + head64 * q_stride[1]
    do_ptr += batch64 * do_stride[0] + head64 * do_stride[1]
    k_ptr += batch64 * k_stride[0] + kv_head64 * k_stride[1]
    v_ptr += batch64 * v_stride[0] + kv_head64 * v_stride[1]
    terms = (batch64 * num_heads + head64) * num_terms

    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    exists = rows < q_len
    seen = exists
    if UNSEEN_ROWS:
        seen = tl.load(row_seen_ptr + rows, mask=exists, other=0) != 0
    q = load_chosen_rows(q_ptr, rows, seen, q_stride[2], q_stride[3], DIM, BLOCK_D)
    lse = tl.load(lse_ptr + terms + rows, mask=exists, other=float("inf"))
    OF_GRADIENTS: tl.constexpr = total_ptr is not None
    if OF_GRADIENTS:
        do = load_chosen_rows(do_ptr, rows, seen, do_stride[2], do_stride[3], V_DIM, BLOCK_DV)
        total = tl.load(total_ptr + terms + rows, mask=exists, other=1.0)
    else:
        do = 0.0
        total = 0.0
    sums = tl.zeros([BLOCK_M], tl.float32)
    for r in range(tl.load(full_indptr_ptr + lists), tl.load(full_indptr_ptr + lists + 1)):
        begin = tl.load(full_start_ptr + r)
        for start in range(begin, begin + tl.load(full_count_ptr + r) * BLOCK_N, BLOCK_N):
            sums = sum_tile(
                sums, q, do, lse, total, k_ptr, v_ptr, k_stride, v_stride, start, kv_len, col_seen_ptr, ends_ptr, gap_ends_ptr,
                0, 0, sm_scale, softcap, OF_GRADIENTS, ALL, 0, UNSEEN_COLS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
            )  # fmt: skip
    for t in range(tl.load(interval_indptr_ptr + lists), tl.load(interval_indptr_ptr + lists + 1)):
        sums = sum_tile(
            sums, q, do, lse, total, k_ptr, v_ptr, k_stride, v_stride, tl.load(interval_start_ptr + t), kv_len, col_seen_ptr,
            ends_ptr, gap_ends_ptr, tl.load(interval_ends_ptr + t), 0, sm_scale, softcap, OF_GRADIENTS, ONE_INTERVAL, 0, UNSEEN_COLS,
            PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
        )  # fmt: skip
    if HAS_GAPS:
        for g in range(tl.load(gap_indptr_ptr + lists), tl.load(gap_indptr_ptr + lists + 1)):
            sums = sum_tile(
                sums, q, do, lse, total, k_ptr, v_ptr, k_stride, v_stride, tl.load(gap_start_ptr + g), kv_len, col_seen_ptr,
                ends_ptr, gap_ends_ptr, tl.load(gap_ends_indptr_ptr + g), tl.load(gap_ends_indptr_ptr + g + 1), sm_scale, softcap,
                OF_GRADIENTS, GAPS, UNROLL_GAPS, UNSEEN_COLS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
            )  # fmt: skip
    tl.store(sums_ptr + terms + rows, sums, mask=exists)
