"""The whole backward made ready for repetition: row terms, dq, dk and dv."""

from __future__ import annotations

from torch import Tensor

from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton.backward_configs import BackwardConfig
from compilemask.attention.triton.backward_launch import KeyGradients, QueryGradient, RowTermsLaunch
from compilemask.attention.triton.relaunch import on_device_of


class WholeBackward:
    """Gradients of half-precision q, k, v, without sinks, for tensors of the layout of these.

    o, lse, do and dlse are contiguous; dlse is float32, or None for zeros.
    """

    __slots__ = ("__weakref__", "_dkv", "_dq", "_terms")

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None,
        queries: Tiles, keys: Tiles, options: ScoreOptions, configs: tuple[BackwardConfig, BackwardConfig],
        wanted: tuple[bool, bool, bool],
    ) -> None:  # fmt: skip
        """queries, keys: the mask and it transposed, planned for configs, of dq and of dk and dv. wanted: which of q, k, v."""
        self._terms = RowTermsLaunch(o, dlse, configs[1]) if options.has_lse else None
        with on_device_of(q):
            terms = None if self._terms is None else (*self._terms(o, lse, do, dlse), None)
        inputs = (q, k, v, do, terms, queries, keys, options)
        self._dq = QueryGradient(*inputs, configs[0]) if wanted[0] else None
        self._dkv = KeyGradients(*inputs, configs[1]) if wanted[1] or wanted[2] else None

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """(dq, dk, dv), contiguous; None where not wanted."""
        with on_device_of(q):
            terms = None if self._terms is None else (*self._terms(o, lse, do, dlse), None)
            dq = None if self._dq is None else self._dq(q, k, v, do, terms)
            dk, dv = (None, None) if self._dkv is None else self._dkv(q, k, v, do, terms)
        return dq, dk, dv
