"""Which cells each known mask sees, written from the masks' own definitions as NumPy predicates.

Independent of the language: every function takes plain numbers and returns bool[q_len, kv_len].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def _grid(q_len: int, kv_len: int) -> tuple[Ints, Ints]:
    return np.arange(q_len)[:, None], np.arange(kv_len)[None, :]


def _numbered(lengths: Sequence[int]) -> Ints:
    """The number of the stretch that each token lies in."""
    return np.repeat(np.arange(len(lengths)), lengths)


def causal(n: int) -> Cells:
    q, k = _grid(n, n)
    return k <= q


def streaming(n: int, sink: int = 4, window: int = 1024) -> Cells:
    """StreamingLLM: the first `sink` keys, and the last `window` keys counting the query's own."""
    q, k = _grid(n, n)
    return (k <= q) & ((k < sink) | (q - k < window))


def documents(lengths: Sequence[int]) -> Cells:
    document = _numbered(lengths)
    q, k = _grid(len(document), len(document))
    return (document[:, None] == document[None, :]) & (k <= q)


def prefix_lm(prefix: Sequence[int], rest: Sequence[int]) -> Cells:
    """Packed: inside a document a key is seen when it is in the prefix or not later than the query."""
    document = _numbered([a + b for a, b in zip(prefix, rest, strict=True)])
    in_prefix = np.concatenate([np.zeros(0, bool)] + [np.arange(a + b) < a for a, b in zip(prefix, rest, strict=True)])
    q, k = _grid(len(document), len(document))
    return (document[:, None] == document[None, :]) & (in_prefix[None, :] | (k <= q))


def shared_prompt(prompt: int, responses: Sequence[int], padding: int = 0) -> Cells:
    """Causal, and the key's segment is the prompt or the query's own; padding sees nothing and is not seen."""
    segment = np.concatenate([np.zeros(prompt, int), 1 + _numbered(responses), np.full(padding, -1)])
    q, k = _grid(len(segment), len(segment))
    own = (segment[None, :] == 0) | (segment[None, :] == segment[:, None])
    return (k <= q) & own & (segment[:, None] >= 0) & (segment[None, :] >= 0)


def hstu(context: int, history: int, targets: int) -> Cells:
    """By ranks: context tokens share rank 0, targets share the last one; a row sees lower ranks and itself."""
    n = context + history + targets
    last = n - targets - max(context - 1, 0)
    place = np.arange(n)
    rank = np.minimum(np.maximum(place - context + 1, 0) if context else place, last)
    q, k = _grid(n, n)
    seen = (q == k) | (rank[:, None] > rank[None, :])
    if context:
        seen |= (rank[:, None] == 0) & (rank[None, :] < last)
    return seen


def clear(text: int, height: int, width: int, radius: int) -> Cells:
    """Text sees all and is seen by all; image tokens see the open disc around them."""
    n = text + height * width
    q, k = _grid(n, n)
    y, x = np.divmod(np.arange(n) - text, max(width, 1))
    near = (y[:, None] - y[None, :]) ** 2 + (x[:, None] - x[None, :]) ** 2 < radius**2
    return (q < text) | (k < text) | near


def bd3lm(blocks: int, size: int = 4) -> Cells:
    """[noisy | clean]: a noisy block sees itself and earlier clean blocks; the clean half is causal by blocks."""
    half = blocks * size
    q, k = _grid(2 * half, 2 * half)
    q_block, k_block = (q % max(half, 1)) // max(size, 1), (k % max(half, 1)) // max(size, 1)
    q_clean, k_clean = q >= half, k >= half
    own = ~q_clean & ~k_clean & (q_block == k_block)
    earlier = ~q_clean & k_clean & (k_block < q_block)
    clean = q_clean & k_clean & (k_block <= q_block)
    return own | earlier | clean


def decode(q_len: int, kv_len: int) -> Cells:
    """Bottom-right causal: the last query sees the last key."""
    q, k = _grid(q_len, kv_len)
    return k <= q + kv_len - q_len


