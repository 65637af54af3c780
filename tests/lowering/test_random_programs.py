"""Random programs see exactly the cells that their text means, whichever way the conditions are solved."""

from __future__ import annotations

import re

import numpy as np
import pytest
from brute_force import visible_cells
from hypothesis import given, settings
from random_programs import Program, programs

from compilemask.compiler import compile
from compilemask.lowering import lower, solve
from compilemask.lowering.provenance import covers, explain


def check(program: Program) -> None:
    checked = compile(program.source)._checked
    found = lower(checked, program.values).descriptor.dense()
    np.testing.assert_array_equal(
        found, visible_cells(checked, program.values), err_msg=f"{program.source}{program.values}"
    )


@settings(max_examples=400, deadline=None, derandomize=True)
@given(programs())
def test_a_program_sees_the_cells_that_it_says(program: Program):
    check(program)


@pytest.fixture(scope="module")
def level_sets_only():
    """Level sets are asked for every condition, and take over wherever they are no more than the pairs."""
    patch = pytest.MonkeyPatch()
    patch.setattr(solve, "FEW_PAIRS", 0)
    yield
    patch.undo()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(programs(max_rules=1))
def test_level_sets_find_the_same_cells(level_sets_only: None, program: Program):
    check(program)


@pytest.fixture(scope="module")
def no_tables():
    """Conditions on several quantities are tried class by class, in small chunks."""
    patch = pytest.MonkeyPatch()
    patch.setattr(solve, "table_cells", lambda *_: None)
    patch.setattr("compilemask.lowering.domain.CHUNK", 7)
    yield
    patch.undo()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(programs(max_rules=1))
def test_trying_class_by_class_finds_the_same_cells(no_tables: None, program: Program):
    check(program)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs())
def test_explanations_agree_with_the_cells(program: Program):
    checked = compile(program.source)._checked
    lowered = lower(checked, program.values)
    cells = lowered.descriptor.dense()
    for q, k in np.ndindex(*cells.shape):
        if (q + k) % 3 == 0:
            answer = explain(checked, lowered, q, k)
            assert answer.visible == cells[q, k]
            assert len(answer.matches) + len(answer.misses) == len(checked.rules)
            for match in answer.matches:
                assert covers(lowered.rule_shapes[match.number], q, k)


def test_the_programs_have_conditions_and_orders_of_all_kinds():
    sources: list[str] = []

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(programs())
    def draw(program: Program) -> None:
        sources.append(program.source)

    draw()
    kinds = (r"near\(", r"causal\)", "stride = [2-9]", "dilation = 2", "is ancestor of", " in table", r" in ragged\[")
    for kind in (*kinds, r"tiles\(", r"zigzag\(", r"pages\("):
        assert sum(re.search(kind, source) is not None for source in sources) >= 2, kind
