"""Masks of the literature beyond the presets, each against its own definition as a NumPy predicate of (q, k)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compilemask.compiler import compile


def starts_of(lengths: list[int]) -> Any:
    return np.cumsum([0, *lengths])


def numbers_of(lengths: list[int]) -> Any:
    return np.repeat(np.arange(len(lengths)), lengths)


class Family:
    """A mask text, numbers, and the predicate that it must equal."""

    def __init__(
        self, name: str, source: str, values: dict[str, Any], seen: Callable[..., Any], q_len: int, kv_len: int
    ):
        self.name, self.source, self.values = name, source, values
        q, k = np.arange(q_len)[:, None], np.arange(kv_len)[None, :]
        self.expected = np.broadcast_to(seen(q, k), (q_len, kv_len))


FAMILIES: list[Family] = []


def family(
    name: str, rules: str, values: dict[str, Any], seen: Callable[..., Any], q_len: int, kv_len: int | None = None
):
    types = {bool: "bool", int: "int", list: "int[]"}
    header = ", ".join(f"{key}: {types[type(value)]}" for key, value in values.items())
    source = f"mask {name}({header})\n{rules}\n"
    FAMILIES.append(Family(name, source, values, seen, q_len, q_len if kv_len is None else kv_len))


# ---------------------------------------------------------------- windows and padding

SELF = "tokens { S: n }\nS sees S "
family("sliding", SELF + "causal and q - k < w", {"n": 300, "w": 37}, lambda q, k: (k <= q) & (q - k < 37), 300)
family(
    "local",
    SELF + "where -left <= k - q <= right",
    {"n": 200, "left": 13, "right": 5},
    lambda q, k: (k - q >= -13) & (k - q <= 5),
    200,
)
family(
    "dilated",
    SELF + "abs(q - k) <= w and abs(q - k) % d == 0",
    {"n": 200, "w": 31, "d": 4},
    lambda q, k: (abs(q - k) <= 31) & (abs(q - k) % 4 == 0),
    200,
)
family(
    "left_padded",
    "tokens { pad: p; S: n }\nS sees S causal",
    {"p": 30, "n": 70},
    lambda q, k: (k >= 30) & (k <= q),
    100,
)
family("chunked", "tokens { pad: p; S: n }\nS sees S causal and q.pos // c == k.pos // c", {"p": 5, "n": 131, "c": 16},
       lambda q, k: (k >= 5) & (k <= q) & ((q - 5) // 16 == (k - 5) // 16), 136)  # fmt: skip
family("two_sided_bottom_right", "queries { Q: q_len }\nkeys { K: kv_len }\nQ sees K where -l <= k - (q + kv_len - q_len) <= r",
       {"q_len": 129, "kv_len": 32, "l": 32, "r": 64}, lambda q, k: (k - q + 97 >= -32) & (k - q + 97 <= 64), 129, 32)  # fmt: skip
family(
    "memory_tokens",
    SELF + "causal and (q - k < w or k % 4 == 3)",
    {"n": 150, "w": 9},
    lambda q, k: (k <= q) & ((q - k < 9) | (k % 4 == 3)),
    150,
)

# ---------------------------------------------------------------- sparse transformers

family(
    "strided", SELF + "causal and q % s == k % s", {"n": 190, "s": 16}, lambda q, k: (k <= q) & ((q - k) % 16 == 0), 190
)
family(
    "strided_merged",
    SELF + "causal and ((q - k) % s == 0 or q - k < s)",
    {"n": 190, "s": 16},
    lambda q, k: (k <= q) & (((q - k) % 16 == 0) | (q - k < 16)),
    190,
)
family(
    "fixed",
    SELF + "causal and (q // s == k // s or k % s >= s - c)",
    {"n": 190, "s": 16, "c": 3},
    lambda q, k: (k <= q) & ((q // 16 == k // 16) | (k % 16 >= 13)),
    190,
)
family(
    "longformer",
    SELF + "abs(q - k) <= w or q < g or k < g",
    {"n": 170, "w": 8, "g": 5},
    lambda q, k: (abs(q - k) <= 8) | (q < 5) | (k < 5),
    170,
)
RANDOM = [7, 3, 0, 9, 9, 2, 5, 1, 1, 4]
family("bigbird", "tokens { B[i < b]: s }\nB[i] sees B[j] where abs(i - j) <= 1 or i == 0 or i == b - 1 or j == 0 or j == b - 1 or j == pick[i]",
       {"b": 10, "s": 7, "pick": RANDOM},
       lambda q, k: (abs(q // 7 - k // 7) <= 1) | np.isin(q // 7, [0, 9]) | np.isin(k // 7, [0, 9]) | (k // 7 == np.array(RANDOM)[q // 7]), 70)  # fmt: skip
family(
    "compressed",
    "queries { Q: n }\nkeys { K: n // b }\nQ sees K where k < (q + 1) // b",
    {"n": 203, "b": 8},
    lambda q, k: k < (q + 1) // 8,
    203,
    25,
)
EVICTED = (np.arange(90) + 1 + np.arange(90) * 37 % 41).tolist()
family(
    "evicted",
    "tokens { S: n }\nS sees S where k <= q and q < evicted_at[k]",
    {"n": 90, "evicted_at": EVICTED},
    lambda q, k: (k <= q) & (q < np.array(EVICTED)[k]),
    90,
)
STARTS = [1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1]
GROUP = np.cumsum(STARTS).tolist()
family(
    "mask_ar",
    "tokens { S: len(group) }\nS sees S where group[k] <= group[q]",
    {"group": GROUP},
    lambda q, k: np.array(GROUP)[k] <= np.array(GROUP)[q],
    12,
)

# ---------------------------------------------------------------- packing and cross attention

LENGTHS = [13, 0, 40, 1, 27]
DOC = numbers_of(LENGTHS)
family(
    "document_sliding",
    "tokens { D[i]: lengths[i] }\nD[i] sees D[i] causal and q - k < w",
    {"lengths": LENGTHS, "w": 11},
    lambda q, k: (DOC[q] == DOC[k]) & (k <= q) & (q - k < 11),
    81,
)
Q_LENGTHS, K_LENGTHS = [3, 0, 7, 2, 30], [5, 4, 0, 9, 12]
Q_DOC, K_DOC = numbers_of(Q_LENGTHS), numbers_of(K_LENGTHS)
Q_END, K_END = starts_of(Q_LENGTHS)[1:], starts_of(K_LENGTHS)[1:]
family("jagged_cross", "queries { A[i]: a[i] }\nkeys { B[i]: b[i] }\nA[i] sees B[i] causal aligned end", {"a": Q_LENGTHS, "b": K_LENGTHS},
       lambda q, k: (Q_DOC[q] == K_DOC[k]) & (k - K_END[K_DOC[k]] <= q - Q_END[Q_DOC[q]]), 42, 30)  # fmt: skip
family("gappy_keys", "queries { Q: len(start) }\nkeys { K: n }\nQ sees K where start[q] <= k < start[q] + length[q]",
       {"start": [0, 30, 12, 50], "length": [7, 0, 20, 9], "n": 60},
       lambda q, k: (np.array([0, 30, 12, 50])[q] <= k) & (k < np.array([7, 30, 32, 59])[q]), 4, 60)  # fmt: skip
PAGES = [3, 0, 4, 1]
family("paged", "queries { Q: n }\nkeys { page[p < 6]: s }\nQ sees page[p] where order[p] >= 0 and order[p] * s + k.pos <= q",
       {"n": 30, "s": 8, "order": [1, 3, -1, 0, 2, -1]},
       lambda q, k: (np.array([1, 3, -1, 0, 2, -1])[k // 8] >= 0) & (np.array([1, 3, -1, 0, 2, -1])[k // 8] * 8 + k % 8 <= q), 30, 48)  # fmt: skip
ORDER = np.array([0, 7, 1, 6, 2, 5, 3, 4])
family("zigzag", "tokens { C[i < len(order)]: s }\nC[i] sees C[j] where order[j] * s + k.pos <= order[i] * s + q.pos", {"order": ORDER.tolist(), "s": 9},
       lambda q, k: ORDER[k // 9] * 9 + k % 9 <= ORDER[q // 9] * 9 + q % 9, 72)  # fmt: skip

# ---------------------------------------------------------------- prefixes and pictures

family(
    "transfusion",
    "tokens { S: n }\nS sees S causal\nS sees S where a <= q and k < b",
    {"n": 80, "a": 20, "b": 45},
    lambda q, k: (k <= q) | ((q >= 20) & (k < 45)),
    80,
)
SPANS, SIZES = [10, 40], [8, 17]
family("gemma", "tokens { part[i < len(text)] { T: text[i]; I: image[i] } }\npart[i] sees part[j] causal and q - k < w\npart[i].I sees part[i].I",
       {"text": [10, 22], "image": [8, 17], "w": 12},
       lambda q, k: ((k <= q) & (q - k < 12)) | ((q >= 10) & (q < 18) & (k >= 10) & (k < 18)) | ((q >= 40) & (k >= 40)), 57)  # fmt: skip
SCALE = numbers_of([p * p for p in range(1, 7)])
family(
    "scales",
    "tokens { scale[i < 6]: (i + 1) * (i + 1) }\nscale[i] sees scale[j] where j <= i",
    {"unused": True},
    lambda q, k: SCALE[k] <= SCALE[q],
    91,
)
family("blockwise", "tokens { B[i]: size[i] }\nB[i] sees B[i] causal\nB[i] sees B[j] where i == len(size) - 1 and k <= q", {"size": [9, 14, 11]},
       lambda q, k: (k <= q) & ((numbers_of([9, 14, 11])[q] == numbers_of([9, 14, 11])[k]) | (q >= 23)), 34)  # fmt: skip

# ---------------------------------------------------------------- two and three dimensions


def pushed_inside(x: Any, kernel: int, n: int) -> Any:
    """The first key of a window of `kernel` keys around x that is pushed inside [0, n)."""
    return np.clip(x - kernel // 2, 0, n - kernel)


family("neighbourhood_2d", "tokens { S: h x w }\nS sees S where abs(k.y - min(max(q.y, r), h - 1 - r)) <= r and abs(k.x - min(max(q.x, r), w - 1 - r)) <= r",
       {"h": 9, "w": 12, "r": 2},
       lambda q, k: (k // 12 >= pushed_inside(q // 12, 5, 9)) & (k // 12 < pushed_inside(q // 12, 5, 9) + 5)
       & (k % 12 >= pushed_inside(q % 12, 5, 12)) & (k % 12 < pushed_inside(q % 12, 5, 12) + 5), 108)  # fmt: skip
family("dilated_2d", "tokens { S: h x w }\nS sees S where abs(dy) <= 4 and dy % 2 == 0 and abs(dx) <= 3 and q.x % 3 == k.x % 3", {"h": 8, "w": 10},
       lambda q, k: (abs(q // 10 - k // 10) <= 4) & ((q // 10 - k // 10) % 2 == 0) & (abs(q % 10 - k % 10) <= 3) & ((q % 10 - k % 10) % 3 == 0), 80)  # fmt: skip
family("causal_3d", "tokens { S: t x h x w }\nS sees S where 0 <= q.z - k.z < 2 and abs(dy) <= 1 and abs(dx) <= 2", {"t": 4, "h": 5, "w": 6},
       lambda q, k: (q // 30 - k // 30 >= 0) & (q // 30 - k // 30 < 2) & (abs(q // 6 % 5 - k // 6 % 5) <= 1) & (abs(q % 6 - k % 6) <= 2), 120)  # fmt: skip
family("ball_3d", "tokens { S: t x h x w }\nS sees S where dz*dz + dy*dy + dx*dx < 6", {"t": 4, "h": 5, "w": 6},
       lambda q, k: (q // 30 - k // 30) ** 2 + (q // 6 % 5 - k // 6 % 5) ** 2 + (q % 6 - k % 6) ** 2 < 6, 120)  # fmt: skip
family(
    "diamond",
    "tokens { S: h x w }\nS sees S where abs(dy) + abs(dx) <= r",
    {"h": 9, "w": 11, "r": 3},
    lambda q, k: abs(q // 11 - k // 11) + abs(q % 11 - k % 11) <= 3,
    99,
)
family(
    "axial",
    "tokens { S: h x w }\nS sees S where dy == 0 or dx == 0",
    {"h": 7, "w": 9},
    lambda q, k: (q // 9 == k // 9) | (q % 9 == k % 9),
    63,
)
family(
    "raster_causal_window",
    "tokens { S: h x w }\nS sees S causal and abs(dx) <= 2 and q.y - k.y <= 1",
    {"h": 7, "w": 9},
    lambda q, k: (k <= q) & (abs(q % 9 - k % 9) <= 2) & (q // 9 - k // 9 <= 1),
    63,
)
family(
    "checkerboard",
    "tokens { S: h x w }\nS sees S where (q.y + q.x + k.y + k.x) % 2 == 0",
    {"h": 5, "w": 6},
    lambda q, k: (q // 6 + q % 6 + k // 6 + k % 6) % 2 == 0,
    30,
)
family("pooled", "queries { txt: t; img: h x w }\nkeys { txt: t; img: h x w; pool: (h // f) * (w // f) }\ntxt sees txt, img\nimg sees txt, pool\nimg sees img where dy*dy + dx*dx < r*r",
       {"t": 3, "h": 8, "w": 8, "f": 4, "r": 2},
       lambda q, k: np.where(q < 3, k < 67, (k < 3) | (k >= 67) | (((q - 3) // 8 - (k - 3) // 8) ** 2 + ((q - 3) % 8 - (k - 3) % 8) ** 2 < 4)), 67, 71)  # fmt: skip

# ---------------------------------------------------------------- video and block diffusion

family("self_forcing", "tokens { F[i]: frames[i] * 5 }\nF[i] sees F[j] where j <= i and q.pos >= 0 and k >= 0 and i - j < 3", {"frames": [3, 3, 3, 2]},
       lambda q, k: (numbers_of([15, 15, 15, 10])[k] <= numbers_of([15, 15, 15, 10])[q]) & (numbers_of([15, 15, 15, 10])[q] - numbers_of([15, 15, 15, 10])[k] < 3), 55)  # fmt: skip
family("teacher_forcing", "tokens { C[i < c]: s; N[i < c]: s }\nC[i] sees C[j] where j <= i\nN[i] sees N[i]\nN[i] sees C[j] where j < i", {"c": 5, "s": 6},
       lambda q, k: np.where(q < 30, (k < 30) & (k // 6 <= q // 6), ((k >= 30) & (k // 6 == q // 6)) | ((k < 30) & (k // 6 < q // 6 - 5))), 60)  # fmt: skip
family("spatial", "tokens { P: p; F[i < 6]: s }\nP sees P, F\nF[i] sees P\nF[i] sees F[j] where abs(i - j) <= 1", {"p": 4, "s": 7},
       lambda q, k: (q < 4) | (k < 4) | (abs((q - 4) // 7 - (k - 4) // 7) <= 1), 46)  # fmt: skip
ANCHORS = [4, 9, 0, 20]
family("anchored", "queries { B[i < 4]: s }\nkeys { C: n; D[i < 4]: s }\nB[i] sees C where k < anchor[i]\nB[i] sees D[i] where anchor[i] > 0", {"s": 5, "n": 25, "anchor": ANCHORS},
       lambda q, k: np.where(k < 25, k < np.array(ANCHORS)[q // 5], (q // 5 == (k - 25) // 5) & (np.array(ANCHORS)[q // 5] > 0)), 20, 45)  # fmt: skip
PARENTS = [0, 0, 1, 1, 0, 4, 4]
family("tree", "queries { T: len(parent) }\nkeys { P: p; T: len(parent) }\nT sees P\nT sees T same position aligned start\nT sees T where k.pos == parent[q.pos] or k.pos == parent[parent[q.pos]]",
       {"p": 6, "parent": PARENTS},
       lambda q, k: (k < 6) | (k - 6 == q) | (k - 6 == np.array(PARENTS)[q]) | (k - 6 == np.array(PARENTS)[np.array(PARENTS)[q]]), 7, 13)  # fmt: skip
family("target_groups", "tokens { H: h; T[i < g]: s }\nH sees H causal\nT[i] sees H\nT[i] sees T[i] causal", {"h": 20, "g": 4, "s": 3},
       lambda q, k: (k <= q) & ((k < 20) | ((q >= 20) & ((q - 20) // 3 == (k - 20) // 3))), 32)  # fmt: skip
family("look_back", "tokens { C: c; H: h; T: t }\nC sees C, H\nH sees C where q.pos + 1 <= limit or q.pos >= h - full\nH sees H causal and (q - k <= limit or q.pos >= h - full)\nT sees C, H\nT sees T same position",
       {"c": 4, "h": 40, "t": 6, "limit": 7, "full": 5},
       lambda q, k: np.where(q < 4, k < 44, np.where(q < 44, ((k < 4) & ((q - 3 <= 7) | (q - 4 >= 35))) | ((k >= 4) & (k <= q) & ((q - k <= 7) | (q - 4 >= 35))), (k < 44) | (k == q))), 50)  # fmt: skip


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_a_family_sees_the_cells_of_its_definition(case: Family):
    found = compile(case.source).bind(**case.values)
    np.testing.assert_array_equal(found.dense(), case.expected, err_msg=case.source)
