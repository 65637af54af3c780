"""Indices, rows, nodes and divisors are checked for every query and key of a rule, whatever else its condition says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compilemask import MaskError, compile

LIST = "mask m(n: int, t: {type}, wide: bool = false)\ntokens {{ S: n }}\nS sees S where {condition}\n"


@pytest.mark.parametrize(
    ("code", "type", "condition", "n", "t"),
    [
        ("CM407", "int[]", "causal and t[k] - t[k] == 0", 4, [5]),
        ("CM407", "int[]", "t[q] * 0 == 0", 4, [5]),
        ("CM408", "int[]", "0 * (q // k) == 0", 4, [5]),
        ("CM407", "int[]", "t[k] == 5 and wide", 4, [5]),
        ("CM408", "int[]", "1 // k == 0 and n == 9", 4, [5]),
        ("CM408", "int[]", "causal and q % (k - 2) == 0 and wide", 4, [5]),
        ("CM407", "int[][]", "k in t[q] and n == 9", 4, [[5]]),
        ("CM407", "bool[][]", "t[q][k] and n == 9", 4, [[True]]),
        ("CM407", "bool[][]", "wide and t[q][k]", 4, [[True] * 4] * 3 + [[True] * 3]),
        ("CM407", "bool[]", "t[q] or true", 4, [True]),
        ("CM407", "int[][]", "0 * max(t[q]) == 1", 2, [[1], []]),
        ("CM407", "int[]", "q == k and 0 * t[t[k]] == 0", 2, [1, 2]),
        ("CM407", "int[]", "q > k and t[q - k] == 1", 3, [1, 1, 1]),
        ("CM407", "int[]", "wide and t[(q - k) * (q + k + 1)] == 1", 3, [1, 1, 1]),
        ("CM422", "int[]", "k is ancestor of q in t or true", 1, [5]),
        ("CM422", "int[]", "k is ancestor of q in t or true", 2, [0, 1]),
        ("CM407", "int[]", "wide and k is ancestor of q in t", 2, [-1]),
        ("CM407", "int[]", "wide and k is ancestor of q in t", 2, []),
    ],
)
def test_no_other_part_hides_it(code: str, type: str, condition: str, n: int, t: list[object]) -> None:
    with pytest.raises(MaskError) as caught:
        compile(LIST.format(type=type, condition=condition)).bind(n=n, t=t)
    (message,) = caught.value.diagnostics
    assert message.code == code
    assert "number 1" not in message.message


INDICES: list[tuple[str, Callable[[int, int], int]]] = [
    ("q + k - 2", lambda q, k: q + k - 2),
    ("q - k + 2", lambda q, k: q - k + 2),
    ("k // 2 + 1", lambda _, k: k // 2 + 1),
    ("q * k", lambda q, k: q * k),
    ("min(q, 2) * 2 - 1", lambda q, _: min(q, 2) * 2 - 1),
    ("abs(q - k)", lambda q, k: abs(q - k)),
    ("(q - k) % 3", lambda q, k: (q - k) % 3),
    ("2 - q % 4", lambda q, _: 2 - q % 4),
    ("q * q - k * k + 3", lambda q, k: q * q - k * k + 3),
]


@pytest.mark.parametrize(("index", "number"), INDICES, ids=[index for index, _ in INDICES])
def test_an_index_is_refused_exactly_when_a_cell_has_a_wrong_one(index: str, number: Callable[[int, int], int]) -> None:
    program = compile(LIST.format(type="int[]", condition=f"wide and t[{index}] == 1"))
    for n in range(1, 6):
        for size in range(6):
            exists = all(0 <= number(q, k) < size for q in range(n) for k in range(n))
            if exists:
                assert not program.bind(n=n, t=[1] * size).dense().any()
            else:
                with pytest.raises(MaskError, match="CM407"):
                    program.bind(n=n, t=[1] * size)


def test_only_instances_with_tokens_on_both_sides_count() -> None:
    documents = compile("mask m(l: int[], t: int[])\ntokens { D[i]: l[i] }\nD[i] sees D[i] where 6 // t[i] == 6\n")
    assert documents.bind(l=[2, 0], t=[1]).dense().all()
    assert documents.bind(l=[0, 2], t=[0, 1]).dense().all()
    with pytest.raises(MaskError, match="CM408"):
        documents.bind(l=[2, 1], t=[1, 0])
    cross = compile(
        "mask m(a: int[], b: int[], t: int[])\nqueries { Q[i]: a[i] }\nkeys { K[i]: b[i] }\n"
        "Q[i] sees K[i] where t[i] == 1\n"
    )
    assert cross.bind(a=[2, 3], b=[1, 0], t=[1]).dense().sum() == 2
    assert cross.bind(a=[2], b=[1, 5], t=[1]).dense().sum() == 2
    with pytest.raises(MaskError, match="CM407"):
        cross.bind(a=[2, 1], b=[1, 5], t=[1])


def test_the_numbers_that_a_message_names_are_in_the_text() -> None:
    with pytest.raises(MaskError) as caught:
        compile(LIST.format(type="int[]", condition="t[q - k] == 1")).bind(n=2, t=[1])
    assert "`t[-1]` does not exist for q - k = -1: the list has 1 element" in str(caught.value)


def test_an_explanation_of_a_bad_tree_is_an_error_too() -> None:
    from compilemask.diagnostics import Span
    from compilemask.lowering.cell import _is_ancestor
    from compilemask.lowering.failure import BindError
    from compilemask.semantics.program import Ancestor, Number

    span = Span(0, 1)
    part = Ancestor(Number(0, span), Number(1, span), "p", span)
    assert _is_ancestor(part, 0, 2, (-1, 0, 1))
    assert not _is_ancestor(part, 2, 0, (-1, 0, 1))
    for parents, below in (((5,), 0), ((0, 1), 1), ((1, 0), 0), ((), 0), ((-1,), 3), ((-1,), -1)):
        with pytest.raises(BindError):
            _is_ancestor(part, 0, below, parents)
