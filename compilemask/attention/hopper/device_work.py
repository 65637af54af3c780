"""The work list of a DeviceMask: its tiles as they are, and a schedule that no change of the mask changes.

Programs are dealt ranks of q tiles in the order of their work; which tile has a rank, the kernel reads from the tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.device_plan import DeviceTiles, Tiling
from compilemask.attention.hopper.schedule import Schedule
from compilemask.attention.hopper.work_list import MAX_INT32
from compilemask.attention.hopper.work_tensors import ScheduleKey
from compilemask.geometry.ragged import offsets

_SCHEDULES = 8


@dataclass(frozen=True, slots=True, eq=False)
class DeviceWork:
    """What a ForwardLaunch reads of WorkTensors, of tiles on the device that were planned `tested`, without bit masks."""

    tiles: DeviceTiles
    arrays: Mapping[str, Tensor]
    seen: Tensor | None
    _schedules: BuildOnce[tuple[Tensor, Tensor]] = field(default_factory=lambda: BuildOnce(_SCHEDULES), repr=False)

    chunk = 0
    """Keys are not packed."""

    @property
    def work(self) -> Tiling:
        """The sizes of the tiles."""
        return self.tiles.plan

    @property
    def key_stop(self) -> int:
        """All keys may be seen."""
        return self.tiles.plan.kv_len

    @property
    def launches(self) -> BuildOnce[object]:
        """See ForwardLaunch."""
        return self.tiles.launches

    def schedule(self, key: ScheduleKey) -> tuple[Tensor, Tensor]:
        """(program_indptr, items) on the device; items hold ranks, see deal."""

        def build() -> tuple[Tensor, Tensor]:
            batch, num_q_heads, _, _, num_programs, _ = key
            found = deal(self.tiles.plan.num_q_tiles, batch * num_q_heads, num_programs)
            device = self.tiles.device
            return torch.from_numpy(found.program_indptr).to(device), torch.from_numpy(found.items).to(device)

        return self._schedules.get(key, build)


def device_work(mask: DeviceMask, block_m: int, block_n: int) -> DeviceWork:
    """The work list of a mask from lengths under this tiling, kept with its tiles.

    Raises ValueError where the kernel's 32-bit offsets cannot reach all row intervals.
    """
    tiles = mask.tiles(block_m, block_n)
    found: DeviceWork = tiles.launches.get("hopper", lambda: _of(tiles))
    return found


def _of(tiles: DeviceTiles) -> DeviceWork:
    if tiles.ends.numel() > MAX_INT32:
        raise ValueError(
            f"the row intervals of a DeviceMask of {tiles.plan.q_len} tokens have room for {tiles.ends.numel()} entries, the hopper "
            f"kernel reads at most {MAX_INT32}; use impl='triton'"
        )
    arrays = {
        "tested_indptr": tiles.interval_indptr,
        "tested_start": tiles.interval_start,
        "tested_mask": tiles.interval_ends,
        "full_indptr": tiles.full_indptr,
        "full_start": tiles.full_start,
        "full_count": tiles.full_count,
        "full_total": tiles.full_total,
        "intervals": tiles.ends,
        # No tile has bits, but the kernel wants an address of them.
        "words": tiles.gap_ends,
        "tile_order": tiles.tile_order,
    }
    return DeviceWork(tiles, arrays, None if tiles.seen is None else tiles.seen.view(torch.bool)[None])


def deal(num_ranks: int, num_heads: int, num_programs: int) -> Schedule:
    """Every rank of every head, (rank, head, rank), the first ranks of all heads first, dealt to the programs to and fro.

    Work falls with the rank, so a program that is given more in one round is given less in the next. imbalance: 1.0, not known.
    """
    count = num_ranks * num_heads
    num_programs = min(num_programs, count)
    number = np.arange(count)
    turn, place = number // num_programs, number % num_programs
    program = np.where(turn % 2 == 0, place, num_programs - 1 - place)
    rank, head = number // num_heads, number % num_heads
    by_program = np.argsort(program, kind="stable")
    items = np.stack([rank, head, rank], axis=1)[by_program]
    counts = np.bincount(program, minlength=num_programs)
    return Schedule(offsets(counts).astype(np.int32), np.ascontiguousarray(items, np.int32), 1.0)
