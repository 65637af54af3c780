"""Every preset, cut to lengths at the edges of tiles: o, lse and gradients against their definition in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracles_attention import random_qkv, ulp
from oracles_scores import attention_by_definition, gradients_by_definition
from torch import Tensor

import compilemask
from compilemask.attention import attention
from compilemask.attention.score_options import ScoreOptions
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.presets import preset_names, preset_source

OPTIONS = ScoreOptions(0.25)
LENGTHS = [65, pytest.param(127, marks=pytest.mark.gpu), pytest.param(129, marks=pytest.mark.gpu)]


def small(name: str) -> list[MaskDescriptor]:
    """The masks of the preset's small example."""
    program = compilemask.compile(preset_source(name))
    found = program.bind(**program.example("small"))
    return list(found.masks) if isinstance(found, MaskBatch) else [found]


def cut(mask: MaskDescriptor, length: int) -> MaskDescriptor:
    """The mask of the first `length` queries and keys; those that it lacks see nothing and are seen by nobody."""
    return mask.slice_queries(0, min(length, mask.q_len)).slice_keys(0, min(length, mask.kv_len)).pad_to(length, length)


def assert_rounds_like_the_definition(name: str, got: Tensor, plain: Tensor, exact: Tensor, dtype: torch.dtype) -> None:
    """error <= 2 * the error of the definition in the inputs' dtype + 1 ulp."""
    error = (got.double().cpu() - exact).abs().max().item()
    allowed = 2 * (plain.double().cpu() - exact).abs().max().item() + ulp(dtype, exact.abs().max().item())
    assert error <= allowed, f"{name}: error {error:.3g} above {allowed:.3g}"


def check(mask: MaskDescriptor, impl: str, dtype: torch.dtype, device: str) -> None:
    visible: np.ndarray = mask.dense()
    # The interpreter takes a third of a second for a mask and two heads.
    inputs = random_qkv(visible, num_q_heads=1 if device == "cpu" else 2, dtype=dtype, device=device)
    generator = torch.Generator().manual_seed(1)
    do, dlse = torch.randn(inputs[0].shape, generator=generator), torch.randn(inputs[0].shape[:3], generator=generator)
    do, dlse = do.to(inputs[0]), dlse.to(device)
    leaves = [x.clone().requires_grad_() for x in inputs]
    o, lse = attention(*leaves, mask, sm_scale=OPTIONS.sm_scale, impl=impl, return_lse=True)  # type: ignore[call-overload]
    empty = torch.isneginf(lse)
    assert torch.equal(empty[0, 0].cpu(), torch.from_numpy(~visible.any(1)))
    assert not o[empty].any()
    loss = (o * do).sum() + torch.where(empty, 0.0, lse * dlse).sum()
    found = dict(zip(("dq", "dk", "dv"), torch.autograd.grad(loss, leaves), strict=True)) | {"o": o.detach()}
    doubles = tuple(x.double().cpu() for x in inputs)
    exact_o, exact_lse = attention_by_definition(*doubles, visible, OPTIONS, None)
    plain_o, _ = attention_by_definition(*inputs, visible, OPTIONS, None)
    assert torch.allclose(lse.double().cpu(), exact_lse, rtol=1e-6, atol=2e-6)
    exact = gradients_by_definition(doubles, visible, OPTIONS, do.cpu(), dlse.cpu())
    plain = gradients_by_definition(inputs, visible, OPTIONS, do, dlse)
    for name, rounded, wanted in zip(("o", "dq", "dk", "dv"), (plain_o, *plain), (exact_o, *exact), strict=True):
        assert_rounds_like_the_definition(name, found[name], rounded, wanted, dtype)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", preset_names())
def test_every_preset_trains_at_the_edges_of_tiles(name: str, length: int, device: str) -> None:
    for mask in small(name):
        assert mask.visible_pairs
        for impl in ("torch", "triton"):
            check(cut(mask, length), impl, torch.bfloat16, device)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("name", preset_names())
def test_every_preset_trains_in_the_other_dtypes(name: str, dtype: torch.dtype, device: str) -> None:
    for mask in small(name):
        check(cut(mask, 129), "triton", dtype, device)
