"""Attention under a mask descriptor; the room that knows torch.

The package is itself callable: `compilemask.attention(q, k, v, mask)` is `compilemask.attention.attention(q, k, v, mask)`,
whichever was imported first (docs/decisions/0002-attention-is-callable.md).
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from compilemask.attention.api import attention
from compilemask.attention.choice import IMPLS, Impl, choose_impl
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.merging import merge

__all__ = ["IMPLS", "DeviceMask", "Impl", "attention", "choose_impl", "merge"]


class _CallableModule(ModuleType):
    """A module that stands for its main function."""

    if not TYPE_CHECKING:
        __call__ = staticmethod(attention)


__signature__ = inspect.signature(attention)
sys.modules[__name__].__class__ = _CallableModule
