"""The language's own word list in the shape of the interface."""

from __future__ import annotations

from functools import cache

from compilemask.syntax.words import words
from compilemask_studio.schemas import LanguageTables, Word


@cache
def language_tables() -> LanguageTables:
    return LanguageTables(words=[Word.model_validate(word) for word in words()])
