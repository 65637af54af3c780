"""From tensors, the forward's results and two plans on the device to the launches of the backward."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.build_once import BuildOnce
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton.assembler import sound_stages
from compilemask.attention.triton.backward import attention_backward_kernel, row_terms_kernel
from compilemask.attention.triton.backward_configs import BACKWARD_CONFIGS, BackwardConfig
from compilemask.attention.triton.config_table import block_dim, capability_of
from compilemask.attention.triton.gradient_launch import COPIES, GradientLaunch, Terms
from compilemask.attention.triton.launch import (
    LOG2_E,
    fits_tma,
    interpreted,
    mask_of_head,
    precision,
)
from compilemask.attention.triton.relaunch import Relaunch, layouts, on_device_of
from compilemask.attention.triton.row_sums import row_sums_kernel

_ROWS = 32
_LAUNCHES = 256
_row_terms: BuildOnce[RowTermsLaunch] = BuildOnce(_LAUNCHES)
_PROGRAMS_PER_PROCESSOR = 2


@dataclass(frozen=True, slots=True, eq=False)
class RowTerms:
    """What the backward needs of each query row besides q and do: float32 [copies, batch, q heads, num_terms], contiguous.

    lse: logarithm of the sum of exp(score), natural for float32 inputs, else base 2; +inf for rows without keys. delta: sum(o * do) - dlse, 0 for those.
    More rows than q_len stand for what a tile covers beyond it. Copy c begins with row c; only tensor descriptors need
    copies. total [batch, q heads, num_terms]: what the weights exp(score - lse) of a row are divided by; None for nothing.
    """

    lse: Tensor
    delta: Tensor
    total: Tensor | None = None


class RowTermsLaunch:
    """`row_terms` for tensors of the layout of these; dlse float32, contiguous, or None. do's layout is o's.

    sum_dim: where there are sums to set to 0 on the way, their last dimension.
    """

    __slots__ = ("_device", "_launch", "_shape")

    def __init__(self, o: Tensor, dlse: Tensor | None, config: BackwardConfig, sum_dim: int = 0) -> None:
        batch, num_heads, q_len, v_head_dim = o.shape
        copies = COPIES if config.tma else 1
        num_terms = ((q_len + config.block_n) // COPIES + 2) * COPIES
        self._shape, self._device = (2, copies, batch, num_heads, num_terms), o.device
        constants = (
            v_head_dim, block_dim(v_head_dim), _ROWS, copies, 1.0 if o.dtype == torch.float32 else LOG2_E, dlse is not None,
            sum_dim, block_dim(sum_dim) if sum_dim else 0,
        )  # fmt: skip
        self._launch = Relaunch(
            row_terms_kernel, -(-num_terms // _ROWS) * batch * num_heads, constants,
            {"enable_fp_fusion": True, "num_warps": 4}, (q_len, num_terms, batch * num_heads),
        )  # fmt: skip

    def __call__(
        self, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None, sums: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """lse and delta of RowTerms. sums: float32 [batch, q heads, q_len, sum_dim], set to 0. The tensors' device is the current one."""
        terms_lse, delta = torch.empty(self._shape, dtype=torch.float32, device=self._device).unbind()
        self._launch(o, do, lse, dlse, terms_lse, delta, sums)
        return terms_lse, delta


def row_terms(o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None, config: BackwardConfig) -> RowTerms:
    """The terms from the forward's contiguous o and lse and the gradients that came in; do is contiguous, dlse None for zeros.

    config: of dk and dv.
    """
    dlse = None if dlse is None else dlse.float().contiguous()
    launch = _row_terms.get(
        (o.device, config.tma, config.block_n, *layouts(o, do, lse, dlse)), lambda: RowTermsLaunch(o, dlse, config)
    )
    with on_device_of(o):
        return RowTerms(*launch(o, lse, do, dlse))


