"""Committed launch configurations of a kernel, by head dimension, precision and device; nothing is tuned at call time."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

Config = TypeVar("Config")


def block_dim(head_dim: int) -> int:
    """The power of two, at least 16, that holds head_dim."""
    return max(16, 1 << (head_dim - 1).bit_length())


def capability_of(tensor: Tensor) -> tuple[int, int] | None:
    """The compute capability of a tensor's device; None where that is not CUDA."""
    return _capability(tensor.get_device()) if tensor.is_cuda else None


@functools.cache
def _capability(index: int) -> tuple[int, int]:
    return torch.cuda.get_device_capability(index)


@dataclass(frozen=True, slots=True)
class ConfigTable(Generic[Config]):
    """Configurations by the larger of the padded head dimensions: 64, 128 or 256.

    hopper_tma, hopper: half precision on compute capability 9, where tensor descriptors can address the inputs and where
    they cannot. half, single: on any other GPU, and float32 on all. interpreter: without a GPU.
    """

    hopper_tma: Mapping[int, Config]
    hopper: Mapping[int, Config]
    half: Mapping[int, Config]
    single: Mapping[int, Config]
    interpreter: Config

    def choose(
        self, head_dim: int, v_head_dim: int, itemsize: int, capability: tuple[int, int] | None, *, tma: bool = False
    ) -> Config:
        """The configuration for these sizes.

        itemsize: bytes of an element (2 or 4); capability: CUDA's, None for the interpreter; tma: whether tensor
        descriptors can address the inputs.
        """
        if capability is None:
            return self.interpreter
        size = max(64, block_dim(head_dim), block_dim(v_head_dim))
        if itemsize == 4:
            return self.single[size]
        if capability[0] != 9:
            return self.half[size]
        return self.hopper_tma[size] if tma else self.hopper[size]
