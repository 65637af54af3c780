"""Names and types: a tree becomes a checked mask."""

from compilemask.semantics.checker import check
from compilemask.semantics.masks import Library
from compilemask.semantics.program import CheckedMask

__all__ = ["CheckedMask", "Library", "check"]
