"""The warp of the backward kernel that copies: rows once, then tile after tile of columns."""

from __future__ import annotations

from compilemask.attention.hopper.backward_parts import GAPS, HALVES, ROWS
from compilemask.attention.hopper.gluon_api import gl, gluon, load_box, mbarrier


@gluon.jit
def copy_columns(
    facts, buffers, place, col_qk_desc, col_vo_desc, lse_desc, delta_desc, head, num_terms, start, step
):  # fmt: skip
    """Fill the next stage with the columns from `start` on; returns the number of the step after it.

    Terms lie in four copies, each moved by one row more: descriptors load from multiples of 16 bytes on.
    """
    WITH_TERMS: gl.constexpr = facts.key_rows and not facts.silu
    BYTES: gl.constexpr = 4 * facts.block_n * facts.dim + (8 * facts.block_n if WITH_TERMS else 0)
    stage = buffers.columns.acquire(step, BYTES)
    full = buffers.columns.full.index(stage)
    load_box(col_qk_desc, [place.batch, head, start, 0], full, buffers.columns.buffers.index(stage))
    load_box(col_vo_desc, [place.batch, head, start, 0], full, buffers.col_vo.index(stage))
    if WITH_TERMS:
        copy = start & 3
        at = (copy * place.num_col_heads + place.heads_before + head) * num_terms + start - copy
        load_box(lse_desc, [at], full, buffers.lse.index(stage))
        load_box(delta_desc, [at], full, buffers.delta.index(stage))
    return step + 1


@gluon.jit
def produce(
    facts, buffers, lists, place, row_qk_desc, row_vo_desc, col_qk_desc, col_vo_desc, lse_desc, delta_desc, num_terms,
):  # fmt: skip
    """The warp that copies: the rows once, then every tile of columns, in the order in which `consume` reads them."""
    mbarrier.expect(buffers.rows_full.index(0), 4 * HALVES * ROWS * facts.dim)
    for half in gl.static_range(HALVES):
        first = place.first_row + half * ROWS
        load_box(
            row_qk_desc, [place.batch, place.row_head, first, 0], buffers.rows_full.index(0), buffers.row_qk.index(half)
        )
        load_box(
            row_vo_desc, [place.batch, place.row_head, first, 0], buffers.rows_full.index(0), buffers.row_vo.index(half)
        )
    step = 0
    for head in range(place.col_head, place.col_head + place.num_visited):
        for r in range(lists.full_begin, lists.full_end):
            start = gl.load(lists.full_start + r)
            for _ in range(gl.load(lists.full_count + r)):
                step = copy_columns(
                    facts, buffers, place, col_qk_desc, col_vo_desc, lse_desc, delta_desc, head, num_terms, start, step
                )  # fmt: skip
                start += facts.block_n
        for t in range(lists.interval_begin, lists.interval_end):
            start = gl.load(lists.interval_start + t)
            step = copy_columns(
                facts, buffers, place, col_qk_desc, col_vo_desc, lse_desc, delta_desc, head, num_terms, start, step
            )  # fmt: skip
        if facts.has_gaps == GAPS:
            for g in range(lists.gap_begin, lists.gap_end):
                start = gl.load(lists.gap_start + g)
                step = copy_columns(
                    facts, buffers, place, col_qk_desc, col_vo_desc, lse_desc, delta_desc, head, num_terms, start, step
                )  # fmt: skip
