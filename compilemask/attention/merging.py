"""Two partial results over different keys, made one: the log-sum-exp identity of split and ring attention."""

from __future__ import annotations

import torch
from torch import Tensor


def merge(o1: Tensor, lse1: Tensor, o2: Tensor, lse2: Tensor) -> tuple[Tensor, Tensor]:
    """(o, lse) of attention over two sets of keys, from the results over each of them; differentiable in all four.

    o1, o2 [..., v_head_dim], of a floating-point dtype; lse1, lse2 [...]: natural logarithms, as `attention` returns
    them with return_lse. The sets of keys must be disjoint. Sums are float32 at least; o has the wider dtype of o1 and
    o2, lse is float32 (float64 for float64). A part with lse = -inf saw no key and changes nothing: the other one is
    returned bit for bit, whatever its own o holds. Two empty parts give o = 0 and lse = -inf. No gradient is NaN.

    Raises TypeError or ValueError for anything that does not fit. Method: Dao et al., 2022, FlashAttention, section 3.1.
    """
    _check(o1, lse1, o2, lse2)
    dtype = torch.promote_types(torch.promote_types(o1.dtype, o2.dtype), torch.float32)
    lse_dtype = torch.promote_types(torch.promote_types(lse1.dtype, lse2.dtype), torch.float32)
    lse1, lse2 = lse1.to(lse_dtype), lse2.to(lse_dtype)
    empty1, empty2 = torch.isneginf(lse1), torch.isneginf(lse2)
    some = ~(empty1 | empty2)
    # where a part is empty both are replaced: the formula then stays finite, and so do its derivatives
    safe1, safe2 = torch.where(some, lse1, 0.0), torch.where(some, lse2, 0.0)
    lse = torch.logaddexp(safe1, safe2)
    lse = torch.where(empty2, lse1, torch.where(empty1, lse2, lse))
    only1, only2 = empty2[..., None], empty1[..., None]
    x1, x2 = o1.to(dtype).masked_fill(only2, 0.0), o2.to(dtype).masked_fill(only1, 0.0)
    share1, share2 = (torch.sigmoid(x).to(dtype)[..., None] for x in (safe1 - safe2, safe2 - safe1))
    o = torch.where(only1, x1, torch.where(only2, x2, x1 * share1 + x2 * share2))
    return o.to(torch.promote_types(o1.dtype, o2.dtype)), lse


def _check(o1: Tensor, lse1: Tensor, o2: Tensor, lse2: Tensor) -> None:
    for name, tensor in (("o1", o1), ("lse1", lse1), ("o2", o2), ("lse2", lse2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name} must be a torch.Tensor, got {type(tensor).__name__}; call attention with return_lse"
            )
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must have a floating-point dtype, got {tensor.dtype}")
        if tensor.device != o1.device:
            raise ValueError(f"all parts must be on one device, got o1 on {o1.device} and {name} on {tensor.device}")
    if o1.ndim == 0 or o1.shape != o2.shape:
        raise ValueError(f"o1 and o2 must have one shape [..., v_head_dim], got {list(o1.shape)} and {list(o2.shape)}")
    for name, tensor in (("lse1", lse1), ("lse2", lse2)):
        if tensor.shape != o1.shape[:-1]:
            raise ValueError(
                f"{name} must have the shape of o without its last size, {list(o1.shape[:-1])}, got {list(tensor.shape)}"
            )
