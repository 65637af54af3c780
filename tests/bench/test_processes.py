"""Tasks in processes: results come as they are there, and a task that breaks its process loses no other."""

from __future__ import annotations

import os
import time

from benchmarks.processes import Broken, outcomes


def square(number: int) -> int:
    match number:
        case 3:
            raise RuntimeError("not\na number")
        case 5:
            os._exit(7)
        case 6:
            time.sleep(600)
    return number * number


def test_a_broken_process_is_replaced() -> None:
    found = dict(outcomes(square, [0, 1, 2, 3, 4, 5, 8, 9], 2, seconds=60))
    assert found == {
        0: 0, 1: 1, 2: 4, 3: Broken("RuntimeError: not a number"), 4: 16, 5: Broken("its process ended with code 7"), 8: 64, 9: 81,
    }  # fmt: skip


def test_what_does_not_end_is_left_out() -> None:
    began = time.monotonic()
    found = dict(outcomes(square, [6, 1, 2], 2, seconds=5))
    assert found == {1: 1, 2: 4}
    assert time.monotonic() - began < 30
