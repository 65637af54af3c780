"""Regions of a part of a mask."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.deps import StudioDep
from compilemask_studio.schemas import RegionWindow, RegionWindowRequest
from compilemask_studio.services import region_service

router = APIRouter(prefix="/regions", tags=["regions"])


@router.post("")
def read_regions(body: RegionWindowRequest, studio: StudioDep) -> RegionWindow:
    """The region instances that have a token in a window, for masks that have too many to list. It changes nothing."""
    return region_service.regions(studio.compiler, body)
