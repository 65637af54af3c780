"""The Hopper backward compiles for its GPU with none here: asynchronous products, no or few spills in the loops over full tiles.

Query heads share key heads in groups of two. All other configurations: python offline_compile_hopper_backward.py, one by one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compilemask.attention.hopper.configs import SHARED_BYTES

SCRIPT = Path(__file__).with_name("offline_compile_hopper_backward.py")
# Instructions for each word that a loop may put aside: softcap and SiLU leave few registers, and assemblers differ.
VARIANTS = {"dq": None, "fused": None, "fused softcap": 50, "fused silu": 50}


@pytest.fixture(scope="module")
def kernels() -> dict[str, dict[str, object]]:
    """What the script says of each variant, for head_dim 128 and bfloat16; they compile side by side."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    started = {}
    for variant in VARIANTS:
        form, *words = variant.split()
        command = [sys.executable, str(SCRIPT), form, "128", "bfloat16", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started[variant] = subprocess.Popen(command, text=True, env=environment, **pipes)
    found = {}
    for variant, process in started.items():
        output, errors = process.communicate()
        assert process.returncode == 0, errors[-3000:]
        found[variant] = json.loads(output.splitlines()[-1])
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_exponentials_run_under_products_and_full_tiles_spill_nothing(
    variant: str, kernels: dict[str, dict[str, object]]
) -> None:
    kernel = kernels[variant]
    assert kernel["shared_bytes"] <= SHARED_BYTES
    loops = [loop for loop in kernel["loops"] if loop["exponentials"]]
    assert all(loop["late"] == 0 for loop in loops)
    for loop in sorted(loops, key=lambda loop: loop["instructions"])[:2]:
        room = VARIANTS[variant]
        assert loop["stores"] == 0 or (room is not None and room * loop["stores"] <= loop["instructions"])
        # Where the assembler gives up the asynchrony of products, it waits after each of them.
        assert loop["waits"] <= 4 < loop["products"]


def test_only_the_fused_form_adds_to_dq(kernels: dict[str, dict[str, object]]) -> None:
    # Once a tile, in two loops of two warpgroups.
    assert [kernels[variant]["reductions"] for variant in VARIANTS] == [0, 4, 4, 4]
