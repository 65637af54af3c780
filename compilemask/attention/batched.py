"""Attention under a batch of masks: items and heads that share a mask are computed together, as parts of one tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from compilemask.descriptor import MaskBatch, MaskDescriptor

Run = Callable[[Tensor, Tensor, Tensor, Tensor | None, MaskDescriptor], tuple[Tensor, Tensor]]
"""(q, k, v, sinks or None, mask) -> (o, lse) under one mask."""
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]
"""(dq, dk, dv, dsinks), None where not wanted."""
Wanted = tuple[bool, bool, bool, bool]
RunBackward = Callable[..., Gradients]
"""(q, k, v, sinks or None, o, lse, do or None, dlse or None, mask) -> Gradients."""


@dataclass(frozen=True, slots=True)
class Group:
    """Items and heads under one mask, all ascending: every item with every head.

    q_heads: equally many of each of kv_heads, so that the ratio of heads stays whole.
    """

    mask: MaskDescriptor
    items: Sequence[int]
    q_heads: Sequence[int]
    kv_heads: Sequence[int]


def check_sizes(masks: MaskBatch, batch: int, num_q_heads: int) -> None:
    """Raises ValueError, naming both sizes, unless the batch of masks has 1 or as many items and heads as the tensors."""
    if masks.num_items not in (1, batch) or masks.num_heads not in (1, num_q_heads):
        raise ValueError(
            f"the masks are [{masks.num_items} items, {masks.num_heads} heads], "
            f"the tensors [{batch} items, {num_q_heads} query heads]; a size of the masks must be 1 or that of the tensors"
        )


def forward(run: Run, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, masks: MaskBatch) -> tuple[Tensor, Tensor]:
    """(o, lse) of q [batch, q heads, q_len, dim], k and v [batch, kv heads, kv_len, dim or v dim], differentiable as run is.

    Calls `run` once for each distinct mask, or more often where its heads are no even share of their key heads. It gets
    views where items and heads are evenly spaced. sinks: [q heads].
    """
    batch, num_q_heads = q.shape[:2]
    parts = groups(masks, batch, num_q_heads, k.shape[1])
    results = []
    for part in parts:
        q_part = _take(_take(q, 0, part.items), 1, part.q_heads)
        k_part, v_part = (_take(_take(x, 0, part.items), 1, part.kv_heads) for x in (k, v))
        own_sinks = None if sinks is None else _take(sinks, 0, part.q_heads)
        results.append(run(q_part, k_part, v_part, own_sinks, part.mask))
    if len(results) == 1:
        return results[0]
    o, lse = zip(*results, strict=True)
    return _join(parts, o, batch, num_q_heads), _join(parts, lse, batch, num_q_heads)


def backward(
    run: RunBackward, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, o: Tensor, lse: Tensor,
    do: Tensor | None, dlse: Tensor | None, masks: MaskBatch, wanted: Wanted,
) -> Gradients:  # fmt: skip
    """Gradients of what `forward` computed, None where not wanted; the shares of one head are summed in float32."""
    parts = groups(masks, q.shape[0], q.shape[1], k.shape[1])
    if len(parts) == 1:
        return run(q, k, v, sinks, o, lse, do, dlse, parts[0].mask)
    inputs = (q, k, v, sinks)
    sums = [
        x.new_zeros(x.shape, dtype=torch.float32) if keep and x is not None else None
        for keep, x in zip(wanted, inputs, strict=True)
    ]
    for part in parts:
        heads = (part.q_heads, part.kv_heads, part.kv_heads)
        own = [_take(_take(x, 0, part.items), 1, numbers) for x, numbers in zip((q, k, v), heads, strict=True)]
        own_sinks = None if sinks is None else _take(sinks, 0, part.q_heads)
        rows = [
            None if x is None else _take(_take(x, 0, part.items), 1, part.q_heads).contiguous()
            for x in (o, lse, do, dlse)
        ]
        *grads, dsinks = run(*own, own_sinks, *rows, part.mask)
        for total, grad, numbers in zip(sums[:3], grads, heads, strict=True):
            if total is not None and grad is not None:
                _add(total, grad, part.items, numbers)
        if sums[3] is not None and dsinks is not None:
            _add(sums[3][None], dsinks[None], (0,), part.q_heads)
    dq, dk, dv, dsinks = (
        None if total is None or x is None else total.to(x.dtype) for total, x in zip(sums, inputs, strict=True)
    )
    return dq, dk, dv, dsinks


def groups(masks: MaskBatch, batch: int, num_q_heads: int, num_kv_heads: int) -> list[Group]:
    """Every item and query head in exactly one group, with its mask."""
    by_row: dict[tuple[int, ...], list[int]] = {}
    for item, row in enumerate(masks.index.tolist()):
        by_row.setdefault(tuple(row), []).append(item)
    found = []
    for numbers, own in by_row.items():
        items = range(batch) if masks.num_items == 1 else own
        for number in dict.fromkeys(numbers):
            mask = masks.masks[number]
            if len(numbers) == 1:
                found.append(Group(mask, items, range(num_q_heads), range(num_kv_heads)))
                continue
            heads = [head for head, other in enumerate(numbers) if other == number]
            found += [Group(mask, items, *share) for share in _even_shares(heads, num_q_heads // num_kv_heads)]
    return found


def _even_shares(heads: list[int], ratio: int) -> list[tuple[list[int], list[int]]]:
    """(query heads, key heads), apart by how many of the query heads read one key head."""
    readers: dict[int, list[int]] = {}
    for head in heads:
        readers.setdefault(head // ratio, []).append(head)
    counts = dict.fromkeys(len(own) for own in readers.values())
    return [
        (
            [head for own in readers.values() if len(own) == count for head in own],
            [kv_head for kv_head, own in readers.items() if len(own) == count],
        )
        for count in counts
    ]


def _take(x: Tensor, dim: int, numbers: Sequence[int]) -> Tensor:
    """The numbered slices of a dimension: x itself, a view where they are evenly spaced, else a copy."""
    if len(numbers) == x.shape[dim]:
        return x
    place = _place(numbers)
    if isinstance(place, slice):
        return x[(slice(None),) * dim + (place,)]
    return x.index_select(dim, torch.tensor(place, device=x.device))


def _place(numbers: Sequence[int]) -> slice | list[int]:
    """Ascending numbers as a slice if they are evenly spaced."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    even = range(numbers[0], numbers[-1] + 1, step)
    return slice(even.start, even.stop, step) if list(even) == list(numbers) else list(numbers)


