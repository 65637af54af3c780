"""The backward over reordered queries and keys: copies into slots, kernels of row tiles, gradients back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from compilemask.attention.reordered_tensors import BackwardRoute, Reordering, routes
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import (
    BackwardConfig,
    RowTerms,
    copy_rows,
    key_gradients,
    query_gradient,
    reorder_terms,
    row_terms,
)
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import BackwardCosts, cuts_into

_ANY_CONFIG = BackwardConfig(128, 64, 4, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """q, k, v, do and the row terms in the order of the slots; terms: None where the options have no lse."""

    q: Tensor
    k: Tensor
    v: Tensor
    do: Tensor
    terms: RowTerms | None


def route_of(
    mask: object, q: Tensor, v: Tensor, costs: BackwardCosts, block_sizes: Sequence[tuple[int, int]]
) -> BackwardRoute:
    """Whether the backward of these tensors reorders them, and why. block_sizes: of the tiles that the kernels would visit."""
    if not isinstance(mask, MaskDescriptor):
        return BackwardRoute(None, "row tiles: several masks share a launch, or a mask that changes on the device")
    if q.dtype == torch.float32:
        return BackwardRoute(None, "row tiles: float32")
    if not all(cuts_into(*sizes) for sizes in block_sizes):
        return BackwardRoute(None, "row tiles: the kernel's tiles are too small for bit masks")
    # A tile's work is four products with the dimension of q and k, or of v.
    return routes.get(mask, costs, (q.shape[3] + v.shape[3] + 1) // 2, q.device)


Kernels = Callable[[Slots], tuple[Tensor | None, Tensor | None, Tensor | None]]
"""(dq of the queries as they were given, dk and dv in their slots); None for what is not wanted."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ReorderedBackward:
    """The gradients of one mask's q, k and v. block_n: of the kernel that reads queries as columns; copies: by tensor descriptors."""

    order: Reordering
    options: ScoreOptions
    block_n: int
    copies: bool
    kernels: Kernels

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """(dq, dk, dv), contiguous; None where not wanted. o, lse, do and dlse, or None, are contiguous; dlse is float32."""
        return self.run(q, k, v, do, self.terms(o, lse, do, dlse))

    def terms(
        self, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None, sinks: Tensor | None = None
    ) -> RowTerms | None:
        """Row terms of the queries as they are given; None where the options have no lse."""
        if not self.options.has_lse:
            return None
        if sinks is not None and self.order.some_keys is not None:
            # A row without keys has lse = sink; the kernels know it by lse = -inf.
            lse = lse.where(self.order.some_keys, -math.inf)
        return row_terms(o, lse, do, dlse, _ANY_CONFIG)

    def run(
        self, q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """(dq, dk, dv) with the terms given."""
        order = self.order
        if terms is not None:
            terms = reorder_terms(terms, order.q_tokens, self.block_n, copies=self.copies)
        q, do = (copy_rows(x, order.q_tokens) for x in (q, do))
        k, v = (copy_rows(x, order.k_tokens) for x in (k, v))
        dq, dk, dv = self.kernels(Slots(q, k, v, do, terms))
        dk, dv = (None if x is None else copy_rows(x, order.k_slots) for x in (dk, dv))
        return dq, dk, dv


def kernels_of_triton(
    order: Reordering,
    configs: tuple[BackwardConfig, BackwardConfig],
    options: ScoreOptions,
    wanted: tuple[bool, bool, bool],
) -> Kernels:
    """The kernels of impl triton. wanted: which of q, k, v."""
    of_dq, of_dkv = configs
    queries = order.tiles(of_dq.block_m, of_dq.block_n)
    keys = order.tiles(of_dkv.block_m, of_dkv.block_n, transposed=True)

    def kernels(slots: Slots) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        inputs = (slots.q, slots.k, slots.v, slots.do, slots.terms, queries, keys, options)
        dq = copy_rows(query_gradient(*inputs, of_dq), order.q_slots) if wanted[0] else None
        dk, dv = key_gradients(*inputs, of_dkv) if wanted[1] or wanted[2] else (None, None)
        return dq, dk, dv

    return kernels
