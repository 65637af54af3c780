"""From tensors, row terms and two plans on the device to the launches of the Hopper backward."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import triton
import triton.language as tl
from torch import Tensor

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.build_once import BuildOnce
from compilemask.attention.hopper.backward import attention_backward_kernel
from compilemask.attention.hopper.backward_configs import BLOCK_M, HopperBackwardConfig
from compilemask.attention.hopper.backward_order import count_light
from compilemask.attention.hopper.backward_parts import BITS, GAPS, ROWS, SUM_COLS
from compilemask.attention.hopper.configs import padded_dim
from compilemask.attention.hopper.gluon_api import TensorDescriptor, gl
from compilemask.attention.reordered_tensors import ReorderedTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton import RowTerms
from compilemask.attention.triton.launch import inverse, mask_of_head
from compilemask.attention.triton.relaunch import KeptDescriptor, Relaunch, layouts, legal_strides, on_device_of

_GLUON_DTYPES = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16, torch.float32: gl.float32}
_CONVERTED = 1024
_converts: BuildOnce[Relaunch] = BuildOnce(256)
Finish = Callable[[Tensor, float, torch.dtype], Tensor]
"""(sums, what they are multiplied by, dtype of the result)."""
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
    config: HopperBackwardConfig,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(dk, dv), shaped as k and v, contiguous; equal inputs give equal bits. keys: the transposed mask, tiled as in query_gradient.

    A program sums visited_heads of a group; where that is not the whole group, float32 parts are summed afterwards, in the
    order of the heads.
    """
    return _key_rows(q, k, v, do, None, terms, keys, options, config)


def all_gradients(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, terms: RowTerms | None, keys: Tiles, options: ScoreOptions,
    config: HopperBackwardConfig, *, finish: Finish | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dq, dk, dv) in one pass over the keys; see key_gradients. dq's float32 sums are taken in no fixed order.

    finish: makes dq of them and of what they are multiplied by; `convert` unless given.
    """
    sums = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    dk, dv = _key_rows(q, k, v, do, sums, terms, keys, options, config)
    scale = options.sm_scale * (inverse(options.norm) or 1.0)
    return (finish or convert)(sums, scale, q.dtype), dk, dv


def convert(sums: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """scale * sums in another dtype, one pass over a contiguous tensor."""
    out = torch.empty(sums.shape, dtype=dtype, device=sums.device)
    launch = _converts.get(
        (sums.device, dtype, sums.numel(), scale),
        lambda: Relaunch(convert_kernel, triton.cdiv(sums.numel(), _CONVERTED), (_CONVERTED,), {"num_warps": 4}),
    )
    with on_device_of(sums):
        launch(sums, out, sums.numel(), scale)
    return out


@triton.jit(do_not_specialize=["scale"])
def convert_kernel(sums_ptr, out_ptr, num_elements, scale, SIZE: tl.constexpr):
    """out = scale * sums. Grid: one program for SIZE elements."""
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    values = tl.load(sums_ptr + at, mask=at < num_elements) * scale
    tl.store(out_ptr + at, values.to(out_ptr.dtype.element_ty), mask=at < num_elements)


def _key_rows(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, dq: Tensor | None, terms: RowTerms | None, keys: Tiles,
    options: ScoreOptions, config: HopperBackwardConfig,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    group = q.shape[1] // k.shape[1]
    heads = visited_heads(group, k, keys)
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
    lse, delta = (None, None) if terms is None else (terms.lse, terms.delta)
    launch: GradientLaunch = mask.launches.get(
        ("hopper", key_rows, num_visited, options, config, *layouts(*rows, *cols, *grads, dq, lse)),
        lambda: GradientLaunch(rows, cols, grads, dq, lse, mask, options, config, key_rows, group, num_visited),
    )
    launch(rows, cols, grads, dq, lse, delta)


class GradientLaunch:
    """_launch for tensors of the layout of these, kept with the tiles that it reads."""

    def __init__(
        self, rows: tuple[Tensor, Tensor], cols: tuple[Tensor, Tensor], grads: tuple[Tensor, Tensor], dq: Tensor | None,
        lse: Tensor | None, mask: Tiles, options: ScoreOptions, config: HopperBackwardConfig,
        key_rows: bool, group: int, num_visited: int,
    ) -> None:  # fmt: skip
        """Raises ValueError for a mask that is not planned for config's block sizes, and for pairs where dq is summed along."""
        if (mask.plan.block_m, mask.plan.block_n) != (BLOCK_M, config.block_n):
            raise ValueError(
                f"the plan has tiles of {mask.plan.block_m} x {mask.plan.block_n}, "
                f"the kernel's configuration {BLOCK_M} x {config.block_n}"
            )
        if config.pairs and dq is not None:
            raise ValueError(f"the fused backward takes its tiles one by one, the kernel's configuration is {config}")
        qk_dim, vo_dim = (x.shape[3] for x in rows)
        dim = padded_dim(qk_dim)
        batch, num_heads, num_rows, _ = grads[0].shape
        num_programs = mask.plan.num_q_tiles * batch * num_heads
        self._maps = [boxes(x, dim) for x in rows] + [boxes(x, dim, config.block_n) for x in cols]
        self._terms_map = None if lse is None else KeptDescriptor(
            TensorDescriptor(lse.view(-1), [lse.numel()], [1], [config.block_n], _TERM_LAYOUT)
        )  # fmt: skip
        self._dq_map = None if dq is None else boxes(dq.flatten(0, 1), SUM_COLS.value)
        fixed = (
            mask.tile_order, mask.full_indptr, mask.full_start, mask.full_count,
            *_partial_tiles(mask),
            mask_of_head(mask, batch, num_heads * num_visited),
            num_rows, mask.num_heavy, count_light(mask, batch * num_heads), mask.plan.num_q_tiles, num_heads, batch * num_heads, num_visited,
            0 if lse is None else lse.shape[3], options.sm_scale, options.softcap or 0.0, inverse(options.norm) or 1.0,
        )  # fmt: skip
        constants = (
            key_rows, dq is not None, config.pairs, group, dim, qk_dim, vo_dim, config.block_n, config.num_stages,
            options.softcap is not None, options.activation == "silu", _has_gaps(mask), _TERM_LAYOUT,
            config.consumer_registers, config.producer_registers,
        )  # fmt: skip
        launch_options = {"enable_fp_fusion": True, "num_warps": 4}
        self._launch = Relaunch(attention_backward_kernel, num_programs, constants, launch_options, fixed)

    def __call__(
        self, rows: tuple[Tensor, Tensor], cols: tuple[Tensor, Tensor], grads: tuple[Tensor, Tensor], dq: Tensor | None,
        lse: Tensor | None, delta: Tensor | None,
    ) -> None:  # fmt: skip
        """Launch for these tensors."""
        maps = [known.of(x) for known, x in zip(self._maps, (*rows, *cols), strict=True)]
        terms = [None if self._terms_map is None or x is None else self._terms_map.of(x) for x in (lse, delta)]
        dq_map = None if self._dq_map is None or dq is None else self._dq_map.of(dq)
        with on_device_of(grads[0]):
            self._launch(*maps, *terms, dq_map, *grads, lse, delta)


