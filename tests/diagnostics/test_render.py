"""The caret picture, letter by letter, and its safety for terminals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compilemask.diagnostics import Diagnostic, Label, MaskError, Span, line_column, render


def message(start: int, stop: int, *labels: Label, hint: str | None = None) -> Diagnostic:
    return Diagnostic("CM999", "error", "words", Span(start, stop), labels, hint)


def test_both_ends_of_a_brace_are_shown_in_the_order_of_the_text() -> None:
    source = "mask m(n: int)\ntokens {\n  S: n\n\nS sees S\n"
    opening = Label(Span(source.index("{"), source.index("{") + 1), "opened here")
    assert render(message(30, 30, opening, hint="close it"), source, "a.mask") == (
        "error[CM999]: words\n"
        "  --> a.mask:3:7\n"
        "2 | tokens {\n"
        "  |        - opened here\n"
        "3 |   S: n\n"
        "  |       ^\n"
        "help: close it"
    )


def test_lines_between_are_left_out_and_one_line_is_shown_once() -> None:
    source = "one\ntwo\nthree\n"
    picture = render(message(8, 13, Label(Span(0, 3), "here"), Label(Span(8, 9), "there")), source)
    assert picture == (
        "error[CM999]: words\n  --> <mask>:3:1\n1 | one\n  | --- here\n  ...\n3 | three\n  | ^^^^^\n  | - there"
    )


def test_the_caret_stands_under_its_letter_behind_tabs_and_wide_characters() -> None:
    assert render(message(4, 5), "\t# é$").split("\n")[2:] == ["1 | \t# é$", "  | \t   ^"]
    assert render(message(3, 4), "# 漢$").split("\n")[2:] == ["1 | # 漢$", "  |     ^"]


def test_a_long_line_is_cut_around_its_mark() -> None:
    picture = render(message(500, 503), "a" * 500 + "bcd" + "e" * 500).split("\n")
    assert picture[2] == "1 | ..." + "a" * 50 + "bcd" + "e" * 47 + "..."
    assert picture[3] == "  | " + " " * 53 + "^^^"


def test_control_characters_do_not_reach_the_terminal() -> None:
    source = "a\x1b[31mb\u202ec\r\n"
    picture = render(message(0, 1), source)
    assert "\x1b" not in picture and "\u202e" not in picture and "\r" not in picture


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.text(max_size=80), st.data())
def test_every_span_of_every_text_can_be_drawn(source: str, data: st.DataObject) -> None:
    spans = [Span(*sorted(data.draw(st.tuples(*[st.integers(0, len(source))] * 2)))) for _ in range(2)]
    picture = render(message(spans[0].start, spans[0].stop, Label(spans[1], "label")), source)
    line, column = line_column(source, spans[0].start)
    assert f"<mask>:{line}:{column}" in picture
    assert "^" in picture and "label" in picture
    assert all(part.isprintable() for part in picture.replace("\t", "").split("\n"))


def test_a_mask_error_draws_all_its_messages() -> None:
    error = MaskError([message(0, 1), message(2, 3)], "a b", "f.mask")
    assert str(error).count("error[CM999]") == 2
    assert "f.mask:1:3" in str(error)


def test_wrong_values_are_refused_at_birth() -> None:
    with pytest.raises(ValueError, match="0 <= start <= stop"):
        Span(3, 2)
    with pytest.raises(ValueError, match="at least one diagnostic"):
        MaskError([], "")
