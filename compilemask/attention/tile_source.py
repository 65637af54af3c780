"""The tiles of masks for a row kernel: planned and kept by content, or those that a DeviceMask holds."""

from __future__ import annotations

import torch

from compilemask.attention.batch_tiles import BatchTiles, batches
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.device_plan import DeviceTiles
from compilemask.attention.mask_tensors import MaskTensors, cache
from compilemask.attention.reordered_tensors import ReorderedTensors
from compilemask.descriptor import MaskBatch, MaskDescriptor

Tiles = MaskTensors | DeviceTiles | BatchTiles | ReorderedTensors
"""What the row kernels read."""


def tiles_of(
    mask: MaskDescriptor | MaskBatch | DeviceMask, block_m: int, block_n: int, device: torch.device, *,
    transposed: bool = False,
) -> Tiles:  # fmt: skip
    """The tiles of `mask`, or of it transposed, under this tiling on this device."""
    match mask:
        case DeviceMask():
            return mask.tiles(block_m, block_n, transposed=transposed)
        case MaskBatch():
            return batches.get(mask, block_m, block_n, device, transposed=transposed)
        case MaskDescriptor():
            return cache.get(mask, block_m, block_n, device, transposed=transposed)
