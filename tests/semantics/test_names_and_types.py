"""What names may mean where, and what the messages say and offer."""

from __future__ import annotations

import pytest
from language_programs import apply_fix, checked, errors_of, show, with_rules

from compilemask.diagnostics import Diagnostic
from compilemask.semantics import check
from compilemask.syntax import parse
from compilemask.syntax.words import FOREIGN, RESERVED

NESTED = "doc[i] { P: lengths[i]; T[j < 2]: n }; S: n; img: n x w; vid: 2 x n x w; D[i]: lengths[i]"


def messages(source: str) -> tuple[Diagnostic, ...]:
    tree, syntax = parse(source)
    return syntax + check(tree, source)[1]


def indices(rule: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    checked_rule = checked(with_rules(rule, regions=NESTED)).rules[0]
    return [r.indices for r in checked_rule.queries], [r.indices for r in checked_rule.keys]


def test_a_reference_without_brackets_means_every_instance() -> None:
    assert indices("D sees D") == ([("#1",)], [("#2",)])
    assert indices("doc.T sees doc[i].T, D") == ([("#1", "#2")], [("i", "#3"), ("#4",)])
    assert indices("doc[a].T[b] sees doc[a].T[c] where b < c") == ([("a", "b")], [("a", "c")])
    assert indices("doc[i] sees doc") == ([("i",)], [("#1",)])


def test_a_list_counts_instances_even_from_deep_inside() -> None:
    mask = checked(
        "mask m(a: int[], b: int[], c: int[])\ntokens { g[i] { x1: 4; h[j < a[i]] { y: b[i] + c[j] } } }\ng sees g\n"
    )
    (g,) = mask.queries.regions
    assert g.counted_by == ("a", "b")
    h = g.children[1]
    assert (show(h.count), h.counted_by) == ("a[i]", ())


@pytest.mark.parametrize(
    ("rule", "code", "place"),
    [
        ("S sees X", "CM304", "X"),
        ("X, S sees S", "CM304", "X"),
        ("S sees doc.X", "CM304", "X"),
        ("S sees S.X", "CM304", "X"),
        ("P sees S", "CM304", "P"),
        ("S[i] sees S", "CM307", "S[i]"),
        ("D[2] sees S", "CM307", "2"),
        ("D[i - 1] sees D[i]", "CM307", "i - 1"),
        ("D[n] sees D[n]", "CM302", "n"),
        ("doc[i].T[i] sees S", "CM302", "i"),
        ("D[i] sees D where j < i", "CM308", "j"),
        ("D[i], S sees D[j] where i < j", "CM308", "i"),
        ("S sees S where unknown < 3", "CM301", "unknown"),
        ("S sees S causa", "CM301", "causa"),
        ("S sees S n", "CM303", "n"),
        ("S sees S lengths", "CM303", "lengths"),
        ("S sees S lengths < 3", "CM303", "lengths"),
        ("S sees S n[0] < 3", "CM303", "n"),
        ("S sees S flag < 3", "CM303", "flag < 3"),
        ("S sees S flag == true", "CM303", "flag == true"),
        ("S sees S causal + 1 < k", "CM303", "causal"),
        ("S sees S (k < 3) < 4", "CM303", "k < 3"),
        ("S sees S k", "CM303", "k"),
        ("S sees S q - k", "CM303", "q - k"),
        ("S sees S D", "CM303", "D"),
        ("S sees S D < 3", "CM303", "D"),
        ("S sees S len(n) < k", "CM303", "n"),
        ("S sees S sum(n + 1) < k", "CM317", "sum(n + 1)"),
        ("S sees S max(k) < 3", "CM317", "max(k)"),
        ("S sees S abs(q, k) < 3", "CM317", "abs(q, k)"),
        ("S sees S windowed(3)", "CM301", "windowed"),
        ("S sees S k // 0 < 3", "CM316", "0"),
        ("S sees S q.y < 3", "CM309", "q.y"),
        ("img sees S dx < 3", "CM309", "dx"),
        ("img sees img dz == 0", "CM309", "dz"),
        ("img, vid sees vid q.x < 3", "CM309", "q.x"),
        ("doc sees doc q.x < 3", "CM309", "q.x"),
    ],
)
def test_one_slip_makes_one_message_at_its_place(rule: str, code: str, place: str) -> None:
    found = [m for m in errors_of(with_rules(rule, regions=NESTED)) if m[0] != "CM501"]
    assert found[0] == (code, place), found
    assert {c for c, _ in found} == {code}


def test_grids_name_their_coordinates_from_the_outermost_in() -> None:
    def condition(text: str, region: str) -> str:
        return show(checked(with_rules(f"{region} sees {region} {text}", regions=NESTED)).rules[0].condition)

    assert condition("q.y < k.x", "img") == "(q.0 < k.1)"
    assert condition("q.z + q.y < k.x", "vid") == "((q.0 + q.1) < k.2)"
    assert condition("dz == 0 and dx < 3", "vid") == "all{((k.0 - q.0) == 0), ((k.2 - q.2) < 3)}"
    mixed = checked(with_rules("img sees vid dx == 0 and dy == 0", regions=NESTED)).rules[0].condition
    assert show(mixed) == "all{((k.2 - q.1) == 0), ((k.1 - q.0) == 0)}"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("mask m(n: int, n: int)\ntokens { S: n }\nS sees S", "CM302"),
        ("mask m(n: int)\ntokens { S: n; S: n }\nS sees S", "CM302"),
        ("mask m(n: int)\ntokens { n: n }\nn sees n", "CM302"),
        ("mask m(n: int)\ntokens { S[n < 3]: n }\nS sees S", "CM302"),
        ("mask m(n: int)\ntokens { S[i < 3] { T[i < 2]: n } }\nS sees S", "CM302"),
        ("mask m(n: int)\ntokens { S: n }\ntokens { T: n }\nS sees S", "CM305"),
        ("mask m(n: int)\ntokens { S: n }\nkeys { T: n }\nS sees S", "CM305"),
        ("mask m(n: int)\nkeys { T: n }\nT sees T", "CM305"),
        ("mask m(n: int)\ntokens { }\nS sees S", "CM305"),
        ("mask m(n: int)\ntokens { S[i < n] { } }\nS sees S", "CM305"),
        ("mask m(n: int)\nS sees S", "CM216"),
        ("mask m(n: int)", "CM305"),
        ("mask m(n: int)\ntokens { S[i]: n }\nS sees S", "CM306"),
        ("mask m(n: int)\ntokens { S[i]: n + i }\nS sees S", "CM306"),
        ("mask m(n: int)\ntokens { S: k }\nS sees S", "CM315"),
        ("mask m(n: int)\ntokens { S: dx + n }\nS sees S", "CM315"),
        ("mask m(n: int)\ntokens { S: i + n }\nS sees S", "CM301"),
        ("mask m(n: bool)\ntokens { S: n }\nS sees S", "CM303"),
        ("mask m(n: int)\nqueries { Q: n }\nkeys { K: n }\nQ sees K causal", "CM310"),
        ("mask m(n: int)\nqueries { Q: n }\nkeys { K: n }\nQ sees K same position", "CM310"),
        ("mask m(n: int)\nqueries { Q: n }\nkeys { K: n }\nK sees Q", "CM304"),
        ("mask m(n: int = true)\ntokens { S: n }\nS sees S", "CM311"),
        ("mask m(f: bool = 1)\ntokens { S: 4 }\nS sees S f", "CM311"),
        ("mask m(n: int)\ntokens { S: n }\nS sees S\nexample a(n = 3)\nexample a(n = 3)", "CM302"),
        ("mask m(n: int)\ntokens { S: n }\nS sees S\nexample a(n = 3, n = 3)", "CM302"),
        ("mask m(n: int)\ntokens { S: n }\nS sees S\nexample a(n = [3])", "CM312"),
        ("mask m(n: int)\ntokens { S: n }\nS sees S\nexample a(m = 3)", "CM312"),
        ("mask m(n: int)\ntokens { S: n }\nS sees S\nexample a()", "CM313"),
    ],
)
def test_declarations_that_do_not_fit(source: str, code: str) -> None:
    assert {c for c, _ in errors_of(source)} == {code}


