"""The kernel of packed tiles against dense float64 attention: any descriptor, grid, chunk, layout and length."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch
from grid_masks import disc, natten
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_attention import allowed_error, causal, dense_attention, descriptor_of, random_qkv, scattered
from oracles_scores import attention_by_definition
from torch import Tensor

from compilemask.attention.packed_tensors import bits_by_lane, upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton.configs import ForwardConfig
from compilemask.attention.triton.packed_launch import packed_forward
from compilemask.descriptor import MaskDescriptor
from compilemask.plan import GridStructure, PatchedGrid, plan_packed

BoolArray = npt.NDArray[np.bool_]
SMALL = ForwardConfig(16, 32, 4, 1)
SCALE = 0.3

GRID_MASKS = {
    "disc": (disc(7, 9, 21, 4), GridStructure(7, (9, 21)), (4, 8)),
    "disc without text": (disc(0, 16, 16, 5), GridStructure(0, (16, 16)), (8, 4)),
    "window": (natten((10, 19), (5, 7)), GridStructure(0, (10, 19)), (4, 8)),
    "volume": (natten((3, 7, 10), (3, 3, 5), text=5), GridStructure(5, (3, 7, 10)), (2, 4, 4)),
}


def run(
    mask: MaskDescriptor,
    qkv: tuple[Tensor, Tensor, Tensor],
    config: ForwardConfig = SMALL,
    chunk: int = 8,
    grids: tuple[PatchedGrid, ...] = (),
    sm_scale: float = SCALE,
) -> tuple[Tensor, Tensor]:
    plan = plan_packed(mask, config.block_m, config.block_n, chunk, grids)
    return packed_forward(*qkv, upload_packed(plan, mask.dense().any(0), qkv[0].device), ScoreOptions(sm_scale), config)


def check(
    visible: BoolArray, qkv: tuple[Tensor, Tensor, Tensor], found: tuple[Tensor, Tensor], sm_scale: float = SCALE
) -> None:
    (o, lse), (exact_o, exact_lse) = found, dense_attention(*qkv, visible, sm_scale)
    assert (o.dtype, o.shape, lse.dtype, lse.shape) == (qkv[2].dtype, exact_o.shape, torch.float32, exact_lse.shape)
    assert (o.double().cpu() - exact_o).abs().max() <= allowed_error(*qkv, visible, sm_scale, exact_o)
    empty = torch.from_numpy(~visible.any(1))
    assert (o[:, :, empty] == 0).all()
    assert (lse[:, :, empty] == -math.inf).all()
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("chunk", [8, 16])
@pytest.mark.parametrize("name", GRID_MASKS)
def test_masks_of_grids_in_patches_give_dense_attention(name: str, chunk: int, device: str) -> None:
    mask, grid, patch = GRID_MASKS[name]
    qkv = random_qkv(mask.dense(), num_q_heads=1, device=device)
    found = run(mask, qkv, ForwardConfig(32, 64, 4, 2), chunk, (PatchedGrid(grid, patch),))
    check(mask.dense(), qkv, found)


@settings(max_examples=12, derandomize=True, deadline=None)
@given(
    st.integers(1, 70),
    st.integers(1, 90),
    st.integers(0, 1000),
    st.sampled_from([1, 2, 4, 8, 16, 32]),
    st.sampled_from([32, 64, 128]),
    st.tuples(st.integers(0, 20), st.integers(1, 6), st.integers(1, 9)),
    st.sampled_from([(1, 16), (2, 8), (4, 4), (16, 1)]),
)
def test_any_mask_under_any_hint_gives_dense_attention(
    q_len: int, kv_len: int, seed: int, chunk: int, block_n: int, grid: tuple[int, int, int], patch: tuple[int, int]
) -> None:
    visible = scattered(q_len, kv_len, seed)
    qkv = random_qkv(visible, num_q_heads=1, device="cuda" if torch.cuda.is_available() else "cpu", seed=seed)
    hint = PatchedGrid(GridStructure(grid[0], grid[1:]), patch)
    found = run(descriptor_of(visible), qkv, ForwardConfig(16, block_n, 4, 1), chunk, (hint,))
    check(visible, qkv, found)


@pytest.mark.parametrize(
    "visible",
    [
        np.ones((17, 65), bool),
        np.ones((1, 1), bool),
        np.zeros((20, 33), bool),
        causal(40, 23),
        causal(10, 77),
        np.pad(np.ones((20, 40), bool), ((5, 8), (3, 30))),
    ],
    ids=["all", "one cell", "nothing", "more queries", "more keys", "rectangle"],
)
def test_ragged_ends_and_empty_rows_give_dense_attention(visible: BoolArray, device: str) -> None:
    qkv = random_qkv(visible, device=device)
    check(visible, qkv, run(descriptor_of(visible), qkv))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_rounds_no_worse_than_twice_plain_attention(dtype: torch.dtype, device: str) -> None:
    mask, grid, patch = GRID_MASKS["disc"]
    qkv = random_qkv(mask.dense(), num_q_heads=2, head_dim=64, dtype=dtype, device=device)
    found = run(mask, qkv, ForwardConfig(32, 64, 4, 2), 16, (PatchedGrid(grid, patch),), 0.125)
    check(mask.dense(), qkv, found, 0.125)


@pytest.mark.parametrize(("head_dim", "v_head_dim"), [(72, 40), (16, 130), (256, 1)])
def test_head_dims_need_be_no_power_of_two_nor_equal(head_dim: int, v_head_dim: int, device: str) -> None:
    visible = scattered(30, 50, seed=3)
    qkv = random_qkv(visible, batch=2, num_kv_heads=2, head_dim=head_dim, v_head_dim=v_head_dim, device=device)
    check(visible, qkv, run(descriptor_of(visible), qkv))


def test_heavy_tiles_first_and_heads_in_groups_write_every_row_of_every_head(device: str) -> None:
    visible = np.eye(70, dtype=bool)
    visible[:20] = True
    qkv = random_qkv(visible, batch=2, num_q_heads=6, num_kv_heads=2, device=device)
    assert 0 < plan_packed(descriptor_of(visible), 16, 32, 8).num_heavy < 5
    check(visible, qkv, run(descriptor_of(visible), qkv))


@pytest.mark.parametrize("sm_scale", [0.0, -0.7, 6.0])
def test_any_finite_scale_gives_dense_attention(sm_scale: float, device: str) -> None:
    visible = scattered(40, 60, seed=4)
    qkv = random_qkv(visible, device=device)
    check(visible, qkv, run(descriptor_of(visible), qkv, sm_scale=sm_scale), sm_scale)


@pytest.mark.parametrize(
    ("options", "has_sinks"),
    [
        (ScoreOptions(SCALE), True),
        (ScoreOptions(-SCALE, softcap=1.5), True),
        (ScoreOptions(SCALE, softcap=1.5), False),
        (ScoreOptions(SCALE, activation="silu", norm=70.0), False),
        (ScoreOptions(-SCALE, activation="silu", softcap=1.5), False),
    ],
    ids=str,
)
def test_caps_sinks_of_any_strides_and_silu_follow_the_definition(
    options: ScoreOptions, has_sinks: bool, device: str
) -> None:
    visible = scattered(40, 60, seed=7)
    assert not visible.any(1).all()
    qkv = random_qkv(visible, batch=2, num_q_heads=4, num_kv_heads=2, device=device)
    sinks = torch.randn(8, generator=torch.Generator().manual_seed(1)).to(device)[::2] if has_sinks else None
    plan = plan_packed(descriptor_of(visible), 16, 32, 8)
    o, lse = packed_forward(*qkv, upload_packed(plan, visible.any(0), qkv[0].device), options, SMALL, sinks)
    exact_o, exact_lse = attention_by_definition(*(x.double().cpu() for x in qkv), visible, options, sinks)
    assert torch.allclose(o.double().cpu(), exact_o, rtol=1e-5, atol=4e-6)
    assert (o[:, :, torch.from_numpy(~visible.any(1))] == 0).all()
    if exact_lse is not None:
        assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=4e-6)


def test_any_strides_give_the_same_bits_as_contiguous_tensors(device: str) -> None:
    visible = scattered(35, 35, seed=5)
    fused = torch.randn(2, 35, 3, 2, 16, generator=torch.Generator().manual_seed(0)).to(device)
    qkv = tuple(fused[:, :, i].transpose(1, 2) for i in range(3))
    plain = tuple(x.contiguous() for x in qkv)
    columns = tuple(x.transpose(2, 3).contiguous().transpose(2, 3) for x in qkv)
    wanted = run(descriptor_of(visible), plain)
    check(visible, plain, wanted)
    for other in (qkv, columns, (qkv[0], columns[1], plain[2])):
        found = run(descriptor_of(visible), other)
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("poison", [math.nan, math.inf])
@pytest.mark.parametrize("chunk", [4, 32])
def test_keys_that_no_row_sees_never_leak(poison: float, chunk: int, device: str) -> None:
    visible = scattered(40, 75, seed=6)
    visible[:, -3:] = False
    unseen = torch.from_numpy(~visible.any(0))
    assert 3 < unseen.sum() < 40
    q, k, v = random_qkv(visible, device=device)
    wanted = run(descriptor_of(visible), (q, k, v), chunk=chunk)
    check(visible, (q, k, v), wanted)
    k[:, :, unseen] = poison
    v[:, :, unseen] = poison
    found = run(descriptor_of(visible), (q, k, v), chunk=chunk)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_padding_reads_no_other_keys_than_the_tile_does(device: str) -> None:
    """Tiles filled up with padding, one query of each own keys: what others see stays away, even when it is NaN."""
    visible = np.kron(np.eye(3, dtype=bool), np.ones((16, 16), bool))
    q, k, v = random_qkv(visible, device=device)
    k[:, :, :16] = math.nan
    v[:, :, :16] = math.nan
    o, lse = run(descriptor_of(visible), (q, k, v))
    assert o[:, :, :16].isnan().all()
    rest = (q[:, :, 16:], k[:, :, 16:], v[:, :, 16:])
    check(visible[16:, 16:], rest, (o[:, :, 16:], lse[:, :, 16:]))


def test_a_plan_of_other_tiles_is_refused(device: str) -> None:
    visible = causal(20, 20)
    qkv = random_qkv(visible, device=device)
    tensors = upload_packed(plan_packed(descriptor_of(visible), 16, 32, 8), visible.any(0), qkv[0].device)
    with pytest.raises(ValueError, match="the packed plan has tiles of 16 x 32, the kernel's configuration 32 x 32"):
        packed_forward(*qkv, tensors, ScoreOptions(SCALE), ForwardConfig(32, 32, 4, 1))


@pytest.mark.parametrize("block_n", [32, 64, 96, 128, 256])
def test_bits_by_lane_keep_every_bit_at_its_place(block_n: int) -> None:
    bits = np.random.default_rng(block_n).random((2, 3, block_n)) < 0.5
    words = np.packbits(bits, axis=-1, bitorder="little").view("<u4").astype(np.uint32)
    ordered = bits_by_lane(words)
    assert (ordered.dtype, ordered.shape, ordered.flags.c_contiguous) == (np.int32, words.shape, True)
    for column in range(block_n):
        a, c = divmod(column, 8)
        place = c * (block_n // 8) + a
        assert np.array_equal(ordered[..., place // 32] >> (place % 32) & 1, bits[..., column])
