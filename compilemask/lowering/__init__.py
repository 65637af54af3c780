"""A checked mask plus numbers to the set of visible cells (docs/architecture.md, Lowering)."""

from compilemask.lowering.lower import Lowered, RegionSpan, lower

__all__ = ["Lowered", "RegionSpan", "lower"]
