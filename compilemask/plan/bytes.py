"""How many bytes the same mask takes in other formats, for one head."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan.choice import MAX_PACKED_ROWS, TilingChoice, choose_plan
from compilemask.plan.packed_plan import PackedPlan
from compilemask.plan.packing import plan_packed
from compilemask.plan.planner import check_descriptor, plan_tiles
from compilemask.plan.tile_plan import TilePlan

BLOCK_MASK = 128  # rows and columns of FlexAttention's blocks, unless asked otherwise


@dataclass(frozen=True, slots=True)
class FormatBytes:
    """Bytes of a mask in one format, or None and the reason why the format cannot hold it. note: what was counted."""

    name: str
    bytes: int | None
    reason: str | None
    note: str


def format_bytes(
    descriptor: MaskDescriptor, block_m: int = 128, block_n: int = 64, *, choice: TilingChoice | None = None
) -> tuple[FormatBytes, ...]:
    """The mask in every format, ours last. Arithmetic for other formats, built for our own ones.

    block_m, block_n: tiles of our own plans; the PackedPlan is the best one that choose_plan finds, chosen or not.
    choice: what choose_plan gave for the mask and these tiles, where that is known already.
    Sources: torch.nn.attention.flex_attention (BlockMask), FlashMask (arXiv 2410.01359), HSTU and cuDNN (endpoints).
    """
    check_descriptor("format_bytes", descriptor)
    q_len, kv_len = descriptor.q_len, descriptor.kv_len
    return (
        FormatBytes("dense bool", q_len * kv_len, None, "one byte a cell"),
        FormatBytes("dense bits", -(-q_len * kv_len // 8), None, "one bit a cell"),
        _block_mask(q_len, kv_len),
        _flash_mask(descriptor),
        _endpoints(descriptor),
        FormatBytes("descriptor in memory", descriptor.nbytes, None, "int64 arrays, each repetition by itself"),
        FormatBytes("descriptor JSON", len(descriptor.to_json()), None, "version 2, not compressed"),
        FormatBytes("descriptor", descriptor.families().nbytes, None, _families(descriptor)),
        *_plans(descriptor, block_m, block_n, choice or choose_plan(descriptor, block_m, block_n)),
    )


def _families(descriptor: MaskDescriptor) -> str:
    count = descriptor.num_families
    return f"int64, {count} famil{'y' if count == 1 else 'ies'} of runs"


def _block_mask(q_len: int, kv_len: int) -> FormatBytes:
    rows, columns = -(-q_len // BLOCK_MASK), -(-kv_len // BLOCK_MASK)
    size = 4 * (4 * rows * columns + 2 * rows + 2 * columns)
    note = "int32: partial and full blocks, by rows and by columns, with their counts; without what its predicate reads"
    return FormatBytes(f"BlockMask {BLOCK_MASK}", size, None, note)


def _flash_mask(descriptor: MaskDescriptor) -> FormatBytes:
    """Per key, where the hidden rows begin and end, on and below the diagonal and above it; as few numbers as will do."""
    name = "FlashMask"
    q_len, kv_len = descriptor.q_len, descriptor.kv_len
    if q_len != kv_len:
        reason = f"it is compared for as many queries as keys only, and there are {q_len} and {kv_len}"
        return FormatBytes(name, None, reason, "")
    seen_by = descriptor.transpose().runs_per_row_max
    if seen_by > 3:  # between four there are three hidden ones; said before the slower search for hidden stretches
        return FormatBytes(name, None, f"a key is seen by {seen_by} stretches of rows; it holds at most three", "")
    causal = MaskDescriptor.from_trapezoids(q_len, kv_len, Trapezoids.of(0, q_len, 0, 0, 1, 1))
    hidden = ~descriptor
    below, above = (hidden & causal).transpose().runs, (hidden - causal).transpose().runs
    for part, runs in (("on and below", below), ("above", above)):
        most = int(np.diff(runs.indptr).max(initial=0))
        if most > 1:
            reason = f"a key is hidden from {most} stretches of rows {part} the diagonal; it holds one"
            return FormatBytes(name, None, reason, "")
    to_the_end = bool(np.all((below.hi_slope == 0) & (below.hi_offset == q_len)))
    from_the_start = bool(np.all((above.lo_slope == 0) & (above.lo_offset == 0)))
    if not descriptor.runs.num_runs or not (descriptor - causal).visible_pairs:
        columns = 1 if to_the_end else 2
        note = f"int32, causal, {columns} a key"
    else:
        columns = 2 if to_the_end and from_the_start else 4
        note = f"int32, {columns} a key"
    return FormatBytes(name, 4 * columns * kv_len, None, note)


def _endpoints(descriptor: MaskDescriptor) -> FormatBytes:
    """[0, f0), [f1, f2), [f3, f4), ...: the first interval starts at key 0, so a row that does not leaves it empty."""
    runs = descriptor.runs
    first = runs.indptr[:-1]
    at_zero = (runs.lo_slope[first] == 0) & (runs.lo_offset[first] == 0)
    count = 2 * int((np.diff(runs.indptr) - at_zero).max(initial=0)) + 1
    note = f"int32, {count} a query"
    return FormatBytes("row endpoints", 4 * count * descriptor.q_len, None, note)


def _plans(
    descriptor: MaskDescriptor, block_m: int, block_n: int, choice: TilingChoice
) -> tuple[FormatBytes, FormatBytes]:
    rows = choice.plan if isinstance(choice.plan, TilePlan) else plan_tiles(descriptor, block_m, block_n)
    arrays = [getattr(rows, field.name) for field in fields(rows)]
    rows_bytes = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    rows_format = FormatBytes(f"TilePlan {block_m} x {block_n}", rows_bytes, None, "int32 arrays")
    name = f"PackedPlan {block_m} x {block_n}"
    if isinstance(choice.plan, PackedPlan):
        return rows_format, FormatBytes(name, choice.plan.nbytes, None, str(choice.chosen))
    packed = (one for one in choice.candidates if one.chunk is not None)
    best = min(packed, key=lambda one: one.milliseconds, default=None)
    if best is None or best.chunk is None:
        reason = f"{descriptor.q_len} queries are more than the {MAX_PACKED_ROWS} that packing is considered for"
        return rows_format, FormatBytes(name, None, reason, "")
    plan = plan_packed(descriptor, block_m, block_n, best.chunk, best.grids)
    return rows_format, FormatBytes(name, plan.nbytes, None, str(best))
