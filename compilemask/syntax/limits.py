"""How big a text may be. A text may come from a stranger; whatever is over a limit is a diagnostic, never a hang."""

from __future__ import annotations

from typing import Final

MAX_SOURCE_BYTES: Final = 64_000
"""UTF-8 bytes of one text."""
MAX_TOKENS: Final = 20_000
MAX_NAME_LENGTH: Final = 64
MAX_NUMBER: Final = 2**31 - 1
"""The greatest whole number that may be written; binding computes with far greater ones."""
MAX_NESTING: Final = 64
"""Open brackets, braces, `not`s and minus signs around one place."""
MAX_OPERATORS: Final = 128
"""Operators in one size or one condition."""
MAX_PARAMETERS: Final = 64
MAX_REGIONS: Final = 256
"""Declared regions of one text, nested ones counted."""
MAX_RULES: Final = 512
MAX_REFERENCES: Final = 64
"""Regions on one side of one rule."""
MAX_EXAMPLES: Final = 64
MAX_ASSERTIONS: Final = 64
MAX_MASKS: Final = 64
"""Definitions of one text."""
MAX_CALLS: Final = 128
"""Calls that one mask is made of, those of the called masks counted."""
MAX_LIST_ITEMS: Final = 4_096
"""Numbers in one written list."""
MAX_DIAGNOSTICS: Final = 100
"""Messages of one pass over one text; the rest is counted, not listed."""
