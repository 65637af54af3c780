"""The Triton implementation; imported only when chosen."""

from __future__ import annotations

from compilemask.attention.triton.backward_configs import BackwardConfig
from compilemask.attention.triton.backward_launch import (
    RowTerms,
    choose_backward_configs,
    exact_terms,
    key_gradients,
    query_gradient,
    row_terms,
)
from compilemask.attention.triton.configs import ForwardConfig
from compilemask.attention.triton.launch import choose_config, forward, interpreted
from compilemask.attention.triton.relaunch import layouts
from compilemask.attention.triton.reordered_rows import copy_rows, reorder_terms
from compilemask.attention.triton.route import Route, batch_route, choose_route, packed_route, row_route
from compilemask.attention.triton.whole_backward import WholeBackward

__all__ = [
    "BackwardConfig",
    "ForwardConfig",
    "Route",
    "RowTerms",
    "WholeBackward",
    "batch_route",
    "choose_backward_configs",
    "choose_config",
    "choose_route",
    "copy_rows",
    "exact_terms",
    "forward",
    "interpreted",
    "key_gradients",
    "layouts",
    "packed_route",
    "query_gradient",
    "reorder_terms",
    "row_route",
    "row_terms",
]
