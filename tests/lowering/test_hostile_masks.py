"""Masks of strangers: whatever the text and the numbers are, the answer comes soon, be it a refusal."""

from __future__ import annotations

import time
from typing import Any

import pytest

from compilemask.compiler import compile
from compilemask.diagnostics import MaskError

ONE = "mask m(n: int)\ntokens { S: n }\n"

HOSTILE: dict[str, tuple[str, dict[str, Any], str]] = {
    "abs in abs": (ONE + "S sees S where " + "abs(" * 50 + "q - k" + " - 3)" * 50 + " < 3\n", {"n": 100_000}, "CM412"),
    "cells": (ONE + "S sees S where (q*q + k*k*k) % 7 == 3\n", {"n": 8_000}, "CM411"),
    "every second key": (ONE + "S sees S where (q - k) % 2 == 0\n", {"n": 100_000}, "CM410"),
    "steps that do not divide": (ONE + "S sees S where (3*q - 2*k) % 5 == 0\n", {"n": 100_000}, "CM410"),
    "too long for a table": (ONE + "S sees S where (q*q) % 3 == k % 2\n", {"n": 2**31 - 1}, "CM411"),
    "many rules": (ONE + "".join(f"S sees S where q - k == {i} or k % {i + 2} == 0\n" for i in range(200)), {"n": 9_000}, "CM410"),
    "many alternatives": (ONE + "S sees S where " + " or ".join(f"q % {i + 2} == 0 and k % {i + 3} == 1" for i in range(20)) + "\n", {"n": 20_000}, "CM410"),
    "many conditions": (ONE + "S sees S where " + " and ".join(f"(q % {i + 2} == 0 or k % {i + 3} == 1)" for i in range(20)) + "\n", {"n": 20_000}, "CM412"),
    "two lists": ("mask m(n: int, a: int[])\ntokens { S: n }\nS sees S where q - k in a and q + k in a\n", {"n": 50_000, "a": list(range(0, 100_000, 7))}, "CM412"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_mask_is_refused_soon(name: str):
    source, values, code = HOSTILE[name]
    program = compile(source)
    start = time.process_time()
    with pytest.raises(MaskError) as caught:
        program.bind(**values)
    assert time.process_time() - start < 10
    assert {message.code for message in caught.value.diagnostics} == {code}


def test_the_greatest_axis_is_no_work():
    start = time.process_time()
    assert compile(ONE + "S sees S causal\n").bind(n=2**31 - 1).visible_pairs == (2**31 - 1) * 2**30
    assert time.process_time() - start < 2
