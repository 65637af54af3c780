"""Conditions on instances and tokens, nested in every way: an inner choice never widens what an outer condition left."""

from __future__ import annotations

import numpy as np
from brute_force import visible_cells
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.compiler import compile
from compilemask.lowering import lower

INSTANCES = ("mask m(a: int[], n: int)\ntokens {{ D[i]: a[i]; S: n }}\nD[i] sees D[j] where {}", ("i", "j"))
GRID = ("mask m(a: int[], n: int)\ntokens {{ img: len(a) x n }}\nimg sees img where {}", ("q.y", "k.y"))
TOKENS = ("causal", "q - k < 2", "q.pos == 1", "k.pos == 0", "q < 4", "same position", "k % 2 == 0")


def outer_conditions(row: str, column: str) -> list[str]:
    """Conditions on instances or lines: ranges, equalities and others."""
    return [
        f"{row} == {column}", f"{row} == {column} + 1", f"{column} == 0", f"{row} >= {column}", f"{row} < 2",
        f"{row} - {column} < 2", f"{row} != {column}", f"abs({row} - {column}) <= 1", f"({row} + {column}) % 2 == 0",
    ]  # fmt: skip


def conditions(row: str, column: str) -> st.SearchStrategy[str]:
    leaves = st.one_of(st.sampled_from(outer_conditions(row, column)), st.sampled_from(TOKENS))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("({} and {})".format, inner, inner),
            st.builds("({} or {})".format, inner, inner),
            st.builds("not ({} and {})".format, inner, inner),
        ),
        max_leaves=6,
    )


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.data())
def test_nested_conditions_mean_what_they_say(data: st.DataObject) -> None:
    template, names = data.draw(st.sampled_from([INSTANCES, GRID]))
    outer = data.draw(st.sampled_from(outer_conditions(*names)))
    source = template.format(f"{outer} and {data.draw(conditions(*names))}")
    values = {"a": data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)), "n": data.draw(st.integers(0, 4))}
    checked = compile(source)._checked
    np.testing.assert_array_equal(
        lower(checked, values).descriptor.dense(), visible_cells(checked, values), err_msg=f"{source}\n{values}"
    )
