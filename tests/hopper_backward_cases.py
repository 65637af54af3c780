"""Inputs for the Hopper backward on a GPU, gradients to compare with, and where two gradients differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import oracles
import torch
from oracles_attention import BoolArray, descriptor_of, neighbourhood, random_qkv, scattered, ulp
from oracles_scores import gradients_by_definition
from torch import Tensor

from compilemask.attention import impls
from compilemask.attention.held_masks import Mask
from compilemask.attention.score_options import ScoreOptions

# Relative to the gradient's norm. Weights and their slopes are rounded to the inputs' dtype before they are multiplied.
ALLOWED = {torch.bfloat16: 5e-3, torch.float16: 1e-3}
BLOCK = 64


@dataclass(frozen=True)
class Case:
    """One call: a dense mask, sizes, and options of the score. hidden_nan: unseen keys and queries without keys hold NaN."""

    name: str
    visible: BoolArray = field(repr=False)
    batch: int = 1
    num_q_heads: int = 2
    num_kv_heads: int = 2
    head_dim: int = 128
    v_head_dim: int | None = None
    dtype: torch.dtype = torch.bfloat16
    score: dict[str, Any] = field(default_factory=dict)
    sinks: bool = False
    dlse: bool = False
    hidden_nan: bool = False
    spread: float = 1.0

    @property
    def options(self) -> ScoreOptions:
        return ScoreOptions(**{"sm_scale": self.head_dim**-0.5, **self.score})


def full(q_len: int, kv_len: int) -> BoolArray:
    return np.ones((q_len, kv_len), bool)


def edges(q_len: int, kv_len: int) -> BoolArray:
    """Causal, aligned at the end."""
    return np.arange(kv_len)[None] - kv_len <= np.arange(q_len)[:, None] - q_len


def padded(visible: BoolArray, rows: int, columns: int) -> BoolArray:
    return np.pad(visible, ((0, rows), (0, columns)))


PLAIN = (
    Case("full 128", full(128, 128), num_q_heads=1, num_kv_heads=1),
    Case("full 384", full(384, 384)),
    Case("causal 512", oracles.causal(512)),
    Case("causal 1000", oracles.causal(1000)),
    Case("edges 200 x 333", edges(200, 333)),
    Case("edges 129 x 65", full(129, 65)),
    Case("one row", full(1, 300)),
    Case("one key", full(300, 1), dlse=True),
)
PRESETS = (
    Case("documents", oracles.documents([100, 3, 260, 61, 200])),
    Case("prefix_lm", oracles.prefix_lm([40, 200], [100, 250])),
    Case("shared_prompt", oracles.shared_prompt(150, [60, 61, 130, 7, 90], padding=20), hidden_nan=True),
    Case("hstu", oracles.hstu(10, 400, 90)),
    Case("streaming", oracles.streaming(700, 4, 150)),
    Case("clear", oracles.clear(60, 24, 26, 6)),
    Case("neighbourhood", neighbourhood(25, 25, 5)),
    *(
        Case(f"scattered {seed}", scattered(400 + 37 * seed, 300 + 41 * seed, seed), hidden_nan=True)
        for seed in range(3)
    ),
)
VARIANTS = (
    Case("groups", oracles.causal(500), batch=2, num_q_heads=8, num_kv_heads=2),
    Case("one kv head", oracles.documents([300, 200]), batch=2, num_q_heads=6, num_kv_heads=1),
    Case("fp16", oracles.causal(500), dtype=torch.float16),
    Case("large scores", oracles.causal(500), spread=4.0),
    Case("dlse", oracles.causal(300), dlse=True),
    Case("softcap", oracles.causal(400), score={"softcap": 5.0}, spread=3.0),
    Case("sinks", oracles.shared_prompt(150, [60, 61], padding=20), sinks=True, hidden_nan=True),
    Case("silu", oracles.hstu(10, 300, 90), score={"activation": "silu", "norm": 400.0}),
    Case(
        "dims 96 and 80", oracles.shared_prompt(150, [60, 61], padding=20), head_dim=96, v_head_dim=80, hidden_nan=True
    ),
    Case("dims 40 and 56", oracles.causal(300), num_q_heads=4, head_dim=40, v_head_dim=56),
    Case("silu softcap", scattered(300, 300, 5), score={"activation": "silu", "softcap": 4.0}, hidden_nan=True),
)


def inputs_of(case: Case, device: str) -> dict[str, Tensor | None]:
    """q, k, v, sinks, o, lse, do, dlse: o and lse of impl "torch"."""
    sizes = {
        name: getattr(case, name)
        for name in ("batch", "num_q_heads", "num_kv_heads", "head_dim", "v_head_dim", "dtype")
    }
    q, k, v = random_qkv(case.visible, **sizes, device=device)
    q = q * case.spread
    sinks = torch.randn(case.num_q_heads, device=device) if case.sinks else None
    o, lse = impls.forward("torch", q, k, v, sinks, descriptor_of(case.visible), case.options)
    do, dlse = torch.randn_like(o), torch.randn_like(lse) if case.dlse else None
    if case.hidden_nan:
        rows, keys = (torch.from_numpy(~case.visible.any(axis)).to(device) for axis in (1, 0))
        q, do, k, v = q.clone(), do.clone(), k.clone(), v.clone()
        q[:, :, rows] = do[:, :, rows] = k[:, :, keys] = v[:, :, keys] = torch.nan
    return {"q": q, "k": k, "v": v, "sinks": sinks, "o": o, "lse": lse, "do": do, "dlse": dlse}


def exact_gradients(case: Case, given: dict[str, Tensor | None], mask: Mask | None = None) -> tuple[Tensor | None, ...]:
    """(dq, dk, dv, dsinks) in float64 by autograd through dense attention; what is hidden counts as 0. mask: instead of the case's."""
    numbers = {
        name: None if x is None else x.double().nan_to_num(0.0) if x.ndim == 4 else x.double()
        for name, x in given.items()
    }
    order = ("q", "k", "v", "sinks", "o", "lse", "do", "dlse")
    asked = (True, True, True, case.sinks)
    mask = mask or descriptor_of(case.visible)
    return impls.backward("reference", *(numbers[n] for n in order), mask, case.options, asked)


