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
# Flipped into the seed; within 32 bits, the only ones that torch's generator on the CPU takes in.
_GRADIENT_BITS = 0x6A09E667


def attention_inputs(spec: CaseSpec, mask: MaskDescriptor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """(q, k, v), normal(0, 1), drawn in float32 on the CPU from spec.seed, then rounded. Zeros would flatter the clock."""
    generator = torch.Generator().manual_seed(spec.seed)
    v_head_dim = spec.v_head_dim or spec.head_dim
    return (
        _normal(spec, spec.num_q_heads, mask.q_len, spec.head_dim, generator, device),
        _normal(spec, spec.num_kv_heads, mask.kv_len, spec.head_dim, generator, device),
        _normal(spec, spec.num_kv_heads, mask.kv_len, v_head_dim, generator, device),
    )


def output_gradient(spec: CaseSpec, mask: MaskDescriptor, device: torch.device) -> Tensor:
    """do [batch, q heads, q_len, v dim], likewise, from a seed of its own that spec.seed gives."""
    generator = torch.Generator().manual_seed(spec.seed ^ _GRADIENT_BITS)
    return _normal(spec, spec.num_q_heads, mask.q_len, spec.v_head_dim or spec.head_dim, generator, device)


def _normal(
    spec: CaseSpec, heads: int, length: int, channels: int, generator: torch.Generator, device: torch.device
) -> Tensor:
    values = torch.empty(spec.batch, heads, length, channels, dtype=TORCH_DTYPE[spec.dtype])
    for item in values:
        # One batch item at a time bounds the float32 copy.
        item.copy_(torch.randn(item.shape, generator=generator))
    return values.to(device)
