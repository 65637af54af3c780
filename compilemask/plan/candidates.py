"""Tilings worth a try, and what a sample of their q tiles would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.ragged import BoolArray, IntArray
from compilemask.plan.cost_model import CostModel
from compilemask.plan.packing import count_tiles
from compilemask.plan.row_coverage import cover_rows
from compilemask.plan.row_tiling import PatchedGrid, patch_tiles, stretch_tiles
from compilemask.plan.structure import GridStructure
from compilemask.plan.tile_plan import TilePlan

SAMPLE = 48  # q tiles counted of each region
MIN_SIDE = 4  # of a patch, along lines and across them
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Pricing:
    """What prices are for: tiles of a size, a head dimension, and a machine."""

    block_m: int
    block_n: int
    head_dim: int
    model: CostModel

    def price(self, tiles: IntArray, full: IntArray, share: float, *, gathered: bool) -> Price:
        """Of q tiles with so many kv tiles, when they are the given share of all."""
        costs = self.model.q_tile_costs(
            tiles, full, gathered=gathered, block_m=self.block_m, block_n=self.block_n, head_dim=self.head_dim
        )
        pairs = float(tiles.sum()) * self.block_m * self.block_n
        return Price(float(costs.sum()) / share, float(costs.max(initial=0.0)), pairs / share)


@dataclass(frozen=True, slots=True)
class Price:
    """Of some q tiles, for one head: microseconds in all and of the heaviest one, and the pairs they process."""

    total_us: float
    heaviest_us: float
    pairs: float

    def __add__(self, other: Price) -> Price:
        return Price(self.total_us + other.total_us, max(self.heaviest_us, other.heaviest_us), self.pairs + other.pairs)


@dataclass(frozen=True, slots=True)
class Region:
    """Queries that are tiled by themselves: those of a grid, or those of none. options: (patch or None, price)."""

    grid: GridStructure | None
    options: tuple[tuple[tuple[int, ...] | None, Price], ...]

    def best(self) -> tuple[tuple[int, ...] | None, Price]:
        """The cheapest option, the earlier one of equals."""
        return min(self.options, key=lambda option: option[1].total_us)


def patches(grid: GridStructure, block_m: int) -> Iterator[tuple[int, ...]]:
    """Patches of block_m queries: lines and columns at least MIN_SIDE long, any depth; none longer than the grid."""
    depths = [1] if len(grid.shape) == 2 else _divisors(block_m)
    for depth in depths:
        for height in _divisors(block_m // depth):
            width = block_m // depth // height
            patch = (depth, height, width)[-len(grid.shape) :]
            if min(height, width) >= MIN_SIDE and all(p <= side for p, side in zip(patch, grid.shape, strict=True)):
                yield patch


def price_regions(
    descriptor: MaskDescriptor, grids: Sequence[GridStructure], chunks: Sequence[int], pricing: Pricing
) -> dict[int, tuple[Region, ...]]:
    """For each chunk, the regions of the mask with what their tilings would cost, from a sample of q tiles."""
    block_m = pricing.block_m
    outside = np.ones(descriptor.q_len, np.bool_)
    found: dict[int, list[Region]] = {chunk: [] for chunk in chunks}
    for grid in grids:
        inside = np.zeros(descriptor.q_len, np.bool_)
        inside[grid.start : grid.stop] = True
        outside &= ~inside
        prices = {None: _price(descriptor, stretch_tiles(inside, block_m), chunks, pricing)} | {
            patch: _price(descriptor, patch_tiles(inside, block_m, PatchedGrid(grid, patch)), chunks, pricing)
            for patch in patches(grid, block_m)
        }
        for chunk in chunks:
            found[chunk].append(Region(grid, tuple((patch, price[chunk]) for patch, price in prices.items())))
    rest = _price(descriptor, stretch_tiles(outside, block_m), chunks, pricing)
    return {chunk: (*regions, Region(None, ((None, rest[chunk]),))) for chunk, regions in found.items()}


def price_rows(plan: TilePlan, pricing: Pricing) -> Price:
    """Of a plan with contiguous tiles, all of them counted."""
    ranges = np.append(0, np.cumsum(plan.full_count, dtype=np.int64))
    full = np.diff(ranges[plan.full_indptr])
    return pricing.price(full + np.diff(plan.partial_indptr), full, 1.0, gathered=False)


def _price(
    descriptor: MaskDescriptor, row_index: IntArray, chunks: Sequence[int], pricing: Pricing
) -> dict[int, Price]:
    some = row_index[sample(len(row_index))]
    share = len(some) / max(len(row_index), 1) or 1.0
    coverage = cover_rows(descriptor, some).coverage
    return {
        chunk: pricing.price(*count_tiles(coverage, len(some), pricing.block_n, chunk), share, gathered=True)
        for chunk in chunks
    }


def sample(count: int) -> BoolArray | IntArray:
    """At most SAMPLE numbers below count, spread so that no period of the tiles (such as lines of patches) is met."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.unique((np.arange(SAMPLE) * GOLDEN % 1 * count).astype(np.int64))


def _divisors(number: int) -> list[int]:
    return [side for side in range(1, number + 1) if number % side == 0]
