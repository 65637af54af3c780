"""attention() under a batch of masks: every item and head as if it were alone, for every implementation."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from oracles_attention import allowed_error, causal, dense_attention, descriptor_of, random_qkv, scattered, ulp
from torch import Tensor

from compilemask.attention import attention
from compilemask.attention.batched import forward, groups
from compilemask.compiler import compile
from compilemask.descriptor import MaskBatch, MaskDescriptor

SCALE = 0.3
DOCUMENTS = "mask documents(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\n"
SERVED = """mask served(n: int per item, prefix: int per item in 0.., window: int per head in 1..)
tokens { S: n }
S sees S k < prefix or (causal and q - k < window)
"""


def window(length: int, width: int) -> np.ndarray:
    back = np.arange(length)[:, None] - np.arange(length)
    return (back >= 0) & (back < width)


def dense_batch(qkv: tuple[Tensor, ...], table: list[list[np.ndarray]]) -> tuple[Tensor, Tensor]:
    """Each item and query head by itself, in float64, with its key head; differentiable."""
    q, k, v = qkv
    ratio = q.shape[1] // k.shape[1]
    rows = []
    for b in range(len(q)):
        for h in range(q.shape[1]):
            visible = table[b % len(table)][h % len(table[0])]
            own = (q[b : b + 1, h : h + 1], *(x[b : b + 1, h // ratio : h // ratio + 1] for x in (k, v)))
            rows.append(dense_attention(*own, visible, SCALE))
    o, lse = (torch.cat([row[i].reshape(1, *row[i].shape[2:]) for row in rows]) for i in (0, 1))
    return o.reshape(*q.shape[:2], *o.shape[1:]), lse.reshape(*q.shape[:2], *lse.shape[1:])


def check(table: list[list[np.ndarray]], impl: str, device: str, **sizes: int) -> None:
    q_len, kv_len = table[0][0].shape
    qkv = random_qkv(np.ones((q_len, kv_len), bool), device=device, **sizes)
    batch = MaskBatch.of([[descriptor_of(visible) for visible in row] for row in table])
    o, lse = attention(*qkv, batch, sm_scale=SCALE, impl=impl, return_lse=True)
    exact_o, exact_lse = dense_batch(qkv, table)
    assert (o.shape, lse.shape) == (exact_o.shape, exact_lse.shape)
    assert (o.dtype, lse.dtype) == (qkv[2].dtype, torch.float32)
    bound = max(allowed_error(*qkv, visible, SCALE, exact_o) for row in table for visible in row)
    assert (o.double().cpu() - exact_o).abs().max() <= bound
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=2e-6)
    assert (o.cpu()[torch.isneginf(exact_lse)] == 0).all()


A, B, C = causal(40, 50), scattered(40, 50, seed=1), np.zeros((40, 50), bool)


@pytest.mark.parametrize(
    ("table", "sizes"),
    [
        ([[A]], {"batch": 3, "num_q_heads": 4, "num_kv_heads": 2}),
        ([[A], [B], [A], [C]], {"batch": 4, "num_q_heads": 2, "num_kv_heads": 1}),
        ([[A], [A], [B], [A]], {"batch": 4, "num_q_heads": 2, "num_kv_heads": 2}),
        ([[A, B, A, C]], {"batch": 2, "num_q_heads": 4, "num_kv_heads": 4}),
        ([[A, A, B, B]], {"batch": 2, "num_q_heads": 4, "num_kv_heads": 2}),
        ([[A, B, A, B]], {"batch": 2, "num_q_heads": 4, "num_kv_heads": 2}),
        ([[A, A, A, B, C, B, A, A]], {"batch": 1, "num_q_heads": 8, "num_kv_heads": 2}),
        ([[A, B, B, C], [B, A, A, A]], {"batch": 2, "num_q_heads": 4, "num_kv_heads": 1}),
        ([[A, B, A, A], [C, A, B, A], [A, B, A, A]], {"batch": 3, "num_q_heads": 4, "num_kv_heads": 2}),
        ([[A, B], [A, B], [B, A], [A, B]], {"batch": 4, "num_q_heads": 2, "num_kv_heads": 1}),
        ([[A, A, B, A], [B, B, B, A], [A, A, B, A], [B, B, B, A], [A, A, B, A], [A, A, B, A]], {"batch": 6, "num_q_heads": 4, "num_kv_heads": 4}),
    ],
)  # fmt: skip
def test_every_item_and_head_gives_dense_attention(
    table: list[list[np.ndarray]], sizes: dict[str, int], impl: str, device: str
) -> None:
    check(table, impl, device, **sizes)


@pytest.mark.parametrize(
    ("table", "heads"), [([[A], [B], [A]], (4, 2)), ([[A, A, B, A], [C, B, B, A], [B, A, A, C]], (4, 2))]
)
def test_gradients_are_those_of_dense_attention(
    table: list[list[np.ndarray]], heads: tuple[int, int], impl: str, device: str
) -> None:
    inputs = random_qkv(np.ones((40, 50), bool), batch=3, num_q_heads=heads[0], num_kv_heads=heads[1], device=device)
    batch = MaskBatch.of([[descriptor_of(visible) for visible in row] for row in table])
    do, dlse = torch.randn_like(inputs[0]).cpu(), torch.randn(inputs[0].shape[:3])
    found = []
    for exact in (False, True):
        leaves = [(x.double().cpu() if exact else x).clone().requires_grad_() for x in inputs]
        if exact:
            o, lse = dense_batch(tuple(leaves), table)
        else:
            o, lse = attention(*leaves, batch, sm_scale=SCALE, impl=impl, return_lse=True)
        kept = torch.where(torch.isneginf(lse), 0.0, lse)
        loss = (o.cpu() * do).sum() + (kept.cpu() * dlse).sum()
        found.append(torch.autograd.grad(loss, leaves))
    for grad, exact_grad in zip(*found, strict=True):
        assert torch.allclose(grad.double().cpu(), exact_grad, rtol=0, atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_gradients_of_heads_that_share_a_key_head_are_summed_right(
    dtype: torch.dtype, impl: str, device: str
) -> None:
    """Two query heads with masks of their own over one key head: its gradients are sums of float32 parts."""
    table = [[A, B, B, A]]
    inputs = random_qkv(A, num_q_heads=4, num_kv_heads=2, dtype=dtype, device=device)
    do = torch.randn(inputs[0].shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    leaves = [x.clone().requires_grad_() for x in inputs]
    batch = MaskBatch.of([[descriptor_of(visible) for visible in row] for row in table])
    o = attention(*leaves, batch, sm_scale=SCALE, impl=impl)  # type: ignore[call-overload]
    found = torch.autograd.grad(o, leaves, do.to(device))
    exact = [x.double().cpu().requires_grad_() for x in inputs]
    wanted = torch.autograd.grad(dense_batch(tuple(exact), table)[0], exact, do.double())
    for got, right in zip(found, wanted, strict=True):
        assert (got.double().cpu() - right).abs().max() <= 2 * ulp(dtype, right.abs().max().item())


def test_each_query_head_of_a_group_has_its_own_window(impl: str, device: str) -> None:
    """Eight query heads over two key heads, head h looking back 16 * (h + 1) keys."""
    table = [[window(256, 16 * (h + 1)) for h in range(8)]]
    batch = MaskBatch.of([[descriptor_of(visible) for visible in row] for row in table])
    assert [batch.mask(0, h).dense()[255].sum() for h in range(8)] == [16 * (h + 1) for h in range(8)]
    check(table, impl, device, num_q_heads=8, num_kv_heads=2)


def test_each_item_counts_for_itself_and_a_smaller_last_batch_has_its_own(impl: str, device: str) -> None:
    """One query sees keys up to a counter of its item: 4 and 8 keys; then a batch of one with a third counter."""
    q, k, v = random_qkv(np.ones((1, 16), bool), batch=2, device=device)
    upto = [descriptor_of(np.arange(16)[None] <= counter) for counter in (3, 7, 5)]
    _, lse = attention(q, torch.zeros_like(k), v, MaskBatch.of([[upto[0]], [upto[1]]]), impl=impl, return_lse=True)
    assert torch.allclose(lse[:, 0, 0].exp().cpu(), torch.tensor([4.0, 8.0]))
    last = attention(q[:1], torch.zeros_like(k[:1]), v[:1], MaskBatch.of([[upto[2]]]), impl=impl, return_lse=True)
    assert torch.allclose(last[1][:, 0, 0].exp().cpu(), torch.tensor([6.0]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_gives_the_real_tokens_the_same_values(side: str, impl: str, device: str) -> None:
    """Two items of 5 and 3 tokens, causal; the shorter one padded on the left or on the right."""
    visible = causal(5, 5)
    first = 2 if side == "left" else 0
    own = np.zeros((5, 5), bool)
    own[first : first + 3, first : first + 3] = causal(3, 3)
    q, k, v = random_qkv(visible, batch=2, device=device)
    o, lse = attention(
        q, k, v, MaskBatch.of([[descriptor_of(visible)], [descriptor_of(own)]]), impl=impl, return_lse=True
    )
    real = slice(first, first + 3)
    alone = attention(q[1:, :, real], k[1:, :, real], v[1:, :, real], descriptor_of(causal(3, 3)), impl=impl)
    assert torch.allclose(o[1:, :, real], alone, rtol=0, atol=1e-6)
    padding = [i for i in range(5) if i not in range(first, first + 3)]
    assert (o[1, :, padding] == 0).all() and torch.isneginf(lse[1, :, padding]).all()


def test_what_the_padding_of_an_item_holds_reaches_nothing(impl: str, device: str) -> None:
    q, k, v = random_qkv(causal(6, 6), batch=2, device=device)
    table = [[descriptor_of(causal(6, 6))], [descriptor_of(causal(4, 4))]]
    clean = attention(q, k, v, MaskBatch.of(table), impl=impl)
    k[1, :, 4:] = v[1, :, 4:] = math.nan
    assert torch.equal(attention(q, k, v, MaskBatch.of(table), impl=impl), clean)


@pytest.mark.parametrize("items", [1, 2, 3])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_sizes_are_one_or_those_of_the_tensors(items: int, heads: int, impl: str, device: str) -> None:
    q, k, v = random_qkv(causal(8, 8), batch=2, num_q_heads=2, num_kv_heads=1, device=device)
    masks = [descriptor_of(window(8, width)) for width in range(1, 10)]
    batch = MaskBatch.of([[masks[b * heads + h] for h in range(heads)] for b in range(items)])
    if items == 3 or heads == 3:
        said = f"the masks are [{items} items, {heads} heads], the tensors [2 items, 2 query heads]"
        with pytest.raises(ValueError, match=re.escape(said)):
            attention(q, k, v, batch, impl=impl)
    else:
        assert attention(q, k, v, batch, impl=impl).shape == q.shape
    with pytest.raises(ValueError, match="q, k and v must have one batch size, got 2, 1, 1"):
        attention(q, k[:1], v[:1], batch, impl=impl)


def test_the_lengths_of_a_batch_must_be_those_of_the_tensors() -> None:
    q, k, v = random_qkv(causal(8, 8), batch=2)
    batch = MaskBatch.of([[descriptor_of(causal(5, 9))], [descriptor_of(causal(3, 3))]])
    with pytest.raises(ValueError, match="the mask is for q_len 5 and kv_len 9, got tensors of 8 and 8"):
        attention(q, k, v, batch)


def test_there_is_one_call_for_each_mask_on_views() -> None:
    """Items of one length and heads of one window share a call, and are not copied where they are evenly spaced."""
    a, b = descriptor_of(causal(8, 8)), descriptor_of(window(8, 2))
    q, k, v = random_qkv(causal(8, 8), batch=4, num_q_heads=4, num_kv_heads=2)
    calls: list[tuple[MaskDescriptor, tuple[int, ...]]] = []

    def run(
        q_part: Tensor, k_part: Tensor, v_part: Tensor, _sinks: None, mask: MaskDescriptor
    ) -> tuple[Tensor, Tensor]:
        for part, whole in ((q_part, q), (k_part, k), (v_part, v)):
            assert part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
        calls.append((mask, tuple(q_part.shape[:2])))
        return q_part, q_part[..., 0]

    o, _ = forward(run, q, k, v, None, MaskBatch.of([[a], [b], [a], [b]]))
    assert calls == [(a, (2, 4)), (b, (2, 4))] and torch.equal(o, q)
    calls.clear()
    o, _ = forward(run, q, k, v, None, MaskBatch.of([[a, b, a, b]]))
    assert calls == [(a, (4, 2)), (b, (4, 2))] and torch.equal(o, q)
    calls.clear()
    o, _ = forward(run, q, k, v, None, MaskBatch.of([[a, a, a, b]]))
    assert calls == [(a, (4, 2)), (a, (4, 1)), (b, (4, 1))] and torch.equal(o, q)


def test_groups_hold_every_item_and_head_once_with_an_even_share_of_key_heads() -> None:
    rng = np.random.default_rng(0)
    masks = [descriptor_of(window(8, width)) for width in (1, 2, 3)]
    for _ in range(50):
        items, kv_heads, ratio = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        index = rng.integers(0, 3, (items, kv_heads * ratio))
        batch = MaskBatch.of([[masks[number] for number in row] for row in index])
        seen = np.zeros(index.shape, int)
        for group in groups(batch, items, kv_heads * ratio, kv_heads):
            share = len(group.q_heads) // len(group.kv_heads)
            assert [head // ratio for head in group.q_heads] == [h for h in group.kv_heads for _ in range(share)]
            for item in group.items:
                for head in group.q_heads:
                    seen[item, head] += 1
                    assert batch.mask(item, head) == group.mask
        assert (seen == 1).all()


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_of_masks_is_told_how_to_become_a_batch(count: int) -> None:
    masks = [descriptor_of(causal(8, 8))] * count
    with pytest.raises(TypeError, match=rf"got {count} of them: make one MaskBatch, with MaskBatch.of"):
        attention(*random_qkv(causal(8, 8)), masks)  # type: ignore[call-overload]


@pytest.mark.parametrize("lengths", [[10, 10, 20, 20, 20, 20], [1, 4, 9, 16, 25, 36, 49, 100]])
def test_documents_that_end_inside_a_tile_are_dense_attention(lengths: list[int], impl: str, device: str) -> None:
    mask = compile(DOCUMENTS).bind(lengths=lengths)
    assert isinstance(mask, MaskDescriptor)
    starts = np.cumsum([0, *lengths])
    document = np.searchsorted(starts, np.arange(starts[-1]), side="right")
    visible = causal(starts[-1], starts[-1]) & (document[:, None] == document)
    assert mask.visible_pairs == visible.sum() == sum(n * (n + 1) // 2 for n in lengths)
    qkv = random_qkv(visible, device=device)
    exact, _ = dense_attention(*qkv, visible, SCALE)
    o = attention(*qkv, mask, sm_scale=SCALE, impl=impl)
    assert (o.double().cpu() - exact).abs().max() <= allowed_error(*qkv, visible, SCALE, exact)


@pytest.mark.parametrize("offsets", [(5, 100, 300), (0, 100, 280)])
def test_documents_that_do_not_fill_the_tensors_are_refused(offsets: tuple[int, ...]) -> None:
    """Offsets that leave tokens out, before the first document or behind the last, are no silent result."""
    mask = compile(DOCUMENTS).bind(lengths=np.diff(offsets))
    total = offsets[-1] - offsets[0]
    with pytest.raises(
        ValueError, match=f"the mask is for q_len {total} and kv_len {total}, got tensors of 300 and 300"
    ):
        attention(*random_qkv(np.ones((300, 300), bool)), mask)


def test_a_mask_for_a_longer_sequence_is_refused_and_bound_anew(impl: str, device: str) -> None:
    program = compile("mask m(n: int)\ntokens { S: n }\nS sees S (causal and q - k <= 25) or (q >= 4 and k <= 4)\n")
    q, k, v = random_qkv(causal(102, 102), device=device)
    with pytest.raises(ValueError, match="the mask is for q_len 819 and kv_len 819, got tensors of 102 and 102"):
        attention(q, k, v, program.bind(n=819), impl=impl)
    back = np.arange(102)[:, None] - np.arange(102)
    visible = ((back >= 0) & (back <= 25)) | ((np.arange(102)[:, None] >= 4) & (np.arange(102) <= 4))
    exact, exact_lse = dense_attention(q, k, v, visible, SCALE)
    o, lse = attention(q, k, v, program.bind(n=102), sm_scale=SCALE, impl=impl, return_lse=True)
    assert (o.double().cpu() - exact).abs().max() <= allowed_error(q, k, v, visible, SCALE, exact)
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=2e-6)


def test_a_text_with_values_per_item_and_head_is_dense_attention(impl: str, device: str) -> None:
    batch = compile(SERVED).bind(n=[40, 33, 40], prefix=[4, 0, 4], window=[7, 7, 20, 3])
    assert isinstance(batch, MaskBatch)
    table = []
    for n, prefix in ((40, 4), (33, 0), (40, 4)):
        real = np.arange(40) < n
        row = [(window(40, width) | (np.arange(40) < prefix)) & real[:, None] & real for width in (7, 7, 20, 3)]
        table.append(row)
    assert batch == MaskBatch.of([[descriptor_of(visible) for visible in row] for row in table])
    check(table, impl, device, batch=3, num_q_heads=4, num_kv_heads=2)
