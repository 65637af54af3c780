"""What the assembler that Triton runs is known to get wrong, and how the kernels keep clear of it."""

from __future__ import annotations

import functools
import re

import torch

from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.tile_source import Tiles

_FIRST_SOUND = (12, 9)
_HOPPER = 90


def sound_stages(num_stages: int, mask: Tiles, device: torch.device) -> int:
    """The pipeline stages to compile for: num_stages, or 1 where more would be assembled wrongly.

    ptxas 12.8, which comes with Triton 3.6, miscompiles pipelined Hopper kernels in which a loop of unknown length, over the gaps of a
    row, lies between two asynchronous products: on an H200 dq and dk were wrong, or addresses invalid, where the same PTX gave the right
    numbers from ptxas 13.0, from 12.8 without optimization, in an emulation of the PTX, and from kernels of one stage.
    """
    if mask.max_gaps <= MIN_GAPS or device.type != "cuda" or num_stages == 1:
        return num_stages
    if torch.cuda.get_device_capability(device)[0] * 10 != _HOPPER or assembler_version() >= _FIRST_SOUND:
        return num_stages
    return 1


@functools.cache
def assembler_version() -> tuple[int, int]:
    """(major, minor) of the ptxas that Triton runs for Hopper."""
    from triton.backends.nvidia.compiler import get_ptxas_version

    found = re.search(r"release (\d+)\.(\d+)", get_ptxas_version(_HOPPER))
    # One whose version cannot be read is taken for an old one.
    return (int(found[1]), int(found[2])) if found else (0, 0)
