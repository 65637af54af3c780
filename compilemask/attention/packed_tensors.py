"""A descriptor's packed plan on a device, where the planner prefers one; built when first needed and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.attention.build_once import BuildOnce, new_launches
from compilemask.attention.dense_mask import seen_keys
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import PackedPlan, PatchedGrid, choose_plan

Int32Array = npt.NDArray[np.int32]
UInt32Array = npt.NDArray[np.uint32]

_CACHE_ENTRIES = 64


@dataclass(frozen=True, slots=True, eq=False)
class PackedTensors:
    """What the kernel of packed tiles reads: the plan's arrays as int32 tensors on `device`, named as in PackedPlan.

    Three differ from the plan. chunk_start: padding repeats the first chunk of its tile, whose keys the q tile reads
    anyway, so that nothing has to be tested before a load; the mask hides it. full_stop [num_q_tiles]: where the full kv
    tiles of a q tile end and the partial ones begin. masks: the bits as `bits_by_lane` orders them.
    seen: uint8 [kv_len], 0 for the keys that no row sees; None when every key is seen. grids: whose patches the q tiles
    are, as far as known. build_ms: time to upload, and to choose and plan where that was part of it, on the host.
    """

    plan: PackedPlan
    grids: tuple[PatchedGrid, ...]
    device: torch.device
    row_index: Tensor
    tile_order: Tensor
    kv_indptr: Tensor
    full_stop: Tensor
    chunk_start: Tensor
    mask_id: Tensor
    masks: Tensor
    seen: Tensor | None
    build_ms: float
    launches: BuildOnce[Any] = field(default_factory=new_launches, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class PackedChoice:
    """What the planner found for a mask. packed: None where row tiles are at least as fast; reason: why, in words."""

    packed: PackedTensors | None
    reason: str
    build_ms: float


def upload_packed(
    plan: PackedPlan, seen: npt.NDArray[np.bool_], device: torch.device, grids: tuple[PatchedGrid, ...] = ()
) -> PackedTensors:
    """The tensors of a plan; seen bool [kv_len]: keys that some row sees."""
    began = perf_counter()
    full_before = np.append(0, np.cumsum(plan.mask_id < 0))[plan.kv_indptr]

    def on_device(array: npt.NDArray[np.generic]) -> Tensor:
        # An empty list still needs an address for the kernel's arguments.
        return torch.from_numpy(array.copy() if array.size else np.zeros((1, *array.shape[1:]), array.dtype)).to(device)

    return PackedTensors(
        plan=plan,
        grids=grids,
        device=device,
        row_index=on_device(plan.row_index),
        tile_order=on_device(plan.tile_order),
        kv_indptr=on_device(plan.kv_indptr),
        full_stop=on_device((plan.kv_indptr[:-1] + np.diff(full_before)).astype(np.int32)),
        chunk_start=on_device(np.where(plan.chunk_start < 0, plan.chunk_start[:, :1], plan.chunk_start)),
        mask_id=on_device(plan.mask_id),
        masks=on_device(bits_by_lane(plan.masks)),
        seen=None if seen.all() else on_device(seen.astype(np.uint8)),
        build_ms=(perf_counter() - began) * 1e3,
    )


def bits_by_lane(masks: UInt32Array) -> Int32Array:
    """The same bits in the order of a matrix product's result: column 8a + c at place c * (block_n // 8) + a.

    On tensor cores a thread holds the columns 8a + c of a row for every a and two neighbouring c. In this order the
    bits it needs are neighbours, and one shift serves all its columns of one c.
    """
    num_masks, block_m, words = masks.shape
    bits = np.unpackbits(np.ascontiguousarray(masks, "<u4").view(np.uint8), axis=-1, bitorder="little")
    ordered = bits.reshape(num_masks, block_m, words * 4, 8).swapaxes(2, 3).reshape(num_masks, block_m, words * 32)
    packed: Int32Array = np.packbits(ordered, axis=-1, bitorder="little").view("<i4").astype(np.int32, copy=False)
    return packed


class PackedChoiceCache:
    """A bounded store of PackedChoices that threads share; see BuildOnce.

    The choice is made for the mask, the tiles and the head dimension, as if for many heads, whatever the number of
    heads: so the result for one head does not depend on how many others there are.
    """

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[PackedChoice] = BuildOnce(max_entries)

    def get(
        self, mask: MaskDescriptor, block_m: int, block_n: int, head_dim: int, device: torch.device
    ) -> PackedChoice:
        """The planner's choice for `mask` under this tiling; its tensors on this device where it is a packed plan."""

        def build() -> PackedChoice:
            began = perf_counter()
            choice = choose_plan(mask, block_m, block_n, head_dim=head_dim)
            packed = None
            if isinstance(choice.plan, PackedPlan):
                packed = upload_packed(choice.plan, seen_keys(mask), device, choice.chosen.grids)
            return PackedChoice(packed, choice.reason, (perf_counter() - began) * 1e3)

        return self._store.get((mask.hash, block_m, block_n, head_dim, str(device)), build)

    def __len__(self) -> int:
        return len(self._store)

    def clear(self) -> None:
        """Forget everything, so that the next call chooses again."""
        self._store.clear()


choices = PackedChoiceCache()
