"""The Hopper implementation: warp-specialised kernels in Gluon, for compute capability 9; imported only when chosen."""

from __future__ import annotations

from compilemask.attention.hopper.configs import FORWARD_CONFIGS, HopperForwardConfig
from compilemask.attention.hopper.launch import (
    ForwardLaunch,
    forward,
    forward_launch,
    has_backward,
    has_proven_backward,
    obstacle,
    plan,
    run,
)
from compilemask.attention.hopper.work_list import ForwardWork, PackedWork, forward_work, packed_work
from compilemask.attention.hopper.work_tensors import WorkTensors, in_one_launch, upload_work, work_cache

__all__ = [
    "FORWARD_CONFIGS",
    "ForwardLaunch",
    "ForwardWork",
    "HopperForwardConfig",
    "PackedWork",
    "WorkTensors",
    "forward",
    "forward_launch",
    "forward_work",
    "has_backward",
    "has_proven_backward",
    "in_one_launch",
    "obstacle",
    "packed_work",
    "plan",
    "run",
    "upload_work",
    "work_cache",
]
