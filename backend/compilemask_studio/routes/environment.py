"""What can be measured on this machine."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.deps import StudioDep
from compilemask_studio.schemas import Environment

router = APIRouter(prefix="/environment", tags=["environment"])


@router.get("")
def read_environment(studio: StudioDep) -> Environment:
    """Providers, devices and versions, probed in a child process; `probing` until the first answer is in."""
    return studio.environment.read()


@router.post("/refresh")
def refresh_environment(studio: StudioDep) -> Environment:
    """Probe again."""
    return studio.environment.refresh()
