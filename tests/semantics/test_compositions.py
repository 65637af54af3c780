"""Names of masks, arguments of calls, cycles, limits; claims that cannot be meant. One message each."""

from __future__ import annotations

import pytest
from language_programs import apply_fix

from compilemask.compiler import analyse, compile
from compilemask.diagnostics import Diagnostic
from compilemask.presets import preset_names
from compilemask.semantics import check
from compilemask.syntax import parse

PART = "mask part(n: int, l: int[] = [1], on: bool = false)\ntokens { S: n; D[i]: l[i] }\nS sees S where on\nD sees D\n"
HEAD = PART + "mask m(n: int, l: int[], on: bool) = "


def messages(source: str) -> list[Diagnostic]:
    return [m for m in analyse(source).diagnostics if m.code < "CM4"]


def marked(source: str, message: Diagnostic) -> str:
    return source[message.span.start : message.span.stop]


@pytest.mark.parametrize(
    ("expression", "code", "place", "words"),
    [
        ("part(n, l, on) and prt(n, l, on)", "CM331", "prt", "there is no mask `prt`"),
        ("part(n, l, on) and documets(l)", "CM331", "documets", "there is no mask `documets`"),
        ("part()", "CM333", "part", "`part` gets no value for `n`"),
        ("part(n, l, on, 3)", "CM333", "3", "`part` takes 3 arguments, and this is one more"),
        ("part(n = n, l)", "CM333", "l", "an argument without a name behind one with a name"),
        ("part(n, m = 3)", "CM333", "m", "`part` has no parameter `m`"),
        ("part(n, n = 3)", "CM333", "n = 3", "`n` gets two values"),
        ("part(l)", "CM303", "l", "`l` is a list, and a number is needed here"),
        ("part([3])", "CM333", "[3]", "`n` of `part` has the type `int`, and this is a list"),
        ("part(n, n)", "CM333", "n", "`l` of `part` has the type `int[]`, and this is of type `int`"),
        ("part(n, 3)", "CM333", "3", "`l` of `part` has the type `int[]`, and this is an expression"),
        ("part(n, on = 1)", "CM333", "1", "`on` of `part` has the type `bool`, and this is an expression"),
        ("part(n, on = [1])", "CM333", "[1]", "`on` of `part` has the type `bool`, and this is a list"),
        ("part(n, l = true)", "CM333", "true", "`l` of `part` has the type `int[]`, and this is true or false"),
        ("part(n, l = [true])", "CM333", "[true]", "`l` of `part` has the type `int[]`"),
        ("part(n, l = k)", "CM333", "k", "this is an expression"),
        ("part(n, lengths = l)", "CM333", "lengths", "`part` has no parameter `lengths`"),
        ("part(k)", "CM315", "k", "positions exist in the conditions of rules only"),
        ("part(nn)", "CM301", "nn", "there is no parameter or index `nn`"),
        ("part(n, ll)", "CM301", "ll", "there is no parameter `ll`"),
        ("part(n) and m(n, l, on)", "CM332", "m", "a mask that is made of itself: `m` calls `m`"),
        ("part(n) where part(n)", "CM215", "where", "masks are joined by `and`, not by `where`"),
        ("part(n) and k < 4", "CM215", "k", "`k` is no mask here"),
        ("part(n) and part", "CM215", "part", "`part` is not called"),
        ("part(n) and causal", "CM215", "causal", "`causal` is no mask here"),
        ("part(n) and 3", "CM215", "3", "expected a mask, but found `3`"),
        ("part(n) part(n)", "CM207", "part", "expected a new line after the expression, but found `part`"),
        ("part(n) and", "CM205", "", "expected a mask after `and`, but the text ends"),
        ("(part(n)", "CM203", "", "expected `)` to close the bracket"),
        ("part(n, )", "CM211", ",", "comma"),
    ],
)  # fmt: skip
def test_an_expression_that_is_wrong(expression: str, code: str, place: str, words: str) -> None:
    source = f"{HEAD}{expression}\n"
    errors = [m for m in messages(source) if m.severity == "error"]
    assert [m.code for m in errors] == [code], [m.message for m in errors]
    assert marked(source, errors[0]).strip() == place
    assert words in errors[0].message


@pytest.mark.parametrize(
    ("expression", "fixed"),
    [
        ("prt(n)", "part(n)"),
        ("not documets(l)", "not documents(l)"),
        ("part(n, onn = on)", "part(n, on = on)"),
        ("part(l = l)", "part(l = l, n = )"),
        ("part(n) where part(n)", "part(n) and part(n)"),
        ("part(n == n)", "part(n = n)"),
    ],
)
def test_the_quick_fix_of_an_expression(expression: str, fixed: str) -> None:
    source = f"{HEAD}{expression}\n"
    fix = next(fix for m in messages(source) for fix in m.fixes)
    assert apply_fix(source, fix) == f"{HEAD}{fixed}\n"


def test_a_chain_that_leads_back_is_shown() -> None:
    source = "mask a(n: int) = b(n)\nmask b(n: int) = c(n)\nmask c(n: int) = a(n)\n"
    (message,) = [m for m in messages(source) if m.code == "CM332"]
    assert message.message.endswith("`a` calls `b` calls `c` calls `a`")
    assert [source[label.span.start : label.span.stop] for label in message.labels] == ["b", "c"]


def test_a_mask_of_the_text_hides_the_preset_of_its_name() -> None:
    own = "mask causal(n: int)\ntokens { S: n }\nS sees S\n"
    assert compile(f"{own}mask m(n: int) = causal(n)\n").bind(n=3).visible_pairs == 9
    assert compile("mask m(n: int) = causal(n)\n").bind(n=3).visible_pairs == 6
    (message,) = messages("mask causal(n: int) = causal(n)\n")
    assert message.code == "CM332"
    assert message.hint == "to call the preset `causal`, give the mask of this text another name"


