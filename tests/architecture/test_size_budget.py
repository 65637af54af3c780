"""Files and functions stay small enough to hold one idea."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_KERNEL_LINES = 150
SOURCES = sorted(
    path
    for room in ("compilemask", "backend", "tests", "benchmarks")
    for path in (ROOT / room).rglob("*.py")
    if "versions" not in path.parts and "_static" not in path.parts
)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the function without its docstring, which is prose."""
    assert node.end_lineno is not None
    docstring = ast.get_docstring(node, clean=False)
    return node.end_lineno - node.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_within_its_budget(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_FILE_LINES, (
        f"{path.relative_to(ROOT)} has {lines} lines, at most {MAX_FILE_LINES}: one idea each"
    )
    for node in functions(path):
        limit = MAX_KERNEL_LINES if is_kernel(node) else MAX_FUNCTION_LINES
        assert body_lines(node) <= limit, (
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {body_lines(node)} lines, at most {limit}"
        )


def test_the_sources_were_found() -> None:
    assert len(SOURCES) > 20
