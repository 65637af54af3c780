"""Attention with caps, sinks and SiLU by definition, in any dtype, independent of the code under test."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from compilemask.attention.score_options import ScoreOptions


def attention_by_definition(
    q: Tensor, k: Tensor, v: Tensor, visible: npt.NDArray[np.bool_], options: ScoreOptions, sinks: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """(o, lse or None) in q's dtype, differentiable: every exponential of the whole row, and one division.

    Rows with an empty sum have o = 0 and lse = -inf.
    """
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    seen = torch.from_numpy(visible).to(q.device)
    scores = q @ k.mT * options.sm_scale
    if options.softcap is not None:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    if options.activation == "silu":
        weights = torch.where(seen, scores / (1 + torch.exp(-scores)), 0.0)
        return weights / (1.0 if options.norm is None else options.norm) @ v, None
    highest = torch.where(seen, scores, -math.inf).amax(-1, keepdim=True)
    if sinks is not None:
        highest = torch.maximum(highest, sinks.to(q)[:, None, None])
    highest = torch.where(highest == -math.inf, 0.0, highest).detach()
    terms = torch.where(seen, torch.exp(torch.where(seen, scores - highest, 0.0)), 0.0)
    total = terms.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + torch.exp(sinks.to(q)[:, None, None] - highest)
    some = total > 0
    total = torch.where(some, total, 1.0)
    o = torch.where(some, terms / total, 0.0).to(v.dtype) @ v
    return o, torch.where(some, torch.log(total) + highest, -math.inf).squeeze(-1)


def gradients_by_definition(
    inputs: tuple[Tensor, ...], visible: npt.NDArray[np.bool_], options: ScoreOptions, do: Tensor, dlse: Tensor
) -> list[Tensor]:
    """Of (o * do).sum() + (lse * dlse).sum() over rows that have an lse, to q, k, v and, where there are four inputs, sinks."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    o, lse = attention_by_definition(*leaves[:3], visible, options, leaves[3] if len(leaves) > 3 else None)
    loss = (o * do.to(o)).sum()
    if lse is not None:
        loss = loss + torch.where(lse == -math.inf, 0.0, lse * dlse.to(lse)).sum()
    return list(torch.autograd.grad(loss, leaves))
