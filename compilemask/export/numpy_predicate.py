"""A NumPy module without dependencies on this library: whether a query sees a key."""

from __future__ import annotations

from compilemask.descriptor import MaskDescriptor
from compilemask.export.literals import number_lines

MAX_EXPORTED_RUNS = 2**18
"""Intervals of a module that is still read and imported in reasonable time (about 10 MB of text)."""

_TEMPLATE = '''"""Which keys each query sees: {q_len} queries, {kv_len} keys, {visible_pairs} visible pairs. Needs NumPy only.

Rows are cut into pieces [PIECE_START, PIECE_STOP); piece p has the intervals INDPTR[p]:INDPTR[p + 1], ascending, and
in row q an interval is [LO_SLOPE*q + LO_OFFSET, HI_SLOPE*q + HI_OFFSET). Rows in no piece see no key.
"""

import numpy as np

Q_LEN = {q_len}
KV_LEN = {kv_len}
MASK_HASH = "{hash}"
{arrays}

def allowed(q_idx, kv_idx):
    """bool array, True where query q_idx sees key kv_idx. Integer arrays that broadcast; outside of the mask is False."""
    q, k = np.broadcast_arrays(np.asarray(q_idx), np.asarray(kv_idx))
    if len(PIECE_START) == 0:
        return np.zeros(q.shape, bool)
    piece = np.maximum(np.searchsorted(PIECE_START, q, side="right") - 1, 0)
    covered = (PIECE_START[piece] <= q) & (q < PIECE_STOP[piece])
    first, last = INDPTR[piece], INDPTR[piece + 1]
    while np.any(last - first > 1):
        middle = (first + last) // 2
        right = LO_SLOPE[middle] * q + LO_OFFSET[middle] <= k
        first, last = np.where(right, middle, first), np.where(right, last, np.maximum(middle, first + 1))
    inside = (LO_SLOPE[first] * q + LO_OFFSET[first] <= k) & (k < HI_SLOPE[first] * q + HI_OFFSET[first])
    return covered & inside


def count_visible():
    """Visible pairs, counted interval by interval; RuntimeError if `allowed` does not begin and end with each of them."""
    piece = np.repeat(np.arange(len(PIECE_START)), np.diff(INDPTR))
    widths = []
    for q in (PIECE_START[piece], PIECE_STOP[piece] - 1):
        lo, hi = LO_SLOPE * q + LO_OFFSET, HI_SLOPE * q + HI_OFFSET
        inside, outside = allowed(q, lo) & allowed(q, hi - 1), allowed(q, lo - 1) | allowed(q, hi)
        if not inside.all() or outside.any():
            raise RuntimeError("this module was edited: its arrays do not describe one mask")
        widths.append((hi - lo).tolist())
    rows = (PIECE_STOP - PIECE_START)[piece].tolist()
    # the width of an interval changes evenly from its first row to its last; Python's integers do not overflow
    return sum(n * (first + last) // 2 for n, first, last in zip(rows, *widths))


if __name__ == "__main__":
    print(f"{{Q_LEN}} queries x {{KV_LEN}} keys")
    print(f"visible pairs: {{count_visible()}}")
'''


def numpy_source(descriptor: MaskDescriptor) -> str:
    """The text of a module with `allowed(q_idx, kv_idx)`, which asks the runs of the mask by binary search.

    Raises ValueError for a mask of more than MAX_EXPORTED_RUNS intervals.
    """
    runs = descriptor.runs
    if runs.num_runs > MAX_EXPORTED_RUNS:
        raise ValueError(
            f"this mask has {runs.num_runs:,} intervals, and a NumPy module holds {MAX_EXPORTED_RUNS:,}; "
            "export the Python module instead, which compiles the text again"
        )
    names = ("piece_start", "piece_stop", "indptr", "lo_slope", "lo_offset", "hi_slope", "hi_offset")
    arrays = []
    for name in names:
        lines = "\n".join(f"        {line}" for line in number_lines(getattr(runs, name).tolist(), 100))
        arrays.append(f"{name.upper()} = np.array(\n    [\n{lines}\n    ],\n    dtype=np.int64,\n)")
    return _TEMPLATE.format(
        q_len=descriptor.q_len,
        kv_len=descriptor.kv_len,
        visible_pairs=descriptor.visible_pairs,
        hash=descriptor.hash,
        arrays="\n".join(arrays) + "\n",
    )
