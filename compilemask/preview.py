"""Pictures of a descriptor: density pixels, counted exactly without visiting cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry.ragged import IntArray, spread

TILE_SIZE = 256
SHADES = "░▒▓"
MAX_PARTS = 127


def levels(descriptor: MaskDescriptor, size: int = TILE_SIZE) -> int:
    """How many zoom levels there are: at level 0 a pixel is one cell, at the last one the mask fits into one tile."""
    longest = max(descriptor.q_len, descriptor.kv_len, 1)
    return (-(-longest // size) - 1).bit_length() + 1


def density_tile(
    descriptor: MaskDescriptor, level: int, tile_y: int, tile_x: int, size: int = TILE_SIZE
) -> npt.NDArray[np.uint8]:
    """uint8[size, size] of the tile at (tile_y, tile_x); at level z a pixel is 2**z x 2**z cells.

    0: no cell of the pixel is visible; 255: all of its cells that exist are; else 1 to 254, in proportion to the
    visible share of 2**z x 2**z cells. Raises ValueError for a tile outside of the mask.
    """
    place = _tile_place(descriptor, level, tile_y, tile_x, size)
    counts, exist = cell_counts(descriptor, *place), _existing(descriptor, *place)
    area = 1 << 2 * level
    shade = np.clip((counts * 255 + area // 2) // area, 1, 254)
    shade[counts == 0] = 0
    shade[(counts == exist) & (exist > 0)] = 255
    return shade.astype(np.uint8)


def parts_tile(
    descriptor: MaskDescriptor,
    parts: Sequence[MaskDescriptor],
    level: int,
    tile_y: int,
    tile_x: int,
    size: int = TILE_SIZE,
) -> npt.NDArray[np.uint8]:
    """uint8[size, size]: which part of a mask has most of a pixel's cells; tiles and levels as in `density_tile`.

    parts: descriptors of the mask's size whose union it is, such as the cells of its rules. 0: no cell is visible;
    1 + p: all cells that exist are, and part p has most of them; 128 + p: the same where some are hidden. Of parts that
    have equally many it is the first, so that a single cell belongs to the first part that has it. Parts behind number
    MAX_PARTS - 1 count as that one. Raises ValueError as `density_tile`, and for parts of another size or none.
    """
    if not parts:
        raise ValueError("a picture of parts needs at least one part")
    place = _tile_place(descriptor, level, tile_y, tile_x, size)
    most = np.zeros((size, size), np.int64)
    owner = np.zeros((size, size), np.int64)
    for number, part in enumerate(parts):
        if (part.q_len, part.kv_len) != (descriptor.q_len, descriptor.kv_len):
            raise ValueError(
                f"part {number} is {part.q_len} x {part.kv_len}, the mask {descriptor.q_len} x {descriptor.kv_len}"
            )
        counts = cell_counts(part, *place)
        owner[counts > most] = min(number, MAX_PARTS - 1)
        np.maximum(most, counts, out=most)
    counts = cell_counts(descriptor, *place)
    whole = counts == _existing(descriptor, *place)
    return np.where(counts > 0, np.where(whole, 1, 128) + owner, 0).astype(np.uint8)


def text_preview(descriptor: MaskDescriptor, width: int = 64) -> str:
    """A drawing of at most `width` characters a line: · where nothing is visible, █ where all is, ░ ▒ ▓ between.

    A character stands for twice as many queries as keys, as it is about twice as high as wide; a mask small enough is
    drawn cell by cell. A mask without cells has an empty drawing.
    """
    if width < 2:
        raise ValueError(f"width must be at least 2, got {width}")
    longest = max(descriptor.q_len, descriptor.kv_len)
    if min(descriptor.q_len, descriptor.kv_len) == 0:
        return ""
    columns = -(-longest // width)
    pixel = (1, 1) if longest <= width // 2 else (2 * columns, columns)
    shape = (-(-descriptor.q_len // pixel[0]), -(-descriptor.kv_len // pixel[1]))
    counts = cell_counts(descriptor, (0, 0), pixel, shape)
    exist = _existing(descriptor, (0, 0), pixel, shape)
    shade = np.where(counts > 0, 1 + counts * len(SHADES) // exist, 0)
    palette = np.array(["·", *SHADES, "█"])
    return "\n".join("".join(line) for line in palette[shade])


def cell_counts(
    descriptor: MaskDescriptor, origin: tuple[int, int], pixel: tuple[int, int], shape: tuple[int, int]
) -> IntArray:
    """int64[shape]: visible cells in each pixel of a picture with its first cell at origin = (q, k).

    pixel: (rows, columns) of cells. O(runs + pixels + pixel rows and columns that ends cross).
    For every end e(q) of a run, count the cells of the picture at or behind it in its rows: what the lo ends count less
    what the hi ends count is what is visible. An end that lies in some pixel counts a part of it and all pixels behind
    it, so a running sum along the pixel row finishes the count.
    """
    shapes = descriptor.trapezoids()
    height, width = pixel
    bottom = origin[0] + height * shape[0]
    shapes = shapes.take((shapes.q_stop > origin[0]) & (shapes.q_start < bottom))
    first = np.maximum(shapes.q_start - origin[0], 0) // height
    last = (np.minimum(shapes.q_stop, bottom) - 1 - origin[0]) // height
    part, line = spread(first, last + 1 - first)
    shapes = shapes.take(part)
    top = origin[0] + line * height
    start, stop = np.maximum(shapes.q_start, top), np.minimum(shapes.q_stop, top + height)
    inside = np.zeros((shape[0], shape[1] + 1), np.int64)  # one column more: ends before the picture
    behind = np.zeros((shape[0], shape[1] + 1), np.int64)
    for sign, slope, offset in ((1, shapes.lo_slope, shapes.lo_offset), (-1, shapes.hi_slope, shapes.hi_offset)):
        end, column, rows, total = _ends_by_column(start, stop, slope, offset - origin[1], width, shape[1])
        at = line[end] * (shape[1] + 1) + column + 1
        np.add.at(behind.reshape(-1), at, sign * rows)
        np.add.at(inside.reshape(-1), at, sign * (rows * (column + 1) * width - total))
    counts: IntArray = inside[:, 1:] + np.cumsum(behind, axis=1)[:, :-1] * width
    return counts


def _ends_by_column(
    start: IntArray, stop: IntArray, slope: IntArray, offset: IntArray, width: int, columns: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Affine ends in rows [start, stop) cut at the pixel columns: (end, column, rows, sum of the values in those rows).

    Column -1 is everything before the picture; what lies behind it is left out.
    """
    falls = slope < 0
    start, stop = np.where(falls, 1 - stop, start), np.where(falls, 1 - start, stop)  # mirrored rows rise
    slope = np.abs(slope)
    first = np.clip((slope * start + offset) // width, -1, columns)
    last = np.clip((slope * (stop - 1) + offset) // width, -1, columns)
    end, column = spread(first, last + 1 - first)
    start, stop, slope, offset = start[end], stop[end], slope[end], offset[end]
    divisor = np.maximum(slope, 1)  # an end of slope 0 stays in one column
    enters = np.clip(-((offset - column * width) // divisor), start, stop)
    leaves = np.clip(-((offset - (column + 1) * width) // divisor), start, stop)
    enters, leaves = np.where(column == first[end], start, enters), np.where(column == last[end], stop, leaves)
    rows = leaves - enters
    total = slope * ((enters + leaves - 1) * rows // 2) + offset * rows
    shown = column < columns
    return end[shown], column[shown], rows[shown], total[shown]


def _tile_place(
    descriptor: MaskDescriptor, level: int, tile_y: int, tile_x: int, size: int
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """(origin, pixel, shape) of a tile, as `cell_counts` takes them. ValueError for a tile outside of the mask."""
    last = levels(descriptor, size) - 1
    if not 0 <= level <= last:
        raise ValueError(f"level must be from 0 to {last}, got {level}")
    pixel = 1 << level
    for name, tile, length in (("tile_y", tile_y, descriptor.q_len), ("tile_x", tile_x, descriptor.kv_len)):
        tiles = max(-(-length // (pixel * size)), 1)
        if not 0 <= tile < tiles:
            raise ValueError(f"{name} must be from 0 to {tiles - 1} at level {level}, got {tile}")
    return (tile_y * size * pixel, tile_x * size * pixel), (pixel, pixel), (size, size)


def _existing(
    descriptor: MaskDescriptor, origin: tuple[int, int], pixel: tuple[int, int], shape: tuple[int, int]
) -> IntArray:
    """int64[shape]: cells of each pixel that lie inside of the mask."""
    rows, columns = (
        np.clip(length - at - size * np.arange(number), 0, size)
        for length, at, size, number in zip((descriptor.q_len, descriptor.kv_len), origin, pixel, shape, strict=True)
    )
    return np.outer(rows, columns)
