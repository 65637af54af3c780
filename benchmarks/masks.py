"""Masks of the benchmark tables: a preset with its numbers, and the same mask as a FlexAttention user would write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import compilemask

MaskMod = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class BenchmarkMask:
    """values(length): the preset's parameters; mask_mod(length, device): the predicate for create_block_mask."""

    preset: str
    values: Callable[[int], dict[str, object]]
    mask_mod: Callable[[int, torch.device], MaskMod]

    def descriptor(self, length: int) -> compilemask.MaskDescriptor:
        program = compilemask.compile(compilemask.preset_source(self.preset))
        return program.bind(**self.values(length))


def _causal(_length: int, _device: torch.device) -> MaskMod:
    return lambda _b, _h, q, k: q >= k


def _hstu(length: int, _device: torch.device) -> MaskMod:
    history = length - length // 4
    return lambda _b, _h, q, k: ((q >= k) & (k < history)) | (q == k)


def _shared_prompt(length: int, device: torch.device) -> MaskMod:
    prompt, response = length // 4, length // 16
    part = torch.clamp((torch.arange(length, device=device) - prompt).div(response, rounding_mode="floor"), min=-1)
    return lambda _b, _h, q, k: (q >= k) & ((k < prompt) | (part[q] == part[k]))


def _clear(length: int, _device: torch.device) -> MaskMod:
    _, width = _image(length)

    def near(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        dy = (q - 512) // width - (k - 512) // width
        dx = (q - 512) % width - (k - 512) % width
        return (q < 512) | (k < 512) | (dy * dy + dx * dx < 256)

    return near


def _image(length: int) -> tuple[int, int]:
    """Height and width of an image of length - 512 tokens, near a square, the width a power of two."""
    tokens = length - 512
    width = 1 << (int(tokens**0.5).bit_length() - 1)
    return tokens // width, width


MASKS = {
    "causal": BenchmarkMask("causal", lambda n: {"n": n}, _causal),
    "hstu": BenchmarkMask("hstu", lambda n: {"context": 0, "history": n - n // 4, "targets": n // 4}, _hstu),
    "shared_prompt": BenchmarkMask(
        "shared_prompt", lambda n: {"prompt": n // 4, "responses": [n // 16] * 12}, _shared_prompt
    ),
    "clear": BenchmarkMask(
        "clear", lambda n: {"text": 512, "height": _image(n)[0], "width": _image(n)[1], "radius": 16}, _clear
    ),
}