def test_names_may_repeat_on_the_other_axis_and_inside_other_regions() -> None:
    mask = checked(
        "mask m(n: int)\nqueries { img: n }\nkeys { img: n; A[i < 2] { P: n }; B[i < 2] { P: n } }\nimg sees img, A.P, B[i].P\n"
    )
    assert [r.path for r in mask.rules[0].keys] == [("img",), ("A", "P"), ("B", "P")]


def test_unaligned_causal_offers_both_alignments() -> None:
    source = "mask m(a: int, b: int)\nqueries { Q: a }\nkeys { K: b }\nQ sees K causal\n"
    (message,) = messages(source)
    fixed = [checked(apply_fix(source, fix)).rules[0].condition for fix in message.fixes]
    assert [show(c) for c in fixed] == ["causal-start", "causal-end"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("S sees S causl", "S sees S causal"),
        ("S sees S q - k < windw", "S sees S q - k < window"),
        ("S see S causal", "S sees S causal"),
        ("S attends S causal", "S sees S causal"),
        ("s sees S causal", "S sees S causal"),
        ("S sees S if causal", "S sees S where causal"),
        ("S sees S and causal", "S sees S where causal"),
        ("S sees S causal, k < window", "S sees S causal and k < window"),
        ("S sees S flag == false", "S sees S not flag"),
        ("S sees S flag != false", "S sees S flag"),
        ("S sees S k = window", "S sees S k == window"),
        ("S sees S (causal", "S sees S (causal)"),
        ("S sees D where j < window", "S sees D[j] where j < window"),
        ("S sees S True", "S sees S true"),
        ("S sees T", "S sees doc[i].T"),
    ],
)
def test_the_quick_fix_gives_the_text_that_was_meant(wrong: str, right: str) -> None:
    given = {
        "parameters": "n: int, window: int, flag: bool, lengths: int[]",
        "regions": "S: n; D[i]: lengths[i]; doc[i < n] { T: 1 }",
    }
    source = with_rules(wrong, **given)
    first = next(m for m in messages(source) if m.severity == "error")
    assert apply_fix(source, first.fixes[0]) == with_rules(right, **given)


