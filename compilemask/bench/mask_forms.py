"""Masks that peers have a word for: full, causal, a window, documents; read off a descriptor, however it was written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compilemask.descriptor import MaskDescriptor

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Full:
    """Every query sees every key."""


@dataclass(frozen=True, slots=True)
class Causal:
    """As many queries as keys; query q sees the keys 0..q."""


@dataclass(frozen=True, slots=True)
class Window:
    """As many queries as keys; query q sees the keys q - left .. q + right."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Documents:
    """Consecutive stretches of tokens that see themselves alone, each whole or each causally."""

    lengths: tuple[int, ...]
    causal: bool


MaskForm = Full | Causal | Window | Documents


def recognise(mask: MaskDescriptor) -> MaskForm | None:
    """The form that has exactly this mask's cells, the first in the order above; None when there is none."""
    if mask.q_len == 0 or mask.kv_len == 0:
        return None
    if mask.visible_pairs == mask.q_len * mask.kv_len:
        return Full()
    if mask.q_len != mask.kv_len or mask.empty_rows or mask.runs_per_row_max != 1:
        return None
    _, lo, hi = mask.row_intervals()
    q = np.arange(mask.q_len)
    if not lo.any() and (hi == q + 1).all():
        return Causal()
    return _window(lo, hi, q) or _documents(lo, hi, q)


def _window(lo: Int64Array, hi: Int64Array, q: Int64Array) -> Window | None:
    length = len(q)
    left, right = int(q[-1] - lo[-1]), int(hi[0] - 1)
    if (lo == np.maximum(q - left, 0)).all() and (hi == np.minimum(q + right + 1, length)).all():
        return Window(left, right)
    return None


def _documents(lo: Int64Array, hi: Int64Array, q: Int64Array) -> Documents | None:
    starts = np.unique(lo)
    which = np.searchsorted(starts, q, side="right") - 1
    if (which < 0).any() or (lo != starts[which]).any():
        return None
    stops = np.append(starts[1:], len(q))
    lengths = tuple((stops - starts).tolist())
    if (hi == q + 1).all():
        return Documents(lengths, causal=True)
    return Documents(lengths, causal=False) if (hi == stops[which]).all() else None
