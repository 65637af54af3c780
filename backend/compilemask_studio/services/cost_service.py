"""What a mask costs: pairs, bytes, predicted and measured time."""

from __future__ import annotations

from sqlmodel import Session, col, select

from compilemask.descriptor import MaskDescriptor
from compilemask.plan import (
    KERNELS,
    KernelChoice,
    KernelCosts,
    TilingChoice,
    format_bytes,
    taken_by_auto,
    tile_crossings,
)
from compilemask_studio.errors import StudioError
from compilemask_studio.models import Run
from compilemask_studio.schemas import (
    BlockChoice,
    FormatSize,
    FormatSizes,
    KernelTime,
    MaskCost,
    MeasuredTime,
    TilingCandidate,
)
from compilemask_studio.services.advice import advise
from compilemask_studio.services.bounded_cache import BoundedCache
from compilemask_studio.services.plan_service import PlanService
from compilemask_studio.services.tile_statistics import MAX_CROSSINGS

TRIED = ((128, 64), (64, 64), (128, 128), (64, 32))
MAX_MEASURED = 20
NARROWEST_PACKED = 32
"""Keys of a tile of packed plans, at least: they have words of 32 bits."""
MODELLED_DTYPES = ("bfloat16", "float16")


class CostService:
    def __init__(self, plans: PlanService) -> None:
        self._plans = plans
        self._formats: BoundedCache[tuple[str, int, int], list[FormatSize]] = BoundedCache(max_items=64, max_bytes=64)

    def cost(
        self, session: Session, descriptor: MaskDescriptor, block_m: int, block_n: int, num_heads: int, head_dim: int
    ) -> MaskCost:
        """StudioError 409 `mask_too_large` for a mask that takes too long to plan."""
        choice = self._plans.choose(descriptor, block_m, block_n, num_heads, head_dim)
        now = _block_choice(descriptor, choice, block_m, block_n)
        blocks = [now, *self._others(descriptor, (block_m, block_n), num_heads, head_dim)]
        return MaskCost(
            hash=descriptor.hash,
            block_m=block_m,
            block_n=block_n,
            num_heads=num_heads,
            head_dim=head_dim,
            kind=choice.kind,
            visible_pairs=descriptor.visible_pairs,
            processed_pairs=now.processed_pairs,
            fill=now.fill,
            reason=choice.reason,
            kernels=self._kernel_times(descriptor, num_heads, head_dim),
            candidates=_candidates(choice),
            blocks=sorted(blocks, key=lambda one: (one.block_m, one.block_n)),
            measured=self._measured(session, descriptor),
            advice=advise(descriptor, choice, now, blocks),
        )

    def _kernel_times(self, descriptor: MaskDescriptor, num_heads: int, head_dim: int) -> list[KernelTime]:
        """Of all our kernels whose costs are known, with the tiles that each would take."""
        return [
            _kernel_time(kernel, self._kernel_choice(descriptor, kernel, head_dim), num_heads, head_dim)
            for kernel in KERNELS
        ]

    def _kernel_choice(self, descriptor: MaskDescriptor, kernel: KernelCosts, head_dim: int) -> KernelChoice | str:
        """The tiles that it takes, or why there is no saying."""
        if not kernel.tilings_for(head_dim):
            return f"it has no kernel for head_dim {head_dim}"
        try:
            return self._plans.choose_kernel(descriptor, kernel, head_dim)
        except StudioError as problem:
            return problem.message

    def _others(
        self, descriptor: MaskDescriptor, now: tuple[int, int], num_heads: int, head_dim: int
    ) -> list[BlockChoice]:
        """Tiles that the kernels have, other than those chosen; those that take too long to plan are left out."""
        return [
            _block_choice(descriptor, self._plans.choose(descriptor, *blocks, num_heads, head_dim), *blocks)
            for blocks in TRIED
            if blocks != now and tile_crossings(descriptor, blocks[0]) <= MAX_CROSSINGS
        ]

    def sizes(self, descriptor: MaskDescriptor, block_m: int, block_n: int) -> FormatSizes:
        """The mask in every format; StudioError 409 as for `cost`. It takes longer than the rest of the costs."""
        block_n = max(block_n, NARROWEST_PACKED)
        key = (descriptor.hash, block_m, block_n)
        known = self._formats.get(key)
        if known is None:
            choice = self._plans.choose(descriptor, block_m, block_n)
            sizes = format_bytes(descriptor, block_m, block_n, choice=choice)
            known = [FormatSize(name=one.name, bytes=one.bytes, reason=one.reason, note=one.note) for one in sizes]
            self._formats.put(key, known, 1)
        return FormatSizes(formats=known)

    def _measured(self, session: Session, descriptor: MaskDescriptor) -> list[MeasuredTime]:
        """The newest runs of this mask's forward that passed."""
        rows = session.exec(
            select(Run)
            .where(
                Run.mask_hash == descriptor.hash,
                Run.verdict == "passed",
                col(Run.median_ms).is_not(None),
                Run.direction == "forward",
                col(Run.archived_at).is_(None),
                col(Run.deleted_at).is_(None),
            )
            .order_by(col(Run.id).desc())
            .limit(MAX_MEASURED)
        )
        return [
            MeasuredTime(
                run_id=run.id,
                name=run.name,
                provider=run.provider,
                device=run.device,
                dtype=run.dtype,
                num_heads=run.batch * run.num_q_heads,
                head_dim=run.head_dim,
                median_ms=run.median_ms,
                predicted_ms=self._predicted(run, descriptor),
            )
            for run in rows
            if run.id is not None and run.median_ms is not None
        ]

    def _predicted(self, run: Run, descriptor: MaskDescriptor) -> float | None:
        """By the costs of the kernel that ran on the chip that it ran on, where there are any."""
        if run.dtype not in MODELLED_DTYPES:
            return None
        for kernel in KERNELS:
            if run.provider == kernel.impl and kernel.chip in (run.device or ""):
                found = self._kernel_choice(descriptor, kernel, run.head_dim)
                return None if isinstance(found, str) else found.milliseconds(run.batch * run.num_q_heads)
        return None


