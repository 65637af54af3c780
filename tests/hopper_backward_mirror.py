"""What the Hopper backward kernel does, program by program and step by step, in float64 NumPy: its reading of plan and terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from compilemask.attention.batch_tiles import BatchTiles
from compilemask.attention.hopper.backward_configs import BLOCK_M
from compilemask.attention.hopper.backward_order import count_light
from compilemask.attention.reordered_tensors import ReorderedTensors
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import Tiles
from compilemask.attention.triton import RowTerms

Floats = npt.NDArray[np.float64]
LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class Program:
    """Where a program stands; see backward_parts.Place."""

    lists: int
    tile: int
    batch: int
    row_head: int
    col_head: int
    grad_head: int
    heads_before: int


@dataclass(frozen=True)
class Launch:
    """One launch. rows, cols: (qk, vo) float64 [batch, heads, len, dim]; num_heads: of the gradients, a batch item."""

    rows: tuple[Floats, Floats]
    cols: tuple[Floats, Floats]
    terms: RowTerms | None
    tiles: Tiles
    options: ScoreOptions
    key_rows: bool
    fused: bool
    num_visited: int

    @property
    def group(self) -> int:
        heads = self.rows[0].shape[1], self.cols[0].shape[1]
        return max(heads) // min(heads)

    @property
    def num_heads(self) -> int:
        return self.cols[0].shape[1] // self.num_visited if self.key_rows else self.rows[0].shape[1]

    @property
    def num_col_heads(self) -> int:
        return self.cols[0].shape[0] * self.cols[0].shape[1]


def run(launch: Launch) -> tuple[Floats, Floats, Floats]:
    """(grad_qk, grad_vo) of the rows, and the sum that FUSED adds to, of the columns; unwritten elements are NaN."""
    batch, _, num_rows, dim = launch.rows[0].shape
    grad_qk, grad_vo = np.full((2, batch * launch.num_heads, num_rows, dim), np.nan)
    dq = np.zeros((launch.num_col_heads, *launch.cols[0].shape[2:]))
    for program in programs(launch):
        first = program.tile * BLOCK_M
        found = visit(launch, program, dq)
        written = min(BLOCK_M, num_rows - first)
        grad_qk[program.grad_head, first : first + written] = found[0][:written]
        grad_vo[program.grad_head, first : first + written] = found[1][:written]
    scale = 1.0 / (launch.options.norm or 1.0)
    shape = (batch, launch.num_heads, num_rows, dim)
    return (grad_qk * launch.options.sm_scale * scale).reshape(shape), (grad_vo * scale).reshape(shape), dq * scale


def programs(launch: Launch) -> Iterator[Program]:
    """Every program of the grid, by backward_order.locate and what the kernel makes of it."""
    tiles, num_heads = launch.tiles, launch.num_heads
    num_tiles, heads_all = tiles.plan.num_q_tiles, launch.rows[0].shape[0] * num_heads
    order = tiles.tile_order.numpy().reshape(-1)
    group = 1 if launch.key_rows else launch.group
    light = count_light(tiles, heads_all)
    for pid in range(num_tiles * heads_all):
        inner, first, count, side = pid, 0, tiles.num_heavy, group
        if pid >= tiles.num_heavy * heads_all:
            inner, first, count = (
                pid - tiles.num_heavy * heads_all,
                tiles.num_heavy,
                num_tiles - tiles.num_heavy - light,
            )
        if inner >= count * heads_all:
            inner, first, count, side = inner - count * heads_all, first + count, light, heads_all
        flat = inner // (count * side) * side + inner % side
        number = 0
        if isinstance(tiles, BatchTiles):
            batch, heads = launch.rows[0].shape[0], num_heads * launch.num_visited
            number = int(tiles.index.expand(batch, heads).reshape(-1)[flat * launch.num_visited])
        tile = int(order[number * num_tiles + first + inner % (count * side) // side])
        item, head = divmod(flat, num_heads)
        if launch.key_rows:
            visited = head * launch.num_visited
            places = (visited // launch.group, visited, flat, item * num_heads * launch.num_visited)
        else:
            places = (head, head // launch.group, flat, item * num_heads // launch.group)
        yield Program(number * num_tiles + tile, tile, item, *places)


def visit(launch: Launch, program: Program, dq: Floats) -> tuple[Floats, Floats]:
    """The gradients of a program's 128 rows, unscaled; its part of dq is added to `dq`."""
    first, num_rows = program.tile * BLOCK_M, launch.rows[0].shape[2]
    row_qk, row_vo = (box(x[program.batch, program.row_head], first, BLOCK_M) for x in launch.rows)
    grad_qk, grad_vo = np.zeros_like(row_qk), np.zeros_like(row_vo)
    exists = first + np.arange(BLOCK_M) < num_rows
    row_terms = None
    if launch.terms is not None and not launch.key_rows:
        lse, delta = (
            x.double().numpy()[0].reshape(-1, x.shape[-1])[program.grad_head]
            for x in (launch.terms.lse, launch.terms.delta)
        )
        row_terms = tuple(
            np.where(exists, x[np.minimum(first + np.arange(BLOCK_M), len(x) - 1)], other)[:, None]
            for x, other in ((lse, np.inf), (delta, 0.0))
        )
    for head in range(program.col_head, program.col_head + launch.num_visited):
        for start, hidden in tiles_of(launch, program.lists):
            width = launch.tiles.plan.block_n
            col_qk, col_vo = (box(x[program.batch, head], start, width) for x in launch.cols)
            lse, delta = row_terms or column_terms(launch, program.heads_before + head, start)
            weight, slope = weigh(row_qk @ col_qk.T, lse, hidden, launch.options)
            dp = row_vo @ col_vo.T
            ds = slope * (dp - delta) if launch.options.has_lse else slope * dp
            if launch.fused:
                ds = np.where(exists[:, None], ds, 0.0)
            if launch.key_rows:
                grad_vo += weight @ col_vo
            grad_qk += ds @ col_qk
            if launch.fused:
                part = ds.T @ row_qk
                stop = min(start + width, dq.shape[1])
                dq[program.heads_before + head, start:stop] += part[: stop - start]
    return grad_qk, grad_vo


