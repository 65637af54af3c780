"""The forward kernel over packed tiles: q tiles of any rows, kv tiles gathered from short chunks of consecutive keys."""

from __future__ import annotations

import triton
import triton.language as tl

from compilemask.attention.triton.forward import locate
from compilemask.attention.triton.primitives import dot, finish, fold, load_chosen_rows, tanh


@triton.jit
def hide(qk, words_ptr, ASSEMBLY: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Scores with -inf where the mask's bit is 0. words_ptr: int32 [BLOCK_M, BLOCK_N // 32], packed_tensors.bits_by_lane.

    ASSEMBLY: one AND, one test and one select for each score, which LLVM would otherwise vectorise into twice as many
    instructions that pack and unpack the tests.
    """
    WORDS: tl.constexpr = BLOCK_N // 32
    PER_LANE: tl.constexpr = BLOCK_N // 8
    cols = tl.arange(0, BLOCK_N)
    place = cols % 8 * PER_LANE
    row_ptr = words_ptr + tl.arange(0, BLOCK_M) * WORDS
    word = tl.load(row_ptr)[:, None]
    for w in tl.static_range(1, WORDS):
        word = tl.where((place // 32 == w)[None, :], tl.load(row_ptr + w)[:, None], word)
    word, bit = tl.broadcast(word >> (place % 32)[None, :], (1 << (cols // 8))[None, :])
    if ASSEMBLY:
        return tl.inline_asm_elementwise(
            "{.reg .pred p; .reg .b32 t; and.b32 t, $2, $3; setp.ne.b32 p, t, 0; selp.f32 $0, $1, 0fFF800000, p;}",
            "=f,f,r,r", [qk, word, bit], dtype=tl.float32, is_pure=True, pack=1,
        )  # fmt: skip
    else:
        return tl.where((word & bit) != 0, qk, float("-inf"))


@triton.jit
def visit_packed_tile(
    acc, l_i, m_i, q, k_ptr, v_ptr, k_col_stride, v_col_stride, kv_len, seen_ptr, chunk_ptr, words_ptr, qk_scale, cap_scale,
    SILU: tl.constexpr, K_ROW_STRIDE: tl.constexpr, V_ROW_STRIDE: tl.constexpr, MASKED: tl.constexpr, UNSEEN_KEYS: tl.constexpr, ASSEMBLY: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CHUNK: tl.constexpr,
    DIM: tl.constexpr, BLOCK_D: tl.constexpr, V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
):  # fmt: skip
    """Fold one kv tile into (acc, l_i, m_i). chunk_ptr: its chunk starts; words_ptr: its mask, read when MASKED."""
    cols = tl.arange(0, BLOCK_N)
    keys = tl.load(chunk_ptr + cols // CHUNK) + cols % CHUNK
    read = tl.full([BLOCK_N], True, tl.int1)
    if MASKED:
        # A chunk may hang over the end; the last key is read instead, and the mask hides it.
        keys = tl.minimum(keys, kv_len - 1)
    k = load_chosen_rows(k_ptr, keys, read, K_ROW_STRIDE, k_col_stride, DIM, BLOCK_D)
    qk = dot(q, k.T, None, PRECISION)
    if cap_scale is not None:
        qk = tanh(qk * cap_scale, v_ptr.dtype.element_ty == tl.float32)
    if MASKED:
        qk = hide(qk, words_ptr, ASSEMBLY, BLOCK_M, BLOCK_N)
        if UNSEEN_KEYS:
            # A key that no row sees may hold NaN, and 0 * NaN = NaN: its values are not read.
            read = tl.load(seen_ptr + keys) != 0
    v = load_chosen_rows(v_ptr, keys, read, V_ROW_STRIDE, v_col_stride, V_DIM, BLOCK_DV)
    return fold(acc, l_i, m_i, qk, v, qk_scale, SILU, MASKED, PRECISION)


@triton.jit(do_not_specialize=["q_len", "kv_len", "num_heavy", "num_q_tiles", "num_heads_all"])
def packed_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, sinks_ptr, q_stride, k_stride, v_stride, o_stride,
    row_index_ptr, tile_order_ptr, kv_indptr_ptr, full_stop_ptr, chunk_start_ptr, mask_id_ptr, masks_ptr, seen_ptr,
    q_len, kv_len, num_heavy, num_q_tiles, num_q_heads, num_heads_all, qk_scale, cap_scale, inv_norm,
    SILU: tl.constexpr, GROUP: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr, V_DIM: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CHUNK: tl.constexpr,
    K_ROW_STRIDE: tl.constexpr, V_ROW_STRIDE: tl.constexpr,
    UNSEEN_KEYS: tl.constexpr, ASSEMBLY: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """o and lse of one q tile of one head. Grid: num_q_tiles * batch * num_q_heads programs, one axis.

    Tensors, scales, sinks_ptr and inv_norm as in attention_forward_kernel. Plan arrays: packed_tensors.PackedTensors. seen_ptr: one byte a key, read when
    UNSEEN_KEYS.
    """
    tile, batch, head, _ = locate(
        tl.program_id(0), tile_order_ptr, num_heavy, num_q_tiles, num_q_heads, num_heads_all, None, 1, GROUP
    )
    kv_head = head // GROUP
    batch64, head64, kv_head64 = batch.to(tl.int64), head.to(tl.int64), kv_head.to(tl.int64)
    q_ptr += batch64 * q_stride[0] + head64 * q_stride[1]
    k_ptr += batch64 * k_stride[0] + kv_head64 * k_stride[1]
    v_ptr += batch64 * v_stride[0] + kv_head64 * v_stride[1]

    slots = row_index_ptr + tile.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    rows = tl.load(slots)
    q = load_chosen_rows(q_ptr, rows, rows >= 0, q_stride[2], q_stride[3], DIM, BLOCK_D)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DV], tl.float32)

    full_stop = tl.load(full_stop_ptr + tile)
    for i in range(tl.load(kv_indptr_ptr + tile), full_stop):
        chunk_ptr = chunk_start_ptr + tl.cast(i, tl.int64) * (BLOCK_N // CHUNK)
        acc, l_i, m_i = visit_packed_tile(
            acc, l_i, m_i, q, k_ptr, v_ptr, k_stride[3], v_stride[3], kv_len, seen_ptr, chunk_ptr, masks_ptr, qk_scale, cap_scale,
            SILU, K_ROW_STRIDE, V_ROW_STRIDE, False, UNSEEN_KEYS, ASSEMBLY, PRECISION, BLOCK_M, BLOCK_N, CHUNK, DIM, BLOCK_D, V_DIM, BLOCK_DV,
        )  # fmt: skip
    for i in range(full_stop, tl.load(kv_indptr_ptr + tile + 1)):
        chunk_ptr = chunk_start_ptr + tl.cast(i, tl.int64) * (BLOCK_N // CHUNK)
        words_ptr = masks_ptr + tl.load(mask_id_ptr + i).to(tl.int64) * (BLOCK_M * (BLOCK_N // 32))
        acc, l_i, m_i = visit_packed_tile(
            acc, l_i, m_i, q, k_ptr, v_ptr, k_stride[3], v_stride[3], kv_len, seen_ptr, chunk_ptr, words_ptr, qk_scale, cap_scale,
            SILU, K_ROW_STRIDE, V_ROW_STRIDE, True, UNSEEN_KEYS, ASSEMBLY, PRECISION, BLOCK_M, BLOCK_N, CHUNK, DIM, BLOCK_D, V_DIM, BLOCK_DV,
        )  # fmt: skip

    acc, lse = finish(acc, l_i, m_i, head, sinks_ptr, inv_norm, qk_scale, SILU)
    o_ptr += batch64 * o_stride[0] + head64 * o_stride[1]
    lse_ptr += (batch64 * num_q_heads + head64) * q_len
    # Read again: a row index kept over the loops costs a register.
    rows = tl.load(slots)
    exists = rows >= 0
    if not SILU:
        tl.store(lse_ptr + rows, lse, mask=exists)
    cols = tl.arange(0, BLOCK_DV)
    o_at = o_ptr + rows.to(tl.int64)[:, None] * o_stride[2] + cols[None, :]
    tl.store(o_at, acc.to(o_ptr.dtype.element_ty), mask=exists[:, None] & (cols < V_DIM)[None, :])
