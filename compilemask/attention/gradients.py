"""The backward of the Triton implementation as a function of tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from compilemask.attention import triton
from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.reordered_gradients import ReorderedBackward, kernels_of_triton, route_of
from compilemask.attention.reordered_tensors import BackwardRoute, Reordering
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles, tiles_of
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import H200_TRITON_BACKWARD

Mask = MaskDescriptor | MaskBatch | DeviceMask
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]


def gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None,
    mask: Mask, options: ScoreOptions, sinks: Tensor | None = None,
    wanted: tuple[bool, bool, bool, bool] = (True, True, True, True),
) -> Gradients:  # fmt: skip
    """(dq, dk, dv, dsinks) of sum(o * do) + sum(lse * dlse), contiguous, in the inputs' dtypes; do, dlse: None for zeros.

    o and lse are the forward's. Where `wanted` is False the gradient may be None; dsinks is None without sinks. Equal
    inputs give equal bits, whatever the strides of do and dlse.
    """
    if q.numel() == 0 or k.numel() == 0:
        none = torch.zeros(q.shape[2], dtype=torch.bool, device=q.device)
        dsinks = None if sinks is None else sinks_gradient(sinks, lse, torch.zeros_like(lse), dlse, none)
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v), dsinks
    do = torch.zeros_like(o) if do is None else do.contiguous()
    dlse = None if dlse is None else dlse.float().contiguous()
    if sinks is None and q.dtype != torch.float32:
        launch = repeatable_gradients(q, k, v, o, lse, do, dlse, mask, options, wanted[:3])
        return *launch(q, k, v, o, lse, do, dlse), None
    if (reordered := _reordered(q, k, v, mask, options, wanted[:3])) is not None:
        return with_sinks(reordered, q, k, v, o, lse, do, dlse, sinks, wanted[3])
    dq_config, dkv_config = triton.choose_backward_configs(q, k, v)
    queries, keys = _both_tiles(mask, (dq_config, dkv_config), q.device)
    terms = None
    dsinks = None
    if options.has_lse:
        some = None if sinks is None else _rows_with_keys(keys)
        # A row without keys has lse = sink; the kernels know it by lse = -inf.
        terms = triton.row_terms(o, lse if some is None else lse.where(some, -math.inf), do, dlse, dkv_config)
        if sinks is not None and wanted[3]:
            dsinks = sinks_gradient(sinks, lse, terms.delta[0, ..., : q.shape[2]], dlse, some)
        if q.dtype == torch.float32:
            weights = None if sinks is None else _sink_weights(sinks, lse, some)
            terms = triton.exact_terms(q, k, v, do, dlse, terms, weights, queries, keys, options, dq_config)
    inputs = (q, k, v, do, terms, queries, keys, options)
    dq = triton.query_gradient(*inputs, dq_config) if wanted[0] else None
    dk, dv = triton.key_gradients(*inputs, dkv_config) if wanted[1] or wanted[2] else (None, None)
    return dq, dk, dv, dsinks


def repeatable_gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None,
    mask: Mask, options: ScoreOptions, wanted: tuple[bool, bool, bool],
) -> triton.WholeBackward | ReorderedBackward:  # fmt: skip
    """`gradients` of half-precision tensors of the layout of these, none of which is empty, kept with the tiles that it reads.

    It can be referred to weakly, and lives as long as the tiles. do and dlse are contiguous, dlse float32. wanted: which of q, k, v.
    """
    if (reordered := _reordered(q, k, v, mask, options, wanted)) is not None:
        return reordered
    configs = triton.choose_backward_configs(q, k, v)
    queries, keys = _both_tiles(mask, configs, q.device)
    found: triton.WholeBackward = keys.launches.get(
        ("whole", wanted, options, configs, *triton.layouts(q, k, v, o, lse, do, dlse)),
        lambda: triton.WholeBackward(q, k, v, o, lse, do, dlse, queries, keys, options, configs, wanted),
    )
    return found


def _both_tiles(
    mask: Mask, configs: tuple[triton.BackwardConfig, triton.BackwardConfig], device: torch.device
) -> tuple[Tiles, Tiles]:
    """The mask in tiles for dq, and transposed in tiles for dk and dv."""
    of_dq, of_dkv = configs
    queries = tiles_of(mask, of_dq.block_m, of_dq.block_n, device)
    return queries, tiles_of(mask, of_dkv.block_m, of_dkv.block_n, device, transposed=True)


def route(q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> BackwardRoute:
    """Whether `gradients` reorders the queries and keys of such tensors, and why."""
    sizes = [(config.block_m, config.block_n) for config in triton.choose_backward_configs(q, k, v)]
    return route_of(mask, q, v, H200_TRITON_BACKWARD, sizes)


def plan(q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> str:
    """Make the tiles that `gradients` of such tensors keeps for the next call. Returns how queries and keys are read, in words."""
    configs = triton.choose_backward_configs(q, k, v)
    found = route(q, k, v, mask)
    if found.order is None:
        tiles_of(mask, configs[0].block_m, configs[0].block_n, q.device)
        tiles_of(mask, configs[1].block_m, configs[1].block_n, q.device, transposed=True)
    else:
        found.order.tiles(configs[0].block_m, configs[0].block_n)
        found.order.tiles(configs[1].block_m, configs[1].block_n, transposed=True)
    return found.reason


def _reordered(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask, options: ScoreOptions, wanted: tuple[bool, bool, bool]
) -> ReorderedBackward | None:
    """None where row tiles are at least as fast."""
    order = route(q, k, v, mask).order
    return None if order is None else over_order(q, k, v, order, options, wanted)


def over_order(
    q: Tensor, k: Tensor, v: Tensor, order: Reordering, options: ScoreOptions, wanted: tuple[bool, bool, bool]
) -> ReorderedBackward:
    """The gradients of such tensors over reordered queries and keys, kept with the order."""
    configs = triton.choose_backward_configs(q, k, v)
    found: ReorderedBackward = order.launches.get(
        ("triton", wanted, options, configs),
        lambda: ReorderedBackward(
            order, options, configs[1].block_n, configs[1].tma, kernels_of_triton(order, configs, options, wanted)
        ),
    )
    return found


def with_sinks(
    backward: ReorderedBackward, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None,
    sinks: Tensor | None, wanted: bool,
) -> Gradients:  # fmt: skip
    """(dq, dk, dv, dsinks) over reordered queries and keys. wanted: of the sinks; other arguments as ReorderedBackward's."""
    terms = backward.terms(o, lse, do, dlse, sinks)
    dsinks = None
    if sinks is not None and terms is not None and wanted:
        dsinks = sinks_gradient(sinks, lse, terms.delta[0, ..., : q.shape[2]], dlse, backward.order.some_keys)
    return *backward.run(q, k, v, do, terms), dsinks


