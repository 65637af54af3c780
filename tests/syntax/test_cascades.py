"""One slip makes one message, however much of the text depends on it."""

from __future__ import annotations

import time

import pytest

from compilemask.compiler import analyse
from compilemask.syntax.limits import MAX_SOURCE_BYTES

BODY = "mask m(n: int)\ntokens { S: n }\n"


def codes(source: str) -> list[str]:
    return [message.code for message in analyse(source).diagnostics]


@pytest.mark.parametrize(
    "source",
    [
        "mask m(x: int)\ntokens { S: x }\nS sees S where q - k < x\nexample e(x = 3)\n",
        "mask m(min: int)\ntokens { S: min + 1 }\nS sees S where q - k < 2*min\n",
        "mask m(q: int)\ntokens { S: q }\nS sees S where q - k < q\n",
        "mask m(n: int)\ntokens { x: n }\nx sees x causal\nassert x never sees x where q < k\n",
        "mask m(n: int)\ntokens { T: 1; x: n }\nT sees x\nx, T sees T, x where k <= q\n",
    ],
)
def test_a_word_of_the_language_used_as_a_name_makes_one_message(source: str):
    assert codes(source) == ["CM209"]


@pytest.mark.parametrize("line", [" ", "\n"], ids=["one line", "many lines"])
@pytest.mark.parametrize(
    "text",
    [
        BODY + "S sees S where k < 1" + "{0}or k < 3" * 200 + "\nS sees S causal\n",
        BODY + "S sees S where (k < 1" + "{0}or k < 3" * 200 + ") and q < 3\nS sees S causal\n",
        BODY + "S sees S where k < 1 +{0}1" + " +{0}1" * 200 + "\nS sees S causal\n",
        "mask m(n: int)\ntokens {{ S: n +{0}1" + " +{0}1" * 200 + " }}\nS sees S causal\n",
        BODY + "S sees S\nmask b(n: int) = m(n)" + "{0}or m(n)" * 200 + "\nassert causal\n",
        BODY + "S sees S\nmask b(n: int) = m(n +{0}1" + " +{0}1" * 200 + ")\nassert causal\n",
    ],
    ids=range(6),
)
def test_too_many_operators_make_one_message(text: str, line: str):
    text = text.replace("{ S: n }", "{{ S: n }}") if "{{" not in text else text
    assert codes(text.format(line)) == ["CM213"]


@pytest.mark.parametrize("line", [" ", "\n"], ids=["one line", "many lines"])
def test_brackets_that_are_too_deep_make_one_message(line: str):
    brackets = f"({line}" * 80 + "k < 1" + f"{line})" * 80
    assert codes(f"{BODY}S sees S where {brackets}\nS sees S causal\n") == ["CM212"]


def test_a_text_that_is_far_too_long_is_refused_before_it_is_read():
    source = "# é\n" * 10_000_000
    start = time.perf_counter()
    (message,) = analyse(source).diagnostics
    assert time.perf_counter() - start < 1
    assert message.code == "CM107"
    assert message.message == f"this text has 40,000,000 characters; a mask may have {MAX_SOURCE_BYTES:,} bytes"


def test_bytes_are_counted_where_characters_are_few_enough():
    (message,) = analyse("é" * MAX_SOURCE_BYTES).diagnostics
    assert (
        message.message == f"this text has {2 * MAX_SOURCE_BYTES:,} bytes; a mask may have {MAX_SOURCE_BYTES:,} bytes"
    )
