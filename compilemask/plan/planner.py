"""Descriptor and tiling -> TilePlan, in O((runs + tiles) * log)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from compilemask.arguments import as_index, show
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.geometry.ragged import IntArray, offsets, spread
from compilemask.plan.coverage import Coverage, cover
from compilemask.plan.layout import lay_tiles
from compilemask.plan.tile_plan import Int32Array, TilePlan

MAX_INT32 = 2**31 - 1


def plan_tiles(descriptor: MaskDescriptor, block_m: int, block_n: int) -> TilePlan:
    """The tiles that a kernel visits, block_m queries by block_n keys: as few as possible, and then mostly full ones.

    Raises ValueError for tiles without cells and for plans that do not fit int32, TypeError for what is no descriptor.
    """
    check_descriptor("plan_tiles", descriptor)
    block_m, block_n = check_block("block_m", block_m), check_block("block_n", block_n)
    shapes = descriptor.trapezoids()
    _check_kernel_arithmetic(shapes, descriptor.q_len + block_m)
    coverage = cover(descriptor, block_m)
    layout = lay_tiles(coverage, block_n)
    start, stop = layout.partial_tiles(block_n)
    num_q_tiles = -(-descriptor.q_len // block_m)
    full_tile, full_column = np.divmod(layout.full_start, coverage.stride)
    partial_tile, partial_column = np.divmod(start, coverage.stride)
    fulls = np.bincount(full_tile, minlength=num_q_tiles)
    partials = np.bincount(partial_tile, minlength=num_q_tiles)
    full_indptr = offsets(fulls)
    work = partials + np.diff(offsets(layout.full_count)[full_indptr])
    run_indptr, run = _partial_runs(coverage, start, stop)
    return TilePlan(
        descriptor.q_len,
        descriptor.kv_len,
        block_m,
        block_n,
        *to_int32(
            tile_order=np.argsort(-work, kind="stable"),
            full_indptr=full_indptr,
            full_start=full_column,
            full_count=layout.full_count,
            partial_indptr=offsets(partials),
            partial_start=partial_column,
            partial_stop=partial_column + (stop - start),
            partial_run_indptr=run_indptr,
            partial_run=run,
            run_q_start=shapes.q_start,
            run_q_stop=shapes.q_stop,
            run_lo_slope=shapes.lo_slope,
            run_lo_offset=shapes.lo_offset,
            run_hi_slope=shapes.hi_slope,
            run_hi_offset=shapes.hi_offset,
        ),
    )


def check_descriptor(function: str, descriptor: object) -> None:
    """Raises TypeError, in the name of the function that was called, for what is no MaskDescriptor."""
    if not isinstance(descriptor, MaskDescriptor):
        hint = "; give one of its masks" if isinstance(descriptor, MaskBatch) else ""
        raise TypeError(f"{function} takes a MaskDescriptor, got {show(descriptor)}{hint}")


def check_block(name: str, block: int) -> int:
    """The block size as an int; ValueError for tiles without cells and beyond 2**16 rows or columns."""
    wanted = "an integer from 1 to 65536"
    number = as_index(block, name, wanted)
    if not 1 <= number <= 2**16:
        raise ValueError(f"{name} must be {wanted}, got {show(number)}")
    return number


def _partial_runs(coverage: Coverage, start: IntArray, stop: IntArray) -> tuple[IntArray, IntArray]:
    """CSR of the shapes that have a cell in each partial tile, ascending."""
    first = np.searchsorted(stop, coverage.span_start, side="right")
    last = np.searchsorted(start, coverage.span_stop, side="left")
    span, tile = spread(first, np.maximum(last - first, 0))
    shapes = max(len(coverage.shapes), 1)
    # a shape that jumps from row to row has several spans in one tile
    tile, shape = np.divmod(np.unique(tile * shapes + coverage.span_shape[span]), shapes)
    return offsets(np.bincount(tile, minlength=len(start))), shape


def _check_kernel_arithmetic(shapes: Trapezoids, rows: int) -> None:
    """Kernels compute slope*q + offset in int32, for all rows of a tile."""
    for slope, offset in ((shapes.lo_slope, shapes.lo_offset), (shapes.hi_slope, shapes.hi_offset)):
        farthest = int(np.max(np.abs(slope) * rows + np.abs(offset), initial=0))
        if farthest > MAX_INT32:
            raise ValueError(
                f"interval ends reach {farthest} in the arithmetic of the kernels, beyond int32 ({MAX_INT32}); "
                f"plan a shorter mask, such as slice_queries of this one"
            )


def to_int32(**arrays: npt.NDArray[np.integer]) -> list[Int32Array]:
    """The arrays as C-contiguous int32; raises ValueError, with its name, for one that does not fit."""
    for name, array in arrays.items():
        if int(array.max(initial=0)) > MAX_INT32:
            raise ValueError(
                f"{name} of the plan reaches {int(array.max())}, beyond int32; use larger tiles or a shorter mask"
            )
    return [np.ascontiguousarray(array, np.int32) for array in arrays.values()]
