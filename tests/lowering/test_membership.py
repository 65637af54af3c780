"""`k in kept`, `k // size in chosen[q]`: numbers of a list and of the rows of a table."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import MaskError

DICE = np.random.default_rng(7)
ROWS = [DICE.choice(8, DICE.integers(0, 4), replace=False).tolist() for _ in range(32)]
Q, K = np.ogrid[:32, :32]
NONE = np.zeros((32, 32), bool)
PICKED = np.array([[k in row for k in range(8)] for row in ROWS])


@pytest.mark.parametrize(
    ("condition", "values", "seen"),
    [
        ("k in a", {"a": [3, 3, -1, 900, 0]}, (K == 0) | (K == 3)),
        ("not k in a", {"a": [3, 4, 5, 9]}, ((K < 3) | (K > 5)) & (K != 9)),
        ("q - k in a", {"a": [0, 1, 5]}, np.isin(Q - K, [0, 1, 5])),
        ("q - 2*k in a", {"a": [0, 1, 5]}, np.isin(Q - 2 * K, [0, 1, 5])),
        ("q in a", {"a": []}, NONE),
        ("max(q, k) in a or q % 4 in a", {"a": [2, 9]}, np.isin(np.maximum(Q, K), [2, 9]) | (Q % 4 == 2)),
        ("k // 4 in t[q]", {"t": ROWS}, PICKED[Q, K // 4]),
        ("not k // 4 in t[q]", {"t": ROWS}, ~PICKED[Q, K // 4]),
        ("q // 4 in t[k]", {"t": ROWS}, PICKED[K, Q // 4]),
        ("(q + k) % 8 in t[(q * k) % 5]", {"t": ROWS}, PICKED[(Q * K) % 5, (Q + K) % 8]),
        ("k in t[3]", {"t": [[], [], [], [1, 2, 30]]}, np.isin(K, [1, 2, 30])),
        ("k in t[q]", {"t": [[]] * 32}, NONE),
        ("k in t[q // 16]", {"t": [[2**40, 5], [-(2**50), 6, 31]]}, np.where(Q < 16, K == 5, (K == 6) | (K == 31))),
    ],
)  # fmt: skip
def test_the_cells_of_a_membership(condition: str, values: dict[str, Any], seen: Any):
    ((name, given),) = values.items()
    kind = "int[][]" if name == "t" else "int[]"
    program = compile(f"mask m({name}: {kind})\ntokens {{ S: 32 }}\nS sees S where {condition}\n")
    expected = np.broadcast_to(seen, (32, 32))
    lowered = program.lower(**values)
    np.testing.assert_array_equal(lowered.descriptor.dense(), expected)
    for cell in [(0, 0), (3, 30), (17, 5), (31, 31), (20, 6)]:
        assert program.explain_lowered(lowered, *cell).visible == expected[cell]
    assert given == values[name]


def test_chosen_keys_of_every_query_are_listed_and_not_searched():
    chosen = [DICE.choice(q + 1, min(q + 1, 8), replace=False).tolist() for q in range(8192)]
    program = compile("mask m(t: int[][])\ntokens { S: len(t) }\nS sees S k in t[q]\n")
    start = time.perf_counter()
    mask = program.bind(t=chosen)
    assert time.perf_counter() - start < 10
    assert mask.visible_pairs == sum(map(len, chosen))


@pytest.mark.parametrize(
    ("parameter", "condition", "message"),
    [
        ("a: int[][]", "k in a", "`a` is no list of numbers"),
        ("a: int[]", "k in a[q]", "`a` is no list of lists of numbers"),
        ("a: bool[]", "k in a", "`a` is no list of numbers"),
        ("a: int", "k in a", "`a` is no list but of type `int`"),
        ("a: int[]", "k in b", "there is no list `b`"),
        ("a: int[]", "causal in a", "expected a number, but this is a condition"),
        ("a: int[]", "k in", "expected a list after `in`, but the text ends"),
        ("a: int[][]", "k in a[", "expected a number or a condition after `[`, but the text ends"),
        ("a: int[]", "(k in a) + 1 < 2", "expected a number, but this is a condition"),
    ],
)
def test_slips_make_one_message(parameter: str, condition: str, message: str):
    found = analyse(f"mask m({parameter})\ntokens {{ S: 4 }}\nS sees S {condition}\n").diagnostics
    assert [m.message for m in found if m.severity == "error"] == [message]


@pytest.mark.parametrize("row", ["q", "9"])
def test_a_row_that_is_not_there_is_named(row: str):
    program = compile(f"mask m(t: int[][])\ntokens {{ S: 4 }}\nS sees S k in t[{row}]\n")
    with pytest.raises(MaskError, match=r"`t\[\d\]` does not exist"):
        program.bind(t=[[1], [2]])


def test_a_list_of_lists_that_is_empty():
    program = compile("mask m(t: int[][])\ntokens { S: len(t) }\nS sees S k in t[q]\n")
    assert program.bind(t=[]).visible_pairs == 0