def video(chunks: int, tokens_per_chunk: int, window: int) -> Cells:
    """A chunk sees the last `window` chunks, counting itself."""
    n = chunks * tokens_per_chunk
    q, k = _grid(n, n)
    end = (q // max(tokens_per_chunk, 1) + 1) * tokens_per_chunk
    return (end - window * tokens_per_chunk <= k) & (k < end)


ORACLES: Mapping[str, Callable[..., Cells]] = {
    "bd3lm": bd3lm,
    "causal": causal,
    "clear": clear,
    "decode": decode,
    "documents": documents,
    "hstu": hstu,
    "prefix_lm": prefix_lm,
    "shared_prompt": shared_prompt,
    "streaming": streaming,
    "video": video,
}

ODD_SIZES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "bd3lm": [
        {"blocks": 0, "size": 4},
        {"blocks": 1, "size": 1},
        {"blocks": 5, "size": 0},
        {"blocks": 2, "size": 64},
        {"blocks": 43, "size": 3},
        {"blocks": 33, "size": 4},
        {"blocks": 8},
    ],
    "causal": [{"n": n} for n in (0, 1, 2, 3, 127, 128, 129, 257)],
    "clear": [
        {"text": 0, "height": 0, "width": 0, "radius": 1},
        {"text": 3, "height": 1, "width": 1, "radius": 1},
        {"text": 0, "height": 9, "width": 14, "radius": 4},
        {"text": 2, "height": 16, "width": 8, "radius": 3},
        {"text": 7, "height": 11, "width": 13, "radius": 0},
        {"text": 5, "height": 3, "width": 40, "radius": 5},
        {"text": 1, "height": 40, "width": 3, "radius": 100},
        {"text": 127, "height": 2, "width": 1, "radius": 2},
    ],
    "decode": [
        {"q_len": a, "kv_len": b}
        for a, b in ((0, 0), (1, 1), (0, 5), (5, 0), (5, 2), (2, 5), (3, 128), (129, 127), (1, 257), (64, 64))
    ],
    "documents": [
        {"lengths": lengths}
        for lengths in ([], [0], [1], [0, 0, 3, 0], [1, 2, 127, 1, 129], [128, 128], [5, 0, 7], [1] * 40)
    ],
    "hstu": [
        {"context": c, "history": h, "targets": t}
        for c, h, t in ((0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1), (0, 96, 33), (6, 127, 4), (3, 0, 5), (7, 128, 0))
    ],
    "prefix_lm": [
        {"prefix": p, "rest": r}
        for p, r in (
            ([], []),
            ([0], [4]),
            ([4], [0]),
            ([0, 3, 0], [0, 0, 2]),
            ([1, 17, 2], [127, 3, 1]),
            ([60, 1], [1, 129]),
        )
    ],
    "shared_prompt": [
        {"prompt": 0, "responses": []},
        {"prompt": 0, "responses": [3, 0, 2], "padding": 2},
        {"prompt": 1, "responses": [1, 1]},
        {"prompt": 17, "responses": [], "padding": 3},
        {"prompt": 31, "responses": [127, 1, 0, 129], "padding": 1},
        {"prompt": 128, "responses": [64, 64]},
    ],
    "streaming": [
        {"n": n, "sink": sink, "window": window}
        for n in (0, 1, 2, 127, 129)
        for sink, window in ((0, 0), (0, 1), (4, 16), (3, 500), (200, 2))
    ],
    "video": [
        {"chunks": c, "tokens_per_chunk": t, "window": w}
        for c, t, w in ((0, 3, 1), (1, 1, 1), (5, 0, 2), (7, 13, 0), (7, 13, 1), (9, 14, 3), (4, 33, 99), (129, 1, 17))
    ],
}
"""Numbers at which each oracle and each preset are compared: empty regions, single tokens, around 128, unequal lists."""
