"""Masks of the benchmark tables: a preset with its numbers, and, for some, the same mask as a FlexAttention user would write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import compilemask
from benchmarks.preset_sizes import SIZES, Values, parts
from compilemask.bench.flex_peers import MaskMod
from compilemask.bench.protocol import Activation

MaskModOf = Callable[[Values, torch.device], MaskMod]


@dataclass(frozen=True, slots=True)
class BenchmarkMask:
    """values(length): the preset's parameters; predicate(values, device): for create_block_mask, None to make it from the descriptor."""

    preset: str
    values: Callable[[int], Values]
    predicate: MaskModOf | None = None
    activation: Activation = "softmax"

    def descriptor(self, length: int) -> compilemask.MaskDescriptor:
        program = compilemask.compile(compilemask.preset_source(self.preset))
        mask = program.bind(**self.values(length))
        return mask.masks[0] if isinstance(mask, compilemask.MaskBatch) else mask

    def mask_mod(self, length: int, device: torch.device) -> MaskMod | None:
        return None if self.predicate is None else self.predicate(self.values(length), device)


def _causal(_values: Values, _device: torch.device) -> MaskMod:
    return lambda _b, _h, q, k: q >= k


def _full(_values: Values, _device: torch.device) -> MaskMod:
    return lambda _b, _h, q, k: (q >= 0) & (k >= 0)


def _sliding(values: Values, _device: torch.device) -> MaskMod:
    window = _int(values, "window")
    return lambda _b, _h, q, k: (q >= k) & (q - k < window)


def _documents(values: Values, device: torch.device) -> MaskMod:
    number = _numbers(_list(values, "lengths"), device)
    return lambda _b, _h, q, k: (number[q] == number[k]) & (q >= k)


def _prefix_lm(values: Values, device: torch.device) -> MaskMod:
    prefix, rest = torch.tensor(_list(values, "prefix")), torch.tensor(_list(values, "rest"))
    lengths = prefix + rest
    number = _numbers(lengths.tolist(), device)
    ends = (lengths.cumsum(0) - rest).to(device)[number]
    return lambda _b, _h, q, k: (number[q] == number[k]) & ((q >= k) | (k < ends[q]))


def _hstu(values: Values, _device: torch.device) -> MaskMod:
    history = _int(values, "history")
    return lambda _b, _h, q, k: ((q >= k) & (k < history)) | (q == k)


def _shared_prompt(values: Values, device: torch.device) -> MaskMod:
    prompt = _int(values, "prompt")
    part = _numbers([prompt, *_list(values, "responses")], device)
    return lambda _b, _h, q, k: (q >= k) & ((k < prompt) | (part[q] == part[k]))


def _clear(values: Values, _device: torch.device) -> MaskMod:
    text, width, radius = (_int(values, name) for name in ("text", "width", "radius"))

    def near(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        dy = (q - text) // width - (k - text) // width
        dx = (q - text) % width - (k - text) % width
        return (q < text) | (k < text) | (dy * dy + dx * dx < radius * radius)

    return near


def _natten(values: Values, _device: torch.device) -> MaskMod:
    height, width = _int(values, "height"), _int(values, "width")
    (rows, columns) = (reach // 2 for reach in _list(values, "kernel"))

    def near(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        y = torch.clamp(q // width, rows, height - 1 - rows)
        x = torch.clamp(q % width, columns, width - 1 - columns)
        return ((y - k // width).abs() <= rows) & ((x - k % width).abs() <= columns)

    return near


def _int(values: Values, name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def _list(values: Values, name: str) -> list[int]:
    value = values[name]
    assert isinstance(value, list)
    return value


def _numbers(lengths: list[int], device: torch.device) -> Tensor:
    """For each token the number of its stretch."""
    return torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(device)


SHORT_DOCUMENTS = (0.5, 1.5, 1, 0.25, 2, 0.75, 1, 1)
"""Lengths of 8 documents among 2,048 tokens, in units of their mean."""
MASKS = {
    "causal": BenchmarkMask("causal", SIZES["causal"], _causal),
    "full": BenchmarkMask("document_full", lambda n: {"lengths": [n]}, _full),
    "sliding": BenchmarkMask("sliding_window", lambda n: {"n": n, "window": min(1024, n // 2)}, _sliding),
    "documents": BenchmarkMask("documents", SIZES["documents"], _documents),
    "short_documents": BenchmarkMask(
        "documents", lambda n: {"lengths": parts(n, SHORT_DOCUMENTS * max(1, n // 2048))}, _documents
    ),
    "prefix_lm": BenchmarkMask("prefix_lm", SIZES["prefix_lm"], _prefix_lm),
    "hstu": BenchmarkMask("hstu", SIZES["hstu"], _hstu),
    "hstu_silu": BenchmarkMask("hstu", SIZES["hstu"], _hstu, "silu"),
    "shared_prompt": BenchmarkMask("shared_prompt", SIZES["shared_prompt"], _shared_prompt),
    "clear": BenchmarkMask("clear", SIZES["clear"], _clear),
    "natten": BenchmarkMask("natten_2d", SIZES["natten_2d"], _natten),
}
"""The workloads of the tables, with predicates in closed form."""


def preset_masks() -> dict[str, BenchmarkMask]:
    """Every preset that can be scaled to a length, by its name; those of MASKS keep their predicates."""
    known = {mask.preset: mask.predicate for name, mask in MASKS.items() if name != "full"}
    return {
        name: BenchmarkMask(name, SIZES[name], known.get(name)) for name in compilemask.preset_names() if name in SIZES
    }
