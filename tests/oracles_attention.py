"""Attention and tile plans by brute force from a dense mask, independent of the code under test."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import Trapezoids
from compilemask.plan.tile_plan import TilePlan

BoolArray = npt.NDArray[np.bool_]


def dense_attention(q: Tensor, k: Tensor, v: Tensor, visible: BoolArray, sm_scale: float) -> tuple[Tensor, Tensor]:
    """(o, lse) in float64, key heads repeated, hidden keys left out of every product; differentiable."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double().cpu(), k.double().cpu(), v.double().cpu()
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    rows_o, rows_lse = [], []
    for row in range(q.shape[2]):
        keys = torch.from_numpy(np.flatnonzero(visible[row]))
        if len(keys) == 0:
            # 0 * q keeps the row in the graph, with gradient 0.
            rows_o.append(0 * q[:, :, row, :1] + torch.zeros(v.shape[-1], dtype=torch.float64))
            rows_lse.append(torch.full(q.shape[:2], -math.inf, dtype=torch.float64))
            continue
        scores = torch.einsum("bhd,bhkd->bhk", q[:, :, row], k[:, :, keys]) * sm_scale
        top = scores.amax(-1, keepdim=True).detach()
        weights = torch.exp(scores - top)
        total = weights.sum(-1, keepdim=True)
        rows_o.append(torch.einsum("bhk,bhkd->bhd", weights / total, v[:, :, keys]))
        rows_lse.append((top + torch.log(total)).squeeze(-1))
    if not rows_o:
        empty = q.new_zeros(*q.shape[:2], 0, v.shape[-1])
        return empty, empty[..., 0]
    return torch.stack(rows_o, 2), torch.stack(rows_lse, 2)


def plain_attention(q: Tensor, k: Tensor, v: Tensor, visible: BoolArray, sm_scale: float) -> Tensor:
    """Dense attention in the inputs' own dtype: the yardstick of how much rounding is normal."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    seen = torch.from_numpy(visible).to(q.device)
    scores = (q @ k.transpose(-1, -2) * sm_scale).masked_fill(~seen, -math.inf)
    weights = torch.softmax(scores, -1).masked_fill(~seen.any(-1, keepdim=True), 0.0)
    return weights @ v


def allowed_error(q: Tensor, k: Tensor, v: Tensor, visible: BoolArray, sm_scale: float, exact: Tensor) -> float:
    """Twice the error of plain dense attention in the inputs' dtype, plus one ulp of the largest exact value."""
    yardstick = (plain_attention(q, k, v, visible, sm_scale).double().cpu() - exact).abs().max().item()
    return 2 * yardstick + ulp(q.dtype, exact.abs().max().item())


def descriptor_of(visible: BoolArray) -> MaskDescriptor:
    """The descriptor of a dense mask, interval by interval."""
    cells = [(row, lo, hi) for row in range(len(visible)) for lo, hi in intervals(visible[row])]
    row, lo, hi = np.array(cells, np.int64).reshape(-1, 3).T.copy()
    zero = np.zeros_like(row)
    return MaskDescriptor.from_trapezoids(*visible.shape, Trapezoids(row, row + 1, zero, lo, zero, hi))


def random_qkv(
    visible: BoolArray,
    *,
    batch: int = 1,
    num_q_heads: int = 2,
    num_kv_heads: int = 1,
    head_dim: int = 16,
    v_head_dim: int | None = None,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normal(0, 1) inputs for a mask."""
    q_len, kv_len = visible.shape
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    return (
        normal(batch, num_q_heads, q_len, head_dim),
        normal(batch, num_kv_heads, kv_len, head_dim),
        normal(batch, num_kv_heads, kv_len, v_head_dim or head_dim),
    )


def ulp(dtype: torch.dtype, magnitude: float) -> float:
    """The distance of neighbouring numbers of `dtype` just below `magnitude`'s next power of two."""
    return torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(magnitude)) if magnitude > 0 else 0.0