def _kernel_time(kernel: KernelCosts, found: KernelChoice | str, num_heads: int, head_dim: int) -> KernelTime:
    choice = None if isinstance(found, str) else found
    return KernelTime(
        impl=kernel.impl,
        chip=kernel.chip,
        auto=taken_by_auto(kernel, head_dim),
        fitted=kernel.fitted,
        source=kernel.source,
        tiling=None if choice is None else str(choice),
        kind=None if choice is None else choice.chosen.kind,
        keys_per_query=None if choice is None else choice.chosen.columns,
        predicted_ms=None if choice is None else choice.milliseconds(num_heads),
        reason=found if isinstance(found, str) else found.reason,
    )


def _block_choice(descriptor: MaskDescriptor, choice: TilingChoice, block_m: int, block_n: int) -> BlockChoice:
    processed = choice.plan.processed_pairs
    return BlockChoice(
        block_m=block_m,
        block_n=block_n,
        kind=choice.kind,
        processed_pairs=processed,
        fill=descriptor.visible_pairs / processed if processed else 0.0,
        predicted_ms=choice.chosen.milliseconds,
    )


def _candidates(choice: TilingChoice) -> list[TilingCandidate]:
    """The rows, and of the packed ones the best few, the chosen one among them."""
    rows, *packed = choice.candidates
    best = sorted(packed, key=lambda one: one.milliseconds)[:4]
    shown = [rows, *best]
    if choice.chosen not in shown:
        shown.append(choice.chosen)
    return [
        TilingCandidate(
            title=str(one),
            kind=one.kind,
            chunk=one.chunk,
            keys_per_query=one.columns,
            predicted_ms=one.milliseconds,
            chosen=one == choice.chosen,
        )
        for one in shown
    ]
