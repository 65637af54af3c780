"""Outputs of more than 2^31 elements, in sparse memory: the last head's rows are written where they belong, o and lse."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
import torch
from oracles_attention import causal, descriptor_of, random_qkv
from torch import Tensor

from compilemask.attention.mask_tensors import upload
from compilemask.attention.packed_tensors import upload_packed
from compilemask.attention.score_options import ScoreOptions
from compilemask.attention.triton import ForwardConfig, forward, interpreted, launch, packed_launch
from compilemask.descriptor import MaskDescriptor
from compilemask.geometry import rectangle
from compilemask.plan import plan_packed, plan_tiles

if not interpreted():
    pytest.skip("needs memory that is there only where it is touched", allow_module_level=True)

from triton.runtime.interpreter import GridExecutor, InterpreterBuilder

OPTIONS = ScoreOptions(0.3)
CONFIG = ForwardConfig(16, 32, 4, 1)
ROWS = 16
HEADS = (1 << 27) + 1
"""2^31 + 16 rows in all, of one number each."""
VISIBLE = causal(ROWS, ROWS)


def sparse(*shape: int, dtype: torch.dtype) -> Tensor:
    """Zeros of which only what is written takes memory, behind as many as an offset that wrapped around would lead back."""
    room, count, no_reserve = 1 << 32, int(np.prod(shape)), 0x4000
    memory = mmap.mmap(-1, (room + count) * dtype.itemsize, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    return torch.frombuffer(memory, dtype=dtype)[room:].view(shape)


def only_program(monkeypatch: pytest.MonkeyPatch, number: int, programs: int) -> None:
    """Of so many programs the interpreter runs this one, on the memory of the tensors themselves."""
    size, place = InterpreterBuilder.set_grid_dim, InterpreterBuilder.set_grid_idx
    monkeypatch.setattr(InterpreterBuilder, "set_grid_dim", lambda self, *_: size(self, programs, 1, 1))
    monkeypatch.setattr(InterpreterBuilder, "set_grid_idx", lambda self, *_: place(self, number, 0, 0))
    # It would copy whole storages onto themselves.
    monkeypatch.setattr(GridExecutor, "_restore_args_dev", lambda *_: None)
    monkeypatch.setattr(GridExecutor, "_init_args_hst", lambda _self, args, kwargs: (args, kwargs))


def write_into(
    run: launch.ForwardLaunch | packed_launch.PackedLaunch, o: Tensor, lse: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make o and lse what the next call writes."""
    for module in (launch, packed_launch):
        monkeypatch.setattr(module, "outputs", lambda *_: (o, lse))
    monkeypatch.setattr(run._launch, "_grid", (1, 1, 1))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("items", [1, HEADS])
def test_the_last_of_very_many_heads_is_written(items: int, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All heads are one in memory."""
    near = random_qkv(VISIBLE, num_q_heads=1, head_dim=4, v_head_dim=1, dtype=torch.float16)
    heads = HEADS // items
    q, k, v = (x.expand(items, heads, -1, -1) for x in near)
    o, lse = sparse(items, heads, ROWS, 1, dtype=torch.float16), sparse(items, heads, ROWS, dtype=torch.float32)
    assert lse.numel() > 1 << 31
    mask, seen = descriptor_of(VISIBLE), VISIBLE.any(0)
    rows = upload(plan_tiles(mask, 16, 32), seen, o.device)
    wanted = forward(*near, rows, OPTIONS, CONFIG)
    if packed:
        tensors = upload_packed(plan_packed(mask, 16, 32, 8), seen, o.device)
        run = packed_launch.PackedLaunch(q, k, v, tensors, OPTIONS, CONFIG)
    else:
        run = launch.ForwardLaunch(q, k, v, rows, OPTIONS, CONFIG)  # type: ignore[assignment]
    assert run._launch._grid == (HEADS, 1, 1)
    write_into(run, o, lse, monkeypatch)
    only_program(monkeypatch, HEADS - 1, HEADS)
    run(q, k, v)
    assert torch.equal(o[-1, -1], wanted[0][0, 0])
    assert torch.equal(lse[-1, -1], wanted[1][0, 0])
    assert not o[0, 0].any() and not lse[0, 0].any()


def test_the_last_of_very_many_rows_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^23 + 64 rows of 256 numbers, all of them one in memory."""
    length = (1 << 23) + 64
    near = random_qkv(np.ones((1, 32), bool), num_q_heads=1, head_dim=4, v_head_dim=256, dtype=torch.float16)
    q = near[0].expand(-1, -1, length, -1)
    cells = rectangle(0, length, 0, 32)
    config = ForwardConfig(64, 32, 4, 1)
    rows = upload(plan_tiles(MaskDescriptor.from_runs(length, 32, cells), 64, 32), np.ones(32, bool), q.device)
    o, lse = sparse(1, 1, length, 256, dtype=torch.float16), sparse(1, 1, length, dtype=torch.float32)
    assert o.numel() > 1 << 31
    run = launch.ForwardLaunch(q, *near[1:], rows, OPTIONS, config)
    last = len(rows.tile_order) - 1
    number = int((rows.tile_order == last).nonzero())
    write_into(run, o, lse, monkeypatch)
    only_program(monkeypatch, number, last + 1)
    run(q, *near[1:])
    scores = near[0].float() @ near[1].float().mT * OPTIONS.sm_scale
    assert torch.allclose(o[0, 0, -64:].float(), (torch.softmax(scores, -1) @ near[2].float())[0, 0], atol=2e-3)
    assert torch.allclose(lse[0, 0, -64:], torch.logsumexp(scores, -1)[0, 0], atol=1e-5)
    assert not o[0, 0, 0].any() and not o[0, 0, -65].any()
