"""impl hopper under masks from lengths on a Hopper GPU: forward, backward, and graphs that are replayed with other lengths."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracles_attention import causal, random_qkv
from torch import Tensor

import compilemask
from compilemask.attention import DeviceMask, attention, choose_impl
from compilemask.descriptor import MaskDescriptor

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("needs a GPU of compute capability 9.0", allow_module_level=True)

pytestmark = pytest.mark.gpu
TOTAL = 700
STEPS: dict[str, list[dict[str, object]]] = {
    "causal": [{"length": 700}, {"length": 1}, {"length": 333}],
    "documents": [{"lengths": [100, 600, 0]}, {"lengths": [700, 0, 0]}, {"lengths": [129, 1, 300]}],
    "shared_prompt": [{"prompt": 300, "responses": [200, 200]}, {"prompt": 1, "responses": [0, 699]}, {"prompt": 140, "responses": [5, 90]}],
    "hstu_jagged": [
        {"context": [3, 40], "history": [400, 100], "targets": [100, 57]},
        {"context": [0, 300], "history": [0, 200], "targets": [200, 0]},
        {"context": [7, 1], "history": [1, 140], "targets": [0, 9]},
    ],
}  # fmt: skip
"""The first two without padding."""


def on_gpu(numbers: dict[str, object], dtype: torch.dtype = torch.int64) -> dict[str, Tensor]:
    return {name: torch.tensor(value, dtype=dtype, device="cuda") for name, value in numbers.items()}


def bound(family: str, numbers: dict[str, object], total: int = TOTAL) -> MaskDescriptor:
    names = {"length": "n"}
    program = compilemask.compile(compilemask.preset_source(family))
    return program.bind(**{names.get(name, name): value for name, value in numbers.items()}).pad_to(total, total)


def results(mask: DeviceMask | MaskDescriptor, qkv: list[Tensor], do: Tensor, **options: object) -> list[Tensor]:
    """o, lse, dq, dk, dv."""
    o, lse = attention(*qkv, mask, return_lse=True, **options)
    return [o.detach(), lse.detach(), *torch.autograd.grad(o, qkv, do)]


def close(found: list[Tensor], wanted: list[Tensor]) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a.isinf(), b.isinf())
        assert torch.allclose(a.float(), b.float(), rtol=2e-2, atol=2e-2), (a - b).abs().max()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128])
@pytest.mark.parametrize("family", STEPS)
def test_each_step_gives_what_the_bound_mask_gives(family: str, head_dim: int, padded: bool) -> None:
    steps = STEPS[family] if padded else [x for x in STEPS[family] if bound(family, x).unseen_keys == 0]
    sizes = {"num_q_heads": 4, "num_kv_heads": 2, "head_dim": head_dim, "dtype": torch.bfloat16, "device": "cuda"}
    qkv = [x.requires_grad_() for x in random_qkv(causal(TOTAL, TOTAL), batch=2, **sizes)]  # type: ignore[arg-type]
    do = torch.randn_like(qkv[0])
    mask = DeviceMask.from_lengths(family, TOTAL, padded=padded, **on_gpu(steps[0]))
    assert choose_impl(*qkv, mask=mask)[0] == "hopper"
    for deterministic in (False, True):
        # Both forms of the backward.
        torch.use_deterministic_algorithms(deterministic)
        for numbers in steps:
            mask.replan(**on_gpu(numbers, torch.int32))
            wanted = results(bound(family, numbers), qkv, do, impl="triton")
            close(results(mask, qkv, do), wanted)


def test_programs_of_many_unlike_items() -> None:
    """16 heads of 32 q tiles, four items a program, with many full tiles or none; one wrong item is an error of 4 % of the whole."""
    steps: list[dict[str, object]] = [
        {"context": [3, 900, 0, 5], "history": [2500, 0, 300, 40], "targets": [200, 50, 0, 98]},
        {"context": [0, 0, 16, 1], "history": [10, 4000, 0, 9], "targets": [0, 0, 60, 0]},
        {"context": [1, 1, 1, 1], "history": [1000, 1000, 1000, 1000], "targets": [23, 23, 23, 23]},
    ]
    sizes = {"num_q_heads": 16, "num_kv_heads": 16, "head_dim": 128, "dtype": torch.bfloat16, "device": "cuda"}
    qkv = [x.requires_grad_() for x in random_qkv(np.ones((4096, 4096), bool), **sizes)]  # type: ignore[arg-type]
    do = torch.randn_like(qkv[0])
    torch.use_deterministic_algorithms(False)
    mask = DeviceMask.from_lengths("hstu_jagged", 4096, **on_gpu(steps[0]))
    for numbers in steps:
        mask.replan(**on_gpu(numbers))
        wanted = results(bound("hstu_jagged", numbers, 4096), qkv, do, impl="triton")
        for a, b in zip(results(mask, qkv, do), wanted, strict=True):
            assert (a.float() - b.float()).norm() <= 1e-2 * b.float().norm()


def test_padding_may_hold_anything() -> None:
    sizes = {"num_q_heads": 2, "num_kv_heads": 2, "head_dim": 128, "dtype": torch.bfloat16, "device": "cuda"}
    qkv = list(random_qkv(causal(TOTAL, TOTAL), **sizes))  # type: ignore[arg-type]
    do = torch.randn_like(qkv[0])
    mask = DeviceMask.from_lengths("documents", TOTAL, lengths=torch.tensor([100, 500], device="cuda"))
    wanted = results(mask, [x.requires_grad_() for x in qkv], do)
    poisoned = [x.detach().clone() for x in qkv]
    for x in (*poisoned, do):
        x[:, :, 600:] = torch.nan
    close(results(mask, [x.requires_grad_() for x in poisoned], do), wanted)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("family", ["shared_prompt", "hstu_jagged"])
def test_a_replayed_graph_follows_the_lengths(family: str, deterministic: bool) -> None:
    torch.use_deterministic_algorithms(deterministic)
    sizes = {"num_q_heads": 4, "num_kv_heads": 2, "head_dim": 128, "dtype": torch.bfloat16, "device": "cuda"}
    qkv = [x.requires_grad_() for x in random_qkv(causal(TOTAL, TOTAL), **sizes)]  # type: ignore[arg-type]
    do = torch.randn_like(qkv[0])
    own = on_gpu(STEPS[family][0])
    mask = DeviceMask.from_lengths(family, TOTAL, **own)

    def step() -> list[Tensor]:
        mask.replan(**own)
        return results(mask, qkv, do, impl="hopper")

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for numbers in STEPS[family][::-1]:
        for name, value in on_gpu(numbers).items():
            own[name].copy_(value)
        graph.replay()
        close(captured, results(bound(family, numbers), qkv, do, impl="triton"))
