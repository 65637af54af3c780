"""What a room may pull in, seen from a fresh process."""

from __future__ import annotations

import subprocess
import sys

import pytest

FRONT = [
    "compilemask",
    "compilemask.compiler",
    "compilemask.plan",
    "compilemask.preview",
    "compilemask.export",
    "compilemask.presets",
    "compilemask.cli",
    "compilemask.bench.protocol",
]


def loaded_after(statement: str, *names: str) -> list[str]:
    code = f"import sys\n{statement}\nprint(*[n for n in {names!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("module", FRONT)
def test_the_compiler_half_needs_neither_torch_nor_the_server(module: str) -> None:
    assert loaded_after(f"import {module}", "torch", "triton", "fastapi", "sqlmodel") == []


def test_the_server_never_loads_torch() -> None:
    statement = "from compilemask_studio.main import create_app; from compilemask_studio.settings import Settings; create_app(Settings())"
    assert loaded_after(statement, "torch", "triton") == []


def test_the_library_compiles_a_mask_where_torch_cannot_be_imported() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['triton'] = None\n"
        "import compilemask\n"
        "program = compilemask.compile('mask causal(n: int)\\ntokens { S: n }\\nS sees S causal')\n"
        "print(program.bind(n=5).visible_pairs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["15"]
