"""Numbers for presets at a length that a table wants: about so many queries, or keys where those are more.

A preset without an entry here is measured at its own examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Values = dict[str, object]

DOCUMENTS = (4, 1, 6, 2, 0.5, 3.5, 1.5, 5, 0.75, 2.5, 3.25, 2)
"""Lengths of packed documents in 32nds of the whole."""


def parts(length: int, shares: tuple[float, ...]) -> list[int]:
    """Whole numbers in proportion to the shares whose sum is `length`; each at least 1."""
    ends = [round(length * end / sum(shares)) for end in np.cumsum(shares)]
    return [max(1, stop - start) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


def image(tokens: int) -> tuple[int, int]:
    """Height and width of an image of so many tokens, near a square, the width a power of two."""
    width = 1 << (int(tokens**0.5).bit_length() - 1)
    return tokens // width, width


def _clear(length: int, **more: object) -> Values:
    text = min(512, length // 4)
    height, width = image(length - text)
    return {"text": text, "height": height, "width": width, "radius": 16, **more}


def _clear_pooled(length: int) -> Values:
    """The pooled image adds a sixteenth."""
    text = min(512, length // 4)
    height, width = image((length - text) * 16 // 17)
    return {"text": text, "height": height // 4 * 4, "width": width, "radius": 8, "pool": 4}


def _picture(length: int, **more: object) -> Values:
    height, width = image(length)
    return {"height": height, "width": width, **more}


def _tree(nodes: int) -> list[int]:
    """Parents of a random tree, the same every time."""
    rng = np.random.default_rng(0)
    return [-1, *(int(rng.integers(0, i)) for i in range(1, nodes))]


def _odd(number: int) -> int:
    return number | 1


def _big_bird(length: int) -> Values:
    blocks = 16
    rng = np.random.default_rng(0)
    return {
        "size": length // blocks,
        "random": [sorted(rng.choice(blocks, 3, replace=False).tolist()) for _ in range(blocks)],
    }


def _tile_top_k(length: int) -> Values:
    tiles = 16
    chosen = np.random.default_rng(0).random((tiles, tiles)) < 0.25
    np.fill_diagonal(chosen, True)
    return {"tiles": [length // tiles] * tiles, "chosen": chosen.tolist()}


def _transfusion(length: int) -> Values:
    return {"text": parts(length // 3, (2, 4, 1, 3)), "image": [length // 8] * 4, "tail": length // 6}


SIZES: dict[str, Callable[[int], Values]] = {
    "bd3lm": lambda n: {"blocks": n // 8, "size": 4},
    "bigbird": _big_bird,
    "causal": lambda n: {"n": n},
    "clear": _clear,
    "clear_pooled": _clear_pooled,
    "compressed_blocks": lambda n: {"n": n, "block": 64},
    "decode": lambda n: {"q_len": n // 16, "kv_len": n},
    "dflash": lambda n: {"context": n - 256, "anchors": [(n - 256) * i // 17 for i in range(1, 17)], "size": 16},
    "dilated_window": lambda n: {"n": n, "window": 256, "dilation": 8},
    "document_full": lambda n: {"lengths": parts(n, DOCUMENTS)},
    "document_sliding": lambda n: {"lengths": parts(n, DOCUMENTS), "window": n // 32},
    "documents": lambda n: {"lengths": parts(n, DOCUMENTS)},
    "hstu": lambda n: {"context": 0, "history": n - n // 4, "targets": n // 4},
    "hstu_delta": lambda n: {"context": 6, "history": n - 6 - n // 16, "new": n // 64, "targets": n // 16},
    "hstu_groups": lambda n: {"context": 6, "history": n - 6 - n // 16 * 2, "groups": [n // 128] * 16},
    "hstu_jagged": lambda n: {
        "context": [6] * 8, "history": parts(n - 48 - n // 16, (5, 7, 4, 12, 14, 12, 4, 6)), "targets": [n // 128] * 8,
    },
    "hstu_window": lambda n: {
        "context": 6, "history": n - 6 - n // 16, "targets": n // 16, "look_back": n // 8, "full": n // 16,
    },
    "in_context": lambda n: {"shots": parts(n - n // 8, (4, 2, 3, 1, 5, 2.5, 3.5, 1.5)), "question": n // 8},
    "jetspec": lambda n: {"prompt": n // 2, "blocks": n // 32, "size": 16},
    "left_padded": lambda n: {"padding": n // 4, "n": n - n // 4},
    "llama4_chunked": lambda n: {"n": n, "chunk": n // 4},
    "local_cross": lambda n: {"q_len": n // 16, "kv_len": n, "left": n // 8},
    "local_window": lambda n: {"n": n, "left": 64, "right": 64},
    "longformer": lambda n: {"globals": 64, "n": n - 64, "window": 256},
    "longformer_scattered": lambda n: {"n": n, "globals": [n * i // 10 for i in range(10)], "left": 128, "right": 128},
    "natten_1d": lambda n: {"n": n, "kernel": _odd(n // 32), "stride": 1},
    "natten_2d": lambda n: _picture(n, kernel=[13, 13]),
    "natten_3d": lambda n: {
        "frames": 16, "height": image(n // 16)[0], "width": image(n // 16)[1], "kernel": [3, 5, 5],
    },
    "natten_tiled": lambda n: _picture(n, kernel=17, tile=[8, 8]),
    "neighborhood": lambda n: _picture(n, radius=6),
    "paged_causal": lambda n: {
        "n": n, "slots": n + n // 8, "table": [(3 * i + 1) % 8 for i in range(8)], "size": n // 8,
    },
    "pi0": lambda n: {"cameras": parts(n * 3 // 4, (1, 1, 1)), "instruction": n // 8, "actions": n // 8},
    "prefix_lm": lambda n: {
        "prefix": parts(n // 3, (4, 1, 6, 2, 0.5, 3.5, 1.5, 5)), "rest": parts(n - n // 3, (8, 3, 6, 5, 1.5, 6.5, 4.5, 6)),
    },
    "radial": lambda n: {"size": n // 8, "reach": [n // 8, n // 8, n // 16, n // 16, n // 32, n // 32, n // 64, n // 64]},
    "rollout_tree": lambda n: {
        "lengths": parts(n, (4, 2, 1, 1, 0.5, 2, 1.5, 1, 2, 1, 0.5, 0.75)), "parent": [-1, 0, 1, 1, 3, 0, 5, 5, -1, 8, 8, 10],
    },
    "shared_prompt": lambda n: {"prompt": n // 4, "responses": [n // 16] * 12},
    "shared_prompts": lambda n: {
        "prompts": [n // 16, n // 8], "answers": [[n // 16] * 5, [n // 8, n // 16, n // 4, n // 16]],
    },
    "sliding_tile": lambda n: {"tiles": [3, 4, 6], "size": n // 72, "kernel": [3, 3, 3]},
    "sliding_window": lambda n: {"n": n, "window": n // 8},
    "sparse_fixed": lambda n: {"n": n, "stride": 128, "summary": 8},
    "streaming": lambda n: {"n": n, "sink": 4, "window": n // 8},
    "strided": lambda n: {"n": n, "stride": 128},
    "svg_spatial": lambda n: {"prompt": n // 16, "frames": 8, "size": (n - n // 16) // 8, "width": n // 16},
    "tile_topk": _tile_top_k,
    "transfusion": _transfusion,
    "tree_verify": lambda n: {"prefix": n - 48, "parent": _tree(48)},
    "video": lambda n: {"chunks": 16, "tokens_per_chunk": n // 16, "window": 6},
    "video_block_causal": lambda n: {"frames": 16, "size": n // 16},
    "video_teacher_forcing": lambda n: {"chunks": 8, "tokens_per_chunk": n // 16},
    "zigzag_causal": lambda n: {"n": n // 16 * 16, "ranks": 8},
    "zigzag_rank": lambda n: {"n": n // 16 * 16, "ranks": 8, "rank": 3},
}  # fmt: skip
"""By preset: the numbers for a length, a power of two from 1,024 on."""


def near(length: int, q_len: int, kv_len: int) -> bool:
    """Whether a mask is of about this length: within a quarter."""
    return math.isclose(max(q_len, kv_len), length, rel_tol=0.25)
