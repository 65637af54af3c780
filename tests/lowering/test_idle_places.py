"""Queries that see nothing and keys that nobody sees: warned about, unless the text says that they are meant."""

from __future__ import annotations

import pytest

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import MaskError
from compilemask.syntax import format

PADDED = "mask m(n: int, p: int)\ntokens {{ S: n; pad: p{0} }}\nS sees S causal\n"
GAPS = "mask m(used: int[], free: int[])\ntokens {{ row[i] {{ S: used[i]; pad: free[i]{0} }} }}\nrow[i].S sees row[i].S causal\n"
CROSS = "mask m(n: int, b: int)\nqueries { Q: n }\nkeys { B: n // b; T: 3 }\nQ sees B where (k + 1) * b <= q + 1\n"


def warnings(source: str, **values: object) -> list[str]:
    """The messages about idle places, with their counts."""
    found = analyse(source, values).diagnostics
    assert all(message.severity == "warning" for message in found), found
    return [f"{message.code} {message.message}" for message in found]


@pytest.mark.parametrize(
    ("text", "values"), [(PADDED, {"n": 5, "p": 3}), (GAPS, {"used": [2, 3, 0], "free": [1, 0, 2]})]
)
def test_no_message_speaks_of_unused_regions(text: str, values: dict[str, object]):
    assert [message[:5] for message in warnings(text.format(""), **values)] == ["CM511", "CM512"]
    assert warnings(text.format(" unused"), **values) == []
    assert compile(text.format(" unused")).bind(**values).hash == compile(text.format("")).bind(**values).hash


def test_messages_count_the_places_that_are_not_meant():
    source = GAPS.format(" unused").replace("causal", "where q.pos > 0")
    assert warnings(source, used=[2, 3, 1], free=[1, 0, 2]) == [
        "CM511 3 queries see no key; the first is q = 0, in row[0].S",
        "CM512 no query sees 1 key; the first is k = 6, in row[2].S",
    ]


def test_places_of_unused_regions_are_no_queries_and_no_keys_of_assertions():
    claims = "assert every query sees a key\nassert every key is seen\n"
    compile(PADDED.format(" unused") + claims).bind(n=5, p=3)
    with pytest.raises(MaskError) as caught:
        compile(PADDED.format("") + claims).bind(n=5, p=3)
    assert [message.code for message in caught.value.diagnostics] == ["CM602", "CM603"]
    with pytest.raises(MaskError, match=r"query 0 .* sees none; this is so for 2 queries"):
        compile(GAPS.format(" unused").replace("causal", "where q.pos > 0") + claims).bind(used=[2, 3], free=[1, 1])


@pytest.mark.parametrize(
    ("reference", "shown", "written"),
    [
        ("pad", "`pad` is unused, and a rule names it", None),
        ("row[i]", "`row` has `pad` inside, which is unused", "row[i].S"),
        ("row", "`row` has `pad` inside, which is unused", "row.S"),
    ],
)
def test_no_rule_names_an_unused_region(reference: str, shown: str, written: str | None):
    axis = (
        "tokens { row[i] { S: a[i]; pad: a[i] unused } }" if "row" in reference else "tokens { S: a[0]; pad: 3 unused }"
    )
    source = f"mask m(a: int[])\n{axis}\n{reference} sees {reference} causal\n"
    messages = analyse(source, {"a": [2, 3]}).diagnostics
    assert {(message.code, message.message) for message in messages} == {("CM351", shown)}
    for message in messages:
        assert [source[label.span.start : label.span.stop] for label in message.labels] == ["unused"]
        assert [fix.edits[0].text for fix in message.fixes] == ([] if written is None else [written])


def test_assertions_may_name_unused_regions():
    compile(PADDED.format(" unused") + "assert S never sees pad\n").bind(n=5, p=3)


def test_allowances_end_the_warnings_that_they_are_about():
    both = [
        "CM511 3 queries see no key; the first is q = 0, in Q",
        "CM512 no query sees 3 keys; the first is k = 2, in T",
    ]
    values = {"n": 9, "b": 4}
    assert warnings(CROSS, **values) == both
    assert warnings(CROSS + "allow empty queries\n", **values) == both[1:]
    assert warnings(CROSS + "allow unseen keys\n", **values) == both[:1]
    assert warnings(CROSS + "allow unseen keys in T\nallow empty queries in Q\n", **values) == []
    assert warnings(CROSS + "allow unseen keys in B\n", **values) == both


def test_an_allowance_is_no_claim():
    compile(CROSS + "allow empty queries\nallow unseen keys\n").bind(n=8, b=1)
    with pytest.raises(MaskError, match="CM602"):
        compile(CROSS + "allow empty queries\nassert every query sees a key\n").bind(n=9, b=4)


def test_a_mask_made_of_masks_has_the_unused_regions_and_the_names_of_its_first_operand():
    source = "mask m(n: int, p: int) = left_padded(p, n) and sliding_window(n + p, 3)\n"
    assert warnings(source, n=5, p=2) == []
    narrow = "mask m(n: int, p: int) = left_padded(p, n) and not causal(n + p)\n"
    assert [message[:5] for message in warnings(narrow, n=5, p=2)] == ["CM511", "CM512"]
    assert warnings(narrow + "allow empty queries in S\nallow unseen keys in pad, S\n", n=5, p=2) == []


def test_slots_of_free_pages_are_no_keys():
    source = "mask m(t: int[])\nqueries { Q: 4 }\nkeys { K: 12 stored pages(t, 2) }\nQ sees K where k < 3\n"
    assert warnings(source, t=[4, 0]) == ["CM512 no query sees 1 key; the first is k = 1, in K"]


@pytest.mark.parametrize(
    ("line", "code", "fixes"),
    [
        ("allow empty", "CM202", ["Insert `queries`"]),
        ("allow unseen", "CM202", ["Insert `keys`"]),
        ("allow queries", "CM202", ["Insert `empty`"]),
        ("allow keys in S", "CM202", ["Insert `unseen`"]),
        ("allow emty queries", "CM208", ["Write `empty`"]),
        ("allow empty querys", "CM208", ["Write `queries`"]),
        ("allow nothing", "CM202", []),
        ("allow empty queries in Z", "CM304", []),
        ("allow unseen keys in", "CM206", []),
        ("allow unseen keys S", "CM207", []),
    ],
)
def test_slips_in_an_allowance_make_one_message(line: str, code: str, fixes: list[str]):
    found = analyse(f"mask m(n: int)\ntokens {{ S: n }}\nS sees S causal\n{line}\nexample e(n = 3)\n").diagnostics
    assert [(message.code, [fix.title for fix in message.fixes]) for message in found] == [(code, fixes)]


def test_allow_and_unused_are_free_names():
    source = "mask m(unused: int, empty: int)\ntokens { allow: unused; queue: empty }\nallow sees allow causal\nqueue sees allow, queue\n"
    assert compile(source).bind(unused=2, empty=1).visible_pairs == 6
    assert format(source) == source.replace("allow sees allow causal", "allow sees allow causal")


def test_the_layout_of_allowances():
    source = "mask m(n: int)\ntokens { S: n;pad:3   unused ## behind\n }\nS sees S causal\nallow   empty  queries in S ,S # why\n"
    laid_out = (
        "mask m(n: int)\ntokens {\n    S: n\n    pad: 3 unused  ## behind\n}\nS sees S causal\n"
        "allow empty queries in S, S  # why\n"
    )
    assert format(source) == laid_out
    assert format(laid_out) == laid_out