def allowed_errors(case: Case, given: dict[str, Tensor | None]) -> list[float]:
    """Of dq, dk, dv and dsinks: twice the largest error of dense attention in the inputs' dtype, and one unit in the last place.

    Both that attention and what its error is measured by are autograd through the definition, on the inputs' device.
    """
    q, k, v, do = (given[name].nan_to_num(0.0) for name in ("q", "k", "v", "do"))
    dlse = torch.zeros(q.shape[:3], device=q.device) if given["dlse"] is None else given["dlse"]
    leaves = (q, k, v) if given["sinks"] is None else (q, k, v, given["sinks"])
    exact = gradients_by_definition(
        tuple(x.double() for x in leaves), case.visible, case.options, do.double(), dlse.double()
    )
    plain = gradients_by_definition(leaves, case.visible, case.options, do, dlse)
    return [
        2 * (rounded.double() - right).abs().max().item() + ulp(case.dtype, right.abs().max().item())
        for rounded, right in zip(plain, exact, strict=True)
    ]


def differences(found: Tensor, wanted: Tensor) -> tuple[float, str]:
    """(relative error, where it lies): the worst blocks of BLOCK rows by head, and the rows and columns of the first of them."""
    error = (found.double() - wanted).nan_to_num(1e30)
    norm = max(wanted.norm().item(), 1e-30)
    relative = error.norm().item() / norm
    batch, heads, length, _ = wanted.shape
    by_row = error.pow(2).sum(-1).view(batch * heads, length).sqrt()
    typical = wanted.pow(2).sum(-1).mean().sqrt().item()
    bad_rows = by_row > 0.05 * typical
    bad_cols = (error.abs() > 0.05 * typical).any(2).any(0).any(0)
    blocks = [
        f"head {h} rows {b}..: {int(bad_rows[h, b : b + BLOCK].sum())} bad, worst {by_row[h, b : b + BLOCK].max().item():.1e}"
        for h in range(batch * heads)
        for b in range(0, length, BLOCK)
        if bad_rows[h, b : b + BLOCK].any()
    ]
    missing = int((~found.isfinite()).sum())
    first = torch.nonzero(bad_rows.any(0)).flatten().tolist()
    text = (
        f"not finite {missing}; {len(blocks)} blocks bad, typical row norm {typical:.1e}: {blocks[:8]}; rows "
        f"{_ranges(first)}; columns {_ranges(torch.nonzero(bad_cols).flatten().tolist())}"
    )
    return relative, text


def _ranges(numbers: list[int]) -> str:
    """Stretches of consecutive numbers, the first ten of them."""
    stretches: list[list[int]] = []
    for n in numbers:
        if stretches and stretches[-1][1] == n - 1:
            stretches[-1][1] = n
        else:
            stretches.append([n, n])
    return ",".join(f"{a}-{b}" for a, b in stretches[:10]) + (
        f",... {len(stretches)} in all" if len(stretches) > 10 else ""
    )
