"""A descriptor's cells as arrays of bool, a stretch of rows at a time: for the dense reference and for checks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from compilemask.descriptor import MaskDescriptor

BoolArray = npt.NDArray[np.bool_]

_INTERVALS_PER_CHUNK = 1 << 22


def dense_rows(mask: MaskDescriptor, q_start: int, q_stop: int) -> BoolArray:
    """bool [q_stop - q_start, kv_len]: True where the row sees the key."""
    indptr, lo, hi = mask.row_intervals(q_start, q_stop)
    row = np.repeat(np.arange(q_stop - q_start), np.diff(indptr))
    steps = np.zeros((q_stop - q_start, mask.kv_len + 1), np.int8)
    # Intervals of a row neither touch nor overlap, so no place gets two steps.
    steps[row, lo] = 1
    steps[row, hi] = -1
    return np.cumsum(steps, axis=1, dtype=np.int8, out=steps)[:, : mask.kv_len].astype(bool)


def seen_keys(mask: MaskDescriptor) -> BoolArray:
    """bool [kv_len]: True for the keys that some row sees."""
    if mask.unseen_keys == 0:
        return np.ones(mask.kv_len, bool)
    steps = np.zeros(mask.kv_len + 1, np.int64)
    rows = max(1, _INTERVALS_PER_CHUNK // max(1, mask.runs_per_row_max))
    for q_start in range(0, mask.q_len, rows):
        _, lo, hi = mask.row_intervals(q_start, min(q_start + rows, mask.q_len))
        steps += np.bincount(lo, minlength=len(steps)) - np.bincount(hi, minlength=len(steps))
    return np.cumsum(steps[: mask.kv_len]) > 0
