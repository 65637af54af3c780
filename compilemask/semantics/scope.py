"""What names mean at a place of the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from compilemask.diagnostics import Span
from compilemask.semantics.program import RegionReference
from compilemask.semantics.report import Report
from compilemask.syntax.tree import ParameterNode, RegionNode

GRID_LETTERS: Final = {2: "yx", 3: "zyx"}
"""Names of the coordinates of a grid with so many sizes, outermost first."""


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved reference and the region that it ends at."""

    reference: RegionReference
    region: RegionNode

    @property
    def shown(self) -> str:
        return ".".join(self.reference.path)


@dataclass(frozen=True, slots=True)
class Sides:
    """What a rule's condition may speak of: the regions on both sides of `sees`."""

    queries: tuple[Target, ...]
    keys: tuple[Target, ...]

    def side(self, name: str) -> tuple[Target, ...]:
        return self.queries if name == "q" else self.keys

    def indices(self) -> set[str]:
        """All index variables that some reference names."""
        return {name for target in (*self.queries, *self.keys) for name in target.reference.indices}

    def missing(self, index: str) -> Target | None:
        """A reference that leaves `index` unbound in some combination of the sides, or None when it is always bound."""
        without = [[t for t in side if index not in t.reference.indices] for side in (self.queries, self.keys)]
        if not (without[0] and without[1]):
            return None
        half = without[0] if len(without[0]) < len(self.queries) else without[1]
        return half[0]


@dataclass
class Scope:
    """The names of a text, and of the place in it that is being checked.

    indices: index variables of the regions around a size, with their places. sides: of the rule, or None in a size.
    """

    report: Report
    parameters: dict[str, ParameterNode]
    regions: dict[str, Span]
    two_axes: bool
    used: set[str] = field(default_factory=set)
    indices: dict[str, Span] = field(default_factory=dict)
    sides: Sides | None = None
    told: set[str] = field(default_factory=set)
    """Messages about this place that are not repeated."""

    def place(self, indices: dict[str, Span], sides: Sides | None) -> Scope:
        """The same names at another place."""
        return Scope(self.report, self.parameters, self.regions, self.two_axes, self.used, indices, sides)
