"""The tiles that a kernel would take for a mask: which of its sizes, and rows or packed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.ragged import offsets
from compilemask.plan.choice import MIN_GAIN, Candidate, choose_plan
from compilemask.plan.cost_model import FloatArray
from compilemask.plan.kernel_costs import KernelCosts, Tiling
from compilemask.plan.packed_plan import PackedPlan
from compilemask.plan.planner import check_descriptor, plan_tiles
from compilemask.plan.structure import infer_structure
from compilemask.plan.tile_plan import TilePlan

# A tiling is chosen as for so many, of all batch items.
NOMINAL_HEADS = 16


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The tiling that was chosen of a kernel's, its plan, what it was predicted to take, and why it was chosen, in words.

    chosen, considered: times are those of NOMINAL_HEADS; considered: all that were priced, with their tiling. head_dim: whose times they
    are, see KernelCosts.timed_dim.
    """

    kernel: KernelCosts
    tiling: Tiling
    plan: TilePlan | PackedPlan
    chosen: Candidate
    considered: tuple[tuple[Tiling, Candidate], ...]
    reason: str
    head_dim: int

    def __str__(self) -> str:
        return f"{self.tiling.block_m} x {self.tiling.block_n}: {self.chosen}"

    def milliseconds(self, num_heads: int) -> float:
        """Predicted for so many heads, from every q tile of the plan."""
        return self.tiling.model.balanced_milliseconds(_costs(self.plan, self.tiling, self.head_dim), num_heads)


def choose_kernel_tiling(
    descriptor: MaskDescriptor, kernel: KernelCosts, *, head_dim: int = 128, packed: bool = True
) -> KernelChoice:
    """The tiling of `kernel` that its costs find fastest for this mask.

    Row tiles of every size are planned, and timed as a balanced schedule of their q tiles would take them; packed ones only where few
    of the pairs in row tiles are visible. A tiling must be MIN_GAIN times as fast as the best of those before it. All of this is for
    NOMINAL_HEADS, whatever their number: the result for one head must not depend on how many others there are. packed: whether
    the kernel can take packed tiles for the tensors.
    Raises ValueError for a head dimension that the kernel does not take, and as plan_tiles and choose_plan do.
    """
    check_descriptor("choose_kernel_tiling", descriptor)
    tilings = kernel.tilings_for(head_dim)
    if not tilings:
        raise ValueError(f"impl {kernel.impl!r} has no kernel for head_dim {head_dim}")
    head_dim = kernel.timed_dim(head_dim)
    best = _rows(descriptor, kernel, tilings[0], head_dim)
    usual = best.plan
    visible = descriptor.visible_pairs / usual.processed_pairs if usual.processed_pairs else 1.0
    for tiling in tilings[1:]:
        if _least(descriptor, tiling, head_dim) * MIN_GAIN < best.chosen.milliseconds:
            best = _faster(best, _rows(descriptor, kernel, tiling, head_dim))
    if not packed:
        return _because(best, "packed ones have no room, or are gathered unpadded")
    if descriptor.kv_len <= tilings[0].block_n:
        return _because(best, "one kv tile holds all keys")
    if visible >= kernel.dense:
        return _because(best, f"{visible:.0%} of the pairs of usual row tiles are visible")
    if isinstance(usual, TilePlan) and _nothing_to_pack(descriptor, usual, kernel.dense):
        return _because(best, "each row sees one run, and nearly all keys of the tiles are seen")
    for tiling in tilings:
        best = _faster(best, _packed(descriptor, kernel, tiling, head_dim))
    return _because(best, "the fastest of those predicted")


def _rows(descriptor: MaskDescriptor, kernel: KernelCosts, tiling: Tiling, head_dim: int) -> KernelChoice:
    plan = plan_tiles(descriptor, tiling.block_m, tiling.block_n)
    time = tiling.model.balanced_milliseconds(_costs(plan, tiling, head_dim), NOMINAL_HEADS)
    found = Candidate("rows", None, (), plan.processed_pairs / max(descriptor.q_len, 1), time)
    return KernelChoice(kernel, tiling, plan, found, ((tiling, found),), "", head_dim)


def _least(descriptor: MaskDescriptor, tiling: Tiling, head_dim: int) -> float:
    """Milliseconds that row tiles of this size take at least: without a pair that is not visible, a test, or a program that waits."""
    cells = tiling.block_m * tiling.block_n
    full = np.array([-(-descriptor.visible_pairs // cells)])
    tiles = tiling.model.q_tile_costs(
        full, full, gathered=False, block_m=tiling.block_m, block_n=tiling.block_n, head_dim=head_dim
    )
    starts = tiling.model.q_tile_us * (-(-descriptor.q_len // tiling.block_m) - 1)
    return tiling.model.milliseconds(float(tiles[0]) + starts, 0.0, NOMINAL_HEADS)


def _nothing_to_pack(descriptor: MaskDescriptor, rows: TilePlan, dense: float) -> bool:
    """Whether row tiles leave out no keys that packed ones could, and the runs show no patches. It takes microseconds to know."""
    if descriptor.runs_per_row_max > 1 or infer_structure(descriptor):
        return False
    cut_short = rows.num_partial * rows.block_n - int((rows.partial_stop - rows.partial_start).sum())
    return cut_short <= (1 - dense) * (rows.num_full + rows.num_partial) * rows.block_n


def _packed(descriptor: MaskDescriptor, kernel: KernelCosts, tiling: Tiling, head_dim: int) -> KernelChoice | None:
    """None where choose_plan finds no packed tiles faster than rows of that size."""
    found = choose_plan(
        descriptor, tiling.block_m, tiling.block_n,
        chunks=kernel.chunks, num_heads=NOMINAL_HEADS, head_dim=head_dim, model=tiling.model,
    )  # fmt: skip
    if found.kind == "rows":
        return None
    return KernelChoice(kernel, tiling, found.plan, found.chosen, ((tiling, found.chosen),), "", head_dim)


def _costs(plan: TilePlan | PackedPlan, tiling: Tiling, head_dim: int) -> FloatArray:
    """Microseconds of each q tile of a plan."""
    if isinstance(plan, PackedPlan):
        tiles = np.diff(plan.kv_indptr).astype(np.int64)
        full = np.diff(offsets((plan.mask_id < 0).astype(np.int64))[plan.kv_indptr])
    else:
        full = np.diff(offsets(plan.full_count)[plan.full_indptr])
        tiles = full + np.diff(plan.partial_indptr)
    return tiling.model.q_tile_costs(
        tiles, full,
        gathered=isinstance(plan, PackedPlan), block_m=tiling.block_m, block_n=tiling.block_n, head_dim=head_dim,
    )  # fmt: skip


def _faster(best: KernelChoice, other: KernelChoice | None) -> KernelChoice:
    if other is None:
        return best
    considered = (*best.considered, *other.considered)
    faster = other.chosen.milliseconds * MIN_GAIN < best.chosen.milliseconds
    return replace(other if faster else best, considered=considered)


def _because(found: KernelChoice, why: str) -> KernelChoice:
    """With its reason, and the best of the others."""
    text = f"{found}: {_figures(found.chosen)}"
    others = [one for one in found.considered if one[1] is not found.chosen]
    if others:
        tiling, rival = min(others, key=lambda one: one[1].milliseconds)
        text += f"; {tiling.block_m} x {tiling.block_n}: {rival}: {_figures(rival)}"
    return replace(found, reason=f"{text} for {NOMINAL_HEADS} heads; {why}")


def _figures(one: Candidate) -> str:
    return f"{one.columns:.0f} keys a query, {one.milliseconds:.3f} ms predicted"
