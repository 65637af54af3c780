"""Tokens: small arrays that stand for a mask where only arrays can travel, as between the pieces of a compiled graph."""

from __future__ import annotations

import itertools
import os
from weakref import WeakValueDictionary

import numpy as np

from compilemask.geometry.ragged import IntArray

_PROCESS = int.from_bytes(os.urandom(7))
_numbers = itertools.count(1)
_owners: WeakValueDictionary[int, object] = WeakValueDictionary()


def new_token(owner: object) -> IntArray:
    """int64 [2] that names `owner`, and nothing else, as long as it lives; it does not keep it alive."""
    number = next(_numbers)
    _owners[number] = owner
    return np.array([_PROCESS, number], np.int64)


def retire_token(token: IntArray) -> None:
    """From now on the token names nothing."""
    _owners.pop(int(token[1]), None)


def owner_of(process: int, number: int) -> object | None:
    """What the token (process, number) was made for; None when that is gone, or was in another process."""
    return _owners.get(number) if process == _PROCESS else None
