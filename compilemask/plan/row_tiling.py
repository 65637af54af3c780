"""Which queries share a tile: patches of grids, and stretches of consecutive rows elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compilemask.geometry.ragged import BoolArray, IntArray
from compilemask.plan.structure import GridStructure


@dataclass(frozen=True, slots=True)
class PatchedGrid:
    """A grid of queries whose q tiles are patches of it. Raises ValueError unless both have as many sides."""

    grid: GridStructure
    patch: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.patch) != len(self.grid.shape) or min(self.patch) < 1:
            raise ValueError(
                f"a patch needs {len(self.grid.shape)} sides of at least 1, as its grid has, got {self.patch}"
            )


def tile_rows(q_len: int, block_m: int, grids: Sequence[PatchedGrid] = ()) -> IntArray:
    """int64[num_q_tiles, block_m]: the query of each slot, -1 where a tile has fewer; every query once.

    Patches of block_m queries are tiles of their own; what the borders of a grid cut smaller is strung together and cut
    into tiles. Rows of no grid keep tiles of consecutive rows, apart from those of the grids. Tiles ascend by their
    first query. Of overlapping grids the earlier one has the query. Raises ValueError for patches of other sizes than
    block_m.
    """
    free = np.ones(q_len, np.bool_)
    tiles = []
    for patched in grids:
        tiles.append(patch_tiles(free, block_m, patched))
        free[patched.grid.start : patched.grid.stop] = False
    tiles.append(stretch_tiles(free, block_m))
    row_index = np.concatenate(tiles)
    order = np.argsort(row_index[:, 0]) if len(row_index) else np.zeros(0, np.int64)
    return np.ascontiguousarray(row_index[order])


def patch_tiles(free: BoolArray, block_m: int, patched: PatchedGrid) -> IntArray:
    """The tiles of one grid: of those of its queries that exist and are free (bool[q_len]). See tile_rows."""
    if prod(patched.patch) != block_m:
        raise ValueError(f"a patch must have block_m = {block_m} queries, got {patched.patch}")
    rows, patch = patch_order(len(free), patched)
    kept = free[rows]
    rows, patch = rows[kept], patch[kept]
    _, number, size = np.unique(patch, return_inverse=True, return_counts=True)
    whole = size[number] == block_m
    border = rows[~whole]
    return np.concatenate(
        [rows[whole].reshape(-1, block_m), _cut_lists(border, np.zeros(len(border), np.int64), block_m)]
    )


def stretch_tiles(free: BoolArray, block_m: int) -> IntArray:
    """The tiles of consecutive rows of each stretch of free rows (bool[q_len]). See tile_rows."""
    rows = np.flatnonzero(free)
    return _cut_lists(rows, np.cumsum(np.diff(rows, prepend=-1) != 1), block_m)


def patch_order(q_len: int, patched: PatchedGrid) -> tuple[IntArray, IntArray]:
    """(query, number of its patch) of the queries of a grid that exist, patch after patch, row-major within each."""
    grid, patch = patched.grid, patched.patch
    rows = np.arange(min(grid.start, q_len), min(grid.stop, q_len))
    rest = rows - grid.start
    coordinates: list[IntArray] = []
    for side in reversed(grid.shape):
        rest, coordinate = np.divmod(rest, side)
        coordinates.insert(0, coordinate)
    number = np.zeros(len(rows), np.int64)
    within = np.zeros(len(rows), np.int64)
    for coordinate, length, side in zip(coordinates, grid.shape, patch, strict=True):
        number = number * -(-length // side) + coordinate // side
        within = within * side + coordinate % side
    order = np.argsort(number * prod(patch) + within)
    return rows[order], number[order]


def _cut_lists(rows: IntArray, number: IntArray, block_m: int) -> IntArray:
    """Tiles of lists of rows, each list by itself. number: of the list of each row, ascending."""
    _, first, size = np.unique(number, return_index=True, return_counts=True)
    tiles = -(-size // block_m)
    place = np.arange(len(rows)) - np.repeat(first, size)
    tile = np.repeat(np.cumsum(tiles) - tiles, size) + place // block_m
    row_index = np.full((int(tiles.sum()), block_m), -1, np.int64)
    row_index[tile, place % block_m] = rows
    return row_index