def _rows_with_keys(keys: Tiles) -> Tensor | None:
    """bool [q_len], or [1 or items, 1 or heads, q_len] for a batch of masks, from the transposed tiles; None: all rows."""
    if keys.seen is None:
        return None
    return keys.seen.bool()[keys.index.long()] if isinstance(keys, BatchTiles) else keys.seen.bool()


def _sink_weights(sinks: Tensor, lse: Tensor, some: Tensor | None) -> Tensor:
    """exp(sink - lse) of rows with keys, 0 of the others."""
    weights = torch.exp(sinks.float()[:, None] - lse)
    return weights if some is None else weights.where(some, 0.0)


def sinks_gradient(sinks: Tensor, lse: Tensor, delta: Tensor, dlse: Tensor | None, some: Tensor | None) -> Tensor:
    """d loss / d sinks [q heads], of a sink as one more key of value 0: -exp(sink - lse) * delta, summed over items and rows.

    lse, delta, dlse [batch, q heads, q_len]; delta = sum(o * do) - dlse in rows with keys. some: bool
    [..., q_len], the rows with keys, None for all: in the others lse = sink, and only dlse counts.
    """
    found = -torch.exp(sinks.float()[:, None] - lse) * delta
    if some is not None:
        found = torch.where(some, found, 0.0 if dlse is None else dlse.float())
    # A sink of -inf is none, also in a row without keys, where lse = -inf.
    return torch.where(torch.isneginf(lse), 0.0, found).sum((0, 2)).to(sinks.dtype)
