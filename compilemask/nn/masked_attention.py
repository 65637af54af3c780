"""Multi-head attention under a mask, as a module."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from compilemask.attention import Impl, attention
from compilemask.attention.held_masks import Mask

Rotate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class MaskedAttention(nn.Module):
    """Projections to queries, keys and values, attention under the mask of the call, and the projection back.

    embed_dim: of the inputs and of the output. num_heads query heads of head_dim (embed_dim // num_heads unless given) share
    num_kv_heads key heads (as many unless given). bias: of all four projections. qk_norm: RMS-normalise each query and
    key over head_dim, with learned weights, before `rotate`. sinks: learn one sink for each query head. sm_scale, softcap,
    impl: as in `attention`. dropout is not supported: 0.0 is the only value.

    Parameters are q_proj, k_proj, v_proj, o_proj, and q_norm, k_norm, sinks where asked for. Raises ValueError for sizes that do
    not fit.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, *, num_kv_heads: int | None = None, head_dim: int | None = None,
        bias: bool = True, qk_norm: bool = False, sinks: bool = False, sm_scale: float | None = None,
        softcap: float | None = None, dropout: float = 0.0, impl: Impl = "auto",
        device: torch.device | str | None = None, dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        _check_sizes(embed_dim, num_heads, num_kv_heads, head_dim)
        if dropout != 0:
            raise ValueError(f"dropout of attention weights is not supported, got {dropout}; use dropout=0.0")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        self.sm_scale, self.softcap, self.impl = sm_scale, softcap, impl

        def linear(inputs: int, outputs: int) -> nn.Linear:
            return nn.Linear(inputs, outputs, bias=bias, device=device, dtype=dtype)

        self.q_proj = linear(embed_dim, num_heads * self.head_dim)
        self.k_proj = linear(embed_dim, num_kv_heads * self.head_dim)
        self.v_proj = linear(embed_dim, num_kv_heads * self.head_dim)
        self.o_proj = linear(num_heads * self.head_dim, embed_dim)
        norms = [nn.RMSNorm(self.head_dim, device=device, dtype=dtype) if qk_norm else nn.Identity() for _ in range(2)]
        self.q_norm, self.k_norm = norms
        self.sinks = nn.Parameter(torch.zeros(num_heads, device=device, dtype=dtype)) if sinks else None

    def forward(self, x: Tensor, mask: Mask, *, context: Tensor | None = None, rotate: Rotate | None = None) -> Tensor:
        """[batch, q_len, embed_dim] from x of this shape; or packed, [total, embed_dim].

        mask: of q_len rows and as many keys as the context has. context: what keys and values are made of, x unless given.
        rotate: (q, k) -> (q, k), such as a rotary embedding, on [batch, heads, len, head_dim] or [total, heads, head_dim].
        """
        context = x if context is None else context
        if x.ndim not in (2, 3) or context.ndim != x.ndim:
            raise ValueError(
                "x and context must both be [batch, len, embed_dim] or both packed [total, embed_dim], "
                f"got shapes {tuple(x.shape)} and {tuple(context.shape)}"
            )
        q = self.q_norm(self._heads(self.q_proj(x)))
        k, v = self.k_norm(self._heads(self.k_proj(context))), self._heads(self.v_proj(context))
        if rotate is not None:
            q, k = rotate(q, k)
        o = attention(q, k, v, mask, sm_scale=self.sm_scale, softcap=self.softcap, sinks=self.sinks, impl=self.impl)
        joined: Tensor = self.o_proj((o if x.ndim == 2 else o.transpose(1, 2)).flatten(-2))
        return joined

    def _heads(self, x: Tensor) -> Tensor:
        heads = x.reshape(*x.shape[:-1], -1, self.head_dim)
        return heads if x.ndim == 2 else heads.transpose(1, 2)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}, head_dim={self.head_dim}, impl={self.impl!r}"


def _check_sizes(embed_dim: int, num_heads: int, num_kv_heads: int, head_dim: int | None) -> None:
    for name, size in (("embed_dim", embed_dim), ("num_heads", num_heads), ("num_kv_heads", num_kv_heads)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    if num_heads % num_kv_heads != 0:
        raise ValueError(f"num_heads must be a multiple of num_kv_heads, got {num_heads} and {num_kv_heads}")
    if head_dim is None and embed_dim % num_heads != 0:
        raise ValueError(
            f"embed_dim must be a multiple of num_heads, got {embed_dim} and {num_heads}; or give head_dim"
        )
    if head_dim is not None and head_dim < 1:
        raise ValueError(f"head_dim must be at least 1, got {head_dim}")
