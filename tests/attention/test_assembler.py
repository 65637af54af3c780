"""Kernels keep clear of what an old assembler gets wrong, and of nothing else."""

from __future__ import annotations

import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv, scattered

from compilemask.attention import attention, reference
from compilemask.attention.mask_tensors import MaskTensors, upload
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.tile_masks import MIN_GAPS
from compilemask.attention.triton import assembler
from compilemask.plan import plan_tiles

CUDA = torch.device("cuda", 0)


def tensors(visible) -> MaskTensors:  # type: ignore[no-untyped-def]
    return upload(plan_tiles(descriptor_of(visible), 64, 64), visible.any(0), torch.device("cpu"))


MANY_GAPS, NO_GAPS = tensors(scattered(70, 90, seed=1)), tensors(causal(70, 90))


@pytest.mark.parametrize(
    ("mask", "capability", "version", "stages"),
    [
        (MANY_GAPS, (9, 0), (12, 8), 1),
        (MANY_GAPS, (9, 0), (0, 0), 1),
        (MANY_GAPS, (9, 0), (12, 9), 3),
        (MANY_GAPS, (9, 0), (13, 0), 3),
        (MANY_GAPS, (8, 0), (12, 8), 3),
        (MANY_GAPS, (10, 0), (12, 8), 3),
        (NO_GAPS, (9, 0), (12, 8), 3),
    ],
)
def test_only_loops_over_gaps_on_hopper_by_an_old_assembler_lose_their_stages(
    mask: MaskTensors,
    capability: tuple[int, int],
    version: tuple[int, int],
    stages: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert MANY_GAPS.max_gaps > MIN_GAPS
    assert NO_GAPS.max_gaps == 0
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: capability)
    monkeypatch.setattr(assembler, "assembler_version", lambda: version)
    assert assembler.sound_stages(3, mask, CUDA) == stages
    assert assembler.sound_stages(3, mask, torch.device("cpu")) == 3


def test_the_version_is_that_of_the_program_that_triton_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from triton.backends.nvidia import compiler

    assembler.assembler_version.cache_clear()
    assert assembler.assembler_version() >= (12, 0)
    for text, version in (("release 12.8, V12.8.93", (12, 8)), ("release 13.0, V13.0.88", (13, 0)), ("what", (0, 0))):
        monkeypatch.setattr(compiler, "get_ptxas_version", lambda _capability, text=text: text)
        assembler.assembler_version.cache_clear()
        assert assembler.assembler_version() == version
    assembler.assembler_version.cache_clear()


@pytest.mark.gpu
@pytest.mark.parametrize("dims", [(16, 24), (16, 17), (24, 24), (72, 72), (64, 64), (64, 72), (128, 128)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_rows_of_many_gaps_have_dense_gradients_on_the_gpu(dims: tuple[int, int], dtype: torch.dtype) -> None:
    visible = scattered(200, 230, seed=5)
    mask = descriptor_of(visible)
    inputs = random_qkv(
        visible, num_q_heads=4, num_kv_heads=2, head_dim=dims[0], v_head_dim=dims[1], dtype=dtype, device="cuda"
    )
    exact = [x.double().requires_grad_() for x in inputs]
    own = [x.requires_grad_() for x in inputs]
    o = attention(*own, mask, impl="triton")
    do = torch.randn_like(o)
    right_o, _ = reference.forward(*exact, mask, ScoreOptions(dims[0] ** -0.5))
    right = torch.autograd.grad(right_o, exact, do.double())
    step = torch.finfo(dtype).eps
    found = zip((o, *torch.autograd.grad(o, own, do)), (right_o, *right), strict=True)
    assert all((a.double() - b).abs().max() <= 2 * step * b.abs().max() for a, b in found)
