"""attention() as an attention implementation of Hugging Face Transformers (the extra `hugging-face`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from compilemask.attention import attention
from compilemask.attention.held_masks import Mask
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.nn.cells import batch_of_cells

NAME = "compilemask"


def register_hugging_face() -> None:
    """Make attn_implementation="compilemask" known to Transformers; calling it again changes nothing.

    A model then takes its mask from the keyword `compilemask` of its call, a MaskDescriptor or MaskBatch, as in
    model(input_ids, position_ids=..., compilemask=mask). Without it the mask is the one that Transformers describes (causal,
    padded, sliding, packed by position_ids), exactly, found cell by cell as its own eager and sdpa implementations do; plain
    causal is not expanded. Only masks given by the keyword keep a compiled graph whole.

    Raises ModuleNotFoundError when Transformers is not installed.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
    except ModuleNotFoundError as problem:
        if problem.name != "transformers":
            raise
        raise ModuleNotFoundError(
            "register_hugging_face needs Transformers; install it with `pip install 'compilemask-studio[hugging-face]'`",
            name="transformers",
        ) from None
    AttentionInterface.register(NAME, hugging_face_attention)
    AttentionMaskInterface.register(NAME, describe_mask)


class DescribedMask:
    """A mask as Transformers describes it; its cells are found when a layer asks, and once for all layers."""

    def __init__(self, q_len: int, kv_len: int, is_causal: bool, cells: Callable[[], Tensor]) -> None:
        self._q_len, self._kv_len, self._is_causal, self._cells = q_len, kv_len, is_causal, cells

    @cached_property
    def mask(self) -> Mask:
        """The descriptor, or one for each batch item."""
        if self._is_causal:
            return MaskDescriptor.from_trapezoids(
                self._q_len, self._kv_len, Trapezoids.of(0, min(self._q_len, self._kv_len), 0, 0, 1, 1)
            )
        return batch_of_cells(self._cells().cpu().numpy())


def describe_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] | None = None,
    attention_mask: Tensor | None = None,
    **options: Any,
) -> DescribedMask:
    """The mask interface of Transformers: parameters as there; what is visible is `mask_function` and `attention_mask`."""
    from transformers.masking_utils import causal_mask_function, sdpa_mask

    function = causal_mask_function if mask_function is None else mask_function
    for skip in ("allow_is_causal_skip", "allow_is_bidirectional_skip"):
        options[skip] = False

    def cells() -> Tensor:
        found: Tensor = sdpa_mask(
            batch_size=batch_size, q_length=q_length, kv_length=kv_length, q_offset=q_offset, kv_offset=kv_offset,
            mask_function=function, attention_mask=attention_mask, **options,
        )  # fmt: skip
        return found

    offsets_known = isinstance(q_offset, int) and isinstance(kv_offset, int)
    plain = function is causal_mask_function and attention_mask is None and offsets_known and q_offset == kv_offset
    return DescribedMask(q_length, kv_length, plain, cells)


def hugging_face_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: DescribedMask | Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    compilemask: Mask | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """The attention interface of Transformers: (o [batch, q_len, heads, head_dim], no weights).

    query, key, value [batch, heads, len, head_dim]. s_aux: sinks. Without any mask the module's or the call's is_causal decides, as
    for the sdpa and flash implementations. Raises ValueError for dropout, position biases and float masks.
    """
    if dropout > 0:
        raise ValueError(
            f"attn_implementation 'compilemask' has no dropout of attention weights, got {dropout}: set the model's attention_dropout to 0"
        )
    if options.get("position_bias") is not None:
        raise ValueError("attn_implementation 'compilemask' adds no position biases; use 'eager' for this model")
    is_causal = options.get("is_causal")
    causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
    mask = compilemask if compilemask is not None else _mask_of(attention_mask, query, key, causal)
    o = attention(query, key, value, mask, sm_scale=scaling, softcap=softcap, sinks=s_aux)
    return o.transpose(1, 2).contiguous(), None


def _mask_of(attention_mask: DescribedMask | Tensor | None, query: Tensor, key: Tensor, causal: bool) -> Mask:
    """causal: what no mask at all stands for; a single query sees everything before it anyway."""
    if isinstance(attention_mask, DescribedMask):
        return attention_mask.mask
    if attention_mask is None:
        q_len, kv_len = query.shape[2], key.shape[2]
        if not causal or q_len == 1:
            return MaskDescriptor.from_trapezoids(q_len, kv_len, Trapezoids.rectangle(0, q_len, 0, kv_len))
        if q_len != kv_len:
            raise ValueError(
                f"attn_implementation 'compilemask' got no mask for {q_len} queries and {kv_len} keys of a causal module, which "
                "may mean either corner; give compilemask=mask"
            )
        return MaskDescriptor.from_trapezoids(q_len, kv_len, Trapezoids.of(0, q_len, 0, 0, 1, 1))
    if isinstance(attention_mask, MaskDescriptor | MaskBatch):
        return attention_mask
    if attention_mask.dtype != torch.bool:
        raise ValueError(
            f"attn_implementation 'compilemask' takes no added biases, got a {attention_mask.dtype} attention_mask of "
            f"shape {tuple(attention_mask.shape)}; give compilemask=mask, or a bool mask"
        )
    return batch_of_cells(attention_mask.cpu().numpy())
