"""Tiles of rows that do not follow each other: queries by a row map, kv tiles from short chunks of keys."""

from __future__ import annotations

from compilemask.attention.hopper.gluon_api import fence_async_shared, gl, gluon, load_box, reinterpret


@gluon.constexpr_function
def row_layout(dim):
    """[64, dim]: 16 bytes a lane, whole rows side by side."""
    return gl.BlockedLayout([1, 8], [256 // dim, dim // 8], [4, 1], [1, 0])


@gluon.jit
def _places(row_index_ptr, flat_head, q_len, DIM: gl.constexpr):
    """(rows [64], offsets [64, DIM] of their elements in a contiguous tensor [heads, q_len, DIM])."""
    LAYOUT: gl.constexpr = row_layout(DIM)
    rows = gl.load(row_index_ptr + gl.arange(0, 64, gl.SliceLayout(1, LAYOUT)))
    columns = gl.arange(0, DIM, gl.SliceLayout(0, LAYOUT))
    first = flat_head.to(gl.int64) * q_len * DIM
    return rows, first + (rows.to(gl.int64) * DIM)[:, None] + columns[None, :]


@gluon.jit
def gather_rows(q_ptr, row_index_ptr, flat_head, q_len, buffer, DIM: gl.constexpr):
    """Bring 64 queries of a head into shared memory [64, DIM]; row -1 is 0. row_index_ptr: of the first of them."""
    rows, at = _places(row_index_ptr, flat_head, q_len, DIM)
    buffer.store(gl.load(q_ptr + at, mask=(rows >= 0)[:, None], other=0.0))
    fence_async_shared()


@gluon.jit
def scatter_rows(o, o_ptr, row_index_ptr, flat_head, q_len, buffer, DIM: gl.constexpr):
    """Write 64 rows of a result [64, DIM] to where their queries came from, by way of shared memory [64, DIM]."""
    rows, at = _places(row_index_ptr, flat_head, q_len, DIM)
    buffer.store(o.to(buffer.dtype))
    gl.store(o_ptr + at, buffer.load(row_layout(DIM)), mask=(rows >= 0)[:, None])


@gluon.jit
def copy_packed_tile(
    k_desc, v_desc, keys, values, batch, kv_head, chunk_start_ptr, step,
    CHUNK: gl.constexpr, BLOCK_N: gl.constexpr, DIM: gl.constexpr,
):  # fmt: skip
    """Copy K and V of one kv tile, chunk by chunk, into the stages of `step`; keys past the end are 0."""
    stage = keys.acquire(step, BLOCK_N * DIM * 2)
    copy_chunks(k_desc, keys, stage, batch, kv_head, chunk_start_ptr, CHUNK, BLOCK_N, DIM)
    stage = values.acquire(step, BLOCK_N * DIM * 2)
    copy_chunks(v_desc, values, stage, batch, kv_head, chunk_start_ptr, CHUNK, BLOCK_N, DIM)
    return step + 1


@gluon.jit
def copy_chunks(
    desc, channel, stage, batch, kv_head, chunk_start_ptr,
    CHUNK: gl.constexpr, BLOCK_N: gl.constexpr, DIM: gl.constexpr,
):  # fmt: skip
    """The chunks of one tile into one stage. desc: boxes of CHUNK rows and 64 columns.

    A stage is swizzled in columns of 128 bytes: first columns 0 to 63 of all rows, then the next 64. A chunk is whole periods
    of the swizzle, 8 rows, so that its part of such a column is laid out as if it stood alone.
    """
    CHUNKS: gl.constexpr = BLOCK_N // CHUNK
    LAYOUT: gl.constexpr = desc.layout
    parts = reinterpret(channel.buffers.index(stage), desc.dtype, [DIM // 64 * CHUNKS, 1, 1, CHUNK, 64], LAYOUT)
    for c in gl.static_range(CHUNKS):
        start = gl.load(chunk_start_ptr + c)
        for column in gl.static_range(DIM // 64):
            load_box(
                desc, [batch, kv_head, start, 64 * column], channel.full.index(stage), parts.index(column * CHUNKS + c)
            )
