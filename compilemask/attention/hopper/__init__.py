"""The Hopper implementation: warp-specialised kernels in Gluon, for compute capability 9; imported only when chosen."""

from __future__ import annotations

from compilemask.attention.hopper.backward_configs import takes_dims
from compilemask.attention.hopper.configs import FORWARD_CONFIGS, HopperForwardConfig, costs_of
from compilemask.attention.hopper.launch import (
    ForwardLaunch,
    forward,
    forward_launch,
    obstacle,
    plan,
    run,
)
from compilemask.attention.hopper.whole_backward import WholeBackward, repeatable_gradients
from compilemask.attention.hopper.work_list import ForwardWork, PackedWork, forward_work, packed_work
from compilemask.attention.hopper.work_tensors import WorkTensors, in_one_launch, upload_work, work_cache

__all__ = [
    "FORWARD_CONFIGS",
    "ForwardLaunch",
    "ForwardWork",
    "HopperForwardConfig",
    "PackedWork",
    "WholeBackward",
    "WorkTensors",
    "costs_of",
    "forward",
    "forward_launch",
    "forward_work",
    "in_one_launch",
    "obstacle",
    "packed_work",
    "plan",
    "repeatable_gradients",
    "run",
    "takes_dims",
    "upload_work",
    "work_cache",
]
