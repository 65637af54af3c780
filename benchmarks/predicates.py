"""Masks of the benchmark tables as a FlexAttention user would write them: closed forms, from the numbers of their presets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.preset_sizes import Values
from compilemask.bench.flex_peers import MaskMod


def causal(_values: Values, _device: torch.device) -> MaskMod:
    return lambda _b, _h, q, k: q >= k


def full(_values: Values, _device: torch.device) -> MaskMod:
    return lambda _b, _h, q, k: (q >= 0) & (k >= 0)


def sliding(values: Values, _device: torch.device) -> MaskMod:
    window = _int(values, "window")
    return lambda _b, _h, q, k: (q >= k) & (q - k < window)


def documents(values: Values, device: torch.device) -> MaskMod:
    number = _numbers(_list(values, "lengths"), device)
    return lambda _b, _h, q, k: (number[q] == number[k]) & (q >= k)


def prefix_lm(values: Values, device: torch.device) -> MaskMod:
    prefix, rest = torch.tensor(_list(values, "prefix")), torch.tensor(_list(values, "rest"))
    lengths = prefix + rest
    number = _numbers(lengths.tolist(), device)
    ends = (lengths.cumsum(0) - rest).to(device)[number]
    return lambda _b, _h, q, k: (number[q] == number[k]) & ((q >= k) | (k < ends[q]))


def hstu(values: Values, _device: torch.device) -> MaskMod:
    history = _int(values, "history")
    return lambda _b, _h, q, k: ((q >= k) & (k < history)) | (q == k)


def shared_prompt(values: Values, device: torch.device) -> MaskMod:
    prompt = _int(values, "prompt")
    part = _numbers([prompt, *_list(values, "responses")], device)
    return lambda _b, _h, q, k: (q >= k) & ((k < prompt) | (part[q] == part[k]))


def clear(values: Values, _device: torch.device) -> MaskMod:
    text, width, radius = (_int(values, name) for name in ("text", "width", "radius"))

    def near(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        dy = (q - text) // width - (k - text) // width
        dx = (q - text) % width - (k - text) % width
        return (q < text) | (k < text) | (dy * dy + dx * dx < radius * radius)

    return near


def natten(values: Values, _device: torch.device) -> MaskMod:
    height, width = _int(values, "height"), _int(values, "width")
    (rows, columns) = (reach // 2 for reach in _list(values, "kernel"))

    def near(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        y = torch.clamp(q // width, rows, height - 1 - rows)
        x = torch.clamp(q % width, columns, width - 1 - columns)
        return ((y - k // width).abs() <= rows) & ((x - k % width).abs() <= columns)

    return near


def natten_3d(values: Values, _device: torch.device) -> MaskMod:
    """Causal in frames, so that the first frames see fewer; rows and columns as in two dimensions."""
    height, width = _int(values, "height"), _int(values, "width")
    frames, tall, wide = _list(values, "kernel")
    rows, columns, area = tall // 2, wide // 2, height * width

    def near(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        z = q // area - k // area
        y = torch.clamp(q % area // width, rows, height - 1 - rows)
        x = torch.clamp(q % width, columns, width - 1 - columns)
        inside = ((y - k % area // width).abs() <= rows) & ((x - k % width).abs() <= columns)
        return (z >= 0) & (z < frames) & inside

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
