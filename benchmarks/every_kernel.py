"""Calls every kernel of this project at small sizes, group by group: what a memory or race checker watches.

    python3 benchmarks/every_kernel.py                  # all groups; fills the compiler's cache
    compute-sanitizer --error-exitcode 9 python3 benchmarks/every_kernel.py triton_forward

benchmarks/sanitizer.py does that for all groups. Each result is compared with dense attention in float64 on the CPU; exit code 1 when
one is wrong, 2 without a CUDA device.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

import compilemask
from compilemask.attention import DeviceMask, Impl, attention, gradients, reference
from compilemask.attention.dense_mask import seen_keys
from compilemask.attention.reordered_tensors import upload_order
from compilemask.attention.score_options import ScoreOptions
from compilemask.bench.case import default_device
from compilemask.descriptor import MaskBatch, MaskDescriptor
from compilemask.plan import PatchedGrid, infer_structure, plan_packed, reorder

ROOM = Path(__file__).parents[1] / "compilemask" / "attention"
Q_HEADS, KV_HEADS = 4, 2
LARGEST_ERROR = 2e-2
PROGRAMS = 3
"""Of the Hopper forward: on a whole GPU each would have one item of such small calls, and none to go on to."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of attention: preset with values, sizes, and what is particular. heads_apart: every second head has a causal mask."""

    preset: str
    values: dict[str, object]
    head_dim: int
    dtype: torch.dtype = torch.bfloat16
    strided: bool = False
    padding: int = 0
    heads_apart: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [
            self.preset,
            f"head_dim {self.head_dim}",
            str(self.dtype).removeprefix("torch."),
            *map(str, self.options),
        ]
        told = {"strided": self.strided, "padded": self.padding, "a mask of its own for each head": self.heads_apart}
        return ", ".join([*words, *(word for word, holds in told.items() if holds)])


@dataclass(frozen=True, slots=True)
class Group:
    """Calls whose kernels are these, by the names that a checker knows. No calls: masks that are planned on the device.

    packed: over packed tiles, reordered: over reordered queries and keys, which the planner would not choose for so small a mask.
    """

    kernels: tuple[str, ...]
    impl: Impl = "triton"
    calls: tuple[Call, ...] = ()
    backward: bool = False
    deterministic: bool = False
    packed: bool = False
    reordered: bool = False


DOCUMENTS: dict[str, object] = {"lengths": [100, 1, 129, 60]}
CLEAR: dict[str, object] = {"text": 32, "height": 16, "width": 16, "radius": 4}
CAUSAL: dict[str, object] = {"n": 290}
ROWS = (
    Call("causal", CAUSAL, 64),
    Call("documents", DOCUMENTS, 128, padding=7),
    Call("documents", DOCUMENTS, 64, heads_apart=True),
)
STRIDED = Call("documents", DOCUMENTS, 64, strided=True)
ODD = Call("documents", DOCUMENTS, 72, torch.float16)
SCORES = (
    Call("causal", CAUSAL, 128, options={"softcap": 3.0}),
    Call("causal", CAUSAL, 64, options={"activation": "silu"}),
)
SINGLE = Call("documents", {"lengths": [70, 1, 59]}, 64, torch.float32, padding=3)
PACKED = (Call("clear", CLEAR, 64), Call("clear", CLEAR, 128))
GRADIENT, TERMS = "attention_backward_kernel", "row_terms_kernel"
FUSED = (GRADIENT, TERMS, "convert_kernel")
COPIES = ("copy_rows_kernel", "reorder_terms_kernel")

