"""The Hopper backward compiles for its GPU with none here: asynchronous products, no spill in the loops over full tiles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("offline_compile_hopper_backward.py")


@pytest.mark.parametrize(("form", "reductions"), [("dq 128 bfloat16 bits", 0), ("fused 128 bfloat16", 4)])
def test_products_overlap_the_exponentials_and_full_tiles_spill_nothing(form: str, reductions: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), *form.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    kernel = json.loads(done.stdout.splitlines()[-1])
    assert kernel["shared_bytes"] <= 227 << 10
    # dq leaves as one addition a tile, in two loops of two warpgroups.
    assert kernel["reductions"] == reductions
    loops = [loop for loop in kernel["loops"] if loop["exponentials"]]
    assert all(loop["late"] == 0 for loop in loops)
    for loop in sorted(loops, key=lambda loop: loop["instructions"])[:2]:
        assert loop["stores"] == 0
        # Where the assembler gives up the asynchrony of products, it waits after each of them.
        assert loop["waits"] <= 4 < loop["products"]
