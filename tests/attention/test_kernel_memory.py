"""No kernel reads or writes what is not an element of its arguments, at any length, head dimension and stride."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from oracles_attention import causal, descriptor_of, history_and_targets, random_qkv, scattered
from torch import Tensor

from compilemask.attention.mask_tensors import upload
from compilemask.attention.packed_tensors import upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import (
    BackwardConfig,
    ForwardConfig,
    forward,
    interpreted,
    key_gradients,
    query_gradient,
    row_terms,
)
from compilemask.attention.triton.packed_launch import packed_forward
from compilemask.plan import plan_packed, plan_tiles

if not interpreted():
    pytest.skip("checks what the interpreter does", allow_module_level=True)

from kernel_memory import checked_memory

MASKS = {
    "one cell": np.ones((1, 1), bool),
    "more queries": causal(35, 18),
    "more keys": causal(17, 70),
    "nothing": np.zeros((20, 33), bool),
    "history and targets": history_and_targets(49, 20),
    "scattered": scattered(70, 90, seed=1),
}
LAYOUTS = {
    "contiguous": lambda x: x,
    "fused": lambda x: torch.stack([x.transpose(1, 2)] * 3, 2)[:, :, 1].transpose(1, 2),
    "every second": lambda x: torch.stack([x, torch.full_like(x, math.nan)], -1).flatten(3)[..., ::2],
    "columns": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
}
# (options, whether there are sinks), in turn
FORMS = [
    (ScoreOptions(0.3), False),
    (ScoreOptions(0.3), True),
    (ScoreOptions(0.3, activation="silu", softcap=2.0), False),
]


def all_kernels(
    visible: np.ndarray, qkv: tuple[Tensor, ...], tma: bool, options: ScoreOptions, has_sinks: bool
) -> None:
    """Forward over row tiles and packed tiles, and both directions of the backward, of unequal tile sizes."""
    sinks = torch.randn(qkv[0].shape[1]) if has_sinks else None
    mask, turned = descriptor_of(visible), descriptor_of(np.ascontiguousarray(visible.T))
    seen, some, device = visible.any(0), visible.any(1), qkv[0].device
    o, lse = forward(
        *qkv, upload(plan_tiles(mask, 32, 16), seen, device), options, ForwardConfig(32, 16, 4, 1, tma), sinks
    )
    packed = upload_packed(plan_packed(mask, 16, 32, 8), seen, device)
    packed_forward(*qkv, packed, options, ForwardConfig(16, 32, 4, 1), sinks)
    do = torch.randn_like(o)
    config = BackwardConfig(16, 32, 4, 1, tma)
    terms = row_terms(o, lse, do, torch.randn_like(lse), config) if options.has_lse else None
    plans = upload(plan_tiles(mask, 16, 32), seen, device), upload(plan_tiles(turned, 16, 32), some, device)
    inputs = (*qkv, do, terms, *plans, options, config)
    query_gradient(*inputs)
    key_gradients(*inputs, 1)


@pytest.mark.parametrize(
    ("mask", "tma"), [*((mask, False) for mask in MASKS), ("more keys", True), ("history and targets", True)]
)
def test_any_mask(mask: str, tma: bool) -> None:
    visible, form = MASKS[mask], FORMS[list(MASKS).index(mask) % len(FORMS)]
    qkv = random_qkv(visible, num_q_heads=2, v_head_dim=24, dtype=torch.float16)
    with checked_memory() as names:
        all_kernels(visible, qkv, tma, *form)
    assert {"attention_forward_kernel", "packed_forward_kernel", "attention_backward_kernel"} <= set(names)


@pytest.mark.parametrize(
    ("head_dim", "v_head_dim", "layout"),
    [(1, 3, "columns"), (24, 16, "every second"), (72, 80, "contiguous"), (17, 33, "fused")],
)
def test_any_head_dim_and_layout(head_dim: int, v_head_dim: int, layout: str) -> None:
    visible = scattered(20, 41, seed=2)
    qkv = random_qkv(visible, num_q_heads=2, head_dim=head_dim, v_head_dim=v_head_dim)
    with checked_memory():
        all_kernels(visible, tuple(LAYOUTS[layout](x) for x in qkv), False, *FORMS[head_dim % 3])


@triton.jit
def copy_kernel(from_ptr, to_ptr, count, stride, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if MASKED:
        tl.store(to_ptr + at, tl.load(from_ptr + at * stride, mask=at < count), mask=at < count)
    else:
        tl.store(to_ptr + at, tl.load(from_ptr + at * stride))


@pytest.mark.parametrize(
    ("length", "step", "masked", "fault"),
    [
        (16, 1, False, None),
        (15, 1, True, None),
        (15, 1, False, "copy_kernel: load of 1 addresses that belong to no argument, of 16"),
        (16, 2, True, "copy_kernel: load of 8 addresses that belong to no argument, of 16"),
    ],
)
def test_the_checker_finds_what_lies_beyond_and_between_elements(
    length: int, step: int, masked: bool, fault: str | None
) -> None:
    source, target = torch.arange(64.0)[: length * step : step], torch.zeros(16)
    with checked_memory():
        if fault is None:
            copy_kernel[(1,)](source, target, length, step, BLOCK=16, MASKED=masked)
            assert torch.equal(target[:length], source)
            return
        with pytest.raises(Exception, match=fault):
            copy_kernel[(1,)](source, target, length, 1, BLOCK=16, MASKED=masked)
