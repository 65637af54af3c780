"""The backward of the Hopper implementation as a function of tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.gradients import Gradients, sinks_gradient, with_sinks
from compilemask.attention.hopper.backward_configs import BLOCK_M, FUSED, KEY_ROWS, QUERY_ROWS, takes_dims
from compilemask.attention.hopper.backward_launch import all_gradients, key_gradients, query_gradient
from compilemask.attention.hopper.configs import padded_dim
from compilemask.attention.hopper.reordered import over_order, route
from compilemask.attention.reordered_tensors import routes
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles, tiles_of
from compilemask.attention.triton import BackwardConfig, row_terms
from compilemask.attention.triton.launch import fits_tma
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import H200_HOPPER_BACKWARD

Mask = MaskDescriptor | MaskBatch | DeviceMask


def gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None,
    mask: Mask, options: ScoreOptions, sinks: Tensor | None = None,
    wanted: tuple[bool, bool, bool, bool] = (True, True, True, True), *, deterministic: bool = False,
) -> Gradients:  # fmt: skip
    """(dq, dk, dv, dsinks) of sum(o * do) + sum(lse * dlse), contiguous, in the inputs' dtypes; do, dlse: None for zeros.

    bfloat16 or float16, of sizes that takes_dims knows, else ValueError. o and lse are the forward's. Where `wanted` is False
    the gradient may be None; dsinks is None without sinks. deterministic: equal inputs give equal bits; also under
    torch.use_deterministic_algorithms. Otherwise dq is summed in no fixed order, in one pass with dk and dv.
    """
    if not takes_dims(q.shape[3], v.shape[3]):
        raise ValueError(
            f"the hopper backward has no kernel for head_dim {q.shape[3]} and {v.shape[3]}; use impl='triton'"
        )
    if q.numel() == 0 or k.numel() == 0:
        none = torch.zeros(q.shape[2], dtype=torch.bool, device=q.device)
        dsinks = None if sinks is None else sinks_gradient(sinks, lse, torch.zeros_like(lse), dlse, none)
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v), dsinks
    do = torch.zeros_like(o) if do is None else do.contiguous()
    fused = wanted[0] and (wanted[1] or wanted[2]) and _any_order(deterministic)
    if (order := route(q, v, mask).order) is not None:
        dlse = None if dlse is None else dlse.float().contiguous()
        return with_sinks(
            over_order(q, order, options, wanted[:3], fused=fused), q, k, v, o, lse, do, dlse, sinks, wanted[3]
        )
    dim = padded_dim(q.shape[3])
    key_config = (FUSED if fused else KEY_ROWS)[dim]
    keys = tiles_of(mask, BLOCK_M, key_config.block_n, q.device, transposed=True)
    rows_with_keys = _seen(keys)
    terms = None
    dsinks = None
    if options.has_lse:
        some = None if sinks is None else rows_with_keys
        # A row without keys has lse = sink; the kernels know it by lse = -inf.
        some_lse = lse if some is None else lse.where(some, -math.inf)
        terms = row_terms(o, some_lse, do, dlse, BackwardConfig(BLOCK_M, key_config.block_n, 4, 1, tma=True))
        if sinks is not None and wanted[3]:
            dsinks = sinks_gradient(sinks, lse, terms.delta[0, ..., : q.shape[2]], dlse, some)
    q, do = (_boxable(_only(x, rows_with_keys)) for x in (q, do))
    keys_seen = _keys_seen(mask, k)
    k, v = (_boxable(_only(x, keys_seen)) for x in (k, v))
    if fused:
        return *all_gradients(q, k, v, do, terms, keys, options, key_config), dsinks
    dq = dk = dv = None
    if wanted[0]:
        config = QUERY_ROWS[dim]
        queries = tiles_of(mask, BLOCK_M, config.block_n, q.device)
        dq = query_gradient(q, k, v, do, terms, queries, options, config)
    if wanted[1] or wanted[2]:
        dk, dv = key_gradients(q, k, v, do, terms, keys, options, key_config)
    return dq, dk, dv, dsinks


def plan(mask: Mask, head_dim: int, device: torch.device, *, deterministic: bool = False) -> str:
    """Make the tiles that `gradients` of q, k and v keeps for the next call. Returns tiles and launch options, in words."""
    fused, dim = _any_order(deterministic), padded_dim(head_dim)
    config = (FUSED if fused else KEY_ROWS)[dim]
    order = None
    if isinstance(mask, MaskDescriptor):
        order = routes.get(mask, H200_HOPPER_BACKWARD, head_dim, device).order

    def make(block_n: int, *, transposed: bool) -> None:
        if order is None:
            tiles_of(mask, BLOCK_M, block_n, device, transposed=transposed)
        else:
            order.tiles(BLOCK_M, block_n, transposed=transposed)

    make(config.block_n, transposed=True)
    how = "" if order is None else f"{order.reason}; "
    if fused:
        return f"{how}{BLOCK_M}x{config.block_n} tiles, {config.num_stages} stages, dq in one pass with dk and dv"
    queries = QUERY_ROWS[dim]
    make(queries.block_n, transposed=False)
    return how + (
        f"{BLOCK_M}x{queries.block_n} tiles, {queries.num_stages} stages for dq, "
        f"{BLOCK_M}x{config.block_n} tiles, {config.num_stages} stages for dk and dv"
    )


def _any_order(deterministic: bool) -> bool:
    """Whether sums may be taken in no fixed order."""
    return not (deterministic or torch.are_deterministic_algorithms_enabled())


def _seen(tiles: Tiles) -> Tensor | None:
    """bool [len], or [1 or items, 1 or heads, len] for a batch of masks: columns of the plan that some row sees; None: all."""
    if tiles.seen is None:
        return None
    return tiles.seen.bool()[tiles.index.long()] if isinstance(tiles, BatchTiles) else tiles.seen.bool()


def _keys_seen(mask: Mask, k: Tensor) -> Tensor | None:
    """bool [kv_len] or [1 or items, 1 or kv heads, kv_len]: keys that some query of some head sees; None: all."""
    if isinstance(mask, MaskDescriptor) and mask.unseen_keys == 0:
        return None
    if isinstance(mask, DeviceMask) and not mask.padded:
        return None
    seen = _seen(tiles_of(mask, BLOCK_M, QUERY_ROWS[padded_dim(k.shape[3])].block_n, k.device))
    if seen is None or seen.ndim == 1 or seen.shape[1] == 1:
        return seen
    return seen.unflatten(1, (k.shape[1], -1)).any(2)


def _only(x: Tensor, seen: Tensor | None) -> Tensor:
    """x [batch, heads, len, dim] with zeros where not `seen`: what is hidden may be NaN, and 0 * NaN = NaN."""
    return x if seen is None else x.masked_fill(~seen[..., None], 0.0)


def _boxable(x: Tensor) -> Tensor:
    """x, or a copy of it that a tensor descriptor can address."""
    return x if fits_tma(x) else x.clone(memory_format=torch.contiguous_format)
