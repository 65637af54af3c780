"""A mask whose queries and keys are put into another order, on a device, where the planner prefers that for the backward."""

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
from compilemask.attention.device_plan import Tiling
from compilemask.attention.packed_tensors import bits_by_lane
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import BackwardCosts, ReorderedPlan, ReorderedTiles, choose_backward, cut_tiles

_CACHE_ENTRIES = 64
_TILINGS = 8


@dataclass(frozen=True, slots=True, eq=False)
class ReorderedTensors:
    """ReorderedTiles as int32 tensors on `device`, named as the row kernels name them in MaskTensors.

    There are no interval tiles. The gap tiles are the partial ones; each has one bit mask: gap_ends_indptr[g] is its number,
    gap_ends the masks [*, block_m, block_n // 32] as packed_tensors.bits_by_lane orders them. plan: of slots.
    """

    plan: Tiling
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
    build_ms: float
    launches: BuildOnce[Any] = field(default_factory=new_launches, repr=False)

    @property
    def seen(self) -> None:
        """Every column may be read: copies have zeros where there is no token, or one that the mask hides from all."""
        return None

    @property
    def max_gaps(self) -> int:
        """0: no tile is told by gap vectors."""
        return 0


def upload_reordered(tiles: ReorderedTiles, device: torch.device) -> ReorderedTensors:
    """The tensors of tiles."""
    began = perf_counter()

    def on_device(array: npt.NDArray[np.generic]) -> Tensor:
        # An empty list still needs an address for the kernel's arguments, and one entry behind the last may be read.
        padding = np.zeros((1, *array.shape[1:]), array.dtype)
        return torch.from_numpy(np.concatenate([array, padding])).to(device)

    none = np.zeros(0, np.int32)
    return ReorderedTensors(
        plan=Tiling(tiles.num_rows, tiles.num_columns, tiles.block_m, tiles.block_n),
        device=device,
        num_heavy=tiles.num_heavy,
        tile_order=on_device(tiles.tile_order),
        full_indptr=on_device(tiles.full_indptr),
        full_start=on_device(tiles.full_start),
        full_count=on_device(tiles.full_count),
        interval_indptr=on_device(np.zeros(tiles.num_tiles + 1, np.int32)),
        interval_start=on_device(none),
        interval_ends=on_device(none),
        gap_indptr=on_device(tiles.bit_indptr),
        gap_start=on_device(tiles.bit_start),
        gap_ends_indptr=on_device(tiles.bit_mask),
        gap_ends=on_device(bits_by_lane(tiles.masks)),
        ends=on_device(np.zeros((0, tiles.block_m), np.int32)),
        build_ms=(perf_counter() - began) * 1e3,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Reordering:
    """Where tokens go: q_tokens [q slots] and k_tokens [k slots] int32, the query and key in each slot, -1 where there is none
    or one that sees or is seen by none; q_slots [q_len], k_slots [kv_len] int32, the slot of each.

    some_keys: bool [q_len], the queries that see a key; None: all. reason: why so, in words. build_ms: time to choose and plan.
    """

    plan: ReorderedPlan
    device: torch.device
    q_tokens: Tensor
    k_tokens: Tensor
    q_slots: Tensor
    k_slots: Tensor
    some_keys: Tensor | None
    reason: str
    build_ms: float
    launches: BuildOnce[Any] = field(default_factory=new_launches, repr=False)
    _tiles: BuildOnce[ReorderedTensors] = field(default_factory=lambda: BuildOnce(_TILINGS), repr=False)

    def tiles(self, block_m: int, block_n: int, *, transposed: bool = False) -> ReorderedTensors:
        """The tiles of the slots; transposed: rows are keys. ValueError for sizes that do not cut blocks without rest."""

        def build() -> ReorderedTensors:
            return upload_reordered(cut_tiles(self.plan, block_m, block_n, transposed=transposed), self.device)

        return self._tiles.get((block_m, block_n, transposed), build)


def upload_order(
    plan: ReorderedPlan,
    mask: MaskDescriptor,
    device: torch.device,
    reason: str = "asked for",
    began: float | None = None,
) -> Reordering:
    """The tensors of a plan of `mask`."""
    began = perf_counter() if began is None else began
    some_keys, some_queries = _rows_with_keys(mask), seen_keys(mask)

    def tokens(order: npt.NDArray[np.int32], used: npt.NDArray[np.bool_]) -> Tensor:
        kept = np.where((order >= 0) & used[order], order, -1) if len(used) else order
        return torch.from_numpy(kept.astype(np.int32)).to(device)

    return Reordering(
        plan=plan,
        device=device,
        q_tokens=tokens(plan.q_order, some_keys),
        k_tokens=tokens(plan.k_order, some_queries),
        q_slots=torch.from_numpy(plan.slots_of_queries()).to(device),
        k_slots=torch.from_numpy(plan.slots_of_keys()).to(device),
        some_keys=None if some_keys.all() else torch.from_numpy(some_keys).to(device),
        reason=reason,
        build_ms=(perf_counter() - began) * 1e3,
    )


def _rows_with_keys(mask: MaskDescriptor) -> npt.NDArray[np.bool_]:
    steps = np.zeros(mask.q_len + 1, np.int64)
    np.add.at(steps, mask.runs.piece_start, 1)
    np.add.at(steps, mask.runs.piece_stop, -1)
    return np.cumsum(steps[:-1]) > 0


@dataclass(frozen=True, slots=True, eq=False)
class BackwardRoute:
    """order: None where row tiles are at least as fast; reason: why, in words."""

    order: Reordering | None
    reason: str


class BackwardRouteCache:
    """A bounded store of BackwardRoutes that threads share; see BuildOnce. Chosen as if for many heads, whatever their number."""

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[BackwardRoute] = BuildOnce(max_entries)

    def get(self, mask: MaskDescriptor, costs: BackwardCosts, head_dim: int, device: torch.device) -> BackwardRoute:
        """What the cost model finds faster for `mask`; its order on this device where it is reordered."""

        def build() -> BackwardRoute:
            began = perf_counter()
            choice = choose_backward(mask, costs, head_dim)
            if choice.plan is None:
                return BackwardRoute(None, choice.reason)
            return BackwardRoute(upload_order(choice.plan, mask, device, choice.reason, began), choice.reason)

        return self._store.get((mask.hash, costs, head_dim, str(device)), build)

    def clear(self) -> None:
        """Forget everything, so that the next call chooses again."""
        self._store.clear()


routes = BackwardRouteCache()
