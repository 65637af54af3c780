"""Arrays brought to a device together: each copy of its own would wait for the device."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_ALIGNED = 4
"""Every array begins at a multiple of 16 bytes: the kernels are compiled for addresses that do."""


def upload_together(arrays: Mapping[str, npt.NDArray[np.int32]], device: torch.device) -> dict[str, Tensor]:
    """int32 tensors on `device` by name, of the shapes of the arrays, in one piece of memory that lives as long as one of them.

    An empty array becomes a tensor of one row, whose content is of no meaning: a list that is empty still needs an address for a kernel's
    arguments. The host waits for the copy: whoever finds the tensors later may be on another stream.
    """
    shapes = {name: array.shape if array.size else (1, *array.shape[1:]) for name, array in arrays.items()}
    sizes = [-(-math.prod(shape) // _ALIGNED) * _ALIGNED for shape in shapes.values()]
    staged = torch.empty(sum(sizes), dtype=torch.int32, device="cpu")
    begin, memory = 0, staged.numpy()
    for array, size in zip(arrays.values(), sizes, strict=True):
        memory[begin : begin + array.size] = array.ravel()
        memory[begin + array.size : begin + size] = 0
        begin += size
    pieces = torch.split(staged.to(device), sizes)
    return {
        name: piece[: math.prod(shape)].view(shape) for (name, shape), piece in zip(shapes.items(), pieces, strict=True)
    }
