"""The words of the language, for completion and hover."""

from __future__ import annotations

from fastapi import APIRouter

from compilemask_studio.schemas import LanguageTables
from compilemask_studio.services import language_service

router = APIRouter(prefix="/language", tags=["language"])


@router.get("")
def read_language() -> LanguageTables:
    """Keywords, relations, types and built-in functions, each with documentation in Markdown."""
    return language_service.language_tables()
