"""Characters: a mask text as tokens and as a tree, and back."""

from compilemask.syntax.parser import parse
from compilemask.syntax.printer import format
from compilemask.syntax.words import Word, words

__all__ = ["Word", "format", "parse", "words"]
