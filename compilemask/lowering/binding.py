"""The numbers of one binding, and how much may still be computed for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from compilemask.diagnostics import Span
from compilemask.geometry.runs import IntArray
from compilemask.lowering import limits
from compilemask.lowering.failure import BindError
from compilemask.lowering.values import Value


@dataclass(slots=True, eq=False)
class Binding:
    """Parameter values of one lowering. A text can come from a stranger, so its work is counted down from MAX_WORK."""

    values: Mapping[str, Value]
    work_left: int = field(default_factory=lambda: limits.MAX_WORK)
    _arrays: dict[str, IntArray] = field(default_factory=dict)

    def array(self, name: str) -> IntArray:
        """The list of an int[] parameter as int64."""
        if name not in self._arrays:
            self._arrays[name] = np.asarray(self.values[name], dtype=np.int64)
        return self._arrays[name]

    def spend(self, count: int, span: Span) -> None:
        """Counts work that is about to be done for the text at `span`; raises `BindError` when it becomes too much."""
        self.work_left -= count
        if self.work_left < 0:
            raise BindError(
                "CM412",
                f"with these numbers the mask needs more than {limits.MAX_WORK:,} steps to be worked out",
                span,
                "use fewer or linear conditions, or bind smaller numbers",
            )
