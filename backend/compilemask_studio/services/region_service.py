"""Regions of a mask that has too many to send with it: those of the part that somebody looks at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from compilemask.lowering import RegionSpan
from compilemask_studio.schemas import RegionSpanPublic, RegionWindow, RegionWindowRequest
from compilemask_studio.services.compile_service import MAX_REGIONS_SHOWN, CompileService, invalid_mask


def regions(compiler: CompileService, request: RegionWindowRequest) -> RegionWindow:
    """StudioError 409 when the text does not compile. An axis with more than 2,000 instances in the window has none."""
    analysis = compiler.analysis(request.source, request.values, request.item, request.head)
    lowered = analysis.lowered
    if lowered is None:
        raise invalid_mask(analysis.diagnostics)
    return RegionWindow(
        queries=_within(lowered.queries, request.q_start, request.q_stop),
        keys=_within(lowered.keys, request.k_start, request.k_stop),
    )


def _within(spans: Sequence[RegionSpan], start: int, stop: int) -> list[RegionSpanPublic]:
    """Spans are in token order and do not overlap."""
    first = bisect_right(spans, start, key=lambda span: span.stop)
    last = bisect_left(spans, stop, key=lambda span: span.start)
    if last - first > MAX_REGIONS_SHOWN:
        return []
    return [RegionSpanPublic.model_validate(span) for span in spans[first:last] if span.stop > span.start]
