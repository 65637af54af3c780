"""The two kernels of a replan compile for real GPUs, with no GPU here, under the tilings of the attention kernels they feed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("offline_compile_replan.py")
LAYERS = 2
"""Of hstu_jagged, the family with the most."""
TILINGS = {80: ("128", "64", "32", "32"), 90: ("128", "64", "64", "32")}


@pytest.mark.parametrize("capability", TILINGS)
def test_they_need_few_registers_and_read_each_bound_once(capability: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), str(capability), "hstu_jagged", *TILINGS[capability]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 2
    for kernels in found:
        for kernel in kernels.values():
            assert kernel["spilled_bytes"] == 0
            assert kernel["registers"] <= 40
            assert kernel["shared_bytes"] <= 64
        # A thread holds one row at most: of each layer lo and hi, and for each of its two sides those again and four numbers.
        assert 0 < kernels["sides"]["loads"] <= 2 * LAYERS
        assert 0 < kernels["fill"]["loads"] <= 2 * LAYERS * 6
        assert 0 < kernels["sides"]["stores"] <= 8 * LAYERS + 1
        assert 0 < kernels["fill"]["stores"] <= 4 * LAYERS
