"""Every code has a title, an example program that gives it, and its place in docs/errors.md."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from compilemask.lowering.codes import BIND_CODES
from compilemask.semantics.codes import CODES

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("error_manual", Path(__file__).parent / "error_manual.py")
assert _spec is not None and _spec.loader is not None
error_manual = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(error_manual)


@pytest.mark.parametrize("code", error_manual.ALL_CODES, ids=lambda code: code.code)
def test_the_example_program_gives_its_code_and_no_other_error(code) -> None:
    found = error_manual.messages(code.code)
    assert [m.code for m in found if m.code == code.code], [m.code for m in found]
    assert {m.code for m in found} == {code.code}
    assert {m.severity for m in found} == {code.severity}


def test_codes_are_unique_and_in_order() -> None:
    numbers = [code.code for code in (*CODES, *BIND_CODES)]
    assert len(numbers) == len(set(numbers))
    numbers = [code.code for code in CODES]
    assert numbers == sorted(set(numbers))
    assert all(re.fullmatch(r"CM[1-6]\d\d", number) for number in numbers)
    for code in error_manual.ALL_CODES:
        assert code.title and not code.title.endswith(".")
        assert code.doc.endswith((".", ".)"))


def test_the_sources_give_exactly_the_codes_of_the_table() -> None:
    used: set[str] = set()
    for room in ("syntax", "semantics"):
        for path in (ROOT / "compilemask" / room).glob("*.py"):
            if path.name != "codes.py":
                used |= set(re.findall(r'"(CM\d{3})"', path.read_text(encoding="utf-8")))
    assert used == {code.code for code in CODES}


def test_no_example_program_is_left_over() -> None:
    examples = {path.stem for path in error_manual.PROGRAMS.glob("*.mask")} | set(error_manual.BIG_PROGRAMS)
    assert examples == {code.code for code in error_manual.ALL_CODES}


def test_the_manual_is_up_to_date() -> None:
    assert error_manual.MANUAL.read_text(encoding="utf-8") == error_manual.manual(), (
        "run python tests/diagnostics/error_manual.py"
    )
