"""Caps, sinks, SiLU and batches of masks compile for a real GPU, with no GPU here, and fit its registers and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("offline_compile_scores.py")


def test_they_fit_a_hopper_multiprocessor() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), "64", "bfloat16"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    kernels: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    assert list(kernels) == ["forward", "dq", "dkv"]
    for name, kernel in kernels.items():
        assert kernel["wgmma"] > 0, name
        assert kernel["spilled_bytes"] <= 32, name
        assert kernel["shared_bytes"] <= 227 << 10, name