def _partial_tiles(mask: Tiles) -> tuple[Tensor, ...]:
    """The kernel's lists of interval and gap tiles and `ends`; bit masks stand where intervals would."""
    if isinstance(mask, ReorderedTensors):
        bits = (mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr)
        return *bits, mask.interval_indptr, mask.interval_start, mask.interval_ends, mask.interval_ends, mask.gap_ends
    return (
        mask.interval_indptr, mask.interval_start, mask.interval_ends,
        mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr, mask.gap_ends, mask.ends,
    )  # fmt: skip


def _has_gaps(mask: Tiles) -> int:
    if isinstance(mask, ReorderedTensors):
        return int(BITS.value)
    return int(GAPS.value) if mask.max_gaps else 0


def boxes(tensor: Tensor, cols: int, rows: int = ROWS.value) -> KeptDescriptor:
    """Copies `rows` x `cols` of one head of a tensor [..., len, dim] that fits_tma at a time."""
    block = (*([1] * (tensor.ndim - 2)), rows, cols)
    layout = _layout(block, tensor.dtype)
    return KeptDescriptor(TensorDescriptor(tensor, list(tensor.shape), legal_strides(tensor), list(block), layout))


@functools.cache
def _layout(block: tuple[int, ...], dtype: torch.dtype) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout.get_default_for(list(block), _GLUON_DTYPES[dtype])


def visited_heads(group: int, k: Tensor, keys: Tiles) -> int:
    """How many query heads of a group one program sums, a divisor of the group; see key_gradients."""
    if isinstance(keys, BatchTiles) and keys.index.shape[1] > 1:
        # A program has the tiles of one mask.
        return 1
    return _heads_per_program(group, keys.plan.num_q_tiles * k.shape[0] * k.shape[1], k.device)


def _heads_per_program(group: int, programs: int, device: torch.device) -> int:
    """The most query heads a program can sum while every multiprocessor still has a program."""
    if device.type != "cuda":
        return group
    wanted = _multiprocessors(device)
    divisors = [heads for heads in range(group, 0, -1) if group % heads == 0]
    return next((heads for heads in divisors if programs * (group // heads) >= wanted), 1)


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count
