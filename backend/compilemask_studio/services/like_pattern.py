"""Texts looked for as they are, with SQL's LIKE."""

from __future__ import annotations

ESCAPE = "\\"
"""Give it to `like` and `ilike` with every pattern of this module."""


def containing(text: str) -> str:
    """A pattern of what has `text` in it; its `%`, `_` and backslashes stand for themselves."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