GROUPS = {
    "triton_forward": Group(("attention_forward_kernel",), calls=(*ROWS, STRIDED, ODD)),
    "triton_forward_scores": Group(("attention_forward_kernel",), calls=(*SCORES, SINGLE)),
    "triton_packed": Group(("packed_forward_kernel",), calls=PACKED, packed=True),
    "triton_backward": Group((GRADIENT, TERMS), calls=ROWS, backward=True),
    "triton_backward_strided": Group((GRADIENT, TERMS), calls=(STRIDED, ODD), backward=True),
    "triton_backward_scores": Group((GRADIENT, TERMS), calls=SCORES, backward=True),
    "triton_backward_float32": Group((GRADIENT, TERMS, "row_sums_kernel"), calls=(SINGLE,), backward=True),
    "triton_reordered": Group((GRADIENT, TERMS, *COPIES), calls=PACKED, backward=True, reordered=True),
    "replan": Group(("sides_kernel", "fill_kernel", "attention_forward_kernel")),
    "hopper_forward": Group(("hopper_forward_kernel",), "hopper", (*ROWS, ODD)),
    "hopper_forward_scores": Group(("hopper_forward_kernel",), "hopper", SCORES),
    "hopper_packed": Group(("hopper_forward_kernel",), "hopper", PACKED, packed=True),
    # One call each: compiling them takes longest.
    "hopper_fused_64": Group(FUSED, "hopper", ROWS[:1], backward=True),
    "hopper_fused_128": Group(FUSED, "hopper", ROWS[1:2], backward=True),
    "hopper_fused_softcap": Group(FUSED, "hopper", SCORES[:1], backward=True),
    "hopper_fused_silu": Group((GRADIENT, "convert_kernel"), "hopper", SCORES[1:], backward=True),
    "hopper_reordered_64": Group((GRADIENT, TERMS, *COPIES), "hopper", PACKED[:1], backward=True, reordered=True),
    "hopper_reordered_128": Group((GRADIENT, TERMS, *COPIES), "hopper", PACKED[1:], backward=True, reordered=True),
    "hopper_deterministic_64": Group((GRADIENT, TERMS), "hopper", ROWS[:1], backward=True, deterministic=True),
    "hopper_deterministic_128": Group((GRADIENT, TERMS), "hopper", ROWS[1:2], backward=True, deterministic=True),
}
"""By name."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", choices=[[], *GROUPS], help=", ".join(GROUPS))
    names: Sequence[str] = parser.parse_args().groups or tuple(GROUPS)
    device = default_device()
    if device.type != "cuda":
        print("no CUDA device here", file=sys.stderr)
        return 2
    if any(GROUPS[name].impl == "hopper" for name in names):
        from compilemask.attention.hopper import launch

        launch._multiprocessors = lambda _device: PROGRAMS  # type: ignore[assignment]
    wrong = 0
    for name in names:
        for told, error in group_errors(GROUPS[name], device):
            wrong += not error < LARGEST_ERROR
            print(f"{name}: {told}: largest error {error:.1e} of the largest value", flush=True)
        for kernel in not_run(GROUPS[name], device):
            wrong += 1
            print(f"{name}: {kernel} has not run", flush=True)
    return 1 if wrong else 0


def not_run(group: Group, device: torch.device) -> list[str]:
    """The group's kernels that this process has not launched on a CUDA device."""
    known = kernels()
    return [
        name
        for name in group.kernels
        if not any(kernel.device_caches.get(device.index, [()])[0] for kernel in known[name])
    ]


def kernels() -> dict[str, list[Any]]:
    """The kernels of compilemask.attention by name; those of "triton" and "hopper" may share one."""
    found: dict[str, list[Any]] = {}
    for path in sorted(ROOM.rglob("*.py")):
        if "_kernel(" not in path.read_text(encoding="utf-8"):
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOM.parents[1]).with_suffix("").parts))
        for name, value in vars(module).items():
            if name.endswith("_kernel") and getattr(getattr(value, "fn", None), "__module__", "") == module.__name__:
                found.setdefault(name, []).append(value)
    return found


def group_errors(group: Group, device: torch.device) -> Iterator[tuple[str, float]]:
    """(what was called, the largest error of o and of the gradients where there are any) of each call."""
    for call in group.calls:
        yield str(call), _error(group, call, device)
    if not group.calls:
        yield "causal", _replanned("causal", {"length": torch.tensor(200, device=device)})
        yield "documents", _replanned("documents", {"lengths": torch.tensor([90, 110], device=device)})


def _error(group: Group, call: Call, device: torch.device) -> float:
    mask = _mask(call)
    inputs = _inputs(call, mask.q_len)
    exact = [x.double().requires_grad_(group.backward) for x in inputs]
    leaves = [_placed(x, device).requires_grad_(group.backward) for x in inputs]
    options = ScoreOptions(call.head_dim**-0.5, **call.options)
    right = [_reference(exact, mask, options)]
    q, k, v = leaves
    if group.packed and isinstance(mask, MaskDescriptor):
        found = [_over_packed_tiles(group.impl, q, k, v, mask, options)]
    else:
        found = [attention(q, k, v, mask, impl=group.impl, deterministic=group.deterministic, **call.options)]
    if group.backward:
        do = torch.randn(right[0].shape, generator=torch.Generator().manual_seed(1)).to(call.dtype)
        right += torch.autograd.grad(right[0], exact, do.double())
        if group.reordered and isinstance(mask, MaskDescriptor):
            found += _over_order(group, leaves, mask, do.to(device), options)
        else:
            found += torch.autograd.grad(found[0], leaves, do.to(device))
    errors = [
        (a.cpu().double() - b).detach().abs().max() / b.detach().abs().max() for a, b in zip(found, right, strict=True)
    ]
    return float(max(errors))


