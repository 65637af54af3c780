"""Masks whose lengths are others in every step: random lengths, and the same mask as users of FlexAttention write it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Lengths = dict[str, Tensor]
"""int64 by the names of the preset's parameters, always of the same shapes; their sum is the total."""
Predicate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

# Tokens of a document, of a user: means.
_DOCUMENT, _USER = 512, 2048
_RESPONSES = 8
_MOST_CONTEXT = 16


@dataclass(frozen=True, slots=True)
class StepFamily:
    """One preset. numbers: of each token, from the lengths, what the predicate reads; predicate: made of such numbers."""

    name: str
    lengths: Callable[[int, torch.Generator], Lengths]
    numbers: Callable[[Lengths, Tensor], tuple[Tensor, ...]]
    predicate: Callable[[Sequence[Tensor]], Predicate]


def _cut(total: int, parts: int, random: torch.Generator) -> Tensor:
    """`parts` random lengths of at least 1 that add up to total."""
    cuts = torch.randperm(total - 1, generator=random)[: parts - 1].sort().values + 1
    return torch.diff(cuts, prepend=torch.zeros(1, dtype=torch.int64), append=torch.tensor([total]))


def _between(low: int, high: int, random: torch.Generator, size: tuple[int, ...] = ()) -> Tensor:
    return torch.randint(low, high, size, generator=random)


def _document_lengths(total: int, random: torch.Generator) -> Lengths:
    return {"lengths": _cut(total, total // _DOCUMENT, random)}


def _prompt_lengths(total: int, random: torch.Generator) -> Lengths:
    prompt = _between(total // 8, total // 3, random)
    return {"prompt": prompt, "responses": _cut(total - int(prompt), _RESPONSES, random)}


def _user_lengths(total: int, random: torch.Generator) -> Lengths:
    user = _cut(total, max(1, total // _USER), random)
    context = torch.minimum(_between(1, _MOST_CONTEXT, random, user.shape), user // 2)
    targets = (user - context) // 8
    return {"context": context, "history": user - context - targets, "targets": targets}


def _owner(lengths: Tensor, token: Tensor) -> Tensor:
    return torch.searchsorted(torch.cumsum(lengths, 0), token, right=True)


def _document_numbers(lengths: Lengths, token: Tensor) -> tuple[Tensor, ...]:
    return (_owner(lengths["lengths"], token),)


def _part_numbers(lengths: Lengths, token: Tensor) -> tuple[Tensor, ...]:
    return (_owner(torch.cat([lengths["prompt"][None], lengths["responses"]]), token),)


def _user_numbers(lengths: Lengths, token: Tensor) -> tuple[Tensor, ...]:
    """The user of a token, and whether it is context (0), history (1) or a target (2)."""
    parts = torch.stack([lengths["context"], lengths["history"], lengths["targets"]], 1)
    part = _owner(parts.flatten(), token)
    return part // 3, part % 3


def _documents(numbers: Sequence[Tensor]) -> Predicate:
    (document,) = numbers
    return lambda _b, _h, q, k: (q >= k) & (document[q] == document[k])


def _shared_prompt(numbers: Sequence[Tensor]) -> Predicate:
    (part,) = numbers
    return lambda _b, _h, q, k: (q >= k) & ((part[k] == 0) | (part[q] == part[k]))


def _hstu_jagged(numbers: Sequence[Tensor]) -> Predicate:
    user, kind = numbers

    def visible(_b: Tensor, _h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        seen = (q == k) | ((kind[k] != 2) & ((k <= q) | (kind[q] == 0)))
        return (user[q] == user[k]) & seen

    return visible


STEP_FAMILIES = {
    family.name: family
    for family in (
        StepFamily("documents", _document_lengths, _document_numbers, _documents),
        StepFamily("shared_prompt", _prompt_lengths, _part_numbers, _shared_prompt),
        StepFamily("hstu_jagged", _user_lengths, _user_numbers, _hstu_jagged),
    )
}


def dense(family: StepFamily, lengths: Lengths, token: Tensor) -> Tensor:
    """bool [total, total] by the predicate, on the device of `token`, which is 0, 1, 2, ..."""
    on_device = {name: value.to(token.device) for name, value in lengths.items()}
    none = torch.zeros((), dtype=torch.int64, device=token.device)
    return family.predicate(family.numbers(on_device, token))(none, none, token[:, None], token[None])