def exact_terms(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, dlse: Tensor | None, terms: RowTerms, sink_weights: Tensor | None,
    queries: Tiles, keys: Tiles, options: ScoreOptions, config: BackwardConfig,
) -> RowTerms:  # fmt: skip
    """Terms of float32 inputs that have the rounding of lse and o out of the gradients; see row_sums.

    terms: of a configuration without tensor descriptors. sink_weights [batch, q heads, q_len]: exp(sink - lse), None without
    sinks. queries, keys, config: as for query_gradient.
    """
    q_len = q.shape[2]
    total = _row_sums(q, k, v, do, terms, queries, keys, options, config)
    if sink_weights is not None:
        total[..., :q_len] += sink_weights
    terms = RowTerms(terms.lse, terms.delta, torch.where(total == 0, 1.0, total))
    delta = _row_sums(q, k, v, do, terms, queries, keys, options, config)
    if dlse is not None:
        delta[..., :q_len] -= torch.where(torch.isinf(terms.lse[0, ..., :q_len]), 0.0, dlse)
    return RowTerms(terms.lse, delta[None], terms.total)


def _row_sums(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms, queries: Tiles, keys: Tiles, options: ScoreOptions,
    config: BackwardConfig,
) -> Tensor:  # fmt: skip
    """[batch, q heads, num_terms], 0 behind the last row: sums of the weights, or with a total of weight * (do . v)."""
    batch, num_heads, q_len, dim = q.shape
    sums = torch.zeros_like(terms.lse[0])
    plan = queries.plan
    with on_device_of(q):
        row_sums_kernel[(plan.num_q_tiles * batch * num_heads,)](
            q, do, k, v, terms.lse, terms.total, sums, q.stride(), do.stride(), k.stride(), v.stride(),
            queries.tile_order, queries.full_indptr, queries.full_start, queries.full_count,
            queries.interval_indptr, queries.interval_start, queries.interval_ends,
            queries.gap_indptr, queries.gap_start, queries.gap_ends_indptr, queries.gap_ends, queries.ends,
            keys.seen, queries.seen, mask_of_head(queries, batch, num_heads),
            q_len, plan.kv_len, queries.num_heavy, plan.num_q_tiles, num_heads, batch * num_heads, sums.shape[2],
            options.sm_scale, options.softcap,
            GROUP=num_heads // k.shape[1], DIM=dim, BLOCK_D=block_dim(dim), V_DIM=v.shape[3], BLOCK_DV=block_dim(v.shape[3]),
            BLOCK_M=config.block_m, BLOCK_N=config.block_n, HAS_GAPS=queries.max_gaps > 0,
            UNROLL_GAPS=queries.max_gaps if queries.max_gaps == MIN_GAPS else 0,
            UNSEEN_ROWS=keys.seen is not None, UNSEEN_COLS=queries.seen is not None, PRECISION=precision(q),
            enable_fp_fusion=True, num_warps=config.num_warps,
            num_stages=sound_stages(config.num_stages, queries, q.device),
        )  # fmt: skip
    return sums


def query_gradient(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, queries: Tiles, keys: Tiles,
    options: ScoreOptions, config: BackwardConfig,
) -> Tensor:  # fmt: skip
    """dq, shaped as q, contiguous. queries: the mask, planned for config's block sizes; keys: the transposed mask.

    terms: None where the options have no lse.
    """
    inputs = (q, k, v, do, None if terms is None else (terms.lse, terms.delta, terms.total))
    launch: QueryGradient = queries.launches.get(
        ("dq", options, config, *_layout_of(*inputs)), lambda: QueryGradient(*inputs, queries, keys, options, config)
    )
    with on_device_of(q):
        return launch(*inputs)


