"""The tiles of all masks of a batch, one after the other, for one launch of a row kernel."""

from __future__ import annotations

from collections.abc import Sequence
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
from compilemask.attention.mask_tensors import count_heavy
from compilemask.attention.tile_masks import TileMasks, tile_masks
from compilemask.attention.upload import upload_together
from compilemask.descriptor import MaskBatch
from compilemask.plan import TilePlan, plan_tiles

Int32Array = npt.NDArray[np.int32]
_CACHE_ENTRIES = 16


@dataclass(frozen=True, slots=True, eq=False)
class BatchTiles:
    """What the row kernels read for a MaskBatch; named as in MaskTensors, the lists of mask 1 behind those of mask 0.

    plan: sizes, of every mask. index: int32 [1 or items, 1 or heads]: whose mask is which. tile_order [masks, q tiles]; the
    indptr go through all masks; ends are shared. num_heavy: the most of any mask. seen: uint8 [masks, kv_len], or None
    where every key is seen under every mask.
    """

    plan: Tiling
    index: Tensor
    device: torch.device
    max_gaps: int
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


def upload_batch(
    plans: Sequence[TilePlan], seen: npt.NDArray[np.bool_], index: npt.NDArray[np.int64], device: torch.device
) -> BatchTiles:
    """The tensors of one plan for each mask, all of one tiling; seen bool [masks, kv_len]; index as in MaskBatch."""
    began = perf_counter()
    first, spelled = plans[0], [tile_masks(plan) for plan in plans]

    ends_before = np.cumsum([0, *(len(masks.ends) for masks in spelled)])[:-1].astype(np.int32)

    def vectors(name: str) -> Int32Array:
        parts = [getattr(masks, name) + before for masks, before in zip(spelled, ends_before, strict=True)]
        return np.concatenate(parts)

    def lists(name: str, owners: Sequence[TilePlan] | Sequence[TileMasks]) -> Int32Array:
        return np.concatenate([getattr(owner, name) for owner in owners])

    arrays = {
        "index": index.astype(np.int32),
        "tile_order": lists("tile_order", plans),
        "full_indptr": _through([plan.full_indptr for plan in plans]),
        "full_start": lists("full_start", plans),
        "full_count": lists("full_count", plans),
        "interval_indptr": _through([masks.interval_indptr for masks in spelled]),
        "interval_start": lists("interval_start", spelled),
        "interval_ends": vectors("interval_ends"),
        "gap_indptr": _through([masks.gap_indptr for masks in spelled]),
        "gap_start": lists("gap_start", spelled),
        "gap_ends_indptr": _through([masks.gap_ends_indptr for masks in spelled]),
        "gap_ends": vectors("gap_ends"),
        "ends": lists("ends", spelled),
    }
    tensors: dict[str, Any] = dict(upload_together(arrays, device))
    return BatchTiles(
        plan=Tiling(first.q_len, first.kv_len, first.block_m, first.block_n),
        device=device,
        max_gaps=max(int(np.diff(masks.gap_ends_indptr).max(initial=0)) for masks in spelled),
        num_heavy=max(count_heavy(plan) for plan in plans),
        **tensors,
        seen=None if seen.all() else torch.from_numpy(seen.astype(np.uint8)).to(device),
        build_ms=(perf_counter() - began) * 1e3,
    )


def _through(indptrs: Sequence[Int32Array]) -> Int32Array:
    """One indptr through several lists that follow each other: the end of one is the beginning of the next."""
    before = np.cumsum([0, *(int(indptr[-1]) for indptr in indptrs)])
    parts = [indptr[:-1] + start for indptr, start in zip(indptrs, before, strict=False)]
    return np.concatenate([*parts, before[-1:]]).astype(np.int32)


class BatchTilesCache:
    """A bounded store of BatchTiles that threads share; see BuildOnce."""

    def __init__(self, max_entries: int = _CACHE_ENTRIES) -> None:
        self._store: BuildOnce[BatchTiles] = BuildOnce(max_entries)

    def get(
        self, masks: MaskBatch, block_m: int, block_n: int, device: torch.device, *, transposed: bool = False
    ) -> BatchTiles:
        """The tiles of `masks`, or of each of them transposed, under this tiling on this device."""

        def build() -> BatchTiles:
            planned = [mask.transpose() if transposed else mask for mask in masks.masks]
            plans = [plan_tiles(mask, block_m, block_n) for mask in planned]
            return upload_batch(plans, np.stack([seen_keys(mask) for mask in planned]), masks.index, device)

        return self._store.get((masks.hash, block_m, block_n, str(device), transposed), build)

    def clear(self) -> None:
        """Forget everything, so that the next call plans again."""
        self._store.clear()


batches = BatchTilesCache()
