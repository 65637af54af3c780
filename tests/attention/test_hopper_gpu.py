"""impl hopper against dense attention in float64, on a Hopper GPU: masks, edge lengths, options, layouts, repeats."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_attention import (
    BoolArray,
    allowed_error,
    causal,
    dense_attention,
    descriptor_of,
    history_and_targets,
    neighbourhood,
    random_qkv,
    scattered,
)
from torch import Tensor

from compilemask.attention import attention, choose_impl
from compilemask.descriptor import MaskBatch

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("needs a GPU of compute capability 9.0", allow_module_level=True)

pytestmark = pytest.mark.gpu
DOCUMENT = np.repeat(np.arange(9), [1, 4, 90, 16, 25, 136, 49, 100, 200])
MASKS = {
    "full": np.ones((200, 450), bool),
    "causal": causal(384, 384),
    "causal, fewer queries": causal(131, 300),
    "causal, fewer keys": causal(300, 140),
    "documents": (DOCUMENT[:, None] == DOCUMENT) & causal(len(DOCUMENT), len(DOCUMENT)),
    "history": history_and_targets(300, 100),
    "image": neighbourhood(20, 20, 5),
    "scattered": scattered(300, 500, seed=1),
    "one query": np.ones((1, 300), bool),
    "one key": np.ones((300, 1), bool),
    "nothing": np.zeros((130, 130), bool),
}
HALF = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
SIZES = pytest.mark.parametrize("head_dim", [64, 128])
ALL_SIZES = pytest.mark.parametrize("head_dim", [40, 64, 96, 128, 192, 256])


def check(visible: BoolArray, qkv: tuple[Tensor, ...], sm_scale: float | None = None) -> tuple[Tensor, Tensor]:
    """o and lse of impl hopper, found right."""
    scale = 1 / math.sqrt(qkv[0].shape[3]) if sm_scale is None else sm_scale
    o, lse = attention(*qkv, descriptor_of(visible), sm_scale=sm_scale, impl="hopper", return_lse=True)
    exact, exact_lse = dense_attention(*qkv, visible, scale)
    assert (o.double().cpu() - exact).abs().max() <= allowed_error(*qkv, visible, scale, exact)
    assert torch.equal(lse.cpu() == -math.inf, exact_lse == -math.inf)
    seen = exact_lse.isfinite()
    assert torch.allclose(lse.double().cpu()[seen], exact_lse[seen], rtol=1e-5, atol=1e-4)
    return o, lse


@HALF
@ALL_SIZES
@pytest.mark.parametrize("name", MASKS)
def test_every_mask_at_edge_lengths(name: str, head_dim: int, dtype: torch.dtype) -> None:
    check(MASKS[name], random_qkv(MASKS[name], head_dim=head_dim, dtype=dtype, device="cuda"))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.data())
def test_random_masks_with_grouped_heads(data: st.DataObject) -> None:
    q_len, kv_len = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 400))
    visible = np.zeros((q_len, kv_len), bool)
    for _ in range(data.draw(st.integers(0, 6))):
        row, column = data.draw(st.integers(0, q_len - 1)), data.draw(st.integers(0, kv_len - 1))
        height, width = data.draw(st.integers(1, q_len)), data.draw(st.integers(1, kv_len))
        visible[row : row + height, column : column + width] ^= True
    group, kv_heads = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    qkv = random_qkv(
        visible, batch=data.draw(st.integers(1, 2)), num_q_heads=group * kv_heads, num_kv_heads=kv_heads,
        head_dim=data.draw(st.sampled_from([64, 128])), dtype=torch.bfloat16, device="cuda",
    )  # fmt: skip
    check(visible, qkv)


def test_values_of_another_dimension_than_keys() -> None:
    visible = MASKS["documents"]
    check(visible, random_qkv(visible, head_dim=72, v_head_dim=120, dtype=torch.bfloat16, device="cuda"))


@SIZES
def test_large_scores_move_the_reference(head_dim: int) -> None:
    visible = MASKS["documents"]
    q, k, v = random_qkv(visible, head_dim=head_dim, dtype=torch.bfloat16, device="cuda")
    q, k = q * 6, k * torch.linspace(0.1, 3, k.shape[2], device="cuda", dtype=k.dtype)[:, None]
    check(visible, (q, k, v))


@pytest.mark.parametrize("scale", [-0.1, 0.0])
def test_scales_that_are_not_positive(scale: float) -> None:
    visible = MASKS["causal"]
    check(visible, random_qkv(visible, head_dim=64, dtype=torch.float16, device="cuda"), scale)


@HALF
@SIZES
def test_equal_inputs_give_equal_bits_a_hundred_times(head_dim: int, dtype: torch.dtype) -> None:
    visible = MASKS["documents"]
    qkv = random_qkv(visible, batch=2, num_q_heads=16, num_kv_heads=4, head_dim=head_dim, dtype=dtype, device="cuda")
    first = check(visible, qkv)
    mask = descriptor_of(visible)
    for _ in range(100):
        again = attention(*qkv, mask, impl="hopper", return_lse=True)
        assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))


def test_strided_and_unaligned_inputs_give_what_contiguous_ones_give() -> None:
    visible = MASKS["scattered"]
    qkv = random_qkv(visible, batch=2, num_q_heads=4, num_kv_heads=2, head_dim=64, dtype=torch.bfloat16, device="cuda")
    wanted, _ = check(visible, qkv)
    mask = descriptor_of(visible)
    by_token = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in qkv]
    unaligned = [torch.nn.functional.pad(x, (3, 2))[..., 3:-2] for x in qkv]
    moved = [torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape) for x in qkv]
    for layout in (by_token, unaligned, moved):
        assert torch.equal(attention(*layout, mask, impl="hopper"), wanted)


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_what_keys_hidden_from_all_rows_hold_never_leaks(poison: float) -> None:
    visible = MASKS["scattered"].copy()
    visible[:, 60:70] = visible[:, 480:] = False
    qkv = random_qkv(visible, head_dim=128, dtype=torch.bfloat16, device="cuda")
    wanted, _ = check(visible, qkv)
    hidden = torch.from_numpy(~visible.any(0)).cuda()
    for x in qkv[1:]:
        x[:, :, hidden] = poison
    assert torch.equal(attention(*qkv, descriptor_of(visible), impl="hopper"), wanted)


@pytest.mark.parametrize(
    "options", [{"softcap": 3.0}, {"activation": "silu", "norm": 90.0}, {"sinks": [0.5, -math.inf, 3.0, -2.0]}], ids=str
)
@pytest.mark.parametrize("name", ["causal, fewer keys", "image", "scattered"])
def test_options_of_scores(options: dict[str, object], name: str) -> None:
    visible = MASKS[name]
    qkv = random_qkv(visible, num_q_heads=4, num_kv_heads=2, head_dim=128, dtype=torch.bfloat16, device="cuda")
    if "sinks" in options:
        options = {"sinks": torch.tensor(options["sinks"], device="cuda")}
    mask = descriptor_of(visible)
    o = attention(*qkv, mask, impl="hopper", **options)
    wanted = attention(*(x.double().float() for x in qkv), mask, impl="torch", **options)
    plain = attention(*qkv, mask, impl="torch", **options)
    ulp = torch.finfo(o.dtype).eps * 2.0 ** math.floor(math.log2(wanted.abs().max().item()))
    assert (o.float() - wanted).abs().max() <= 2 * (plain.float() - wanted).abs().max() + ulp


@pytest.mark.parametrize("by_head", [False, True])
def test_masks_of_items_and_heads(by_head: bool) -> None:
    parts = [causal(200, 200), np.ones((200, 200), bool), scattered(200, 200, seed=4)]
    qkv = random_qkv(parts[0], batch=3, num_q_heads=6, num_kv_heads=3, head_dim=64, dtype=torch.float16, device="cuda")
    masks = [descriptor_of(visible) for visible in parts]
    index = [[masks[(item + head // 2) % 3] for head in range(6 if by_head else 1)] for item in range(3)]
    o = attention(*qkv, MaskBatch.of(index), impl="hopper")
    for item in range(3):
        for head in range(3):
            q, k, v = qkv[0][item, 2 * head :][None, :2], *(x[item, head][None, None] for x in qkv[1:])
            alone, _ = check(parts[(item + (head if by_head else 0)) % 3], (q, k, v))
            assert torch.equal(o[item, 2 * head :][None, :2], alone)


def test_auto_takes_it_where_it_can() -> None:
    def taken(head_dim: int, visible: BoolArray) -> str:
        q = torch.zeros(1, 2, len(visible), head_dim, dtype=torch.bfloat16, device="cuda")
        return choose_impl(q, q, q, mask=descriptor_of(visible))[0]

    assert [taken(dim, causal(128, 128)) for dim in (40, 96, 128, 256)] == ["hopper"] * 4
    assert taken(128, neighbourhood(16, 128, 4)) == "hopper"
    assert taken(32, causal(128, 128)) == "triton"


def test_what_it_cannot_take_is_refused_in_words() -> None:
    q = torch.zeros(1, 2, 128, 32, dtype=torch.bfloat16, device="cuda")
    for v in (q, torch.zeros(1, 2, 128, 128, dtype=torch.bfloat16, device="cuda")):
        with pytest.raises(
            ValueError, match=f"more than half of 64, 128, 256, the same .* got head_dim 32 and {v.shape[3]}"
        ):
            attention(q, q, v, descriptor_of(causal(128, 128)), impl="hopper")
    with pytest.raises(ValueError, match="takes bfloat16 and float16, got torch"):
        attention(q.float(), q.float(), q.float(), descriptor_of(causal(128, 128)), impl="hopper")
