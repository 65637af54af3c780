"""From tensors, the forward's results and two plans on the device to the launches of the backward."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import torch
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton.assembler import sound_stages
from compilemask.attention.triton.backward import attention_backward_kernel, row_terms_kernel
from compilemask.attention.triton.backward_configs import BACKWARD_CONFIGS, BackwardConfig
from compilemask.attention.triton.config_table import block_dim
from compilemask.attention.triton.launch import (
    LOG2_E,
    boxes,
    fits_tma,
    interpreted,
    inverse,
    mask_of_head,
    precision,
    register_limit,
)

_ROWS = 32
_COPIES = 4
_PROGRAMS_PER_PROCESSOR = 2


@dataclass(frozen=True, slots=True, eq=False)
class RowTerms:
    """What the backward needs of each query row besides q and do: float32 [copies, batch, q heads, num_terms], contiguous.

    lse: logarithm of the sum of exp(score), natural for float32 inputs, else base 2; +inf for rows without keys. delta: sum(o * do) - dlse, 0 for those.
    More rows than q_len stand for what a tile covers beyond it. Copy c begins with row c; only tensor descriptors need
    copies.
    """

    lse: Tensor
    delta: Tensor


def row_terms(o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None, config: BackwardConfig) -> RowTerms:
    """The terms from the forward's contiguous o and lse and the gradients that came in; do is contiguous, dlse None for zeros.

    config: of dk and dv.
    """
    batch, num_heads, q_len, v_head_dim = o.shape
    copies = _COPIES if config.tma else 1
    num_terms = ((q_len + config.block_n) // _COPIES + 2) * _COPIES
    terms_lse, delta = (lse.new_empty(copies, batch, num_heads, num_terms) for _ in range(2))
    with _device_of(o):
        row_terms_kernel[(-(-num_terms // _ROWS) * batch * num_heads,)](
            o, do, lse, None if dlse is None else dlse.float().contiguous(), terms_lse, delta, q_len, num_terms,
            batch * num_heads,
            V_DIM=v_head_dim, BLOCK_DV=block_dim(v_head_dim), ROWS=_ROWS, COPIES=copies,
            LSE_SCALE=1.0 if o.dtype == torch.float32 else LOG2_E, HAS_DLSE=dlse is not None,
            enable_fp_fusion=True, num_warps=4,
        )  # fmt: skip
    return RowTerms(terms_lse, delta)


def query_gradient(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, queries: Tiles, keys: Tiles,
    options: ScoreOptions, config: BackwardConfig,
) -> Tensor:  # fmt: skip
    """dq, shaped as q, contiguous. queries: the mask, planned for config's block sizes; keys: the transposed mask.

    terms: None where the options have no lse.
    """
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    _launch(
        (q, do), (k, v), (dq, None), terms, queries, keys.seen, options, config,
        num_visited=1, KEY_ROWS=False, GROUP=q.shape[1] // k.shape[1],
    )  # fmt: skip
    return dq


def key_gradients(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, queries: Tiles, keys: Tiles,
    options: ScoreOptions, config: BackwardConfig, heads_per_program: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(dk, dv), shaped as k and v, contiguous. keys: the transposed mask, planned for config's block sizes; queries: the mask.

    heads_per_program: how many query heads of a group one program sums, a divisor of the group; chosen to fill the device
    unless given. Where that is not the whole group, float32 parts are summed afterwards, in the order of the heads.
    """
    group = q.shape[1] // k.shape[1]
    heads = heads_per_program or _heads_per_program(group, keys.plan.num_q_tiles * k.shape[0] * k.shape[1], k.device)
    if isinstance(keys, BatchTiles) and keys.index.shape[1] > 1:
        # A program has the tiles of one mask.
        heads = 1
    parts = group // heads
    shapes = [(x.shape[0], x.shape[1] * parts, *x.shape[2:]) for x in (k, v)]
    dk, dv = (torch.empty(s, dtype=k.dtype if parts == 1 else torch.float32, device=k.device) for s in shapes)
    _launch(
        (k, v), (q, do), (dk, dv), terms, keys, queries.seen, options, config,
        num_visited=heads, KEY_ROWS=True, GROUP=group,
    )  # fmt: skip
    if parts > 1:
        dk, dv = (x.unflatten(1, (-1, parts)).sum(2).to(k.dtype) for x in (dk, dv))
    return dk, dv


