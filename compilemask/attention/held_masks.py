"""From the token that travels through operators and compiled graphs back to the mask it names."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import cast

from torch import Tensor

from compilemask.attention.device_mask import DeviceMask
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.descriptor.tokens import owner_of

Mask = MaskDescriptor | MaskBatch | DeviceMask
"""What attention() takes as its mask."""

_MOST_HELD = 256


class _HeldMasks:
    """The masks used last, kept alive: a compiled backward has nothing but the token, and comes later."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._masks: OrderedDict[int, Mask] = OrderedDict()

    def hold(self, number: int, mask: Mask) -> None:
        with self._lock:
            self._masks[number] = mask
            self._masks.move_to_end(number)
            while len(self._masks) > self._most:
                self._masks.popitem(last=False)


_held = _HeldMasks(_MOST_HELD)


def mask_of(token: Tensor) -> Mask:
    """The mask whose token this is, an int64 [2] on the CPU. Raises RuntimeError when it is gone or has changed."""
    process, number = token.tolist()
    mask = owner_of(process, number)
    if mask is None:
        raise RuntimeError(
            "the mask that this call to attention was made with is gone, or is a DeviceMask that was given new numbers "
            "since; keep a mask as it is, and a reference to it, until the backward has run"
        )
    _held.hold(number, cast(Mask, mask))
    return cast(Mask, mask)
