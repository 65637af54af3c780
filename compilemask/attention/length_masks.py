"""Masks that length tensors determine, as row intervals made on the device: no number goes through the host.

Each family is one of the presets of its name. Lengths are int32 or int64 tensors; what they leave of `total` is padding,
which sees nothing and is seen by nobody; every other token sees itself. triton/length_spans.py says the same row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from compilemask.attention.device_plan import RowIntervals


@dataclass(frozen=True, slots=True, eq=False)
class Visibility:
    """What queries see, and by which queries keys are seen."""

    queries: RowIntervals
    keys: RowIntervals


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of mask. parameters: the names of its length tensors, in order; scalars: those that are single numbers."""

    name: str
    parameters: tuple[str, ...]
    scalars: frozenset[str]
    visibility: Callable[..., Visibility]


def _spans(total: int, *parts: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(position, which span it lies in, that span's start and stop, whether there is one), int64 [total], of spans end to end.

    parts: lengths of what each span consists of.
    """
    lengths = sum(parts[1:], parts[0])
    stops = torch.cumsum(lengths, 0)
    fit = lengths.sum() <= total
    for part in parts:
        # No longer than the total, so that no sum wraps around.
        fit = fit & torch.all((part >= 0) & (part <= total))
    torch._assert_async(fit, "lengths must be 0 or more and fit the mask's total")
    position = torch.arange(total, device=lengths.device)
    if lengths.numel() == 0:
        nothing = torch.zeros_like(position)
        return position, nothing, nothing, nothing, nothing.bool()
    span = torch.searchsorted(stops, position, right=True)
    exists = span < lengths.numel()
    span = span.clamp(max=lengths.numel() - 1)
    return position, span, (stops - lengths)[span], stops[span], exists


def _layers(exists: Tensor, long_sides: int, *intervals: tuple[Tensor, Tensor]) -> RowIntervals:
    lo, hi = (torch.stack([interval[i] for interval in intervals]) for i in (0, 1))
    return RowIntervals(lo, torch.where(exists, hi, lo), long_sides)


def _causal(total: int, length: Tensor) -> Visibility:
    return _documents(total, length[None])


def _documents(total: int, lengths: Tensor) -> Visibility:
    position, _, start, stop, exists = _spans(total, lengths)
    return Visibility(
        _layers(exists, 1, (start, position + 1)),
        _layers(exists, 1, (position, stop)),
    )


def _shared_prompt(total: int, prompt: Tensor, responses: Tensor) -> Visibility:
    lengths = torch.cat([prompt[None], responses])
    position, span, start, stop, exists = _spans(total, lengths)
    in_prompt = span == 0
    own = torch.where(in_prompt, start, position + 1)
    return Visibility(
        _layers(
            exists,
            3,
            (torch.zeros_like(position), torch.where(in_prompt, position + 1, prompt)),
            (start, own),
        ),
        _layers(exists, 3, (position, torch.where(in_prompt, lengths.sum(), stop))),
    )


def _hstu_jagged(total: int, context: Tensor, history: Tensor, targets: Tensor) -> Visibility:
    position, user, start, stop, exists = _spans(total, context, history, targets)
    if context.numel() == 0:
        history_start = history_stop = start
    else:
        history_start = start + context[user]
        history_stop = history_start + history[user]
    in_context, in_targets = position < history_start, position >= history_stop
    in_history = ~(in_context | in_targets)
    nothing = torch.zeros_like(position)
    return Visibility(
        _layers(
            exists,
            4,
            (start, torch.where(in_history, position + 1, history_stop)),
            (position, torch.where(in_targets, position + 1, nothing)),
        ),
        _layers(
            exists,
            4,
            (torch.where(in_context, start, position), torch.where(in_targets, position + 1, stop)),
            (start, torch.where(in_history, history_start, nothing)),
        ),
    )


FAMILIES = {
    family.name: family
    for family in (
        Family("causal", ("length",), frozenset({"length"}), _causal),
        Family("documents", ("lengths",), frozenset(), _documents),
        Family("shared_prompt", ("prompt", "responses"), frozenset({"prompt"}), _shared_prompt),
        Family("hstu_jagged", ("context", "history", "targets"), frozenset(), _hstu_jagged),
    )
}
