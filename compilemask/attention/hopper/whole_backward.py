"""The whole backward made ready for repetition, for masks that hide no query and no key from all others."""

from __future__ import annotations

import torch
from torch import Tensor

from compilemask.attention.device_mask import DeviceMask
from compilemask.attention.hopper.backward_configs import BLOCK_M, FUSED, KEY_ROWS, QUERY_ROWS, HopperBackwardConfig
from compilemask.attention.hopper.backward_launch import GradientLaunch, convert, visited_heads
from compilemask.attention.hopper.configs import padded_dim
from compilemask.attention.hopper.reordered import over_order, route
from compilemask.attention.reordered_gradients import ReorderedBackward
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles, tiles_of
from compilemask.attention.triton import BackwardConfig, layouts
from compilemask.attention.triton.backward_launch import RowTermsLaunch
from compilemask.attention.triton.launch import fits_tma, inverse
from compilemask.attention.triton.relaunch import on_device_of
from compilemask.descriptor import MaskBatch, MaskDescriptor


class WholeBackward:
    """Gradients of q, k, v, without sinks, for tensors of the layout of these, which fit_tma.

    o, lse, do and dlse are contiguous; dlse is float32, or None for zeros.
    """

    __slots__ = ("__weakref__", "_dkv", "_dq", "_grads", "_parts", "_scale", "_sums", "_terms")

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None, keys: Tiles,
        queries: Tiles | None, options: ScoreOptions, configs: tuple[HopperBackwardConfig, HopperBackwardConfig],
        *, key_rows: bool, fused: bool,
    ) -> None:  # fmt: skip
        """keys: the transposed mask, planned for configs[0]; queries: the mask, planned for configs[1], where dq has a launch of its own.

        key_rows: whether dk and dv are wanted. fused: whether dq comes with them, summed in no fixed order.
        """
        group = q.shape[1] // k.shape[1]
        heads = visited_heads(group, k, keys)
        self._parts, self._scale = group // heads, options.sm_scale * (inverse(options.norm) or 1.0)
        made = k.dtype if self._parts == 1 else torch.float32
        self._grads = [((x.shape[0], x.shape[1] * self._parts, *x.shape[2:]), made, x.device) for x in (k, v)]
        self._sums = fused
        of_terms = BackwardConfig(BLOCK_M, configs[0].block_n, 4, 1, tma=True)
        self._terms = RowTermsLaunch(o, dlse, of_terms, q.shape[3] if fused else 0) if options.has_lse else None
        terms, _, sums = self._prepare(q, o, lse, do, dlse)
        self._dq = None if queries is None else GradientLaunch(
            (q, do), (k, v), (dq := torch.empty_like(q, memory_format=torch.contiguous_format), dq), None, terms, queries,
            options, configs[1], key_rows=False, group=group, num_visited=1,
        )  # fmt: skip
        self._dkv = None if not key_rows else GradientLaunch(
            (k, v), (q, do), self._key_grads(), sums, terms, keys, options, configs[0], key_rows=True,
            group=group, num_visited=heads,
        )  # fmt: skip

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """(dq, dk, dv), contiguous; None where not wanted."""
        terms, delta, sums = self._prepare(q, o, lse, do, dlse)
        dq = dk = dv = None
        if self._dq is not None:
            dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
            self._dq((q, do), (k, v), (dq, dq), None, terms, delta)
        if self._dkv is not None:
            dk, dv = self._key_grads()
            self._dkv((k, v), (q, do), (dk, dv), sums, terms, delta)
            if sums is not None:
                dq = convert(sums, self._scale, q.dtype)
            if self._parts > 1:
                dk, dv = (x.unflatten(1, (-1, self._parts)).sum(2).to(k.dtype) for x in (dk, dv))
        return dq, dk, dv

    def _prepare(
        self, q: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """lse and delta of RowTerms, and zeros that dq is summed in, where there are any."""
        if self._terms is None:
            return None, None, torch.zeros(q.shape, dtype=torch.float32, device=q.device) if self._sums else None
        sums = torch.empty(q.shape, dtype=torch.float32, device=q.device) if self._sums else None
        with on_device_of(o):
            return *self._terms(o, lse, do, dlse, sums), sums

    def _key_grads(self) -> tuple[Tensor, Tensor]:
        (dk_shape, dtype, device), (dv_shape, _, _) = self._grads
        return torch.empty(dk_shape, dtype=dtype, device=device), torch.empty(dv_shape, dtype=dtype, device=device)


def repeatable_gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None,
    mask: MaskDescriptor | MaskBatch | DeviceMask, options: ScoreOptions, wanted: tuple[bool, bool, bool],
    *, deterministic: bool,
) -> WholeBackward | ReorderedBackward | None:  # fmt: skip
    """`gradients` of tensors of the layout of these, none of which is empty, kept with the tiles that it reads.

    It can be referred to weakly, and lives as long as the tiles. do and dlse are contiguous, dlse float32. wanted: which of q, k,
    v. None where tensors must be copied first: they do not fit_tma, or what the mask hides must not be read.
    """
    dim = padded_dim(q.shape[3])
    key_rows = wanted[1] or wanted[2]
    fused = wanted[0] and key_rows and not deterministic
    if (order := route(q, v, mask).order) is not None:
        return over_order(q, order, options, wanted, fused=fused)
    configs = ((FUSED if fused else KEY_ROWS)[dim], QUERY_ROWS[dim])
    keys = tiles_of(mask, BLOCK_M, configs[0].block_n, q.device, transposed=True)
    if keys.seen is not None or not _all_keys_seen(mask) or not all(fits_tma(x) for x in (q, k, v, do)):
        return None
    apart = wanted[0] and not fused
    queries = tiles_of(mask, BLOCK_M, configs[1].block_n, q.device) if apart else None
    found: WholeBackward = keys.launches.get(
        ("hopper whole", apart, key_rows, fused, options, configs, *layouts(q, k, v, o, lse, do, dlse)),
        lambda: WholeBackward(
            q, k, v, o, lse, do, dlse, keys, queries, options, configs, key_rows=key_rows, fused=fused
        ),
    )
    return found


def _all_keys_seen(mask: MaskDescriptor | MaskBatch | DeviceMask) -> bool:
    """Whether every head's mask shows every key to some query."""
    match mask:
        case MaskDescriptor():
            return mask.unseen_keys == 0
        case MaskBatch():
            return all(one.unseen_keys == 0 for one in mask.masks)
        case DeviceMask():
            return not mask.padded
