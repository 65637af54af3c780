"""Tiles of a descriptor: what a kernel visits."""

from compilemask.plan.grid import GridCounts, grid_counts
from compilemask.plan.planner import plan_tiles
from compilemask.plan.tile_plan import TilePlan

__all__ = ["GridCounts", "TilePlan", "grid_counts", "plan_tiles"]
