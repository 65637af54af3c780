"""From a table of visible cells to a descriptor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import Trapezoids


def descriptor_of_cells(visible: npt.NDArray[np.bool_]) -> MaskDescriptor:
    """The mask that sees the True cells of bool [q_len, kv_len]."""
    q_len, kv_len = visible.shape
    steps = np.zeros((q_len, kv_len + 2), np.int8)
    steps[:, 1:-1] = visible
    change = np.diff(steps, axis=1)
    # row by row, starts and stops of the stretches of True alternate
    row, lo = np.nonzero(change == 1)
    hi = np.nonzero(change == -1)[1]
    return MaskDescriptor.from_trapezoids(q_len, kv_len, Trapezoids.of(row, row + 1, 0, lo, 0, hi))


def batch_of_cells(visible: npt.NDArray[np.bool_]) -> MaskBatch:
    """The masks of bool [items, heads, q_len, kv_len]; equal tables are read once."""
    known: dict[bytes, MaskDescriptor] = {}
    table = []
    for item in visible:
        keys = [np.packbits(cells).tobytes() for cells in item]
        for key, cells in zip(keys, item, strict=True):
            if key not in known:
                known[key] = descriptor_of_cells(cells)
        table.append([known[key] for key in keys])
    return MaskBatch.of(table)