def _add(total: Tensor, part: Tensor, items: Sequence[int], heads: Sequence[int]) -> None:
    """total[items, heads] += part; no item and no head comes twice, so nothing depends on an order."""
    by_item, by_head = _place(items), _place(heads)
    if isinstance(by_item, list) and isinstance(by_head, list):
        rows, columns = torch.tensor(by_item, device=total.device)[:, None], torch.tensor(by_head, device=total.device)
        total[rows, columns] += part
    else:
        total[by_item, by_head] += part


def _join(parts: Sequence[Group], results: Sequence[Tensor], batch: int, num_q_heads: int) -> Tensor:
    """[batch, q heads, ...] of results [items, heads, ...] of all groups."""
    shape = (batch, num_q_heads, *results[0].shape[2:])
    if any(result.requires_grad for result in results):
        # writing into one tensor would keep a copy of its gradient for each group
        flat = [item * num_q_heads + head for part in parts for item in part.items for head in part.q_heads]
        joined = torch.cat([result.flatten(0, 1) for result in results])
        if flat != list(range(len(flat))):
            place = torch.argsort(torch.tensor(flat, device=joined.device))
            joined = joined.index_select(0, place)
        return joined.reshape(shape)
    whole = results[0].new_empty(shape)
    for part, result in zip(parts, results, strict=True):
        items, heads = _place(part.items), _place(part.q_heads)
        if isinstance(items, list) and isinstance(heads, list):
            whole[torch.tensor(items, device=whole.device)[:, None], torch.tensor(heads, device=whole.device)] = result
        else:
            whole[items, heads] = result
    return whole
