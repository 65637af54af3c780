"""Windows pushed inside at the border, and ancestors in trees, cell by cell and in explanations."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from brute_force import visible_cells
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import compile
from compilemask.lowering import lower
from compilemask.lowering.provenance import explain


def compare(source: str, values: dict[str, Any]) -> None:
    checked = compile(source)._checked
    lowered = lower(checked, values)
    cells = lowered.descriptor.dense()
    np.testing.assert_array_equal(cells, visible_cells(checked, values), err_msg=f"{source}{values}")
    for q, k in np.ndindex(*cells.shape):
        if (q + k) % 5 == 0:
            assert explain(checked, lowered, q, k).visible == cells[q, k]


LINE = "mask m(n: int, w: int, d: int, s: int)\ntokens {{ A: 2; S: n }}\nS sees S {}near(pos, w, dilation = d, stride = s{})\n"


@pytest.mark.parametrize("words", [("", ""), ("", ", causal"), ("not ", ""), ("not ", ", causal")])
@pytest.mark.parametrize("n", [9, 14])
def test_a_window_along_a_line(n: int, words: tuple[str, str]):
    for kernel in (1, 2, 3, 4):
        for dilation in (1, 2, 3):
            for stride in range(1, kernel + 1):
                if n // dilation >= kernel or words[1]:
                    compare(LINE.format(*words), {"n": n, "w": kernel, "d": dilation, "s": stride})


@pytest.mark.parametrize(
    ("regions", "rule", "values"),
    [
        ("I: h x w", "I sees I near(y, 3) and near(x, 4, dilation = 2)", {"h": 5, "w": 9}),
        ("I: h x w", "I sees I not near(y, 3, causal) or near(x, 2, stride = 2)", {"h": 5, "w": 7}),
        (
            "A: w; I: h x 3 x w",
            "I sees I near(z, 3, stride = 2) and near(y, 2) and near(x, 3, causal)",
            {"h": 4, "w": 4},
        ),
        ("I[i < 2]: h x w", "I[i] sees I[j] near(y, 2) and near(x, 3) and i != j", {"h": 3, "w": 4}),
        ("I[i < h]: (3 + i) x w", "I[i] sees I[i] near(y, 3, stride = 2) and near(x, 2)", {"h": 3, "w": 4}),
        ("D[i < h] { P: i; T: w }", "D[i] sees D[i] near(pos, w, causal)", {"h": 3, "w": 2}),
    ],
)
def test_windows_on_grids_and_instances(regions: str, rule: str, values: dict[str, int]):
    compare(f"mask m(h: int, w: int)\ntokens {{ {regions} }}\n{rule}\n", values)


PARENTS = st.integers(1, 9).flatmap(lambda n: st.tuples(*(st.integers(-1, node - 1) for node in range(n))))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    PARENTS,
    st.sampled_from(
        [
            "N[i] sees N[j] where j is ancestor of i in p or j == i",
            "N[i] sees N[j] where i is ancestor of j in p and k.pos <= q.pos",
            "N[i] sees N[j] where not j is ancestor of i in p",
            "N[i] sees T where k.pos is ancestor of i in p",
            "T sees T where q.pos is ancestor of k.pos in p except causal",
            "T sees N[j] where k.pos == 1 and j is ancestor of len(p) - 1 in p",
            "T sees T where not abs(q - k) % len(p) is ancestor of (q + k) % len(p) in p",
        ]
    ),
)
def test_ancestors(parents: tuple[int, ...], rule: str):
    regions = "P: 1; N[i < len(p)]: 1 + i % 3; T: len(p)"
    compare(f"mask m(p: int[])\ntokens {{ {regions} }}\n{rule}\n", {"p": parents})


def test_a_large_tree_takes_the_sum_of_its_depths():
    generator = np.random.default_rng(7)
    parents = [-1, *(int(generator.integers(max(0, node - 400), node)) for node in range(1, 20_000))]
    program = compile("mask m(p: int[])\ntokens { N: len(p) }\nN sees N where k is ancestor of q in p\n")
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    start = time.perf_counter()
    assert program.bind(p=parents).visible_pairs == sum(depths)
    assert time.perf_counter() - start < 20