def _over_packed_tiles(
    impl: Impl, q: Tensor, k: Tensor, v: Tensor, mask: MaskDescriptor, options: ScoreOptions
) -> Tensor:
    if impl == "triton":
        from compilemask.attention import triton

        return triton.packed_route(q, v, mask).run(q, k, v, options)[0]
    from compilemask.attention import hopper

    config = hopper.FORWARD_CONFIGS[q.shape[3]][0]
    plan = plan_packed(mask, config.block_m, config.block_n, 16)
    work = hopper.upload_work(hopper.packed_work(plan), seen_keys(mask), q.device)
    return hopper.run(q, k, v, work, options, config)[0]


def _over_order(
    group: Group, leaves: Sequence[Tensor], mask: MaskDescriptor, do: Tensor, options: ScoreOptions
) -> list[Tensor]:
    """dq, dk and dv over queries and keys in patches."""
    q, k, v = (x.detach() for x in leaves)
    grids = [PatchedGrid(grid, (8, 8)) for grid in infer_structure(mask)]
    order = upload_order(reorder(mask, grids, grids), mask, q.device)
    o, lse = attention(q, k, v, mask, impl=group.impl, return_lse=True)
    if group.impl == "hopper":
        from compilemask.attention.hopper.reordered import over_order

        backward = over_order(q, order, options, (True, True, True), fused=True)
    else:
        backward = gradients.over_order(q, k, v, order, options, (True, True, True))
    return [x for x in backward(q, k, v, o, lse, do, None) if x is not None]


def _mask(call: Call) -> MaskDescriptor | MaskBatch:
    mask = compilemask.compile(compilemask.preset_source(call.preset)).bind(**call.values)
    assert isinstance(mask, MaskDescriptor)
    if call.padding:
        mask = mask.pad_to(mask.q_len + call.padding, mask.kv_len + call.padding)
    if not call.heads_apart:
        return mask
    causal = compilemask.compile(compilemask.preset_source("causal")).bind(n=mask.q_len)
    assert isinstance(causal, MaskDescriptor)
    return MaskBatch.of([[mask, causal] * (Q_HEADS // 2)])


def _reference(qkv: Sequence[Tensor], mask: MaskDescriptor | MaskBatch, options: ScoreOptions) -> Tensor:
    """o, head by head."""
    q, k, v = qkv
    heads = []
    for head in range(Q_HEADS):
        own = mask.mask(0, head) if isinstance(mask, MaskBatch) else mask
        kv = slice(head // (Q_HEADS // KV_HEADS), head // (Q_HEADS // KV_HEADS) + 1)
        heads.append(reference.forward(q[:, head : head + 1], k[:, kv], v[:, kv], own, options)[0])
    return torch.cat(heads, 1)


def _inputs(call: Call, length: int) -> list[Tensor]:
    """q, k and v on the CPU; where strided, views of one fused tensor that no tensor map can address."""
    generator = torch.Generator().manual_seed(0)
    fused = torch.randn(1, length, Q_HEADS + 2 * KV_HEADS, call.head_dim + 1, generator=generator).to(call.dtype)
    views = torch.split(fused[..., 1:].transpose(1, 2), [Q_HEADS, KV_HEADS, KV_HEADS], 1)
    return [x if call.strided else x.contiguous() for x in views]


def _placed(x: Tensor, device: torch.device) -> Tensor:
    """x on the device, with its strides."""
    made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device)
    return made.copy_(x)


def _replanned(family: str, lengths: dict[str, Tensor]) -> float:
    """The largest error of attention under a mask that was planned on the device."""
    mask = DeviceMask.from_lengths(family, 200, padded=True, **lengths)
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 200, 64, generator=generator).bfloat16() for _ in range(3))
    own = [x.to(mask.device) for x in (q, k, v)]
    attention(own[0], own[1], own[2], mask, impl="triton")
    mask.replan(**lengths)
    o = attention(own[0], own[1], own[2], mask, impl="triton").cpu()
    wanted, _ = reference.forward(q.double(), k.double(), v.double(), mask.descriptor(), ScoreOptions(64**-0.5))
    return float((o.double() - wanted).abs().max() / wanted.abs().max())


if __name__ == "__main__":
    sys.exit(main())
