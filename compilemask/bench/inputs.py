"""Inputs of a case: seeded, random, the same on every machine."""

from __future__ import annotations

import torch
from torch import Tensor

from compilemask.bench.protocol import CaseSpec, Dtype
from compilemask.descriptor import MaskDescriptor

TORCH_DTYPE: dict[Dtype, torch.dtype] = {
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float32": torch.float32,
}


def attention_inputs(spec: CaseSpec, mask: MaskDescriptor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """(q, k, v), normal(0, 1), drawn in float32 on the CPU from spec.seed, then rounded. Zeros would flatter the clock."""
    generator = torch.Generator().manual_seed(spec.seed)
    dtype = TORCH_DTYPE[spec.dtype]

    def normal(heads: int, length: int) -> Tensor:
        values = torch.empty(spec.batch, heads, length, spec.head_dim, dtype=dtype)
        for item in values:
            # One batch item at a time bounds the float32 copy.
            item.copy_(torch.randn(item.shape, generator=generator))
        return values.to(device)

    return (
        normal(spec.num_q_heads, mask.q_len),
        normal(spec.num_kv_heads, mask.kv_len),
        normal(spec.num_kv_heads, mask.kv_len),
    )