def plan_from_dense(visible: BoolArray, block_m: int, block_n: int) -> TilePlan:
    """A tile plan found cell by cell: tiles start where a stretch of seen columns does; a run is one interval of one row."""
    q_len, kv_len = visible.shape
    num_q_tiles = -(-q_len // block_m)
    run_of: dict[tuple[int, int, int], int] = {}
    full_indptr, full_start, full_count = [0], [], []
    partial_indptr, partial_start, partial_stop = [0], [], []
    partial_run_indptr, partial_run = [0], []
    work = []
    for t in range(num_q_tiles):
        rows = visible[t * block_m : (t + 1) * block_m]
        for begin, end in intervals(rows.any(0)):
            for start in range(begin, end, block_n):
                stop = min(start + block_n, end)
                if stop - start == block_n and rows[:, start:stop].all():
                    if len(full_start) > full_indptr[-1] and full_start[-1] + full_count[-1] * block_n == start:
                        full_count[-1] += 1
                    else:
                        full_start.append(start)
                        full_count.append(1)
                    continue
                partial_start.append(start)
                partial_stop.append(stop)
                for row in range(t * block_m, min((t + 1) * block_m, q_len)):
                    for lo, hi in intervals(visible[row]):
                        if lo < stop and start < hi:
                            partial_run.append(run_of.setdefault((row, lo, hi), len(run_of)))
                partial_run_indptr.append(len(partial_run))
        work.append(sum(full_count[full_indptr[-1] :]) + len(partial_start) - partial_indptr[-1])
        full_indptr.append(len(full_start))
        partial_indptr.append(len(partial_start))
    runs = np.array(list(run_of), np.int32).reshape(-1, 3)
    zero = np.zeros(len(runs), np.int32)

    def i32(values: object) -> npt.NDArray[np.int32]:
        return np.array(values, np.int32)

    return TilePlan(
        q_len, kv_len, block_m, block_n,
        i32(np.argsort(-np.array(work, int), kind="stable")), i32(full_indptr), i32(full_start), i32(full_count),
        i32(partial_indptr), i32(partial_start), i32(partial_stop), i32(partial_run_indptr), i32(partial_run),
        i32(runs[:, 0]), i32(runs[:, 0] + 1), zero, i32(runs[:, 1]), zero, i32(runs[:, 2]),
    )  # fmt: skip


def intervals(line: BoolArray) -> list[tuple[int, int]]:
    """The maximal stretches of True."""
    steps = np.flatnonzero(np.diff(np.concatenate([[0], line.astype(np.int8), [0]])))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


def causal(q_len: int, kv_len: int) -> BoolArray:
    """Lower right corner on the diagonal."""
    return np.arange(kv_len)[None] <= np.arange(q_len)[:, None] + kv_len - q_len


def history_and_targets(length: int, targets: int) -> BoolArray:
    """Causal over the history; a target sees the history and itself."""
    q, k = np.arange(length)[:, None], np.arange(length)[None]
    return ((k <= q) & (k < length - targets)) | (q == k)


def neighbourhood(height: int, width: int, radius: int) -> BoolArray:
    """Image tokens see what lies within a circle on the grid: many intervals a row."""
    y, x = np.divmod(np.arange(height * width), width)
    return (y[:, None] - y) ** 2 + (x[:, None] - x) ** 2 < radius**2


def scattered(q_len: int, kv_len: int, seed: int) -> BoolArray:
    """Random cells in stretches, with some rows and some keys left out altogether."""
    rng = np.random.default_rng(seed)
    coarse = rng.random((-(-q_len // 5), -(-kv_len // 7))) < 0.4
    visible = np.kron(coarse, np.ones((5, 7), bool))[:q_len, :kv_len] & (rng.random((q_len, kv_len)) < 0.95)
    visible[rng.random(q_len) < 0.1] = False
    visible[:, rng.random(kv_len) < 0.05] = False
    return visible
