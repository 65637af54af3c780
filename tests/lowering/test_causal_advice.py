"""The hint of a failed `assert causal` advises `causal` only where the rule keeps cells for each of its regions by it."""

from __future__ import annotations

import pytest

from compilemask.compiler import analyse, compile

ADD = "add `causal` to the rule that shows it, or take the assertion back"
SEGMENTS = "mask m(parent: int[], sizes: int[])\ntokens { S[i]: sizes[i] }\nS[i] sees S[i] causal\n"
TREE = {"parent": [-1, 0, 0], "sizes": [2, 1, 1]}
TWO = "mask m(n: int)\ntokens { G: 2; D: n }\nD sees D causal\n"


def hint(source: str, claim: str = "causal", **values: object) -> str:
    """Of the failed claim; following the advice to add a word is tried, too."""
    text = f"{source}assert {claim}\n"
    (found,) = [message for message in analyse(text, values).diagnostics if message.code == "CM601"]
    assert found.hint is not None
    if found.hint.startswith("add `"):
        word = found.hint.split("`")[1]
        stop = found.labels[0].span.stop
        rule = text[found.labels[0].span.start : stop]
        joint = " and " if " where " in rule else " "
        assert compile(text[:stop] + joint + word + text[stop:]).bind(**values).visible_pairs > 0
    return found.hint


def test_a_rule_that_looks_both_ways_is_told_to_look_back() -> None:
    assert hint("mask m(n: int)\ntokens { S: n }\nS sees S\n", n=4) == ADD
    assert hint("mask m(n: int)\ntokens { S: n stored zigzag(2) }\nS sees S where q - k < 3\n", n=8) == ADD
    assert hint(f"{TWO}G, D sees G, D\n", n=3) == ADD


@pytest.mark.parametrize("align", ["start", "end"])
def test_on_two_axes_the_word_has_its_alignment(align: str) -> None:
    source = "mask m(n: int)\nqueries { Q: n }\nkeys { K: n + 1 }\nQ sees K\n"
    assert f"add `causal aligned {align}`" in hint(source, f"causal aligned {align}", n=4)


def test_a_rule_of_later_keys_only_would_lose_them_all() -> None:
    found = hint(f"{SEGMENTS}S[i] sees S[j] where i is ancestor of j in parent\n", **TREE)
    assert found.startswith("the rule that shows it has later keys only, and `causal` would hide them all: see whether")


def test_a_region_that_would_lose_all_of_its_cells_is_named() -> None:
    found = hint(f"{TWO}G sees G, D\n", n=3)
    assert found.startswith("`causal` would hide all that the rule shows of `D`: change the rule in another way")


def test_a_rule_that_is_causal_in_part_is_not_told_to_be() -> None:
    found = hint("mask m(n: int)\ntokens { S: n }\nS sees S causal or k < 2\n", n=4)
    assert found.startswith("`causal` stands in the rule that shows it, but not for all of its cells")


def test_of_a_mask_made_of_masks_no_rule_is_spoken_of() -> None:
    assert hint("mask m(n: int) = not causal(n)\n", n=4) == "change the mask that shows it, or take the assertion back"
