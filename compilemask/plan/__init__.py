"""Tiles of a descriptor: what a kernel visits."""

from compilemask.plan.bytes import FormatBytes, format_bytes
from compilemask.plan.choice import Candidate, TilingChoice, choose_plan
from compilemask.plan.cost_model import H200, CostModel
from compilemask.plan.coverage import tile_crossings
from compilemask.plan.grid import GridCounts, grid_counts
from compilemask.plan.packed_plan import PackedPlan
from compilemask.plan.packing import plan_packed
from compilemask.plan.planner import plan_tiles
from compilemask.plan.row_tiling import PatchedGrid
from compilemask.plan.structure import GridStructure, infer_structure
from compilemask.plan.tile_plan import TilePlan

__all__ = [
    "H200",
    "Candidate",
    "CostModel",
    "FormatBytes",
    "GridCounts",
    "GridStructure",
    "PackedPlan",
    "PatchedGrid",
    "TilePlan",
    "TilingChoice",
    "choose_plan",
    "format_bytes",
    "grid_counts",
    "infer_structure",
    "plan_packed",
    "plan_tiles",
    "tile_crossings",
]
