"""One launch of the backward kernel, made ready for repetition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from compilemask.attention.reordered_tensors import ReorderedTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton.assembler import sound_stages
from compilemask.attention.triton.backward_configs import BackwardConfig
from compilemask.attention.triton.config_table import block_dim
from compilemask.attention.triton.launch import fits_tma, inverse, mask_of_head, precision, register_limit
from compilemask.attention.triton.primitives import ALL, BITS, BITS_BY_ASSEMBLY, GAPS
from compilemask.attention.triton.relaunch import KeptDescriptor, Relaunch, boxes, in_line

COPIES = 4
"""Of row terms, where tensor descriptors load them."""
_NO_DESCRIPTORS = (None,) * 6

Pair = tuple[Tensor, Tensor]
"""The qk and vo tensors of the rows or of the columns."""
Terms = tuple[Tensor, Tensor, Tensor | None] | None
"""lse, delta and total of RowTerms."""


class GradientLaunch:
    """Gradients of the rows, for tensors of the shapes, strides and dtypes of these, aligned to 16 bytes as these are."""

    def __init__(
        self, kernel: Any, rows: Pair, cols: Pair, grads: tuple[Tensor, Tensor | None], terms: Terms, mask: Tiles,
        row_seen: Tensor | None, options: ScoreOptions, config: BackwardConfig,
        num_visited: int, key_rows: bool, group: int,
    ) -> None:  # fmt: skip
        """kernel: attention_backward_kernel. mask: planned with these rows and columns. num_visited, key_rows, group: of the kernel.

        row_seen: uint8, 0 for the rows that see no column; of the mask's other tiles, so equal in all launches.
        Raises ValueError for a mask or row terms that are not made for the configuration.
        """
        if (mask.plan.block_m, mask.plan.block_n) != (config.block_m, config.block_n):
            raise ValueError(
                f"the plan has tiles of {mask.plan.block_m} x {mask.plan.block_n}, "
                f"the kernel's configuration {config.block_m} x {config.block_n}"
            )
        grad_qk, grad_vo = grads
        lse = None if terms is None else terms[0]
        dims = (rows[0].shape[3], rows[1].shape[3])
        blocks = (block_dim(dims[0]), block_dim(dims[1]))
        tma = config.tma and all(fits_tma(t) for t in (*rows, *cols)) and (lse is None or lse.numel() < 1 << 31)
        if tma and key_rows and lse is not None and len(lse) < COPIES:
            raise ValueError(f"the row terms are for pointers, the kernel's configuration is {config}")
        self._boxes = _boxes(rows, cols, blocks, config) if tma else ()
        self._lines = in_line(lse, config.block_n) if tma and lse is not None else None
        batch, num_heads = grad_qk.shape[:2]
        fixed = (
            *(t.stride() for t in (*rows, *cols)), grad_qk.stride(), (grad_qk if grad_vo is None else grad_vo).stride(),
            mask.tile_order, mask.full_indptr, mask.full_start, mask.full_count,
            mask.interval_indptr, mask.interval_start, mask.interval_ends,
            mask.gap_indptr, mask.gap_start, mask.gap_ends_indptr, mask.gap_ends, mask.ends,
            row_seen, mask.seen, mask_of_head(mask, batch, num_heads * num_visited),
            mask.plan.q_len, mask.plan.kv_len, mask.num_heavy, mask.plan.num_q_tiles, num_heads, batch * num_heads,
            num_visited, 0 if lse is None else lse.shape[3], options.sm_scale, options.softcap, inverse(options.norm),
        )  # fmt: skip
        constants = (
            options.activation == "silu", key_rows, group, dims[0], blocks[0], dims[1], blocks[1],
            config.block_m, config.block_n, tma, _gap_test(mask), mask.max_gaps if mask.max_gaps == MIN_GAPS else 0,
            row_seen is not None, mask.seen is not None, precision(rows[0]),
        )  # fmt: skip
        num_stages = sound_stages(config.num_stages, mask, grad_qk.device)
        launch_options = {"enable_fp_fusion": True, "num_warps": config.num_warps, "num_stages": num_stages}
        num_programs = mask.plan.num_q_tiles * batch * num_heads
        self._launch = Relaunch(kernel, num_programs, constants, launch_options | register_limit(config), fixed)

    def __call__(self, rows: Pair, cols: Pair, grads: tuple[Tensor, Tensor | None], terms: Terms) -> None:
        """Write the gradients. The tensors' device is the current one."""
        tensors = (*rows, *cols)
        lse, delta, total = (None, None, None) if terms is None else terms
        descriptors: Iterable[TensorDescriptor | None] = _NO_DESCRIPTORS
        if self._boxes:
            boxes = [box.of(t) for box, t in zip(self._boxes, tensors, strict=True)]
            lines = self._lines
            descriptors = (*boxes, None, None) if lines is None else (*boxes, lines.of(lse), lines.of(delta))
        self._launch(*tensors, *grads, lse, delta, total, *descriptors)


def _gap_test(mask: Tiles) -> int:
    """How the backward kernel tests gap tiles."""
    if isinstance(mask, ReorderedTensors):
        test = BITS_BY_ASSEMBLY if mask.device.type == "cuda" else BITS
    else:
        test = GAPS if mask.max_gaps else ALL
    return int(test.value)


def _boxes(rows: Pair, cols: Pair, blocks: tuple[int, int], config: BackwardConfig) -> tuple[KeptDescriptor, ...]:
    lengths = (config.block_m, config.block_m, config.block_n, config.block_n)
    return tuple(boxes(*size) for size in zip((*rows, *cols), lengths, blocks * 2, strict=True))
