"""attention() under the arguments of torch.nn.attention.flex_attention, so that a call site changes by its import."""

from __future__ import annotations

from typing import cast

from torch import Tensor

from compilemask.attention import attention
from compilemask.attention.held_masks import Mask


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: None = None,
    block_mask: Mask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: None = None,
    *,
    return_aux: None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """attention(query, key, value, block_mask, sm_scale=scale), o or (o, lse), in FlexAttention's order of arguments.

    query [batch, num_q_heads, q_len, head_dim], key and value [batch, num_kv_heads, kv_len, ...]; block_mask: what
    compilemask.compile(text).bind(...) returns, in place of a BlockMask. enable_gqa: whether num_kv_heads may be smaller
    than num_q_heads. lse: natural logarithm, float32, as FlexAttention's.

    Raises TypeError or ValueError for what has no counterpart: score_mod, kernel_options, return_aux, a BlockMask.
    """
    if score_mod is not None:
        raise TypeError(
            "score_mod is not supported: hidden cells belong into the text of the mask, a cap or sinks are "
            "compilemask.attention(..., softcap=..., sinks=...)"
        )
    if kernel_options is not None:
        raise TypeError("kernel_options is not supported: tiles and launch options come from committed tables")
    if return_aux is not None:
        raise TypeError("return_aux is not supported: return_lse=True returns (o, lse)")
    if type(block_mask).__name__ == "BlockMask":
        raise TypeError(
            "block_mask must be a MaskDescriptor, got a BlockMask of torch: write its mask_mod as mask text and give "
            "compilemask.compile(text).bind(...)"
        )
    if not enable_gqa and query.shape[-3] != key.shape[-3]:
        raise ValueError(
            f"query and key must have the same heads, got {query.shape[-3]} and {key.shape[-3]}; enable_gqa=True lets "
            "query heads share key heads"
        )
    mask = cast(Mask, block_mask)  # attention says what None lacks
    if return_lse:
        return attention(query, key, value, mask, sm_scale=scale, return_lse=True)
    return attention(query, key, value, mask, sm_scale=scale)
