"""Offsets as editors count them: UTF-16 code units, where a character beyond U+FFFF counts two."""

from __future__ import annotations

from bisect import bisect_left

from compilemask.diagnostics import Span
from compilemask_studio.schemas import SpanPublic


class Utf16Offsets:
    """Turns code-point offsets into one text into UTF-16 offsets."""

    def __init__(self, source: str) -> None:
        self._wide = [] if source.isascii() else [index for index, char in enumerate(source) if char > "\uffff"]

    def offset(self, code_points: int) -> int:
        return code_points + bisect_left(self._wide, code_points)

    def span(self, span: Span) -> SpanPublic:
        return SpanPublic(start=self.offset(span.start), stop=self.offset(span.stop))


def code_points(source: str, offset: int) -> int:
    """The code-point offset of a UTF-16 offset; one beyond the end is the end."""
    if source.isascii():
        return min(offset, len(source))
    return len(source.encode("utf-16-le", "surrogatepass")[: 2 * offset].decode("utf-16-le", "ignore"))
