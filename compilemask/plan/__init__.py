"""Tiles of a descriptor: what a kernel visits."""

from compilemask.plan.backward_choice import (
    BACKWARD_HEADS,
    H200_HOPPER_BACKWARD,
    H200_TRITON_BACKWARD,
    BackwardChoice,
    BackwardCosts,
    choose_backward,
)
from compilemask.plan.bytes import FormatBytes, format_bytes
from compilemask.plan.choice import Candidate, TilingChoice, choose_plan
from compilemask.plan.cost_model import H200, CostModel
from compilemask.plan.coverage import tile_crossings
from compilemask.plan.grid import GridCounts, grid_counts
from compilemask.plan.kernel_choice import KernelChoice, choose_kernel_tiling
from compilemask.plan.kernel_costs import (
    HOPPER_H200,
    KERNELS,
    TRITON_H200,
    KernelCosts,
    Tiling,
    taken_by_auto,
)
from compilemask.plan.packed_plan import PackedPlan
from compilemask.plan.packing import plan_packed
from compilemask.plan.planner import plan_tiles
from compilemask.plan.reordered_plan import ReorderedPlan
from compilemask.plan.reordered_tiles import ReorderedTiles, cut_tiles, cuts_into
from compilemask.plan.reordering import reorder
from compilemask.plan.row_tiling import PatchedGrid
from compilemask.plan.structure import GridStructure, infer_structure
from compilemask.plan.tile_plan import TilePlan

__all__ = [
    "BACKWARD_HEADS",
    "H200",
    "H200_HOPPER_BACKWARD",
    "H200_TRITON_BACKWARD",
    "HOPPER_H200",
    "KERNELS",
    "TRITON_H200",
    "BackwardChoice",
    "BackwardCosts",
    "Candidate",
    "CostModel",
    "FormatBytes",
    "GridCounts",
    "GridStructure",
    "KernelChoice",
    "KernelCosts",
    "PackedPlan",
    "PatchedGrid",
    "ReorderedPlan",
    "ReorderedTiles",
    "TilePlan",
    "Tiling",
    "TilingChoice",
    "choose_backward",
    "choose_kernel_tiling",
    "choose_plan",
    "cut_tiles",
    "cuts_into",
    "format_bytes",
    "grid_counts",
    "infer_structure",
    "plan_packed",
    "plan_tiles",
    "reorder",
    "taken_by_auto",
    "tile_crossings",
]
