"""Characters: a mask text as tokens and as a tree."""

from compilemask.syntax.parser import parse
from compilemask.syntax.words import Word, words

__all__ = ["Word", "parse", "words"]
