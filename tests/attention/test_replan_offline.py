"""The two kernels of a replan compile for real GPUs, with no GPU here, for every family of masks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compilemask.attention.length_masks import FAMILIES

SCRIPT = Path(__file__).with_name("offline_compile_replan.py")


@pytest.mark.parametrize("capability", [80, 90])
def test_they_need_few_registers_and_nothing_is_spilled(capability: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), str(capability)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == set(FAMILIES)
    for kernels in found.values():
        assert [kernels[name]["spilled_bytes"] for name in ("sides", "fill")] == [0, 0]
        # Rows against spans, 32 at a time, lie in registers.
        assert kernels["sides"]["registers"] <= 160
        assert kernels["fill"]["registers"] <= 64
        assert max(kernels[name]["shared_bytes"] for name in ("sides", "fill")) <= 2048
