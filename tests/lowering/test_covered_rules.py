"""A rule that adds no cell is named, with the rules that have its cells; checked against cells counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import visible_cells
from hypothesis import given, settings
from random_programs import Program, programs

from compilemask.compiler import analyse, compile
from compilemask.lowering import covered_rules as room
from compilemask.presets import preset_names, preset_source

HEAD = "mask m(n: int, w: int)\ntokens { A: n; B: n }\n"


def covered(source: str, **values: object) -> list[tuple[str, list[str]]]:
    """For each covered rule, its text and the texts of those that cover it."""
    found = [m for m in analyse(source, values).diagnostics if m.code == "CM514"]
    return [(source[m.span.start : m.span.stop], [source[x.span.start : x.span.stop] for x in m.labels]) for m in found]


def test_a_rule_inside_another_one_is_named_with_it() -> None:
    assert covered(f"{HEAD}A sees A causal\nB sees A, B\nA sees A where k == q\n", n=4, w=1) == [
        ("A sees A where k == q", ["A sees A causal"])
    ]
    assert covered(f"{HEAD}A sees A causal\nA sees A where k == q - 9\nA sees A where q < 3\n", n=4, w=1) == []


def test_several_rules_may_cover_one() -> None:
    source = f"{HEAD}A sees A\nA sees B\nB sees A, B causal\nA sees A, B where k < w\n"
    assert covered(source, n=4, w=6) == [("A sees A, B where k < w", ["A sees A", "A sees B"])]
    (message,) = [m for m in analyse(source, {"n": 4, "w": 6}).diagnostics if m.code == "CM514"]
    assert message.message == "with these numbers this rule adds no cell to line 3 and line 4"
    assert covered(source, n=4, w=3) == [("A sees A, B where k < w", ["A sees A"])]


def test_of_rules_with_the_same_cells_the_later_one_is_named() -> None:
    assert covered(f"{HEAD}A sees A causal\nA sees A where k <= q\nB sees A, B\n", n=4, w=1) == [
        ("A sees A where k <= q", ["A sees A causal"])
    ]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(programs(max_rules=4))
def test_the_named_rules_are_the_ones_that_add_nothing(program: Program) -> None:
    checked = compile(program.source)._checked
    head = [line for line in program.source.rstrip("\n").split("\n") if " sees " not in line]
    rules = [line for line in program.source.rstrip("\n").split("\n") if " sees " in line]
    each = [visible_cells(compile("\n".join([*head, rule]) + "\n")._checked, program.values) for rule in rules]
    alive = list(range(len(rules)))
    expected = []
    for number in reversed(range(len(rules))):
        others = [each[other] for other in alive if other != number]
        if each[number].any() and others and not (each[number] & ~sum(others, start=others[0])).any():
            alive.remove(number)
            expected.append(number)
    found = room.covered_rules(checked, compile(program.source).lower(**program.values))
    assert [m.span for m in found] == [checked.rules[number].span for number in reversed(expected)]


@pytest.mark.parametrize("name", preset_names())
def test_no_example_of_a_preset_has_a_rule_that_adds_nothing(name: str) -> None:
    program = compile(preset_source(name))
    for example in program.examples:
        lowered = program.lower(**dict(example.values))
        assert room.covered_rules(program._checked, lowered) == ()


def test_very_large_masks_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"{HEAD}A sees A\nA sees A causal\nB sees A, B\n"
    assert len(covered(source, n=4, w=1)) == 1
    for limit in ("MAX_SHAPES", "MAX_RUNS_SWEPT", "MAX_MEMBERSHIPS"):
        with monkeypatch.context() as smaller:
            smaller.setattr(room, limit, 1)
            assert covered(source, n=4, w=1) == [], limit


@pytest.mark.parametrize("looked_up", [0, 3, room.MAX_LOOKED_UP])
@pytest.mark.parametrize("rows", [1, 2, 8, 9, 30])
def test_columns_are_told_apart_however_many_rows(rows: int, looked_up: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_LOOKED_UP", looked_up)
    rng = np.random.default_rng(rows)
    few = rng.integers(0, 2, (rows, 40)).astype(np.bool_)
    table = few[:, rng.integers(0, 40, 500)]
    found = [tuple(column) for column in room.distinct_columns(table).T.tolist()]
    assert len(found) == len(set(found))
    assert set(found) == {tuple(column) for column in table.T.tolist()}
