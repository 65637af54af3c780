"""Strides whose offsets pass 2^31 elements, in sparse memory: what lies there is found, in every kernel, forward and backward."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv
from torch import Tensor

from compilemask.attention.gradients import gradients
from compilemask.attention.packed_tensors import upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, interpreted, row_route
from compilemask.attention.triton.packed_launch import packed_forward
from compilemask.plan import plan_packed

if not interpreted():
    pytest.skip("needs memory that is there only where it is touched", allow_module_level=True)

FAR = (1 << 29) + 64
OPTIONS = ScoreOptions(0.3)
# Strides of q, k and v in [batch, heads, len]; the head dimension is contiguous.
LAYOUTS = {"rows far apart": (1024, 256, FAR), "heads far apart": (64, FAR, 2048), "items far apart": (FAR, 64, 1024)}


@pytest.fixture
def sparse(monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """float16 zeros, 14 GiB to both sides of the middle, of which only what is written takes memory."""
    from triton.runtime.interpreter import GridExecutor

    # The interpreter would copy whole storages onto themselves.
    monkeypatch.setattr(GridExecutor, "_restore_args_dev", lambda *_: None)
    no_reserve = 0x4000
    memory = mmap.mmap(-1, 28 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    return torch.frombuffer(memory, dtype=torch.float16)


def spread(sparse: Tensor, x: Tensor, place: int, strides: tuple[int, int, int]) -> Tensor:
    """x at these strides; offsets that wrapped around would lead to zeros before it."""
    far = sparse.as_strided(x.shape, (*strides, 1), len(sparse) // 2 + place * 16)
    far.copy_(x)
    return far


@pytest.mark.parametrize("layout", LAYOUTS)
def test_offsets_beyond_32_bits_are_addressed(layout: str, sparse: Tensor) -> None:
    rows, items, heads = (
        (9, 1, 2) if layout.startswith("rows") else (9, 1, 9) if layout.startswith("heads") else (5, 9, 1)
    )
    visible = causal(rows, rows) & (np.arange(rows) != 2)
    near = random_qkv(visible, batch=items, num_q_heads=heads, num_kv_heads=heads, dtype=torch.float16)
    far = tuple(spread(sparse, x, i, LAYOUTS[layout]) for i, x in enumerate(near))
    assert max(sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)) for x in far) > 1 << 31
    mask = descriptor_of(visible)
    do, dlse = torch.randn_like(near[0]), torch.randn(near[0].shape[:3])
    results = []
    for qkv in (near, far):
        o, lse = row_route(*qkv, mask).run(*qkv, OPTIONS)
        packed = upload_packed(plan_packed(mask, 16, 32, 8), visible.any(0), o.device)
        found = gradients(*qkv, o, lse, do, dlse, mask, OPTIONS)[:3]
        results.append((o, lse, *packed_forward(*qkv, packed, OPTIONS, ForwardConfig(16, 32, 4, 1)), *found))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
