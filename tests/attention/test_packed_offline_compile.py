"""The committed configurations of packed tiles compile for real GPUs, with no GPU here; what their loops are made of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("packed_offline_compile.py")


def compiled(capability: int, head_dim: int, dtype: str, *words: str) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), str(capability), str(head_dim), dtype, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_two_programs_share_a_hopper_multiprocessor_and_a_mask_costs_two_instructions_a_score() -> None:
    kernel = compiled(90, 128, "bfloat16", "all")
    assert 2 * 256 * kernel["registers"] <= 65_536
    assert 2 * kernel["shared_bytes"] <= 227 << 10
    assert kernel["wgmma"] > 0
    full, partial = kernel["loops"]
    # The loops are bound by the instructions they issue. Score by score, 32 a thread: one test and one select.
    assert full["instructions"] <= 400
    assert partial["instructions"] <= full["instructions"] + 120
    assert full["selects"] == 0
    assert 32 <= partial["selects"] <= 36
    assert max(full["reloads"], partial["reloads"]) <= 6


@pytest.mark.parametrize("head_dim", [64, 256])
def test_other_head_dims_compile_for_hopper_without_spills(head_dim: int) -> None:
    kernel = compiled(90, head_dim, "bfloat16", "unseen")
    assert kernel["spilled_bytes"] == 0
    assert kernel["wgmma"] > 0
    assert kernel["shared_bytes"] <= 227 << 10


@pytest.mark.parametrize(("head_dim", "dtype"), [(128, "bfloat16"), (128, "float32")])
def test_ampere_fits_the_shared_memory_of_its_smallest_cards(head_dim: int, dtype: str) -> None:
    kernel = compiled(80, head_dim, dtype, "unseen")
    assert kernel["shared_bytes"] <= 99 << 10
    assert (kernel["mma"] > 0) == (dtype != "float32")
    assert [loop["reloads"] for loop in kernel["loops"]] == [0, 0]
