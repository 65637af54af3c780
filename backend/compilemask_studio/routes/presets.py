"""The masks that come with the studio."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.deps import StudioDep
from compilemask_studio.schemas import PresetPublic
from compilemask_studio.services import preset_service

router = APIRouter(prefix="/presets", tags=["presets"])


@router.get("")
def list_presets(studio: StudioDep) -> list[PresetPublic]:
    """Every preset, with the hash of the mask of its first example."""
    return preset_service.list_presets(studio.compiler)
