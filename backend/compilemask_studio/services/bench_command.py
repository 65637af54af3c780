"""The command that repeats a run from a shell."""

from __future__ import annotations