def tiles_of(launch: Launch, at: int) -> Iterator[tuple[int, npt.NDArray[np.bool_] | None]]:
    """(first column, which cells are hidden or None) of the tiles that lists number `at` name, in the kernel's order."""
    arrays = {name: getattr(launch.tiles, name).numpy() for name in
              ("full_indptr", "full_start", "full_count", "interval_indptr", "interval_start", "interval_ends",
               "gap_indptr", "gap_start", "gap_ends_indptr", "gap_ends", "ends")}  # fmt: skip
    width = launch.tiles.plan.block_n
    for r in range(arrays["full_indptr"][at], arrays["full_indptr"][at + 1]):
        for j in range(arrays["full_count"][r]):
            yield int(arrays["full_start"][r]) + j * width, None
    if isinstance(launch.tiles, ReorderedTensors):
        for g in range(arrays["gap_indptr"][at], arrays["gap_indptr"][at + 1]):
            words = arrays["gap_ends"][arrays["gap_ends_indptr"][g]]
            yield int(arrays["gap_start"][g]), ~by_lanes(words, width)
    for t in range(arrays["interval_indptr"][at], arrays["interval_indptr"][at + 1]):
        yield int(arrays["interval_start"][t]), ~inside(arrays["ends"][arrays["interval_ends"][t]], width)
    if launch.tiles.max_gaps > 0:
        for g in range(arrays["gap_indptr"][at], arrays["gap_indptr"][at + 1]):
            vectors = arrays["gap_ends"][arrays["gap_ends_indptr"][g] : arrays["gap_ends_indptr"][g + 1]]
            yield int(arrays["gap_start"][g]), np.any([inside(arrays["ends"][v], width) for v in vectors], 0)


def by_lanes(words: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.bool_]:
    """bool [BLOCK_M, width] of a bit mask [BLOCK_M, width // 32] as backward_weights.load_bits and softmax.hide read it."""
    cells = np.zeros((len(words), width), bool)
    for column in range(width):
        eighth, lane, pair = column // 8, column % 8 // 2, column % 2
        word = words[:, lane * (width // 32) // 4].view(np.uint32)
        if width < 128:
            word = word >> (lane % (128 // width) * (width // 4))
        cells[:, column] = word >> (eighth + width // 8 * pair) & 1
    return cells


def inside(ends: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.bool_]:
    """bool [BLOCK_M, width]: packed intervals of rows."""
    lo, length = ends & 0xFFFF, ends >> 16
    return (np.arange(width)[None] - lo[:, None]).astype(np.uint32) < length[:, None].astype(np.uint32)


def weigh(s: Floats, lse: Floats, hidden: npt.NDArray[np.bool_] | None, options: ScoreOptions) -> tuple[Floats, Floats]:
    """(weight, slope) of raw products; see backward_weights."""
    cap_slope, scale = np.ones_like(s), options.sm_scale
    if options.softcap is not None:
        s, scale = np.tanh(s * options.sm_scale / options.softcap), options.softcap
        cap_slope = 1 - s * s
    exponent = s * scale if options.activation == "silu" else s * scale * LOG2_E - lse
    if hidden is not None:
        exponent = np.where(hidden, -np.inf, exponent)
    if options.activation == "silu":
        finite = np.where(np.isneginf(exponent), 0.0, exponent)
        sigmoid = 1 / (1 + np.exp(-finite))
        weight = finite * sigmoid
        slope = np.where(np.isneginf(exponent), 0.0, sigmoid + weight * (1 - sigmoid))
    else:
        with np.errstate(over="ignore"):
            weight = slope = np.exp2(exponent)
    return weight, slope * cap_slope


def column_terms(launch: Launch, head: int, start: int) -> tuple[Floats, Floats]:
    """(lse, delta) of the queries from `start` on, read as the copies by tensor descriptors are: [1, block_n]."""
    if launch.terms is None:
        return np.zeros((1, 1)), np.zeros((1, 1))
    num_terms, width = launch.terms.lse.shape[3], launch.tiles.plan.block_n
    copy = start & 3
    at = (copy * launch.num_col_heads + head) * num_terms + start - copy
    assert at % 4 == 0
    read = (x.double().numpy().reshape(-1)[at : at + width][None] for x in (launch.terms.lse, launch.terms.delta))
    lse, delta = read
    return lse, delta


def box(matrix: Floats, first: int, rows: int) -> Floats:
    """Rows [first, first + rows) of a matrix; what lies outside is 0."""
    found = np.zeros((rows, matrix.shape[1]))
    part = matrix[first : first + rows]
    found[: len(part)] = part
    return found


def doubles(*tensors: torch.Tensor) -> tuple[Floats, ...]:
    return tuple(x.double().numpy() for x in tensors)