def choose_backward_configs(q: Tensor, k: Tensor, v: Tensor) -> tuple[BackwardConfig, BackwardConfig]:
    """The committed configurations (of dq, of dk and dv) for these tensors on their device."""
    capability = torch.cuda.get_device_capability(q.device) if q.is_cuda else None
    # do is contiguous: tensor descriptors take it when its rows are whole multiples of 16 bytes, as v's own may not be.
    tma = all(fits_tma(t) for t in (q, k, v)) and v.shape[3] * v.element_size() % 16 == 0
    return BACKWARD_CONFIGS.choose(q.shape[3], v.shape[3], q.element_size(), capability, tma=tma)


def _launch(
    rows: tuple[Tensor, Tensor], cols: tuple[Tensor, Tensor], grads: tuple[Tensor, Tensor | None],
    terms: RowTerms | None, mask: Tiles, row_seen: Tensor | None, options: ScoreOptions, config: BackwardConfig,
    **roles: int,
) -> None:  # fmt: skip
    """One launch of the kernel. rows, cols, grads: their qk and vo tensors; mask: planned with these rows and columns."""
    if (mask.plan.block_m, mask.plan.block_n) != (config.block_m, config.block_n):
        raise ValueError(
            f"the plan has tiles of {mask.plan.block_m} x {mask.plan.block_n}, "
            f"the kernel's configuration {config.block_m} x {config.block_n}"
        )
    grad_qk, grad_vo = grads
    dim, v_dim = rows[0].shape[3], rows[1].shape[3]
    block_d, block_dv = block_dim(dim), block_dim(v_dim)
    lse, delta = (None, None) if terms is None else (terms.lse, terms.delta)
    tma = config.tma and all(fits_tma(t) for t in (*rows, *cols)) and (lse is None or lse.numel() < 1 << 31)
    if tma and roles["KEY_ROWS"] and lse is not None and len(lse) < _COPIES:
        raise ValueError(f"the row terms are for pointers, the kernel's configuration is {config}")
    descriptors: list[TensorDescriptor | None] = [None] * 6
    if tma:
        sizes = (
            (config.block_m, block_d),
            (config.block_m, block_dv),
            (config.block_n, block_d),
            (config.block_n, block_dv),
        )
        descriptors[:4] = [boxes(t, *size) for t, size in zip((*rows, *cols), sizes, strict=True)]
        if lse is not None and delta is not None:
            descriptors[4:] = [TensorDescriptor.from_tensor(t.view(-1), [config.block_n]) for t in (lse, delta)]
    batch, num_heads = grad_qk.shape[:2]
    with _device_of(grad_qk):
        attention_backward_kernel[(mask.plan.num_q_tiles * batch * num_heads,)](
            *rows, *cols, grad_qk, grad_vo, lse, delta, *descriptors,
            *(t.stride() for t in (*rows, *cols)), grad_qk.stride(), (grad_qk if grad_vo is None else grad_vo).stride(),
            mask.tile_order, mask.full_indptr, mask.full_start, mask.full_count,
            mask.interval_indptr, mask.interval_start, mask.interval_ends,
            mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr, mask.gap_ends, mask.ends, row_seen, mask.seen,
            mask_of_head(mask, batch, num_heads * roles["num_visited"]),
            mask.plan.q_len, mask.plan.kv_len, mask.num_heavy, mask.plan.num_q_tiles, num_heads, batch * num_heads,
            num_terms=0 if lse is None else lse.shape[3], sm_scale=options.sm_scale, softcap=options.softcap,
            inv_norm=inverse(options.norm), SILU=options.activation == "silu", **roles,
            DIM=dim, BLOCK_D=block_d, V_DIM=v_dim, BLOCK_DV=block_dv, BLOCK_M=config.block_m, BLOCK_N=config.block_n,
            TMA=tma, HAS_GAPS=mask.max_gaps > 0, UNROLL_GAPS=mask.max_gaps if mask.max_gaps == MIN_GAPS else 0,
            UNSEEN_ROWS=row_seen is not None, UNSEEN_COLS=mask.seen is not None, PRECISION=precision(grad_qk),
            enable_fp_fusion=True, num_warps=config.num_warps,
            num_stages=sound_stages(config.num_stages, mask, grad_qk.device), **register_limit(config),
        )  # fmt: skip


def _heads_per_program(group: int, programs: int, device: torch.device) -> int:
    """The most query heads a program can sum while the device still has work for all its multiprocessors."""
    if device.type != "cuda" or interpreted():
        return group
    wanted = _PROGRAMS_PER_PROCESSOR * torch.cuda.get_device_properties(device).multi_processor_count
    divisors = [heads for heads in range(group, 0, -1) if group % heads == 0]
    return next((heads for heads in divisors if programs * (group // heads) >= wanted), 1)


def _device_of(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    return torch.cuda.device(tensor.device) if tensor.is_cuda else contextlib.nullcontext()
