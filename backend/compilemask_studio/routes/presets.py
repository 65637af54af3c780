"""The masks that come with the studio."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from compilemask_studio.deps import StudioDep
from compilemask_studio.schemas import PresetPublic

router = APIRouter(prefix="/presets", tags=["presets"])


@router.get("")
def list_presets(studio: StudioDep) -> list[PresetPublic]:
    """Every preset, with the hash of the mask of its first example."""
    return studio.presets.all()


@router.get("/{name}")
def read_preset(name: Annotated[str, Path(max_length=128)], studio: StudioDep) -> PresetPublic:
    """One of them."""
    return studio.presets.named(name)
