"""The backward kernel: dq over the forward's plan, dk and dv over the plan of the transposed mask; one kernel for both.

A program owns a tile of rows and visits tiles of columns. For dq the rows are queries and the columns keys, for dk and dv
the other way round. Either side has two tensors: "qk" is q or k, which make the scores, "vo" is v or do, which make the
weights' gradients. No two programs write one element, so equal inputs give equal bits.
"""

from __future__ import annotations

import triton
import triton.language as tl

from compilemask.attention.triton.forward import lists_of, locate, seen_by
from compilemask.attention.triton.packed import hide
from compilemask.attention.triton.primitives import (
    ALL,
    BITS_BY_ASSEMBLY,
    GAPS,
    ONE_INTERVAL,
    dot,
    hide_gaps,
    inside,
    load_box,
    load_chosen_rows,
    load_rows,
    silu,
    tanh,
)


@triton.jit
def load_terms(desc, ptr, head, num_heads, num_terms, start, TMA: tl.constexpr, BLOCK_N: tl.constexpr):
    """[BLOCK_N]: lse or delta of a head's rows from `start` on. head of num_heads: counted over all batch items.

    Tensor descriptors load from multiples of 16 bytes on: there are four copies, each moved by one row more.
    """
    if TMA:
        copy = start % 4
        return desc.load([((copy * num_heads + head) * num_terms + start - copy).to(tl.int32)])
    else:
        return tl.load(ptr + head.to(tl.int64) * num_terms + start + tl.arange(0, BLOCK_N))


@triton.jit
def store_rows(ptr, values, rows, num_rows, row_stride, DIM: tl.constexpr, BLOCK_D: tl.constexpr):
    """Write values [len(rows), BLOCK_D] to the rows that exist of a matrix [num_rows, DIM] with unit column stride."""
    cols = tl.arange(0, BLOCK_D)
    at = ptr + rows.to(tl.int64)[:, None] * row_stride + cols[None, :]
    tl.store(at, values.to(ptr.dtype.element_ty), mask=(rows < num_rows)[:, None] & (cols < DIM)[None, :])


