"""All masks of a batch in one launch: what each item and head gets is what it gets alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv, scattered
from torch import Tensor

from compilemask.attention import attention, impls
from compilemask.attention.batch_tiles import batches
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_source import tiles_of
from compilemask.attention.triton import batch_route
from compilemask.descriptor import MaskBatch, MaskDescriptor

WAYS = [causal(70, 40), scattered(70, 40, seed=1), np.ones((70, 40), bool), np.zeros((70, 40), bool)]
MASKS = [descriptor_of(visible) for visible in WAYS]
TABLES = {
    "a mask for each item": [[MASKS[0]], [MASKS[1]], [MASKS[3]]],
    "a mask for each head": [[MASKS[1], MASKS[0], MASKS[2], MASKS[2]]],
    "a mask for each head of each item": [
        [MASKS[0], MASKS[1], MASKS[2], MASKS[3]],
        [MASKS[1], MASKS[1], MASKS[0], MASKS[2]],
    ],
}


def inputs_for(batch: MaskBatch, device: str) -> tuple[Tensor, ...]:
    """q, k, v, sinks, do, dlse for 4 query heads of 2 key heads."""
    q, k, v = random_qkv(WAYS[0], batch=max(2, batch.num_items), num_q_heads=4, num_kv_heads=2, device=device)
    return q, k, v, torch.randn(4, device=device), torch.randn_like(q), torch.randn(q.shape[:3], device=device)


def results(
    mask: MaskDescriptor | MaskBatch, inputs: tuple[Tensor, ...], options: ScoreOptions, has_sinks: bool
) -> list[Tensor]:
    """o, lse where there is one, and all gradients."""
    q, k, v, sinks, do, dlse = inputs
    sinks = sinks if has_sinks else None
    o, lse = impls.forward("triton", q, k, v, sinks, mask, options)
    found = impls.backward("triton", q, k, v, sinks, o, lse, do, dlse, mask, options, (True,) * 4)
    return [o, *((lse,) if options.has_lse else ()), *(x for x in found if x is not None)]


@pytest.mark.parametrize(
    ("table", "options", "has_sinks"),
    [
        ("a mask for each item", ScoreOptions(0.3, activation="silu"), False),
        ("a mask for each head", ScoreOptions(0.3), False),
        ("a mask for each head of each item", ScoreOptions(0.3), True),
    ],
)
def test_every_item_and_head_is_computed_under_its_own_mask(
    table: str, options: ScoreOptions, has_sinks: bool, device: str
) -> None:
    batch = MaskBatch.of(TABLES[table])
    inputs = inputs_for(batch, device)
    assert batch_route(*inputs[:3], batch) is not None
    o, *others = results(batch, inputs, options, has_sinks)
    group = 2
    sums = [torch.zeros_like(x) for x in others[-4 if has_sinks else -3 :]]
    for item in range(len(o)):
        for head in range(4):
            q, k, v, sinks, do, dlse = inputs
            at = (slice(item, item + 1), slice(head, head + 1))
            keys = (at[0], slice(head // group, head // group + 1))
            alone = (q[at], k[keys], v[keys], sinks[at[1]], do[at].contiguous(), dlse[at].contiguous())
            mask = batch.mask(item if batch.num_items > 1 else 0, head if batch.num_heads > 1 else 0)
            own_o, *own = results(mask, alone, options, has_sinks)
            assert torch.equal(o[at], own_o)
            if options.has_lse:
                assert torch.equal(others[0][at], own[0])
            for total, part, place in zip(sums, own[-len(sums) :], (at, keys, keys, at[1]), strict=False):
                total[place] += part
    for got, total in zip(others[-len(sums) :], sums, strict=True):
        assert torch.allclose(got, total, rtol=1e-5, atol=2e-5)


def test_what_no_row_of_a_mask_sees_stays_out_of_its_item(device: str) -> None:
    """A NaN in keys that one item's mask hides from all rows, in rows that see no key, and in their gradients."""
    batch = MaskBatch.of([[MASKS[1]], [MASKS[0]]])
    q, k, v, sinks, do, dlse = inputs_for(batch, device)
    clean = results(batch, (q, k, v, sinks, do, dlse), ScoreOptions(0.3), True)
    unseen, empty = torch.from_numpy(~WAYS[1].any(0)), torch.from_numpy(~WAYS[1].any(1))
    assert unseen.any()
    assert empty.any()
    k[0][:, unseen] = v[0][:, unseen] = math.nan
    q[0][:, empty] = do[0][:, empty] = math.nan
    dirty = results(batch, (q, k, v, sinks, do, dlse), ScoreOptions(0.3), True)
    assert all(torch.equal(a, b) for a, b in zip(clean, dirty, strict=True))


def test_tiles_of_a_batch_are_built_once_for_each_direction(device: str) -> None:
    batch = MaskBatch.of(TABLES["a mask for each item"])
    batches.clear()
    first = tiles_of(batch, 64, 64, torch.device(device))
    assert tiles_of(MaskBatch.of(TABLES["a mask for each item"]), 64, 64, torch.device(device)) is first
    turned = tiles_of(batch, 64, 64, torch.device(device), transposed=True)
    assert (turned.plan.q_len, turned.plan.kv_len) == (40, 70)
    other = tiles_of(batch, 16, 32, torch.device(device))
    assert (other.plan.block_m, other.plan.block_n) == (16, 32)
    one = tiles_of(MaskBatch.of([[MASKS[0]], [MASKS[3]], [MASKS[1]]]), 64, 64, torch.device(device))
    assert one is not first


def test_attention_trains_under_a_batch_of_masks(device: str) -> None:
    batch = MaskBatch.of(TABLES["a mask for each item"])
    leaves = [[x.clone().requires_grad_() for x in inputs_for(batch, device)[:3]] for _ in range(2)]
    for own, impl in zip(leaves, ("triton", "torch"), strict=True):
        attention(*own, batch, impl=impl).square().sum().backward()
    for x, y in zip(*leaves, strict=True):
        assert torch.allclose(x.grad, y.grad, rtol=1e-4, atol=1e-5)
