"""Regions that are stored in tiles, zigzag or in pages: conditions count as if they were not."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from brute_force import visible_cells

from compilemask.compiler import compile
from compilemask.diagnostics import MaskError
from compilemask.lowering import lower
from compilemask.lowering.provenance import explain

CASES = [
    ("a: int", "tokens { T: 2; I: 5 x 7 stored tiles(2, 3) }", "I sees I abs(dy) <= 1 and abs(dx) < a\nT sees I\nI sees T", {"a": 2}),
    ("a: int", "tokens { I: 5 x 7 stored tiles(2, 4) }", "I sees I near(y, 3) and near(x, a)", {"a": 5}),
    ("a: int", "tokens { I: 3 x 4 x 5 stored tiles(2, 2, a) }", "I sees I causal and dz >= -1 and k.x <= q.x + k.y", {"a": 3}),
    ("a: int", "tokens { I: 9 stored tiles(a) }", "I sees I causal", {"a": 4}),
    ("a: int", "tokens { T: 3; S: 24 stored zigzag(a); U: 2 }", "S sees S causal\nS, U sees T, U where q - k < 9", {"a": 3}),
    ("a: int", "tokens { S: 16 stored zigzag(a) }", "S sees S q - k < 5 and (q + k) % 3 == 0 or 2 * k < q", {"a": 2}),
    ("a: int[]", "tokens { D[i]: 4 * a[i] stored zigzag(2) }", "D[i] sees D[i] causal\nD[i] sees D[j] where j < i and k.pos < 2", {"a": [2, 0, 3]}),
    ("a: int[]", "tokens { D[i]: a[i] x 4 stored tiles(2, 1 + i % 2) }", "D[i] sees D[i] where dy == 0 or dx == 0", {"a": [2, 0, 3]}),
    ("a: int[]", "queries { Q: 9 }\nkeys { T: 2; K: 16 stored pages(a, 3) }", "Q sees K causal aligned end\nQ sees T", {"a": [4, 0, 2]}),
    ("a: int[]", "tokens { S: 12 stored pages(a, 2); T: 1 }", "S, T sees S, T causal\nT sees S same position aligned end", {"a": [5, 1, 2]}),
    ("a: int[]", "tokens { S: 12 stored pages(a, 2); T: 1 }", "S, T sees S where not (k.pos < 2 and causal)", {"a": []}),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "axes", "rules", "values"), CASES)
def test_an_order_moves_the_cells_and_changes_none(parameters: str, axes: str, rules: str, values: dict[str, Any]):
    checked = compile(f"mask m({parameters})\n{axes}\n{rules}\n")._checked
    lowered = lower(checked, values)
    cells = lowered.descriptor.dense()
    np.testing.assert_array_equal(cells, visible_cells(checked, values))
    for q, k in np.ndindex(*cells.shape):
        if (q + k) % 3 == 0:
            assert explain(checked, lowered, q, k).visible == cells[q, k]


def test_a_region_covers_its_slots_and_a_free_slot_says_so():
    program = compile("mask m(a: int[])\nqueries { Q: 4 }\nkeys { K: 6 stored pages(a, 2); T: 1 }\nQ sees K\n")
    lowered = program.lower(a=[2, 0])
    assert [(span.label, span.start, span.stop) for span in lowered.keys] == [("K", 0, 6), ("T", 6, 7)]
    assert lowered.descriptor.dense()[0].tolist() == [True, True, False, False, True, True, False]
    answer = program.explain_lowered(lowered, 0, 2)
    assert answer.k_region == "K"
    assert answer.misses[0].reason == "key 2 is a slot of K that holds no token"


@pytest.mark.parametrize(
    ("axes", "align", "rule", "values"),
    [
        ("tokens { S: n stored zigzag(a) }", "", "S sees S causal", {"n": 24, "a": 3}),
        ("tokens { T: 2; S: n stored zigzag(a) }", "", "T, S sees T, S causal", {"n": 24, "a": 3}),
        (
            "queries { Q: n }\nkeys { Q: n stored tiles(a) }",
            " aligned end",
            "Q sees Q causal aligned end",
            {"n": 7, "a": 2},
        ),
        (
            "queries { Q: n }\nkeys { T: 2; S: n stored zigzag(a) }",
            " aligned end",
            "Q sees T, S where k <= q + 2",
            {"n": 12, "a": 2},
        ),
    ],
)
def test_causal_is_asserted_in_the_order_in_which_tokens_are_counted(
    axes: str, align: str, rule: str, values: dict[str, int]
):
    head = f"mask m(n: int, a: int)\n{axes}\n"
    compile(f"{head}{rule}\nassert causal{align}\n").bind(**values)
    broken = rule.replace("causal" + align, "k <= q + 1").replace("k <= q + 2", "k <= q + 3")
    assert broken != rule
    with pytest.raises(MaskError, match="CM601"):
        compile(f"{head}{broken}\nassert causal{align}\n").bind(**values)


def test_the_end_of_a_paged_axis_is_that_of_its_tokens():
    source = "mask m(a: int[])\nqueries { Q: 3 }\nkeys { K: 12 stored pages(a, 2) }\nQ sees K causal aligned end\n"
    compile(source + "assert causal aligned end\n").bind(a=[4, 0, 5])
    with pytest.raises(MaskError) as caught:
        compile(source + "assert causal aligned start\n").bind(a=[4, 0, 5])
    (message,) = caught.value.diagnostics
    assert "query 0 (Q) sees key 0 (K, stored here from place 2), which is later" in message.message


def test_masks_joined_in_different_orders_are_warned_about():
    def codes(source: str) -> list[str]:
        program = compile(source)
        return [d.code for d in program.bind_warnings(program.lower(n=16, r=2))]

    mixed = "mask m(n: int, r: int) = zigzag_causal(n, r) and causal(n)\n"
    alike = "mask m(n: int, r: int) = zigzag_causal(n, r) or not zigzag_causal(n, 2*r - r)\n"
    assert codes(mixed) == ["CM515"]
    assert codes(alike) == []


def test_many_pages_are_moved_at_once():
    program = compile(
        "mask m(t: int[])\nqueries { Q: 8192 }\nkeys { K: 16384 stored pages(t, 16) }\nQ sees K where k <= q\n"
    )
    pages = np.random.default_rng(0).permutation(1024)[:512]
    start = time.perf_counter()
    mask = program.bind(t=pages)
    assert time.perf_counter() - start < 5
    assert mask.visible_pairs == 8192 * 8193 // 2


@pytest.mark.parametrize(
    ("size", "order", "values", "words"),
    [
        ("n", "zigzag(a)", {"n": 10, "a": 2}, "10 tokens cannot be cut into 4 equal chunks"),
        ("n", "zigzag(a)", {"n": 10, "a": 0}, "the number of ranks of `S` is 0"),
        ("n x n", "tiles(2, a)", {"n": 4, "a": 0}, "a side of a tile of `S` is 0"),
        ("n", "pages(t, a)", {"n": 8, "a": 2, "t": [0, 4]}, "`t[1]` is page 4, but 8 slots have 4 pages of 2"),
        ("n", "pages(t, a)", {"n": 8, "a": 2, "t": [1, 3, 1]}, "page 1 stands in `t` 2 times"),
        ("n", "pages(t, a)", {"n": 8, "a": 0, "t": [1]}, "the size of a page of `S` is 0"),
    ],
)
def test_numbers_that_make_no_order(size: str, order: str, values: dict[str, Any], words: str):
    table = ", t: int[]" if "t" in values else ""
    program = compile(f"mask m(n: int, a: int{table})\ntokens {{ S: {size} stored {order} }}\nS sees S\n")
    with pytest.raises(MaskError) as caught:
        program.bind(**values)
    (message,) = caught.value.diagnostics
    assert message.code == "CM423"
    assert words in message.message


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("S: n x n stored tiles(2)", "`tiles` takes 2 numbers, the sides of a tile here, and got 1"),
        ("S: n x n stored zigzag(2)", "`zigzag` orders a region with one size"),
        ("S: n stored zigzag(2, 3)", "`zigzag` takes one number here, and got 2"),
        ("S: n stored pages(n)", "`pages` takes a list of pages and the size of a page"),
        ("S[i < 2]: n stored pages(t, 2)", "pages hold one region, and this one repeats"),
        ("S { K: n stored pages(t, 2) }", "`K` is stored in pages, and stands inside `S`"),
        ("S: n stored pages(n, 2)", "`n` is no list but of type `int`"),
        ("S: n stored tiles", "expected `(` after `tiles`"),
        ("S: n stored (2)", "expected an order after `stored`"),
    ],
)
def test_orders_that_do_not_fit_their_region(region: str, words: str):
    with pytest.raises(MaskError) as caught:
        compile(f"mask m(n: int, t: int[] = [0])\ntokens {{ {region} }}\nS sees S where t[0] == 0\n")
    assert words in caught.value.diagnostics[0].message


def test_an_order_costs_its_stretches():
    program = compile("mask m(n: int)\ntokens { I: n x n stored tiles(8, 16) }\nI sees I near(y, 17) and near(x, 17)\n")
    start = time.perf_counter()
    assert program.bind(n=128).visible_pairs == 128 * 128 * 17 * 17
    zigzag = compile("mask m(n: int)\ntokens { S: n stored zigzag(8) }\nS sees S causal\n").bind(n=2**20)
    assert zigzag.visible_pairs == 2**19 * (2**20 + 1)
    assert time.perf_counter() - start < 30


def test_explain_takes_stored_positions_and_names_the_tokens():
    program = compile("mask m(n: int)\ntokens { T: 2; S: n stored zigzag(2) }\nS, T sees S, T causal\n")
    answer = program.explain(5, 3, n=8)
    assert (answer.q_token, answer.k_token, answer.visible) == (9, 3, True)
    assert str(answer).split("\n")[:2] == [
        "query 5 (S, token 9) and key 3 (S): visible",
        "  these are positions as stored; conditions count tokens",
    ]
    assert "as stored" not in str(program.explain(3, 2, n=8))
    hidden = program.explain(6, 4, n=8)
    assert (hidden.q_token, hidden.k_token, hidden.visible) == (4, 8, False)
    made = compile(
        "mask z(n: int)\ntokens { S: n stored zigzag(2) }\nS sees S causal\nmask m(n: int) = z(n) and z(n)\n"
    )
    assert (made.explain(2, 0, n=8).q_token, made.explain(2, 0, n=8).k_token) == (6, 0)
