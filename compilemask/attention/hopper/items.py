"""What a program reads of the item that it computes next."""

from __future__ import annotations

from compilemask.attention.hopper.gluon_api import gl, gluon


@gluon.jit
def read_record(
    records_ptr, tile_order_ptr, tested_indptr_ptr, tested_start_ptr, tested_mask_ptr, full_total_ptr, item
):  # fmt: skip
    """(q tile, head, q tile of its mask, tested tiles [begin, end), full tiles, first mask, first tile) of an item.

    From one line of memory, work_list.item_records, so that no load waits for another. tile_order_ptr: None, or where records are
    (rank, head, rank) and tiles change on the device; then all the rest is looked up, as ForwardWork has it.
    """
    if tile_order_ptr is None:
        at = records_ptr + 8 * item
        return (
            gl.load(at), gl.load(at + 1), gl.load(at + 2), gl.load(at + 3), gl.load(at + 4), gl.load(at + 5), gl.load(at + 6),
            gl.load(at + 7),
        )  # fmt: skip
    else:
        tile = gl.load(tile_order_ptr + gl.load(records_ptr + 3 * item))
        begin = gl.load(tested_indptr_ptr + tile)
        return (
            tile, gl.load(records_ptr + 3 * item + 1), tile, begin, gl.load(tested_indptr_ptr + tile + 1),
            gl.load(full_total_ptr + tile), gl.load(tested_mask_ptr + begin), gl.load(tested_start_ptr + begin),
        )  # fmt: skip
