"""A store of things that take time to build, for threads that share it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
_LAUNCHES = 64
# One for all stores: it is held for a few steps in a dictionary, and what torch.compile traces cannot make a lock.
_lock = threading.Lock()


class BuildOnce(Generic[Value]):
    """At most max_entries values, the least recently used goes first.

    Threads that ask for one missing entry build it once; entries of other keys are not held up meanwhile. A build that
    raises leaves the entry missing.
    """

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._slots: OrderedDict[Hashable, _Slot[Value]] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], Value]) -> Value:
        """The value of this key; build() makes it when it is missing."""
        with _lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > self._max_entries:
                self._slots.popitem(last=False)
        with slot.lock:
            if not slot.values:
                slot.values.append(build())
            return slot.values[0]

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget everything."""
        with _lock:
            self._slots.clear()


def new_launches() -> BuildOnce[Any]:
    """Where tiles keep the launches that read them: those are forgotten with the tiles, and few for each."""
    return BuildOnce(_LAUNCHES)


class _Slot(Generic[Value]):
    __slots__ = ("lock", "values")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: list[Value] = []
