"""MaskedAttention and the FlexAttention form: what they compute, from parts that are known, and what they refuse."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention as flex_of_torch
from torch.nn.functional import scaled_dot_product_attention

import compilemask
from compilemask.nn import MaskedAttention, flex_attention

WINDOW = compilemask.compile("mask window(n: int, w: int)\ntokens { S: n }\nS sees S causal and q - k <= w")


def visible(n: int, w: int) -> Tensor:
    back = torch.arange(n)[:, None] - torch.arange(n)
    return (back >= 0) & (back <= w)


@pytest.mark.parametrize(
    "options", [{}, {"num_kv_heads": 2}, {"num_kv_heads": 1, "head_dim": 24, "bias": False, "sm_scale": 0.2}]
)
def test_the_module_is_its_projections_around_attention(options: dict[str, object]) -> None:
    layer = MaskedAttention(64, 4, **options)  # type: ignore[arg-type]
    x = torch.randn(2, 11, 64, requires_grad=True)
    q, k, v = (
        proj(x).unflatten(-1, (-1, layer.head_dim)).transpose(1, 2)
        for proj in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    o = scaled_dot_product_attention(q, k, v, attn_mask=visible(11, 3), enable_gqa=True, scale=options.get("sm_scale"))  # type: ignore[arg-type]
    wanted = layer.o_proj(o.transpose(1, 2).flatten(2))
    found = layer(x, WINDOW.bind(n=11, w=3))
    assert torch.allclose(found, wanted, atol=1e-5)
    parameters = [x, *layer.parameters()]
    weights = torch.randn_like(found)
    for a, b in zip(*(torch.autograd.grad((y * weights).sum(), parameters) for y in (found, wanted)), strict=True):
        assert torch.allclose(a, b, atol=1e-4)


def test_packed_and_batched_tokens_give_the_same() -> None:
    layer = MaskedAttention(32, 4, num_kv_heads=2, qk_norm=True)
    x = torch.randn(1, 9, 32)
    mask = WINDOW.bind(n=9, w=2)
    assert torch.allclose(layer(x[0], mask), layer(x, mask)[0], atol=1e-6)


def test_queries_may_read_another_context_and_be_rotated_after_their_norm() -> None:
    layer = MaskedAttention(32, 2, qk_norm=True)
    x, context = torch.randn(1, 5, 32), torch.randn(1, 8, 32)
    mask = WINDOW.bind(n=8, w=100).slice_queries(3, 8)
    seen = []

    def rotate(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        seen.append((q, k))
        return -q, -k

    turned = layer(x, mask, context=context, rotate=rotate)
    assert torch.allclose(turned, layer(x, mask, context=context), atol=1e-6)
    (q, k), size = seen[0], math.sqrt(layer.head_dim)
    assert (q.shape, k.shape) == ((1, 2, 5, 16), (1, 2, 8, 16))
    assert torch.allclose(q.norm(dim=-1), torch.full_like(q[..., 0], size), rtol=1e-3)


def test_the_module_compiles_once_for_changing_lengths() -> None:
    layer = MaskedAttention(32, 4, num_kv_heads=2)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=counter)
    for n in (40, 17, 33):
        x, mask = torch.randn(2, n, 32), WINDOW.bind(n=n, w=5)
        assert torch.allclose(compiled(x, mask), layer(x, mask), atol=1e-6)
    assert counter.frame_count == 1


@pytest.mark.parametrize(
    ("sizes", "options", "said"),
    [
        ((32, 5), {}, "embed_dim must be a multiple of num_heads, got 32 and 5; or give head_dim"),
        ((32, 4), {"num_kv_heads": 3}, "num_heads must be a multiple of num_kv_heads, got 4 and 3"),
        ((32, 4), {"num_kv_heads": 0}, "num_kv_heads must be at least 1, got 0"),
        ((32, 4), {"head_dim": 0}, "head_dim must be at least 1, got 0"),
        ((32, 4), {"dropout": 0.1}, "dropout of attention weights is not supported, got 0.1"),
    ],
)
def test_sizes_that_do_not_fit_are_told(sizes: tuple[int, int], options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MaskedAttention(*sizes, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"both packed \[total, embed_dim\], got shapes \(3, 32\) and \(1, 3, 32\)"):
        MaskedAttention(32, 4)(torch.zeros(3, 32), WINDOW.bind(n=3, w=1), context=torch.zeros(1, 3, 32))


def test_the_flex_form_gives_what_flex_attention_gives() -> None:
    q, k, v = torch.randn(2, 4, 20, 16), torch.randn(2, 2, 20, 16), torch.randn(2, 2, 20, 16)
    block = create_block_mask(lambda _b, _h, i, j: (i - j >= 0) & (i - j <= 6), None, None, 20, 20, device="cpu")
    wanted, wanted_lse = flex_of_torch(q, k, v, None, block, 0.3, True, return_lse=True)
    o, lse = flex_attention(q, k, v, None, WINDOW.bind(n=20, w=6), 0.3, True, return_lse=True)
    assert torch.allclose(o, wanted, atol=1e-5)
    assert torch.allclose(lse, wanted_lse, atol=1e-5)
    assert torch.equal(flex_attention(q, k, v, block_mask=WINDOW.bind(n=20, w=6), scale=0.3, enable_gqa=True), o)


def test_the_flex_form_names_what_it_does_not_take() -> None:
    q, k = torch.randn(1, 4, 8, 16), torch.randn(1, 2, 8, 16)
    mask = WINDOW.bind(n=8, w=1)
    block = create_block_mask(lambda _b, _h, i, j: i >= j, None, None, 8, 8, device="cpu")
    for given, said in (
        ({"score_mod": lambda s, *_: s, "block_mask": mask}, "score_mod is not supported: hidden cells belong into"),
        ({"kernel_options": {}, "block_mask": mask}, "kernel_options is not supported"),
        ({"return_aux": object(), "block_mask": mask}, "return_aux is not supported: return_lse=True"),
        ({"block_mask": block}, "got a BlockMask of torch: write its mask_mod as mask text"),
        ({}, "got None: for attention without a mask"),
    ):
        with pytest.raises(TypeError, match=said):
            flex_attention(q, q, q, **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same heads, got 4 and 2; enable_gqa=True"):
        flex_attention(q, k, k, block_mask=mask)
