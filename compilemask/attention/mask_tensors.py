"""A descriptor's tile plan on a device, built when first needed and kept for the next call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce, new_launches
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.tile_masks import TileMasks, tile_masks
from compilemask.attention.upload import upload_together
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import TilePlan, plan_tiles

_CACHE_ENTRIES = 64
_OF_PLAN = ("tile_order", "full_indptr", "full_start", "full_count")
_OF_MASKS = (
    "interval_indptr", "interval_start", "interval_ends", "gap_indptr", "gap_start", "gap_ends_indptr", "gap_ends", "ends"
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class MaskTensors:
    """What the implementations read: the plan, its partial tiles spelled out, and both as int32 tensors on `device`.

    Tensors are named as in TilePlan and TileMasks. num_heavy: the first entries of tile_order whose work is more than
    twice the median's. seen: uint8 [kv_len], 0 for the keys that no row sees; None when every key is seen.
    build_ms: time to plan and to upload, on the host.
    """

    plan: TilePlan
    masks: TileMasks
    device: torch.device
    num_heavy: int
    tile_order: Tensor
    full_indptr: Tensor
    full_start: Tensor
    full_count: Tensor
    interval_indptr: Tensor
    interval_start: Tensor
    interval_ends: Tensor
    gap_indptr: Tensor
    gap_start: Tensor
    gap_ends_indptr: Tensor
    gap_ends: Tensor
    ends: Tensor
    seen: Tensor | None
    build_ms: float
    launches: BuildOnce[Any] = field(default_factory=new_launches, repr=False)

    @property
    def max_gaps(self) -> int:
        """Most gap vectors of a tile; 0 when there is no gap tile."""
        return int(np.diff(self.masks.gap_ends_indptr).max(initial=0))


def upload(plan: TilePlan, seen: npt.NDArray[np.bool_], device: torch.device) -> MaskTensors:
    """The tensors of a plan; seen bool [kv_len]: keys that some row sees."""
    began = perf_counter()
    masks = tile_masks(plan)

    arrays = {
        **{name: getattr(plan, name) for name in _OF_PLAN},
        **{name: getattr(masks, name) for name in _OF_MASKS},
    }
    tensors: dict[str, Any] = dict(upload_together(arrays, device))
    return MaskTensors(
        plan=plan,
        masks=masks,
        device=device,
        num_heavy=count_heavy(plan),
        **tensors,
        seen=None if seen.all() else torch.from_numpy(seen.astype(np.uint8)).to(device),
        build_ms=(perf_counter() - began) * 1e3,
    )


def count_heavy(plan: TilePlan) -> int:
    """How many q tiles visit more than twice as many kv tiles as the median one."""
    if plan.num_q_tiles == 0:
        return 0
    full = np.concatenate([[0], np.cumsum(plan.full_count, dtype=np.int64)])[plan.full_indptr]
    work = np.diff(full) + np.diff(plan.partial_indptr)
    return int((work > 2 * np.median(work)).sum())


class MaskTensorCache:
    """A bounded store of MaskTensors that threads share; see BuildOnce."""

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[MaskTensors] = BuildOnce(max_entries)

    def get(
        self, mask: MaskDescriptor, block_m: int, block_n: int, device: torch.device, *, transposed: bool = False
    ) -> MaskTensors:
        """The tensors of `mask` under this tiling on this device.

        transposed: of mask.transpose(), whose q tiles are block_m keys and whose kv tiles are block_n queries.
        """

        def build() -> MaskTensors:
            began = perf_counter()
            planned = mask.transpose() if transposed else mask
            plan = plan_tiles(planned, block_m, block_n)
            plan_ms = (perf_counter() - began) * 1e3
            built = upload(plan, seen_keys(planned), device)
            return replace(built, build_ms=built.build_ms + plan_ms)

        return self._store.get((mask.hash, block_m, block_n, str(device), transposed), build)

    def __len__(self) -> int:
        return len(self._store)

    def clear(self) -> None:
        """Forget everything, so that the next call plans again."""
        self._store.clear()


cache = MaskTensorCache()
