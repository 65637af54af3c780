"""From tensors, row terms and two plans on the device to the launches of the Hopper backward."""

from __future__ import annotations

import contextlib
import functools

import torch
import triton
import triton.language as tl
from torch import Tensor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.hopper.backward import attention_backward_kernel
from compilemask.attention.hopper.backward_configs import BLOCK_M, HopperBackwardConfig, padded_dim
from compilemask.attention.hopper.backward_parts import ROWS, SUM_COLS
from compilemask.attention.hopper.gluon_api import TensorDescriptor, gl
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton import RowTerms
from compilemask.attention.triton.launch import inverse, mask_of_head

_ALIGNMENT = 16
_GLUON_DTYPES = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16, torch.float32: gl.float32}
_CONVERTED = 1024
_TERM_LAYOUT = gl.NVMMASharedLayout(0, 32, 1)


def query_gradient(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, queries: Tiles, options: ScoreOptions,
    config: HopperBackwardConfig,
) -> Tensor:  # fmt: skip
    """dq, shaped as q, contiguous; equal inputs give equal bits. queries: the mask, in tiles of BLOCK_M x config.block_n.

    terms: None where the options have no lse. What the mask hides from all rows or columns must be finite.
    """
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    group = q.shape[1] // k.shape[1]
    _launch(
        (q, do), (k, v), (dq, dq), None, terms, queries, options, config, key_rows=False, group=group, num_visited=1
    )
    return dq


