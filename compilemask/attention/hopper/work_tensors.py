"""A mask's work list on a device, and the schedules of its heads, built when first needed and kept for the next call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.hopper.schedule import schedule_in_rounds
from compilemask.attention.hopper.work_list import ForwardWork, PackedWork, forward_work, join_work, packed_work
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import HOPPER_H200, CostModel, PackedPlan, TilePlan, choose_kernel_tiling, plan_tiles

_CACHE_ENTRIES = 64
_SCHEDULES = 8
_LAUNCHES = 64
_ONE_MASK = np.zeros((1, 1), np.int64)

WORK_ARRAYS = (
    "tested_indptr", "tested_start", "tested_mask", "full_indptr", "full_start", "full_count", "full_total",
    "row_index", "chunk_indptr", "chunk_start", "intervals", "words", "tile_order",
)  # fmt: skip

ScheduleKey = tuple[int, int, int, int, int, CostModel]
"""Batch items, query heads and key heads of each, bytes of K and V of one key head, programs, times of the tiles."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkTensors:
    """A work list's arrays as int32 tensors on `device`, by name; those of the other kind of work list are missing.

    index: whose mask is which, int64 [1 or items, 1 or heads]; `work` has the q tiles of all masks. key_stop: keys from here
    on no row sees. seen: bool [1 or items, key_stop], False for the earlier ones that no row sees; None when there are none.
    reason: why this kind of work list, in words. launches: see ForwardLaunch. build_ms: time to plan and upload, on the host.
    """

    work: ForwardWork | PackedWork
    index: npt.NDArray[np.int64]
    device: torch.device
    arrays: Mapping[str, Tensor]
    key_stop: int
    seen: Tensor | None
    reason: str
    build_ms: float
    launches: BuildOnce[Any] = field(default_factory=lambda: BuildOnce(_LAUNCHES), repr=False)
    _schedules: BuildOnce[tuple[Tensor, Tensor]] = field(default_factory=lambda: BuildOnce(_SCHEDULES), repr=False)

    @property
    def chunk(self) -> int:
        """Keys of a chunk where kv tiles are packed, else 0."""
        return self.work.chunk if isinstance(self.work, PackedWork) else 0

    def schedule(self, key: ScheduleKey) -> tuple[Tensor, Tensor]:
        """(program_indptr, items) on the device; see schedule.Schedule."""

        def build() -> tuple[Tensor, Tensor]:
            batch, num_q_heads, num_kv_heads, head_bytes, num_programs, model = key
            mask_of_head = np.broadcast_to(self.index, (batch, num_q_heads)).reshape(-1)
            costs = self.work.costs(model).reshape(int(self.index.max()) + 1, -1)
            found = schedule_in_rounds(costs, mask_of_head, num_q_heads // num_kv_heads, head_bytes, num_programs)
            return torch.from_numpy(found.program_indptr).to(self.device), torch.from_numpy(found.items).to(self.device)

        return self._schedules.get(key, build)


def upload_work(
    work: ForwardWork | PackedWork, seen: npt.NDArray[np.bool_], device: torch.device, reason: str = "asked for",
    index: npt.NDArray[np.int64] = _ONE_MASK,
) -> WorkTensors:  # fmt: skip
    """The tensors of a work list; seen bool [kv_len] or [items, kv_len]: keys that some row sees; index: see WorkTensors."""
    began = perf_counter()

    def on_device(array: npt.NDArray[np.generic]) -> Tensor:
        # An empty list still needs an address for the kernel's arguments; a plan's own arrays cannot be written.
        return torch.from_numpy(array.copy() if array.size else np.zeros((1, *array.shape[1:]), array.dtype)).to(device)

    seen = np.atleast_2d(seen)
    any_seen = np.flatnonzero(seen.any(0))
    key_stop = int(any_seen[-1]) + 1 if len(any_seen) else 0
    kept = seen[:, :key_stop]
    return WorkTensors(
        work=work,
        index=index,
        device=device,
        arrays={name: on_device(getattr(work, name)) for name in WORK_ARRAYS if hasattr(work, name)},
        key_stop=key_stop,
        seen=None if kept.all() else on_device(kept),
        reason=reason,
        build_ms=(perf_counter() - began) * 1e3,
    )


def in_one_launch(masks: MaskBatch) -> bool:
    """Whether the masks of a batch can share a launch: V is cleared of unseen keys for a whole item, not for one head."""
    return masks.num_heads == 1 or not any(mask.unseen_keys for mask in masks.masks)


class WorkTensorsCache:
    """A bounded store of WorkTensors that threads share; see BuildOnce."""

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[WorkTensors | None] = BuildOnce(max_entries)

    def get(self, mask: MaskDescriptor, dim: int, packable: bool, device: torch.device) -> WorkTensors:
        """The work list of `mask` on this device, with the tiles that choose_kernel_tiling finds fastest.

        dim: what head dimensions are filled up to. packable: whether packed tiles can be used.
        The tiles are chosen as if for 16 heads: the result for one head does not depend on how many others there are.
        """

        def build() -> WorkTensors:
            found = choose_kernel_tiling(mask, HOPPER_H200, head_dim=dim, packed=packable)
            return upload_work(_work_of(found.plan), seen_keys(mask), device, found.reason)

        found = self._store.get((mask.hash, dim, packable, str(device)), build)
        assert found is not None
        return found

    def get_batch(self, masks: MaskBatch, dim: int, packable: bool, device: torch.device) -> WorkTensors | None:
        """One work list for all masks of a batch, with the tiles of the one that takes longest; None where one has packed tiles."""

        def build() -> WorkTensors | None:
            found = [choose_kernel_tiling(mask, HOPPER_H200, head_dim=dim, packed=packable) for mask in masks.masks]
            if any(isinstance(one.plan, PackedPlan) for one in found):
                return None
            tiling = max(found, key=lambda one: one.chosen.milliseconds).tiling
            plans = [
                one.plan if one.tiling == tiling else plan_tiles(mask, tiling.block_m, tiling.block_n)
                for one, mask in zip(found, masks.masks, strict=True)
            ]
            works = [forward_work(plan) for plan in plans if isinstance(plan, TilePlan)]
            seen = np.stack([seen_keys(mask) for mask in masks.masks])
            # Where heads have masks of their own every key is seen, see in_one_launch.
            return upload_work(join_work(works), seen[masks.index[:, 0]], device, "one launch for a batch", masks.index)

        return self._store.get((masks.hash, dim, packable, str(device)), build)

    def clear(self) -> None:
        """Forget everything, so that the next call plans again."""
        self._store.clear()


def _work_of(plan: TilePlan | PackedPlan) -> ForwardWork | PackedWork:
    return packed_work(plan) if isinstance(plan, PackedPlan) else forward_work(plan)


work_cache = WorkTensorsCache()
