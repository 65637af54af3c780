"""What people drop into a model: a module, FlexAttention's call, an attention implementation of Hugging Face Transformers."""

from __future__ import annotations

from compilemask.nn.flex import flex_attention
from compilemask.nn.hugging_face import register_hugging_face
from compilemask.nn.masked_attention import MaskedAttention

__all__ = ["MaskedAttention", "flex_attention", "register_hugging_face"]