def test_masks_may_be_defined_in_any_order_and_the_last_one_is_meant() -> None:
    source = "mask first(n: int) = second(n)\nmask second(n: int) = not causal(n)\nmask last(n: int) = first(n)\n"
    program = compile(source)
    assert program.name == "last" and program.warnings == ()
    assert program.bind(n=4).visible_pairs == 6


def test_without_a_library_no_preset_is_known() -> None:
    source = "mask m(n: int) = causal(n)\n"
    _, found = check(parse(source)[0], source)
    assert [m.code for m in found] == ["CM331"]
    assert all(compile(f"mask m(n: int) = not {name}()").name for name in preset_names() if name == "")


def test_two_masks_of_one_name_and_one_that_nobody_calls() -> None:
    assert [m.code for m in messages(f"{PART}{PART}mask m(n: int) = part(n)\n")] == ["CM302"]
    (message,) = compile(f"{PART}mask m(n: int) = causal(n)\n").warnings
    assert (message.code, message.severity) == ("CM505", "warning")


def test_chains_and_numbers_of_calls_are_limited() -> None:
    chain = "".join(f"mask a{i + 1}(n: int) = a{i}(n)\n" for i in range(17))
    source = f"mask a0(n: int)\ntokens {{ S: n }}\nS sees S\n{chain}"
    (message,) = messages(source)
    assert (message.code, message.message) == ("CM217", "masks call masks more than 16 deep")
    doubled = "".join(f"mask a{i + 1}(n: int) = a{i}(n) or a{i}(n)\n" for i in range(8))
    (message,) = messages(f"mask a0(n: int)\ntokens {{ S: n }}\nS sees S\n{doubled}")
    assert message.code == "CM217" and "the limit is 128" in message.message
    short = "".join(f"mask a{i + 1}(n: int) = a{i}(n)\n" for i in range(16))
    assert compile(f"mask a0(n: int)\ntokens {{ S: n }}\nS sees S\n{short}").bind(n=3).visible_pairs == 9


def test_regions_and_an_expression_exclude_each_other() -> None:
    for body in ("tokens { S: n }\nS sees S\n", "S sees S\nS sees S causal\n"):
        found = messages(f"{HEAD}part(n, l, on)\n{body}")
        assert [m.code for m in found if m.severity == "error"] == ["CM214"]


# ---------------------------------------------------------------- assertions

CLAIMS = "mask m(n: int, l: int[])\nqueries { Q: n }\nkeys { D[i]: l[i] }\nQ sees D\nassert "


@pytest.mark.parametrize(
    ("claim", "code", "place"),
    [
        ("causal", "CM310", "causal"),
        ("Q never sees P", "CM304", "P"),
        ("Q never sees Q", "CM304", "Q"),
        ("Q never sees D[i] where j < 3", "CM308", "j"),
        ("Q never sees D[i] where i + 3", "CM303", "i + 3"),
        ("Q sees D", "CM202", "D"),
        ("Q see all D", "CM208", "see"),
        ("Q nevr sees D", "CM208", "nevr"),
        ("Q never D", "CM202", "D"),
        ("Q", "CM202", ""),
        ("every", "CM202", ""),
        ("every query sees", "CM202", ""),
        ("every quer sees a key", "CM208", "quer"),
        ("", "CM205", ""),
        ("3 < 4", "CM205", "3"),
        ("density < 0.3.4", "CM207", "."),
        ("density < 1.5e3", "CM103", "1.5e3"),
        ("density < 0.9999999999", "CM103", "0.9999999999"),
        ("visible < 0.3", "CM103", "0.3"),
        ("density < k", "CM315", "k"),
        ("density <", "CM205", ""),
        ("visible = 3", "CM210", "="),
        ("equals documents", "CM215", "documents"),
        ("equals documents(n)", "CM333", "n"),
        ("equals", "CM205", ""),
        ("equals m(n, l)", "CM332", "m"),
    ],
)
def test_an_assertion_that_is_wrong(claim: str, code: str, place: str) -> None:
    source = f"{CLAIMS}{claim}\n"
    errors = [m for m in messages(source) if m.severity == "error"]
    assert [(m.code, marked(source, m).strip()) for m in errors] == [(code, place)], [m.message for m in errors]


def test_a_density_with_too_many_digits_is_told_how_many_it_may_have() -> None:
    (long,) = messages(f"{CLAIMS}density < 0.9999999999\n")
    assert "up to 9 digits on each side of its point" in long.message
    assert not long.fixes
    assert messages(f"{CLAIMS}density < 0.999999999\n") == []


def test_words_of_assertions_are_free_as_names() -> None:
    source = (
        "mask m(visible: int, density: int)\ntokens { every: visible; equals: density; all: 1; never: 2 }\n"
        "every sees every\nequals sees all, never\n"
        "assert every sees all every\nassert equals sees all all\nassert never never sees all\n"
        "assert visible == visible * visible + density * 3\n"
    )
    assert all(result.holds for result in compile(source).lower(visible=2, density=3).assertions)


def test_assertions_of_a_composed_mask_name_the_regions_of_its_first_operand() -> None:
    source = f"{HEAD}not part(n, l, on) or causal(n + sum(l))\nassert D[i] never sees Z\n"
    (message,) = messages(source)
    assert (message.code, marked(source, message)) == ("CM304", "Z")
    assert messages(source.replace("sees Z", "sees S where i == 2")) == []