@triton.jit
def tile_exponent(
    qk, lse, sm_scale, softcap, ends_ptr, gap_ends_ptr, ends_begin, ends_end, EXACT: tl.constexpr, SILU: tl.constexpr,
    TEST: tl.constexpr, UNROLL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """(base 2 logarithms of a tile's weights, the cap's slope or 0), -inf for hidden cells; of raw products qk. SILU: scores.

    lse: natural where EXACT, for float32 inputs, else base 2. ends_begin, ends_end: as in the forward's visit_tile; where TEST is BITS or BITS_BY_ASSEMBLY the
    tile's cells are number ends_begin of the masks at gap_ends_ptr (reordered_tensors.ReorderedTensors).
    """
    scale = sm_scale
    cap_slope = 0.0
    if softcap is not None:
        qk = tanh(qk * (sm_scale / softcap), EXACT)
        cap_slope = 1.0 - qk * qk
        scale = softcap
    if SILU:
        exponent = qk * scale
    elif EXACT:
        # The difference first, its rounding error is the smaller one.
        exponent = (qk * scale - lse) * 1.4426950408889634
    else:
        exponent = qk * (scale * 1.4426950408889634) - lse
    if TEST == ONE_INTERVAL:
        ends = tl.load(ends_ptr + ends_begin.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))
        exponent = tl.where(inside(ends, BLOCK_N), exponent, float("-inf"))
    elif TEST == GAPS:
        exponent = hide_gaps(exponent, ends_ptr, gap_ends_ptr, ends_begin, ends_end, UNROLL, BLOCK_M, BLOCK_N)
    elif TEST != ALL:
        words_ptr = gap_ends_ptr + ends_begin.to(tl.int64) * (BLOCK_M * (BLOCK_N // 32))
        exponent = hide(exponent, words_ptr, TEST == BITS_BY_ASSEMBLY, BLOCK_M, BLOCK_N)
    return exponent, cap_slope


@triton.jit
def visit_tile(
    grad_qk, grad_vo, row_qk, row_vo, row_lse, row_delta, row_total, qk_desc, vo_desc, qk_ptr, vo_ptr, qk_stride, vo_stride,
    batch, head, start, num_cols, lse_desc, delta_desc, lse_ptr, delta_ptr, total_ptr, q_head, num_q_heads_all, num_terms,
    seen_ptr, ends_ptr, gap_ends_ptr, ends_begin, ends_end, sm_scale, softcap,
    SILU: tl.constexpr, TEST: tl.constexpr, UNROLL: tl.constexpr, KEY_ROWS: tl.constexpr, TMA: tl.constexpr, UNSEEN_COLS: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
):  # fmt: skip
    """Add what the columns from `start` on give to (grad_qk, grad_vo); TEST says which cells of the tile count.

    *_desc, *_ptr, *_stride: of the columns' tensors. lse, delta and total belong to queries: row_* when those are
    the rows, else read here, of q_head among all. ends_begin, ends_end: as in the forward's visit_tile.
    """
    if TEST != ALL and UNSEEN_COLS:
        cols = start + tl.arange(0, BLOCK_N)
        # What no row sees may hold NaN, and 0 * NaN = NaN: it is not read.
        seen = tl.load(seen_ptr + cols, mask=cols < num_cols, other=0) != 0
        col_qk = load_chosen_rows(qk_ptr, cols, seen, qk_stride[2], qk_stride[3], DIM, BLOCK_D)
        col_vo = load_chosen_rows(vo_ptr, cols, seen, vo_stride[2], vo_stride[3], V_DIM, BLOCK_DV)
    elif TMA:
        col_qk = load_box(qk_desc, batch, head, start, BLOCK_N, BLOCK_D)
        col_vo = load_box(vo_desc, batch, head, start, BLOCK_N, BLOCK_DV)
    else:
        col_qk = load_rows(qk_ptr, start, num_cols, qk_stride[2], qk_stride[3], BLOCK_N, DIM, BLOCK_D)
        col_vo = load_rows(vo_ptr, start, num_cols, vo_stride[2], vo_stride[3], BLOCK_N, V_DIM, BLOCK_DV)
    qk = dot(row_qk, col_qk.T, None, PRECISION)
    # lse and delta are read where they are used: a value for each column takes as many registers as half a matrix.
    if SILU:
        lse = 0.0
    elif KEY_ROWS:
        lse = load_terms(lse_desc, lse_ptr, q_head, num_q_heads_all, num_terms, start, TMA, BLOCK_N)[None, :]
    else:
        lse = row_lse[:, None]
    exponent, cap_slope = tile_exponent(
        qk, lse, sm_scale, softcap, ends_ptr, gap_ends_ptr, ends_begin, ends_end, col_qk.dtype == tl.float32, SILU, TEST,
        UNROLL, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    if SILU:
        p, silu_slope = silu(exponent, TEST != ALL)
    else:
        p = tl.exp2(exponent)
        if total_ptr is not None:
            if KEY_ROWS:
                p /= load_terms(None, total_ptr, q_head, num_q_heads_all, num_terms, start, False, BLOCK_N)[None, :]
            else:
                p /= row_total[:, None]
    if KEY_ROWS:
        grad_vo = dot(p.to(col_vo.dtype), col_vo, grad_vo, PRECISION)
    dp = dot(row_vo, col_vo.T, None, PRECISION)
    if SILU:
        ds = silu_slope * dp
    elif KEY_ROWS:
        ds = p * (
            dp - load_terms(delta_desc, delta_ptr, q_head, num_q_heads_all, num_terms, start, TMA, BLOCK_N)[None, :]
        )
    else:
        ds = p * (dp - row_delta[:, None])
    if softcap is not None:
        ds *= cap_slope
    grad_qk = dot(ds.to(col_qk.dtype), col_qk, grad_qk, PRECISION)
    return grad_qk, grad_vo


@triton.jit(
    do_not_specialize=["num_rows", "num_cols", "num_heavy", "num_tiles", "num_heads", "num_heads_all", "num_visited"]
)
def attention_backward_kernel(
    row_qk_ptr, row_vo_ptr, col_qk_ptr, col_vo_ptr, grad_qk_ptr, grad_vo_ptr, lse_ptr, delta_ptr, total_ptr,
    row_qk_desc, row_vo_desc, col_qk_desc, col_vo_desc, lse_desc, delta_desc,
    row_qk_stride, row_vo_stride, col_qk_stride, col_vo_stride, grad_qk_stride, grad_vo_stride,
    tile_order_ptr, full_indptr_ptr, full_start_ptr, full_count_ptr,
    interval_indptr_ptr, interval_start_ptr, interval_ends_ptr,
    gap_indptr_ptr, gap_start_ptr, gap_ends_indptr_ptr, gap_ends_ptr, ends_ptr, row_seen_ptr, col_seen_ptr, mask_of_head_ptr,
    num_rows, num_cols, num_heavy, num_tiles, num_heads, num_heads_all, num_visited, num_terms, sm_scale, softcap, inv_norm,
    SILU: tl.constexpr, KEY_ROWS: tl.constexpr, GROUP: tl.constexpr,
    DIM: tl.constexpr, BLOCK_D: tl.constexpr, V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, TMA: tl.constexpr, GAP_TEST: tl.constexpr, UNROLL_GAPS: tl.constexpr,
    UNSEEN_ROWS: tl.constexpr, UNSEEN_COLS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Gradients of one tile of rows. Grid: num_tiles * num_heads_all programs, one axis.

    KEY_ROWS false: rows q, do; columns k, v; grad_qk = dq; a program has one query head. true: rows k, v; columns q, do;
    grad_qk = dk, grad_vo = dv; a program sums num_visited query heads of one group, in order. num_heads: of the gradients, a
    batch item; num_heads_all: of all items. lse, delta [copies, batch, q heads, num_terms] are row_terms_kernel's, None when SILU.
    total [batch, q heads, num_terms]: None, or what the weights of a row are divided by.
    softcap, inv_norm: None where there is none. GAP_TEST: of gap tiles: GAPS, BITS, BITS_BY_ASSEMBLY, or ALL: there are none. Plan arrays and mask_of_head_ptr [batch, q heads]: as in the forward; the
    heads that one program visits have one mask. *_seen_ptr: one byte
    a row or column, read when UNSEEN_*.
    """
    GRAD_GROUP: tl.constexpr = 1 if KEY_ROWS else GROUP
    tile, batch, head, number = locate(
        tl.program_id(0), tile_order_ptr, num_heavy, num_tiles, num_heads, num_heads_all, mask_of_head_ptr, num_visited,
        GRAD_GROUP,
    )  # fmt: skip
    lists = lists_of(tile, number, num_tiles, mask_of_head_ptr)
    if UNSEEN_ROWS:
        row_seen_ptr = seen_by(row_seen_ptr, number, num_rows, mask_of_head_ptr)
    if UNSEEN_COLS:
        col_seen_ptr = seen_by(col_seen_ptr, number, num_cols, mask_of_head_ptr)
    if KEY_ROWS:
        row_head = head * num_visited // GROUP
        col_head = head * num_visited
        q_head = batch * num_heads * num_visited + col_head
        num_q_heads_all = num_heads_all * num_visited
    else:
        row_head = head
        col_head = head // GROUP
        q_head = batch * num_heads + head
        num_q_heads_all = num_heads_all
    batch64, row_head64, col_head64 = batch.to(tl.int64), row_head.to(tl.int64), col_head.to(tl.int64)
    row_qk_ptr += batch64 * row_qk_stride[0] + row_head64 * row_qk_stride[1]
    row_vo_ptr += batch64 * row_vo_stride[0] + row_head64 * row_vo_stride[1]
    col_qk_ptr += batch64 * col_qk_stride[0] + col_head64 * col_qk_stride[1]
    col_vo_ptr += batch64 * col_vo_stride[0] + col_head64 * col_vo_stride[1]

    first = tile * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    if UNSEEN_ROWS:
        seen = tl.load(row_seen_ptr + rows, mask=rows < num_rows, other=0) != 0
        row_qk = load_chosen_rows(row_qk_ptr, rows, seen, row_qk_stride[2], row_qk_stride[3], DIM, BLOCK_D)
        row_vo = load_chosen_rows(row_vo_ptr, rows, seen, row_vo_stride[2], row_vo_stride[3], V_DIM, BLOCK_DV)
    elif TMA:
        row_qk = load_box(row_qk_desc, batch, row_head, first, BLOCK_M, BLOCK_D)
        row_vo = load_box(row_vo_desc, batch, row_head, first, BLOCK_M, BLOCK_DV)
    else:
        row_qk = load_rows(row_qk_ptr, first, num_rows, row_qk_stride[2], row_qk_stride[3], BLOCK_M, DIM, BLOCK_D)
        row_vo = load_rows(row_vo_ptr, first, num_rows, row_vo_stride[2], row_vo_stride[3], BLOCK_M, V_DIM, BLOCK_DV)
    grad_qk = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    row_total = 1.0
    if KEY_ROWS:
        row_lse = 0.0
        row_delta = 0.0
        grad_vo = tl.zeros([BLOCK_M, BLOCK_DV], tl.float32)
    elif SILU:
        row_lse = 0.0
        row_delta = 0.0
        grad_vo = 0.0
    else:
        row_lse = tl.load(lse_ptr + q_head.to(tl.int64) * num_terms + rows, mask=rows < num_rows, other=float("inf"))
        row_delta = tl.load(delta_ptr + q_head.to(tl.int64) * num_terms + rows, mask=rows < num_rows, other=0.0)
        if total_ptr is not None:
            row_total = tl.load(total_ptr + q_head.to(tl.int64) * num_terms + rows, mask=rows < num_rows, other=1.0)
        grad_vo = 0.0

    for _ in range(num_visited):
        for r in range(tl.load(full_indptr_ptr + lists), tl.load(full_indptr_ptr + lists + 1)):
            begin = tl.load(full_start_ptr + r)
            for start in range(begin, begin + tl.load(full_count_ptr + r) * BLOCK_N, BLOCK_N):
                grad_qk, grad_vo = visit_tile(
                    grad_qk, grad_vo, row_qk, row_vo, row_lse, row_delta, row_total, col_qk_desc, col_vo_desc, col_qk_ptr, col_vo_ptr,
                    col_qk_stride, col_vo_stride, batch, col_head, start, num_cols, lse_desc, delta_desc,
                    lse_ptr, delta_ptr, total_ptr, q_head, num_q_heads_all, num_terms, col_seen_ptr, ends_ptr, gap_ends_ptr, 0, 0, sm_scale, softcap,
                    SILU, ALL, 0, KEY_ROWS, TMA, UNSEEN_COLS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
                )  # fmt: skip
        for t in range(tl.load(interval_indptr_ptr + lists), tl.load(interval_indptr_ptr + lists + 1)):
            grad_qk, grad_vo = visit_tile(
                grad_qk, grad_vo, row_qk, row_vo, row_lse, row_delta, row_total, col_qk_desc, col_vo_desc, col_qk_ptr, col_vo_ptr,
                col_qk_stride, col_vo_stride, batch, col_head, tl.load(interval_start_ptr + t), num_cols,
                lse_desc, delta_desc, lse_ptr, delta_ptr, total_ptr, q_head, num_q_heads_all, num_terms, col_seen_ptr, ends_ptr, gap_ends_ptr,
                tl.load(interval_ends_ptr + t), 0, sm_scale, softcap, SILU, ONE_INTERVAL, 0,
                KEY_ROWS, TMA, UNSEEN_COLS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
            )  # fmt: skip
        if GAP_TEST != ALL:
            for g in range(tl.load(gap_indptr_ptr + lists), tl.load(gap_indptr_ptr + lists + 1)):
                grad_qk, grad_vo = visit_tile(
                    grad_qk, grad_vo, row_qk, row_vo, row_lse, row_delta, row_total, col_qk_desc, col_vo_desc, col_qk_ptr, col_vo_ptr,
                    col_qk_stride, col_vo_stride, batch, col_head, tl.load(gap_start_ptr + g), num_cols,
                    lse_desc, delta_desc, lse_ptr, delta_ptr, total_ptr, q_head, num_q_heads_all, num_terms, col_seen_ptr, ends_ptr, gap_ends_ptr,
                    tl.load(gap_ends_indptr_ptr + g), tl.load(gap_ends_indptr_ptr + g + 1), sm_scale, softcap, SILU, GAP_TEST, UNROLL_GAPS,
                    KEY_ROWS, TMA, UNSEEN_COLS, PRECISION, BLOCK_M, BLOCK_N, DIM, BLOCK_D, V_DIM, BLOCK_DV,
                )  # fmt: skip
        col_head += 1
        col_qk_ptr += col_qk_stride[1]
        col_vo_ptr += col_vo_stride[1]
        q_head += 1

    head64 = head.to(tl.int64)
    grad_qk_ptr += batch64 * grad_qk_stride[0] + head64 * grad_qk_stride[1]
    grad_qk *= sm_scale
    if inv_norm is not None:
        grad_qk *= inv_norm
        if KEY_ROWS:
            grad_vo *= inv_norm
    store_rows(grad_qk_ptr, grad_qk, rows, num_rows, grad_qk_stride[2], DIM, BLOCK_D)
    if KEY_ROWS:
        grad_vo_ptr += batch64 * grad_vo_stride[0] + head64 * grad_vo_stride[1]
        store_rows(grad_vo_ptr, grad_vo, rows, num_rows, grad_vo_stride[2], V_DIM, BLOCK_DV)


@triton.jit(do_not_specialize=["q_len", "num_terms", "num_heads"])
def row_terms_kernel(
    o_ptr, do_ptr, lse_ptr, dlse_ptr, terms_lse_ptr, delta_ptr, sums_ptr, q_len, num_terms, num_heads,
    V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr, ROWS: tl.constexpr, COPIES: tl.constexpr, LSE_SCALE: tl.constexpr,
    HAS_DLSE: tl.constexpr, SUM_DIM: tl.constexpr, BLOCK_SUM_DIM: tl.constexpr,
):  # fmt: skip
    """What the backward needs of each query row, all contiguous: LSE_SCALE * lse, and delta = sum(o * do) - dlse.

    With p = exp(s - lse): d loss / d s = p * (do . v - sum(o * do)) + p * dlse = p * (do . v - delta). Rows without keys,
    and the num_terms - q_len rows after a head's last one, get lse = +inf, which makes their weights 0, and delta 0.
    sums: float32 [batch, q heads, q_len, SUM_DIM] to be set to 0 for a kernel that adds to it, or None.
    Grid: ceil(num_terms / ROWS) programs for each of num_heads heads of all batch items, one axis.
    """
    programs = tl.cdiv(num_terms, ROWS)
    head = (tl.program_id(0) // programs).to(tl.int64)
    rows = tl.program_id(0) % programs * ROWS + tl.arange(0, ROWS)
    exists = rows < q_len
    at = head * q_len + rows
    lse = tl.load(lse_ptr + at, mask=exists, other=float("-inf"))
    empty = lse == float("-inf")
    o = load_chosen_rows(o_ptr, at, ~empty, V_DIM, 1, V_DIM, BLOCK_DV).to(tl.float32)
    do = load_chosen_rows(do_ptr, at, ~empty, V_DIM, 1, V_DIM, BLOCK_DV).to(tl.float32)
    delta = tl.sum(o * do, 1)
    if sums_ptr is not None:
        zeros = tl.zeros([ROWS, BLOCK_SUM_DIM], tl.float32)
        store_rows(sums_ptr + head * q_len * SUM_DIM, zeros, rows, q_len, SUM_DIM, SUM_DIM, BLOCK_SUM_DIM)
    if HAS_DLSE:
        delta -= tl.load(dlse_ptr + at, mask=~empty, other=0.0)
    for copy in tl.static_range(COPIES):
        # load_terms says what copies are for.
        to = (num_heads.to(tl.int64) * copy + head) * num_terms + rows - copy
        written = (rows >= copy) & (rows < num_terms)
        tl.store(terms_lse_ptr + to, tl.where(empty, float("inf"), lse * LSE_SCALE), mask=written)
        tl.store(delta_ptr + to, delta, mask=written)