def key_gradients(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, keys: Tiles, options: ScoreOptions,
    config: HopperBackwardConfig, *, heads_per_program: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(dk, dv), shaped as k and v, contiguous; equal inputs give equal bits. keys: the transposed mask, tiled as in query_gradient.

    heads_per_program: how many query heads of a group one program sums, a divisor of the group; chosen to fill the device
    unless given. Where that is not the whole group, float32 parts are summed afterwards, in the order of the heads.
    """
    return _key_rows(q, k, v, do, None, terms, keys, options, config, heads_per_program)


def all_gradients(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, keys: Tiles, options: ScoreOptions,
    config: HopperBackwardConfig, *, heads_per_program: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dq, dk, dv) in one pass over the keys; see key_gradients. dq's float32 sums are taken in no fixed order."""
    sums = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    dk, dv = _key_rows(q, k, v, do, sums, terms, keys, options, config, heads_per_program)
    scale = options.sm_scale * (inverse(options.norm) or 1.0)
    return convert(sums, scale, q.dtype), dk, dv


def convert(sums: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """scale * sums in another dtype, one pass over a contiguous tensor."""
    out = torch.empty(sums.shape, dtype=dtype, device=sums.device)
    with torch.cuda.device(sums.device):
        convert_kernel[(triton.cdiv(sums.numel(), _CONVERTED),)](sums, out, sums.numel(), scale, SIZE=_CONVERTED)
    return out


@triton.jit(do_not_specialize=["scale"])
def convert_kernel(sums_ptr, out_ptr, num_elements, scale, SIZE: tl.constexpr):
    """out = scale * sums. Grid: one program for SIZE elements."""
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    values = tl.load(sums_ptr + at, mask=at < num_elements) * scale
    tl.store(out_ptr + at, values.to(out_ptr.dtype.element_ty), mask=at < num_elements)


def _key_rows(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, dq: Tensor | None, terms: RowTerms | None, keys: Tiles,
    options: ScoreOptions, config: HopperBackwardConfig, heads_per_program: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    group = q.shape[1] // k.shape[1]
    heads = heads_per_program or _heads_per_program(group, keys.plan.num_q_tiles * k.shape[0] * k.shape[1], k.device)
    if isinstance(keys, BatchTiles) and keys.index.shape[1] > 1:
        # A program has the tiles of one mask.
        heads = 1
    parts = group // heads
    shapes = [(x.shape[0], x.shape[1] * parts, *x.shape[2:]) for x in (k, v)]
    dk, dv = (torch.empty(s, dtype=k.dtype if parts == 1 else torch.float32, device=k.device) for s in shapes)
    _launch((k, v), (q, do), (dk, dv), dq, terms, keys, options, config, key_rows=True, group=group, num_visited=heads)
    if parts > 1:
        dk, dv = (x.unflatten(1, (-1, parts)).sum(2).to(k.dtype) for x in (dk, dv))
    return dk, dv


def _launch(
    rows: tuple[Tensor, Tensor], cols: tuple[Tensor, Tensor], grads: tuple[Tensor, Tensor], dq: Tensor | None,
    terms: RowTerms | None, mask: Tiles, options: ScoreOptions, config: HopperBackwardConfig, *,
    key_rows: bool, group: int, num_visited: int,
) -> None:  # fmt: skip
    """One launch of the kernel. rows, cols, grads: their qk and vo tensors; mask: planned with these rows and columns."""
    if (mask.plan.block_m, mask.plan.block_n) != (BLOCK_M, config.block_n):
        raise ValueError(
            f"the plan has tiles of {mask.plan.block_m} x {mask.plan.block_n}, "
            f"the kernel's configuration {BLOCK_M} x {config.block_n}"
        )
    dim = padded_dim(rows[0].shape[3])
    batch, num_heads, num_rows, _ = grads[0].shape
    lse = delta = lse_desc = delta_desc = dq_desc = None
    if terms is not None:
        lse, delta = terms.lse, terms.delta
        lse_desc, delta_desc = (
            TensorDescriptor(x.view(-1), [x.numel()], [1], [config.block_n], _TERM_LAYOUT) for x in (lse, delta)
        )
    if dq is not None:
        dq_desc = boxes(dq.view(-1, *dq.shape[2:]), SUM_COLS.value)
    with torch.cuda.device(grads[0].device) if grads[0].is_cuda else contextlib.nullcontext():
        attention_backward_kernel[(mask.plan.num_q_tiles * batch * num_heads,)](
            *(boxes(x, dim) for x in rows), *(boxes(x, dim, config.block_n) for x in cols), lse_desc, delta_desc, dq_desc,
            *grads, lse, delta, mask.tile_order, mask.full_indptr, mask.full_start, mask.full_count,
            mask.interval_indptr, mask.interval_start, mask.interval_ends,
            mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr, mask.gap_ends, mask.ends,
            mask_of_head(mask, batch, num_heads * num_visited),
            num_rows, mask.num_heavy, mask.plan.num_q_tiles, num_heads, batch * num_heads, num_visited,
            num_terms=0 if lse is None else lse.shape[3], sm_scale=options.sm_scale, softcap=options.softcap or 0.0,
            inv_norm=inverse(options.norm) or 1.0, KEY_ROWS=key_rows, FUSED=dq is not None, PAIRS=config.pairs, GROUP=group, DIM=dim,
            QK_DIM=rows[0].shape[3], VO_DIM=rows[1].shape[3],
            BLOCK_N=config.block_n, NUM_STAGES=config.num_stages, HAS_SOFTCAP=options.softcap is not None,
            SILU=options.activation == "silu", HAS_GAPS=mask.max_gaps > 0, TERM_LAYOUT=_TERM_LAYOUT,
            CONSUMER_REGISTERS=config.consumer_registers, PRODUCER_REGISTERS=config.producer_registers, num_warps=4,
        )  # fmt: skip


def boxes(tensor: Tensor, cols: int, rows: int = ROWS.value) -> TensorDescriptor:
    """A tensor descriptor of a tensor that fits_tma, copied `rows` x `cols` of one head at a time."""
    strides = list(tensor.stride())
    for axis, size in enumerate(tensor.shape[:-1]):
        if size == 1:
            # Never stepped along; any legal number will do.
            strides[axis] = _ALIGNMENT
    block = (*([1] * (tensor.ndim - 2)), rows, cols)
    return TensorDescriptor(tensor, list(tensor.shape), strides, list(block), _layout(block, tensor.dtype))


@functools.cache
def _layout(block: tuple[int, ...], dtype: torch.dtype) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout.get_default_for(list(block), _GLUON_DTYPES[dtype])


def _heads_per_program(group: int, programs: int, device: torch.device) -> int:
    """The most query heads a program can sum while every multiprocessor still has a program."""
    if device.type != "cuda":
        return group
    wanted = torch.cuda.get_device_properties(device).multi_processor_count
    divisors = [heads for heads in range(group, 0, -1) if group % heads == 0]
    return next((heads for heads in divisors if programs * (group // heads) >= wanted), 1)
