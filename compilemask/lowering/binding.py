"""The numbers of one binding, and how much may still be computed for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from compilemask.diagnostics import Label, Span
from compilemask.geometry.ragged import offsets
from compilemask.geometry.runs import IntArray
from compilemask.lowering import limits
from compilemask.lowering.failure import BindError
from compilemask.semantics.program import Value


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of numbers: row r is items[start[r]:start[r + 1]]."""

    items: IntArray
    start: IntArray

    @property
    def num_rows(self) -> int:
        return len(self.start) - 1


@dataclass(slots=True, eq=False)
class Binding:
    """Parameter values of one lowering. A text can come from a stranger, so its work is counted down from MAX_WORK."""

    values: Mapping[str, Value]
    work_left: int = field(default_factory=lambda: limits.MAX_WORK)
    _arrays: dict[str, IntArray] = field(default_factory=dict)
    _tables: dict[str, Table] = field(default_factory=dict)
    _spent: dict[Span, int] = field(default_factory=dict)

    def array(self, name: str) -> IntArray:
        """A list parameter as int64; true is 1."""
        if name not in self._arrays:
            self._arrays[name] = np.asarray(self.values[name], dtype=np.int64)
        return self._arrays[name]

    def table(self, name: str) -> Table:
        """A table parameter as its items, row after row; true is 1."""
        if name not in self._tables:
            rows = self.values[name]
            assert isinstance(rows, tuple), "the checker lets only tables be indexed twice"
            lengths = np.array([len(row) for row in rows if isinstance(row, tuple)], np.int64)
            items = np.fromiter(
                (item for row in rows if isinstance(row, tuple) for item in row), np.int64, int(lengths.sum())
            )
            self._tables[name] = Table(items, offsets(lengths))
        return self._tables[name]

    def spend(self, count: int, span: Span) -> None:
        """Counts work that is about to be done for the text at `span`; raises `BindError` when it becomes too much."""
        self.work_left -= count
        self._spent[span] = self._spent.get(span, 0) + count
        if self.work_left < 0:
            raise self._too_much(span)

    def _too_much(self, span: Span) -> BindError:
        """Work runs out at `span`, with the place that took most of it."""
        costly = max(self._spent, key=lambda place: self._spent[place])
        failure = BindError(
            "CM412",
            f"with these numbers the mask needs more than {limits.MAX_WORK:,} steps to be worked out",
            span,
            "say it by regions with indices, as `B[i] sees B[j] where j <= i`, which are worked out for pairs of regions, "
            "not of tokens; use fewer or linear conditions; or bind smaller numbers",
        )
        if costly != span:
            failure.add_label(Label(costly, "most of the steps are for this"))
        return failure
