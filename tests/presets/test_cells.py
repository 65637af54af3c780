"""The presets beyond the core ten see exactly the cells of their published definitions, written here cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from language_programs import CORE
from more_presets import MORE

from compilemask.compiler import compile
from compilemask.presets import preset_names, preset_source

Cells = Any


def grid(q_len: int, kv_len: int | None = None) -> tuple[Cells, Cells]:
    """Column of query positions, row of key positions."""
    return np.arange(q_len)[:, None], np.arange(q_len if kv_len is None else kv_len)[None, :]


def labels(lengths: list[int]) -> Cells:
    """For each token the number of its segment."""
    return np.repeat(np.arange(len(lengths)), lengths)


def sliding_window(n: int, window: int) -> Cells:
    q, k = grid(n)
    return (q - window < k) & (k <= q)


def local_window(n: int, left: int, right: int) -> Cells:
    q, k = grid(n)
    return (k >= q - left) & (k <= q + right)


def left_padded(padding: int, n: int) -> Cells:
    q, k = grid(padding + n)
    return (padding <= k) & (k <= q)


def llama4_chunked(n: int, chunk: int, padding: int = 0) -> Cells:
    q, k = grid(padding + n)
    return (padding <= k) & (k <= q) & (k >= q - (q - padding) % chunk)


def longformer(globals: int, n: int, window: int) -> Cells:
    q, k = grid(globals + n)
    return (q < globals) | (k < globals) | (np.abs(q - k) <= window)


def strided(n: int, stride: int, merged: bool = True) -> Cells:
    q, k = grid(n)
    return (k <= q) & ((merged & (q - k < stride)) | ((q - k) % stride == 0))


def in_context(shots: list[int], question: int, padding: int = 0) -> Cells:
    size = sum(shots) + question + padding
    q, k = grid(size)
    shot = np.full(size, -1)
    shot[: sum(shots)] = labels(shots)
    end = sum(shots) + question
    return (k <= q) & (q < end) & ((shot[:, None] == shot[None, :]) | (q >= sum(shots)))


def gemma3_image(text: list[int], image: list[int], window: int) -> Cells:
    kind = np.concatenate([[-1] * t + [number] * i for number, (t, i) in enumerate(zip(text, image, strict=True))])
    q, k = grid(len(kind))
    same_image = (kind[:, None] == kind[None, :]) & (kind[:, None] >= 0)
    return ((k <= q) & (q - k < window)) | same_image


def pi0(cameras: list[int], instruction: int, absent: int = 0, state: int = 1, actions: int = 50) -> Cells:
    block = np.array([0] * sum(cameras) + [9] * absent + [0] * instruction + [1] * state + [2] * actions)
    return (block[None, :] <= block[:, None]) & (block[:, None] < 9) & (block[None, :] < 9)


def var_scales(sizes: list[int]) -> Cells:
    scale = labels([side * side for side in sizes])
    return scale[None, :] <= scale[:, None]


def video_teacher_forcing(chunks: int, tokens_per_chunk: int) -> Cells:
    half = chunks * tokens_per_chunk
    q, k = grid(2 * half)
    q_chunk, k_chunk = q % half // tokens_per_chunk, k % half // tokens_per_chunk
    clean = (q < half) & (k < half) & (k_chunk <= q_chunk)
    noisy = (q >= half) & np.where(k < half, k_chunk < q_chunk, k_chunk == q_chunk)
    return clean | noisy


def jagged_cross(queries_of: list[int], keys_of: list[int], both_ways: bool = False) -> Cells:
    cells = np.zeros((sum(queries_of), sum(keys_of)), bool)
    row = column = 0
    for queries, keys in zip(queries_of, keys_of, strict=True):
        for number in range(queries):
            visible = keys if both_ways else max(0, keys - queries + number + 1)
            cells[row + number, column : column + visible] = True
        row, column = row + queries, column + keys
    return cells


def compressed_blocks(n: int, block: int) -> Cells:
    q, k = grid(n, n // block)
    return k < (q + 1) // block


def dflash(context: int, anchors: list[int], size: int) -> Cells:
    q, k = grid(len(anchors) * size, context + len(anchors) * size)
    anchor = np.array(anchors)[q // size]
    own = (k >= context) & ((k - context) // size == q // size) & (anchor >= 0)
    return own | (k < np.minimum(context, anchor))


def neighborhood(height: int, width: int, radius: int) -> Cells:
    def window(length: int) -> Cells:
        cells = np.zeros((length, length), bool)
        for place in range(length):
            start = min(max(place - radius, 0), length - 2 * radius - 1)
            cells[place, start : start + 2 * radius + 1] = True
        return cells

    return np.kron(window(height), np.ones((width, width), bool)) & np.tile(window(width), (height, height))


def clear_pooled(text: int, height: int, width: int, radius: int, pool: int) -> Cells:
    pixels, pooled = height * width, (height // pool) * (width // pool)
    q, k = grid(text + pixels, text + pixels + pooled)
    dy = (q - text) // width - (k - text) // width
    dx = (q - text) % width - (k - text) % width
    near = (q >= text) & (k >= text) & (dy**2 + dx**2 < radius**2)
    return np.where(k >= text + pixels, q >= text, (q < text) | (k < text) | near)


DEFINITIONS: dict[str, tuple[Callable[..., Cells], Any]] = {
    **MORE,
    "sliding_window": (sliding_window, [{"n": 7, "window": 1}, {"n": 5, "window": 50}]),
    "local_window": (local_window, [{"n": 9, "left": 0, "right": 3}, {"n": 9, "left": 2, "right": -1}]),
    "left_padded": (left_padded, [{"padding": 3, "n": 5}, {"padding": 0, "n": 4}]),
    "llama4_chunked": (
        llama4_chunked,
        [{"n": 11, "chunk": 4}, {"n": 3, "chunk": 8}, {"n": 11, "chunk": 4, "padding": 3}],
    ),
    "longformer": (longformer, [{"globals": 0, "n": 9, "window": 2}, {"globals": 3, "n": 5, "window": 0}]),
    "strided": (strided, [{"n": 17, "stride": 5}, {"n": 9, "stride": 1}, {"n": 17, "stride": 4, "merged": False}]),
    "in_context": (in_context, [{"shots": [3, 0, 2], "question": 4, "padding": 2}, {"shots": [], "question": 3}]),
    "gemma3_image": (gemma3_image, [{"text": [0, 3], "image": [4, 2], "window": 2}]),
    "pi0": (pi0, [{"cameras": [3, 2], "instruction": 4, "absent": 2, "state": 2, "actions": 3}]),
    "var_scales": (var_scales, [{"sizes": [1, 2, 3]}, {"sizes": [2]}]),
    "video_teacher_forcing": (
        video_teacher_forcing,
        [{"chunks": 3, "tokens_per_chunk": 2}, {"chunks": 1, "tokens_per_chunk": 5}],
    ),
    "jagged_cross": (
        jagged_cross,
        [
            {"queries_of": [2, 0, 3, 4], "keys_of": [5, 2, 3, 1]},
            {"queries_of": [2, 0, 3], "keys_of": [5, 2, 0], "both_ways": True},
        ],
    ),
    "compressed_blocks": (compressed_blocks, [{"n": 13, "block": 4}, {"n": 6, "block": 1}]),
    "dflash": (
        dflash,
        [{"context": 9, "anchors": [0, 4, 9], "size": 3}, {"context": 9, "anchors": [-1, 4, -1], "size": 2}],
    ),
    "neighborhood": (neighborhood, [{"height": 5, "width": 7, "radius": 2}, {"height": 3, "width": 3, "radius": 1}]),
    "clear_pooled": (clear_pooled, [{"text": 3, "height": 5, "width": 7, "radius": 3, "pool": 2}]),
}


def test_every_other_preset_has_a_definition() -> None:
    assert set(DEFINITIONS) == set(preset_names()) - set(CORE)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_preset_sees_the_cells_of_its_definition(name: str) -> None:
    program = compile(preset_source(name))
    defaults = {p.name: p.default for p in program.parameters if p.default is not None}
    definition, others = DEFINITIONS[name]
    for values in (program.example("small"), *others):
        expected = definition(**{**defaults, **values})
        np.testing.assert_array_equal(program.bind(**values).dense(), expected, err_msg=f"{name} {values}")