def key_gradients(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, queries: Tiles, keys: Tiles,
    options: ScoreOptions, config: BackwardConfig, heads_per_program: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(dk, dv), shaped as k and v, contiguous. keys: the transposed mask, planned for config's block sizes; queries: the mask.

    heads_per_program: how many query heads of a group one program sums, a divisor of the group; chosen to fill the device
    unless given. Where that is not the whole group, float32 parts are summed afterwards, in the order of the heads.
    """
    inputs = (q, k, v, do, None if terms is None else (terms.lse, terms.delta, terms.total))
    launch: KeyGradients = keys.launches.get(
        ("dkv", heads_per_program, options, config, *_layout_of(*inputs)),
        lambda: KeyGradients(*inputs, queries, keys, options, config, heads_per_program),
    )
    with on_device_of(q):
        return launch(*inputs)


def _layout_of(q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: Terms) -> tuple[object, ...]:
    """Terms are made for the shapes of q and o, in memory of their own."""
    made = None if terms is None else (terms[0].shape, terms[2] is None)
    return made, *layouts(q, k, v, do)


class QueryGradient:
    """`query_gradient` for tensors of the layout of these. The tensors' device is the current one."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: Terms, queries: Tiles, keys: Tiles,
        options: ScoreOptions, config: BackwardConfig,
    ) -> None:  # fmt: skip
        """Raises ValueError as GradientLaunch."""
        self._dq = (q.shape, q.dtype, q.device)
        self._launch = GradientLaunch(
            attention_backward_kernel, (q, do), (k, v), (_empty(*self._dq), None), terms, queries, keys.seen, options,
            config, num_visited=1, key_rows=False, group=q.shape[1] // k.shape[1],
        )  # fmt: skip

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: Terms) -> Tensor:
        dq = _empty(*self._dq)
        self._launch((q, do), (k, v), (dq, None), terms)
        return dq


class KeyGradients:
    """`key_gradients` for tensors of the layout of these. The tensors' device is the current one."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: Terms, queries: Tiles, keys: Tiles,
        options: ScoreOptions, config: BackwardConfig, heads_per_program: int | None = None,
    ) -> None:  # fmt: skip
        """Raises ValueError as GradientLaunch."""
        group = q.shape[1] // k.shape[1]
        heads = heads_per_program or _heads_per_program(
            group, keys.plan.num_q_tiles * k.shape[0] * k.shape[1], k.device
        )
        if isinstance(keys, BatchTiles) and keys.index.shape[1] > 1:
            # A program has the tiles of one mask.
            heads = 1
        self._parts, self._dtype = group // heads, k.dtype
        made = k.dtype if self._parts == 1 else torch.float32
        self._dk, self._dv = (((x.shape[0], x.shape[1] * self._parts, *x.shape[2:]), made, k.device) for x in (k, v))
        self._launch = GradientLaunch(
            attention_backward_kernel, (k, v), (q, do), (_empty(*self._dk), _empty(*self._dv)), terms, keys,
            queries.seen, options, config, num_visited=heads, key_rows=True, group=group,
        )  # fmt: skip

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: Terms) -> tuple[Tensor, Tensor]:
        dk, dv = _empty(*self._dk), _empty(*self._dv)
        self._launch((k, v), (q, do), (dk, dv), terms)
        if self._parts > 1:
            dk, dv = (x.unflatten(1, (-1, self._parts)).sum(2).to(self._dtype) for x in (dk, dv))
        return dk, dv


def _empty(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device)


def choose_backward_configs(q: Tensor, k: Tensor, v: Tensor) -> tuple[BackwardConfig, BackwardConfig]:
    """The committed configurations (of dq, of dk and dv) for these tensors on their device."""
    capability = capability_of(q)
    # do is contiguous: tensor descriptors take it when its rows are whole multiples of 16 bytes, as v's own may not be.
    tma = all(fits_tma(t) for t in (q, k, v)) and v.shape[3] * v.element_size() % 16 == 0
    return BACKWARD_CONFIGS.choose(q.shape[3], v.shape[3], q.element_size(), capability, tma=tma)


def _heads_per_program(group: int, programs: int, device: torch.device) -> int:
    """The most query heads a program can sum while the device still has work for all its multiprocessors."""
    if device.type != "cuda" or interpreted():
        return group
    wanted = _PROGRAMS_PER_PROCESSOR * _num_processors(device)
    divisors = [heads for heads in range(group, 0, -1) if group % heads == 0]
    return next((heads for heads in divisors if programs * (group // heads) >= wanted), 1)


@functools.cache
def _num_processors(device: torch.device) -> int:
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count
