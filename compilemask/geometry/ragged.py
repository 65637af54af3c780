"""Index arithmetic for arrays of lists stored end to end (CSR)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def offsets(counts: npt.NDArray[np.integer]) -> IntArray:
    """int64[n + 1]: where each list starts, and where the last one ends."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def spread(starts: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """The lists `starts[i], starts[i] + 1, ...` of `counts[i]` items, end to end.

    Returns (number i of the list, item), both int64[counts.sum()].
    """
    owner = np.repeat(np.arange(len(counts)), counts)
    shift = starts - (np.cumsum(counts) - counts)
    return owner, np.arange(len(owner)) + shift[owner]


def all_of(flags: BoolArray, indptr: IntArray) -> BoolArray:
    """Whether all flags of each list hold; no list may be empty."""
    if len(indptr) == 1:
        return np.zeros(0, np.bool_)
    result: BoolArray = np.logical_and.reduceat(flags, indptr[:-1])
    return result
