"""Whether timed calls agree with each other well enough for their median to mean something: a pure function of the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, pstdev

from compilemask_studio.services.quantities import duration, percent

FEW = 8
"""Below so many samples nothing can be said about their spread."""
WIDE = 0.15
"""A 20-80 % interval wider than this part of the median."""
APART = 0.05
"""Two groups of samples, or the begin and the end of a measurement, are told apart from this relative distance on."""
MIN_SHARE = 0.15
"""A smaller group is called outliers, not a second speed."""
SEPARATION = 3.0
"""Ashman's D of two groups that do not overlap; above 2 they are told apart at all."""


def sample_flags(samples: Sequence[float], steady: bool | None = None) -> list[str]:
    """In words for the reader; empty for samples that agree. samples: milliseconds in the order in which they were taken.
    steady: what the measurement itself says about the end of its warm-up."""
    found = []
    if steady is False:
        found.append("unsettled: times still changed when the warm-up ended")
    if not samples:
        return found
    if len(samples) < FEW:
        return [*found, f"few samples: {len(samples)}"]
    two = two_speeds(samples)
    drifting = drift(samples)
    if two is not None:
        fast, slow, share = two
        found.append(
            f"two speeds: about {duration(fast)} and {duration(slow)}, {percent(share)} of the calls in the slower"
        )
    elif drifting is not None and steady is not False:
        found.append(f"unsettled: the last third of the calls took {percent(drifting, '+')} against the first third")
    elif (spread := _spread(samples)) > WIDE:
        found.append(f"wide spread: 20-80 % is {percent(spread)} of the median")
    return found


def two_speeds(samples: Sequence[float]) -> tuple[float, float, float] | None:
    """(median of the fast calls, of the slow calls, share of the slow ones), when there are two groups that do not overlap.

    The split is where the sum of the squared distances to both means is least (Otsu, 1979); Ashman's D says how far apart
    the groups are in units of their widths.
    """
    ordered = sorted(value for value in samples if value > 0)
    least, most = math.ceil(MIN_SHARE * len(ordered)), math.floor((1 - MIN_SHARE) * len(ordered))
    if least < 2 or most <= least:
        return None
    at = max(range(least, most + 1), key=lambda cut: _between(ordered, cut))
    fast, slow = ordered[:at], ordered[at:]
    gap, width = fmean(slow) - fmean(fast), math.hypot(pstdev(fast), pstdev(slow))
    # A gap between the groups themselves: the halves of one broad group have a large distance as well, but touch.
    touching = slow[0] - fast[-1] < 0.25 * gap
    if gap < APART * fmean(fast) or touching or (width > 0 and math.sqrt(2) * gap / width < SEPARATION):
        return None
    return median(fast), median(slow), len(slow) / len(ordered)


def drift(samples: Sequence[float]) -> float | None:
    """Relative change of the median from the first to the last third, when it is more than the samples scatter."""
    third = len(samples) // 3
    first, last = median(samples[:third]), median(samples[-third:])
    change = last / first - 1 if first > 0 else 0.0
    scatter = max(_spread(samples[:third]), _spread(samples[-third:]))
    return change if abs(change) > max(APART, scatter) else None


def _between(ordered: Sequence[float], cut: int) -> float:
    left, right = ordered[:cut], ordered[cut:]
    return len(left) * len(right) * (fmean(left) - fmean(right)) ** 2


def _spread(samples: Sequence[float]) -> float:
    ordered, middle = sorted(samples), median(samples)
    low, high = ordered[int(0.2 * (len(ordered) - 1))], ordered[math.ceil(0.8 * (len(ordered) - 1))]
    return (high - low) / middle if middle > 0 else 0.0
