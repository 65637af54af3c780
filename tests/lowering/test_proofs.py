"""What the text proves holds for all numbers; what it does not prove is worked out, with the same result."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from brute_force import visible_cells

from compilemask.compiler import compile
from compilemask.lowering import claims
from compilemask.lowering.proofs import never_seen_by_text
from compilemask.presets import preset_source
from compilemask.semantics.mask_program import NeverSees

NESTED = "mask m(a: int[], b: int[], c: int)\ntokens { user[u] { C: a[u]; T: b[u] }; R[r]: a[r]; S: c }\n"
VALUES: dict[str, Any] = {"a": [2, 3], "b": [1, 2], "c": 2}
REFERENCES = ("user[{}]", "user[{}].C", "user[{}].T", "R[{}]", "S")
RULES = (
    "user[u].C sees user[u].C, user[u].T",
    "user[u] sees user[v] causal",
    "R[r] sees user[r].C",
    "R[r], S sees S",
    "user[u].T sees R[u] where not same position",
)


def proven(source: str) -> list[bool]:
    mask = compile(source)._checked
    return [
        never_seen_by_text(assertion.claim.rule, mask.rules)
        for assertion in mask.assertions
        if isinstance(assertion.claim, NeverSees)
    ]


@pytest.mark.parametrize("name", ["documents", "shared_prompt", "hstu_jagged"])
def test_documents_responses_and_users_are_apart_by_their_text(name: str) -> None:
    assert proven(preset_source(name)) == [True]


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_proven_that_numbers_refute(rule: str) -> None:
    """All claims about two regions with one condition or none, each beside the cells of its rule, cell by cell."""
    held = []
    for q, k, condition in product(REFERENCES, REFERENCES, ("", " where i != j", " where j != i", " where i < j")):
        if condition and "S" in (q, k):
            continue
        claim = f"{q.format('i')} never sees {k.format('j')}{condition}"
        source = f"{NESTED}{rule}\nassert {claim}\n"
        (result,) = compile(source).lower(**VALUES).assertions
        asked = f"{NESTED}{q.format('i')} sees {k.format('j')}{condition}\n"
        both = visible_cells(compile(source)._checked, VALUES) & visible_cells(compile(asked)._checked, VALUES)
        assert result.holds == (not both.any()) and result.failing_cells == both.sum(), claim
        held += [claim] if proven(source) == [True] else []
    assert 20 < len(held) < 73


def test_what_is_proven_is_not_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    program = compile(preset_source("documents"))
    monkeypatch.setattr(claims, "_region_cells", None)
    assert all(result.holds for result in program.lower(lengths=[3, 2]).assertions)


def test_a_mask_made_of_masks_is_worked_out() -> None:
    source = "mask m(l: int[]) = documents(l) or causal(sum(l))\nassert D[i] never sees D[j] where i != j\n"
    (result,) = compile(source).lower(l=[2, 1]).assertions
    assert not result.holds and result.failing_cells == 2
