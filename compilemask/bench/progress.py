"""How a long computation tells where it is: progress(stage, fraction of the stage, 0 to 1)."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]


def no_progress(_stage: str, _fraction: float) -> None:
    """For callers that do not ask."""
