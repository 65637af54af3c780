"""The backward of the Triton implementation as a function of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from compilemask.attention import triton
from compilemask.attention.mask_tensors import cache
from compilemask.descriptor import MaskDescriptor

Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor | None, dlse: Tensor | None,
    mask: MaskDescriptor, sm_scale: float, wanted: tuple[bool, bool, bool] = (True, True, True),
) -> Gradients:  # fmt: skip
    """(dq, dk, dv) of sum(o * do) + sum(lse * dlse), contiguous, in the inputs' dtype; do, dlse: None for zeros.

    o and lse are the forward's, of any strides. Where `wanted` is False the gradient may be None. Equal inputs give equal bits, whatever
    the strides of do and dlse.
    """
    if q.numel() == 0 or k.numel() == 0:
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    o, lse = o.contiguous(), lse.contiguous()
    do = torch.zeros_like(o) if do is None else do.contiguous()
    dq_config, dkv_config = triton.choose_backward_configs(q, k, v)
    terms = triton.row_terms(o, lse, do, dlse, dkv_config)
    queries = cache.get(mask, dq_config.block_m, dq_config.block_n, q.device)
    keys = cache.get(mask, dkv_config.block_m, dkv_config.block_n, q.device, transposed=True)
    inputs = (q, k, v, do, terms, queries, keys, sm_scale)
    dq = triton.query_gradient(*inputs, dq_config) if wanted[0] else None
    dk, dv = triton.key_gradients(*inputs, dkv_config) if wanted[1] or wanted[2] else (None, None)
    return dq, dk, dv