@pytest.mark.parametrize(("sign", "meant"), [(s, m) for s, (m, _) in FOREIGN.items()])
def test_foreign_signs_are_replaced_by_the_word(sign: str, meant: str) -> None:
    source = f"mask m(n: int)\ntokens {{ S: n }}\nS sees S k{sign}3 < 4\n"
    message = next(m for m in messages(source) if m.code == "CM102")
    assert f"`{meant}`" in message.message
    fixed = apply_fix(source, message.fixes[0])
    assert all(m.code != "CM102" for m in messages(fixed))
    assert meant in fixed


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_words_of_the_language_are_no_names(word: str) -> None:
    assert errors_of(f"mask m({word}: int)\ntokens {{ S: 4 }}\nS sees S\n")
    assert errors_of(f"mask m(n: int)\ntokens {{ {word}: n }}\nS sees S\n")


@pytest.mark.parametrize("word", ["position", "start", "end", "pos", "y", "z", "X", "Q", "K", "i"])
def test_other_words_are_names(word: str) -> None:
    checked(f"mask {word}({word}: int)\ntokens {{ S: {word} }}\nS sees S where k < {word}\n")


def test_documentation_belongs_to_what_it_stands_above_or_behind() -> None:
    mask = checked(
        "# a plain comment\n## Title\n##\n## More.\nmask m(\n  ## above\n  n: int,  ## behind\n  w: int  ## last\n)\n"
        "tokens {\n  ## the sequence\n  S: n; T: w  ## the rest\n}\n## reads itself\nS sees S causal  ## always\nT sees S\n"
    )
    assert mask.doc == "Title\n\nMore."
    assert [p.doc for p in mask.parameters] == ["above\nbehind", "last"]
    assert [r.doc for r in mask.queries.regions] == ["the sequence", "the rest"]
    assert [r.doc for r in mask.rules] == ["reads itself\nalways", ""]


def test_examples_keep_their_order_and_values() -> None:
    mask = checked(
        "mask m(n: int, f: bool = true, l: int[] = [])\ntokens { S: n; D[i]: l[i] }\nS, D sees S f\n"
        "example big(n = 1_000, l = [3, -4])\nexample small(n = 4, f = false)\n"
    )
    assert [(e.name, dict(e.values)) for e in mask.examples] == [
        ("big", {"n": 1000, "l": (3, -4)}),
        ("small", {"n": 4, "f": False}),
    ]


def test_all_errors_of_a_text_come_in_one_pass() -> None:
    source = "mask m(n int, w: int)\ntokens { S: m; T: w }\nS sees U causal\nT sees T q.y < 1\nT sees T && k < 3\n"
    assert [c for c, _ in errors_of(source)] == ["CM202", "CM102", "CM205", "CM301", "CM304", "CM309"]


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("doc[d].W", "doc[d].sent.W", "`W` stands inside `sent`, which stands inside `doc`"),
        ("doc.W", "doc.sent.W", "`W` stands inside `sent`, which stands inside `doc`"),
        ("doc[d].X", "doc[d].sent.word.X", "`X` stands further inside `doc`"),
    ],
)
def test_a_region_further_inside_is_offered_with_its_path(wrong: str, right: str, message: str) -> None:
    regions = "doc[i] { sent[s < 2] { W: lengths[i]; word { X: 1 } }; E: 1 }"
    source = with_rules(f"{wrong} sees doc[d].E", regions=regions)
    found = [m for m in messages(source) if m.severity == "error"]
    assert [(m.code, m.message, m.hint) for m in found] == [("CM304", message, f"write `{right}`")]
    assert apply_fix(source, found[0].fixes[0]) == with_rules(f"{right} sees doc[d].E", regions=regions)
    assert not [m for m in messages(apply_fix(source, found[0].fixes[0])) if m.severity == "error"]
