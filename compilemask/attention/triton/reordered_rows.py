"""Copies of rows in another order, on their way into the backward of a reordered mask and out of it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from compilemask.attention.build_once import BuildOnce
from compilemask.attention.triton.backward_launch import RowTerms
from compilemask.attention.triton.config_table import block_dim
from compilemask.attention.triton.gradient_launch import COPIES
from compilemask.attention.triton.primitives import load_chosen_rows
from compilemask.attention.triton.relaunch import Relaunch, layouts, on_device_of

_ROWS = 32
_TERM_ROWS = 128
_LAUNCHES = 256
_copies: BuildOnce[Relaunch] = BuildOnce(_LAUNCHES)
_terms: BuildOnce[Relaunch] = BuildOnce(_LAUNCHES)


def copy_rows(x: Tensor, index: Tensor, *, scale: float | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """[batch, heads, len(index), dim], contiguous: the rows index[i] of x [batch, heads, len, dim], zeros where index is -1.

    scale: what they are multiplied by, in float32; dtype: of the result, x's unless given.
    """
    batch, num_heads, _, dim = x.shape
    out = torch.empty((batch, num_heads, len(index), dim), dtype=dtype or x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    launch = _copies.get(
        (x.device, len(index), scale, out.dtype, *layouts(x)),
        lambda: Relaunch(
            copy_rows_kernel, triton.cdiv(len(index), _ROWS) * batch * num_heads,
            (scale is not None, dim, block_dim(dim), _ROWS), {"num_warps": 4},
        ),
    )  # fmt: skip
    with on_device_of(x):
        launch(x, out, index, x.stride(), num_heads, len(index), scale or 1.0)
    return out


def reorder_terms(terms: RowTerms, index: Tensor, block_n: int, *, copies: bool) -> RowTerms:
    """The terms of the rows index[i], of one copy; rows without query get what row_terms gives to rows behind the last.

    block_n: columns of the tiles that will read them; copies: for tensor descriptors.
    """
    _, batch, num_heads, given_terms = terms.lse.shape
    num_copies = COPIES if copies else 1
    num_terms = ((len(index) + block_n) // COPIES + 2) * COPIES
    shape = (num_copies, batch, num_heads, num_terms)
    lse, delta = (torch.empty(shape, dtype=torch.float32, device=index.device) for _ in range(2))
    launch = _terms.get(
        (index.device, len(index), num_terms, num_copies, *layouts(terms.lse, terms.delta)),
        lambda: Relaunch(
            reorder_terms_kernel, triton.cdiv(num_terms, _TERM_ROWS) * batch * num_heads, (_TERM_ROWS, num_copies),
            {"num_warps": 4},
        ),
    )  # fmt: skip
    with on_device_of(index):
        launch(terms.lse, terms.delta, lse, delta, index, given_terms, len(index), num_terms, batch * num_heads)
    return RowTerms(lse, delta)


@triton.jit(do_not_specialize=["num_heads", "num_rows", "scale"])
def copy_rows_kernel(
    x_ptr, out_ptr, index_ptr, x_stride, num_heads, num_rows, scale,
    SCALED: tl.constexpr, DIM: tl.constexpr, BLOCK_D: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """out [batch, num_heads, num_rows, DIM] contiguous, row i: scale times row index[i] of x, 0 where that is -1.

    Grid: ceil(num_rows / ROWS) programs for each head of each item, one axis.
    """
    programs = tl.cdiv(num_rows, ROWS)
    head = tl.program_id(0) // programs
    rows = tl.program_id(0) % programs * ROWS + tl.arange(0, ROWS)
    source = tl.load(index_ptr + rows, mask=rows < num_rows, other=-1)
    x_ptr += (head // num_heads).to(tl.int64) * x_stride[0] + (head % num_heads).to(tl.int64) * x_stride[1]
    x = load_chosen_rows(x_ptr, source, source >= 0, x_stride[2], x_stride[3], DIM, BLOCK_D)
    if SCALED:
        x = x.to(tl.float32) * scale
    cols = tl.arange(0, BLOCK_D)
    to = out_ptr + (head.to(tl.int64) * num_rows + rows)[:, None] * DIM + cols[None, :]
    tl.store(to, x.to(out_ptr.dtype.element_ty), mask=(rows < num_rows)[:, None] & (cols < DIM)[None, :])


@triton.jit(do_not_specialize=["given_terms", "num_rows", "num_terms", "num_heads"])
def reorder_terms_kernel(
    lse_ptr, delta_ptr, out_lse_ptr, out_delta_ptr, index_ptr, given_terms, num_rows, num_terms, num_heads,
    ROWS: tl.constexpr, COPIES: tl.constexpr,
):  # fmt: skip
    """out [COPIES, num_heads, num_terms]: terms [num_heads, given_terms] of the rows index[i], +inf and 0 where that is -1.

    Copy c begins with row c. Grid: ceil(num_terms / ROWS) programs for each of num_heads heads of all items, one axis.
    """
    programs = tl.cdiv(num_terms, ROWS)
    head = (tl.program_id(0) // programs).to(tl.int64)
    rows = tl.program_id(0) % programs * ROWS + tl.arange(0, ROWS)
    source = tl.load(index_ptr + rows, mask=rows < num_rows, other=-1)
    lse = tl.load(lse_ptr + head * given_terms + source, mask=source >= 0, other=float("inf"))
    delta = tl.load(delta_ptr + head * given_terms + source, mask=source >= 0, other=0.0)
    for copy in tl.static_range(COPIES):
        to = (num_heads.to(tl.int64) * copy + head) * num_terms + rows - copy
        written = (rows >= copy) & (rows < num_terms)
        tl.store(out_lse_ptr + to, lse, mask=written)
        tl.store(out_delta_ptr + to, delta, mask=written)
