"""A mask's work list on a device, and the schedules of its heads, built when first needed and kept for the next call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.hopper.schedule import heads_per_round, schedule_items
from compilemask.attention.hopper.work_list import ForwardWork, PackedWork, forward_work, packed_work
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import CostModel, PackedPlan, choose_plan, plan_tiles

_CACHE_ENTRIES = 64
_SCHEDULES = 8
_CHUNKS = (16,)

# Of a 128 x 64 tile, head_dim 128, on an H200: from the times of row tiles in docs/hopper-notes.md.
HOPPER_COSTS = CostModel(gathered_us=0.85, contiguous_us=0.82, masked=1.15, q_tile_us=3.0)

WORK_ARRAYS = (
    "tested_indptr", "tested_start", "tested_mask", "full_indptr", "full_start", "full_count", "full_total",
    "row_index", "chunk_indptr", "chunk_start", "intervals", "words",
)  # fmt: skip

ScheduleKey = tuple[int, int, int, int]
"""Key heads of all batch items, query heads to each, bytes of K and V of one, programs."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkTensors:
    """A work list's arrays as int32 tensors on `device`, by name; those of the other kind of work list are missing.

    key_stop: keys from here on no row sees. seen: bool [key_stop], False for the earlier ones that no row sees; None when there
    are none. reason: why this kind of work list, in words. build_ms: time to plan and upload, on the host.
    """

    work: ForwardWork | PackedWork
    device: torch.device
    arrays: Mapping[str, Tensor]
    key_stop: int
    seen: Tensor | None
    reason: str
    build_ms: float
    _schedules: BuildOnce[tuple[Tensor, Tensor]] = field(default_factory=lambda: BuildOnce(_SCHEDULES))

    @property
    def chunk(self) -> int:
        """Keys of a chunk where kv tiles are packed, else 0."""
        return self.work.chunk if isinstance(self.work, PackedWork) else 0

    def schedule(self, key: ScheduleKey) -> tuple[Tensor, Tensor]:
        """(program_indptr, items) on the device; see schedule.Schedule."""

        def build() -> tuple[Tensor, Tensor]:
            num_kv_heads, group, head_bytes, num_programs = key
            found = schedule_items(self.work.costs(), num_kv_heads, group, heads_per_round(head_bytes), num_programs)
            return torch.from_numpy(found.program_indptr).to(self.device), torch.from_numpy(found.items).to(self.device)

        return self._schedules.get(key, build)


def upload_work(
    work: ForwardWork | PackedWork, seen: npt.NDArray[np.bool_], device: torch.device, reason: str = "asked for"
) -> WorkTensors:
    """The tensors of a work list; seen bool [kv_len]: keys that some row sees."""
    began = perf_counter()

    def on_device(array: npt.NDArray[np.generic]) -> Tensor:
        # An empty list still needs an address for the kernel's arguments; a plan's own arrays cannot be written.
        return torch.from_numpy(array.copy() if array.size else np.zeros((1, *array.shape[1:]), array.dtype)).to(device)

    key_stop = int(np.flatnonzero(seen)[-1]) + 1 if seen.any() else 0
    kept = seen[:key_stop]
    return WorkTensors(
        work=work,
        device=device,
        arrays={name: on_device(getattr(work, name)) for name in WORK_ARRAYS if hasattr(work, name)},
        key_stop=key_stop,
        seen=None if kept.all() else on_device(kept),
        reason=reason,
        build_ms=(perf_counter() - began) * 1e3,
    )


class WorkTensorsCache:
    """A bounded store of WorkTensors that threads share; see BuildOnce."""

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[WorkTensors] = BuildOnce(max_entries)

    def get(
        self, mask: MaskDescriptor, block_m: int, block_n: int, packed_dim: int | None, device: torch.device
    ) -> WorkTensors:
        """The work list of `mask` under this tiling on this device, of the kind that the cost model finds faster.

        packed_dim: the head dimension to price packed tiles for; None: row tiles, whatever they cost.
        """

        def build() -> WorkTensors:
            if packed_dim is None:
                return upload_work(forward_work(plan_tiles(mask, block_m, block_n)), seen_keys(mask), device)
            choice = choose_plan(mask, block_m, block_n, chunks=_CHUNKS, head_dim=packed_dim, model=HOPPER_COSTS)
            work = packed_work(choice.plan) if isinstance(choice.plan, PackedPlan) else forward_work(choice.plan)
            return upload_work(work, seen_keys(mask), device, choice.reason)

        return self._store.get((mask.hash, block_m, block_n, packed_dim, str(device)), build)

    def clear(self) -> None:
        """Forget everything, so that the next call plans again."""
        self._store.clear()


work_cache = WorkTensorsCache()
