"""Masks that are no presets, written from the manual alone, each against its own definition cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from compilemask.compiler import analyse, compile
from compilemask.descriptor import MaskBatch

Cells = npt.NDArray[np.bool_]


def by_cell(q_len: int, kv_len: int, seen: Any) -> Cells:
    """A predicate of plain integers, asked cell by cell."""
    return np.array([[bool(seen(q, k)) for k in range(kv_len)] for q in range(q_len)]).reshape(q_len, kv_len)


def owners(lengths: list[int]) -> list[tuple[int, int]]:
    """For each token its segment and its place in it."""
    return [(number, place) for number, length in enumerate(lengths) for place in range(length)]


FRESH: dict[str, tuple[str, dict[str, Any], Cells]] = {}


def fresh(name: str, source: str, values: dict[str, Any], cells: Cells) -> None:
    FRESH[name] = (source, values, cells)


L = [5, 0, 9, 3, 7, 1, 6]
DOC = owners(L)
fresh(
    "dilated window with sinks, in each document",
    "mask m(l: int[], sink: int, w: int, d: int)\ntokens { D[i]: l[i] }\n"
    "D[i] sees D[i] causal and (k.pos < sink or q - k < w*d and (q - k) % d == 0)\n",
    {"l": L, "sink": 1, "w": 3, "d": 2},
    by_cell(31, 31, lambda q, k: DOC[q][0] == DOC[k][0] and k <= q and (DOC[k][1] < 1 or q - k in (0, 2, 4))),
)
fresh(
    "every third document sees the first tokens of the next one",
    "mask m(l: int[])\ntokens { D[i]: l[i] }\nD[i] sees D[i] causal\nD[i] sees D[j] where i % 3 == 0 and j == i + 1 and k.pos < 5\n",
    {"l": [4, 7, 2, 3, 9, 2, 6, 1]},
    (lambda o: by_cell(34, 34, lambda q, k: (o[q][0] == o[k][0] and k <= q) or (o[q][0] % 3 == 0 and o[k][0] == o[q][0] + 1 and o[k][1] < 5)))(owners([4, 7, 2, 3, 9, 2, 6, 1])),
)  # fmt: skip
fresh(
    "a window around the mirror image",
    "mask m(n: int, w: int)\ntokens { S: n }\nS sees S where abs(q + k - (n - 1)) <= w or q == k\n",
    {"n": 23, "w": 2},
    by_cell(23, 23, lambda q, k: abs(q - (22 - k)) <= 2 or q == k),
)
fresh(
    "a band with holes",
    "mask m(n: int, holes: int[])\ntokens { S: n }\nS sees S where abs(q - k) <= 9 except abs(q - k) in holes or 3 <= k - q < 5\n",
    {"n": 30, "holes": [2, 6, 7]},
    by_cell(30, 30, lambda q, k: abs(q - k) <= 9 and abs(q - k) not in (2, 6, 7) and k - q not in (3, 4)),
)
fresh(
    "blocks that grow",
    "mask m(blocks: int, s: int)\ntokens { B[i < blocks]: (i + 1) * s }\nB[i] sees B[i]\nB[i] sees B[j] where j == i - 1 and causal\n",
    {"blocks": 4, "s": 2},
    (lambda o: by_cell(20, 20, lambda q, k: o[k][0] in (o[q][0], o[q][0] - 1)))(owners([2, 4, 6, 8])),
)
fresh(
    "two pictures of unequal resolution",
    "mask m(h: int, w: int, s: int)\nqueries { Q: h x w }\nkeys { K: h // s x w // s }\n"
    "Q sees K where abs(q.y // s - k.y) <= 1 and q.x // s == k.x\nallow empty queries\n",
    {"h": 7, "w": 9, "s": 3},
    by_cell(63, 6, lambda q, k: abs(q // 9 // 3 - k // 3) <= 1 and q % 9 // 3 == k % 3),
)
fresh(
    "a video with a text for every frame",
    "mask m(f: int, t: int, h: int, w: int, r: int)\ntokens { F[i < f] { txt: t; img: h x w } }\n"
    "F[i].txt sees F[j].txt where j <= i and causal\nF[i].img sees F[i].txt\n"
    "F[i].img sees F[j].img where i - 2 < j <= i and abs(dy) <= r and abs(dx) <= r\nassert every query sees a key\n",
    {"f": 3, "t": 2, "h": 3, "w": 4, "r": 1},
    by_cell(
        42,
        42,
        lambda q, k: (
            k % 14 < 2 and k <= q if q % 14 < 2
            else k // 14 == q // 14 if k % 14 < 2
            else q // 14 - k // 14 in (0, 1)
            and abs((q % 14 - 2) // 4 - (k % 14 - 2) // 4) <= 1
            and abs((q % 14 - 2) % 4 - (k % 14 - 2) % 4) <= 1
        ),
    ),
)  # fmt: skip
SHARD = [number * 4 + place for number in (0, 5, 1, 4, 2, 3) for place in range(4)]
fresh(
    "a sliding window on shards in zigzag",
    "mask m(n: int, ranks: int, w: int)\ntokens { S: n stored zigzag(ranks) }\nS sees S causal and q - k < w\nassert causal\n",
    {"n": 24, "ranks": 3, "w": 5},
    by_cell(24, 24, lambda q, k: 0 <= SHARD[q] - SHARD[k] < 5),
)
fresh(
    "rows of a chunked prefill of packed documents",
    "mask m(l: int[], start: int, rows: int)\nqueries { Q: rows }\nkeys { D[i]: l[i] }\n"
    "Q sees D[i] where k <= start + q < k - k.pos + l[i]\nallow unseen keys\n",
    {"l": L, "start": 9, "rows": 12},
    by_cell(12, 31, lambda q, k: DOC[q + 9][0] == DOC[k][0] and k <= q + 9),
)
fresh(
    "block sparse, with chosen blocks and global tokens",
    "mask m(size: int, chosen: int[][], globals: int[])\ntokens { B[i < len(chosen)]: size }\n"
    "B[i] sees B[j] where (j in chosen[i] or i == j) and causal\nB sees B where k in globals and causal\n",
    {"size": 3, "chosen": [[], [0], [0, 1], [], [1, 2, 9]], "globals": [4, 5]},
    by_cell(15, 15, lambda q, k: k <= q and (k in (4, 5) or q // 3 == k // 3 or k // 3 in [[], [0], [0, 1], [], [1, 2]][q // 3])),
)  # fmt: skip
PARENT, OWNER, PREFIX = [-1, 0, 0, -1, 3, 4], [0, 0, 0, 1, 1, 1], [4, 2]
fresh(
    "draft trees of many requests, each behind its own prefix",
    "mask m(prefix: int[], owner: int[], parent: int[])\nqueries { N[i < len(parent)]: 1 }\n"
    "keys { P[r]: prefix[r]; M[j < len(parent)]: 1 }\nN[i] sees P[r] where owner[i] == r\n"
    "N[i] sees M[j] where j == i or j is ancestor of i in parent\n",
    {"prefix": PREFIX, "owner": OWNER, "parent": PARENT},
    by_cell(6, 12, lambda q, k: (k >= 4) == OWNER[q] if k < 6 else k - 6 in {0: [0], 1: [0, 1], 2: [0, 2], 3: [3], 4: [3, 4], 5: [3, 4, 5]}[q]),
)  # fmt: skip
fresh(
    "summaries at the end of every block",
    "mask m(blocks: int, size: int)\ntokens { B[i < blocks] { T: size; G: 1 } }\nB[i].T sees B[i].T causal\n"
    "B[i].T sees B[j].G where j < i\nB[i].G sees B[i].T\nB[i].G sees B[j].G where j <= i\nassert causal\n",
    {"blocks": 4, "size": 3},
    by_cell(16, 16, lambda q, k: k <= q and (k // 4 == q // 4 or k % 4 == 3)),
)
fresh(
    "speech in chunks with some frames of look-ahead",
    "mask m(n: int, chunk: int, left: int, ahead: int)\ntokens { S: n }\n"
    "S sees S where (q // chunk - left) * chunk <= k < (q // chunk + 1) * chunk + ahead\n",
    {"n": 29, "chunk": 4, "left": 2, "ahead": 3},
    by_cell(29, 29, lambda q, k: q // 4 * 4 - 8 <= k < q // 4 * 4 + 7),
)
fresh(
    "distances that are powers of two",
    "mask m(n: int, steps: int[] = [0, 1, 2, 4, 8, 16, 32])\ntokens { S: n }\nS sees S q - k in steps\nassert causal\n",
    {"n": 40},
    by_cell(40, 40, lambda q, k: k == q or (q > k and (q - k) & (q - k - 1) == 0)),
)
fresh(
    "speech over text, near the diagonal of two lengths",
    "mask m(q_len: int, kv_len: int, band: int)\nqueries { Q: q_len }\nkeys { K: kv_len }\n"
    "Q sees K where abs(q * kv_len - k * q_len) <= band * q_len\n",
    {"q_len": 30, "kv_len": 12, "band": 2},
    by_cell(30, 12, lambda q, k: abs(q * 12 / 30 - k) <= 2),
)
fresh(
    "sections of documents, the first of each for all later sections",
    "mask m(l: int[][])\ntokens { sec[s] { D[d]: l[s][d] } }\nsec[s].D[d] sees sec[s].D[e] where e < d or e == d and causal\n"
    "sec[s].D sees sec[t].D[e] where t < s and e == 0\n",
    {"l": [[2, 3], [1], [2, 2, 1]]},
    (lambda o: by_cell(11, 11, lambda q, k: (o[k][0] == o[q][0] and k <= q) or (o[k][0] < o[q][0] and o[k][1] == 0)))(
        [(0, 0)] * 2 + [(0, 1)] * 3 + [(1, 0)] + [(2, 0)] * 2 + [(2, 1)] * 2 + [(2, 2)]
    ),
)
fresh(
    "along rows, columns and frames",
    "mask m(t: int, h: int, w: int)\ntokens { V: t x h x w }\nV sees V where dz == 0 and dy == 0 or dz == 0 and dx == 0 or dy == 0 and dx == 0\n",
    {"t": 3, "h": 4, "w": 5},
    by_cell(60, 60, lambda q, k: sum(a == b for a, b in zip((q // 20, q // 5 % 4, q % 5), (k // 20, k // 5 % 4, k % 5), strict=True)) >= 2),
)  # fmt: skip
fresh(
    "passages that do not see one another, and a question that sees them all",
    "mask m(system: int, passages: int[], question: int, pad: int)\n"
    "tokens { sys: system; P[i]: passages[i]; ask: question; rest: pad unused }\n"
    "sys sees sys causal\nP sees sys\nP[i] sees P[i] causal\nask sees sys, P\nask sees ask causal\n"
    "assert P[i] never sees P[j] where i != j\nassert every query sees a key\nassert every key is seen\n",
    {"system": 2, "passages": [3, 1, 4], "question": 3, "pad": 2},
    (lambda o: by_cell(15, 15, lambda q, k: k <= q < 13 and k < 13 and (o[k] in (0, o[q]) or o[q] == 9)))(
        [0] * 2 + [1] * 3 + [2] + [3] * 4 + [9] * 3 + [-1] * 2
    ),
)
fresh(
    "blocks that see their counterpart from the other end",
    "mask m(blocks: int, size: int)\ntokens { B[i < blocks]: size }\nB[i] sees B[j] where i == j or i + j == blocks - 1\n",
    {"blocks": 5, "size": 2},
    by_cell(10, 10, lambda q, k: k // 2 in (q // 2, 4 - q // 2)),
)
fresh(
    "a mask of masks with an exception",
    "mask picture(n: int, a: int, b: int)\ntokens { S: n }\nS sees S where a <= q < b and a <= k < b\n\n"
    "mask m(l: int[], a: int, b: int)\n    = (documents(l) or picture(sum(l), a, b)) and not streaming(sum(l), sink = 1, window = 2)\n"
    "allow empty queries\nallow unseen keys\n",
    {"l": L, "a": 6, "b": 12},
    by_cell(31, 31, lambda q, k: ((DOC[q][0] == DOC[k][0] and k <= q) or (6 <= q < 12 and 6 <= k < 12)) and not (k <= q and (k < 1 or q - k < 2))),
)  # fmt: skip


@pytest.mark.parametrize("name", FRESH)
def test_a_mask_written_from_the_manual_has_its_cells(name: str):
    source, values, cells = FRESH[name]
    found = compile(source).bind(**values)
    assert not isinstance(found, MaskBatch)
    np.testing.assert_array_equal(found.dense(), cells)
    assert analyse(source, values).diagnostics == ()


def test_batches_written_from_the_manual():
    padded = compile(
        "mask m(n: int, pad: int per item, w: int per head)\ntokens { P: pad unused; S: n - pad }\nS sees S causal and q - k < w\n"
    ).bind(n=9, pad=[0, 4], w=[2, 9])
    assert isinstance(padded, MaskBatch)
    for item, pad in enumerate((0, 4)):
        for head, w in enumerate((2, 9)):
            expected = by_cell(9, 9, lambda q, k, pad=pad, w=w: pad <= k <= q and q - k < w)
            np.testing.assert_array_equal(padded.mask(item, head).dense(), expected)
    packed = compile(
        "mask m(prefix: int[] per item, rest: int[] per item)\ntokens { D[i] { P: prefix[i]; T: rest[i] } }\n"
        "D[i] sees D[i].P\nD[i].T sees D[i].T causal\n"
    ).bind(prefix=[[1, 2], [3]], rest=[[2, 1], [3]])
    assert isinstance(packed, MaskBatch)
    first = owners([3, 3])
    expected = by_cell(6, 6, lambda q, k: first[q][0] == first[k][0] and (first[k][1] < (1, 2)[first[k][0]] or k <= q))
    np.testing.assert_array_equal(packed.mask(0, 0).dense(), expected)
    np.testing.assert_array_equal(packed.mask(1, 0).dense(), by_cell(6, 6, lambda q, k: k < 3 or k <= q))
