"""The Triton implementation; imported only when chosen."""

from __future__ import annotations

from compilemask.attention.triton.configs import ForwardConfig
from compilemask.attention.triton.launch import choose_config, forward, interpreted

__all__ = ["ForwardConfig", "choose_config", "forward", "interpreted"]
