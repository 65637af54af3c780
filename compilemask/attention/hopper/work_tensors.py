"""A mask's work list on a device, and the schedules of its heads, built when first needed and kept for the next call."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.hopper.schedule import heads_per_round, schedule_items
from compilemask.attention.hopper.work_list import ForwardWork, forward_work
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import plan_tiles

_CACHE_ENTRIES = 64
_SCHEDULES = 8

ScheduleKey = tuple[int, int, int, int]
"""Key heads of all batch items, query heads to each, bytes of K and V of one, programs."""


@dataclass(frozen=True, slots=True, eq=False)
class ForwardTensors:
    """ForwardWork's arrays as int32 tensors on `device`, named as there.

    key_stop: keys from here on no row sees. seen: bool [key_stop], False for the earlier ones that no row sees; None when there
    are none. build_ms: time to plan and upload, on the host.
    """

    work: ForwardWork
    device: torch.device
    tested_indptr: Tensor
    tested_start: Tensor
    tested_mask: Tensor
    full_indptr: Tensor
    full_start: Tensor
    full_count: Tensor
    full_total: Tensor
    intervals: Tensor
    words: Tensor
    key_stop: int
    seen: Tensor | None
    build_ms: float
    _schedules: BuildOnce[tuple[Tensor, Tensor]] = field(default_factory=lambda: BuildOnce(_SCHEDULES))

    def schedule(self, key: ScheduleKey) -> tuple[Tensor, Tensor]:
        """(program_indptr, items) on the device; see schedule.Schedule."""

        def build() -> tuple[Tensor, Tensor]:
            num_kv_heads, group, head_bytes, num_programs = key
            found = schedule_items(self.work.costs(), num_kv_heads, group, heads_per_round(head_bytes), num_programs)
            return torch.from_numpy(found.program_indptr).to(self.device), torch.from_numpy(found.items).to(self.device)

        return self._schedules.get(key, build)


def upload_work(work: ForwardWork, seen: npt.NDArray[np.bool_], device: torch.device) -> ForwardTensors:
    """The tensors of a work list; seen bool [kv_len]: keys that some row sees."""
    began = perf_counter()

    def on_device(array: npt.NDArray[np.generic]) -> Tensor:
        # An empty list still needs an address for the kernel's arguments.
        return torch.from_numpy(array if array.size else np.zeros((1, *array.shape[1:]), array.dtype)).to(device)

    key_stop = int(np.flatnonzero(seen)[-1]) + 1 if seen.any() else 0
    kept = seen[:key_stop]
    return ForwardTensors(
        work=work,
        device=device,
        tested_indptr=on_device(work.tested_indptr),
        tested_start=on_device(work.tested_start),
        tested_mask=on_device(work.tested_mask),
        full_indptr=on_device(work.full_indptr),
        full_start=on_device(work.full_start),
        full_count=on_device(work.full_count),
        full_total=on_device(work.full_total),
        intervals=on_device(work.intervals),
        words=on_device(work.words),
        key_stop=key_stop,
        seen=None if kept.all() else on_device(kept.copy()),
        build_ms=(perf_counter() - began) * 1e3,
    )


class ForwardTensorsCache:
    """A bounded store of ForwardTensors that threads share; see BuildOnce."""

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[ForwardTensors] = BuildOnce(max_entries)

    def get(self, mask: MaskDescriptor, block_m: int, block_n: int, device: torch.device) -> ForwardTensors:
        """The work list of `mask` under this tiling on this device."""

        def build() -> ForwardTensors:
            return upload_work(forward_work(plan_tiles(mask, block_m, block_n)), seen_keys(mask), device)

        return self._store.get((mask.hash, block_m, block_n, str(device)), build)

    def clear(self) -> None:
        """Forget everything, so that the next call plans again."""
        self._store.clear()


work_cache = ForwardTensorsCache()
