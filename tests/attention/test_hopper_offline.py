"""The Hopper forward compiles with no GPU here, and its main loops are what they should be in machine code.

All other configurations: python tests/attention/offline_compile_hopper.py, one by one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from loop_bounds import foreign_bounds

from compilemask.attention.hopper.configs import (
    FORWARD_CONFIGS,
    REGISTERS,
    SHARED_BYTES,
    HopperForwardConfig,
    costs_of,
)
from compilemask.plan import HOPPER_H200

SCRIPT = Path(__file__).with_name("offline_compile_hopper.py")


CONFIGS = [(dim, config) for dim, configs in FORWARD_CONFIGS.items() for config in configs]


def compiled(head_dim: int, dtype: str, *words: str) -> dict[str, object]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), str(head_dim), dtype, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    ("head_dim", "dtype", "words"), [(64, "float16", ["packed"]), (128, "bfloat16", []), (128, "float16", ["device"])]
)
def test_softmax_overlaps_the_products_and_nothing_is_spilled(head_dim: int, dtype: str, words: list[str]) -> None:
    kernel = compiled(head_dim, dtype, "128x128", *words)
    assert kernel["shared_bytes"] <= SHARED_BYTES
    assert not kernel["foreign_bounds"]
    # Two warpgroups, each with a loop over tested tiles and one over full ones.
    assert len(kernel["loops"]) == 4
    for loop in kernel["loops"]:
        # q k^T in steps of 16 along the head dimension, p v in steps of 16 along 128 keys; 64 weights and 2 rescales a lane.
        assert (loop["products"], loop["exponentials"]) == (head_dim // 16 + 8, 66)
        assert loop["overlapped"]
        assert loop["spills"] == 0
    # The test of a cell takes two instructions, of 64 cells a lane, and the words some tens.
    tested, full = (max(loop["instructions"] for loop in kernel["loops"][i::2]) for i in (0, 1))
    assert full < tested <= full + 2 * 64 + 80


def test_bounds_from_outside_all_loops_are_found() -> None:
    found = foreign_bounds("""
      %0 = arith.constant 0 : i32
      %1 = tt.load %a : !tt.ptr<i32>
      %2:2 = scf.for %item = %0 to %1 step %c1 iter_args(%x = %0) -> (i32)  : i32 {
        %3 = tt.load %b : !tt.ptr<i32>
        %4 = scf.for %i = %0 to %3 step %c1 iter_args(%y = %0) -> (i32)  : i32 {
        } loc(#loc)
        %5 = scf.for %i = %0 to %1 step %c1 iter_args(%y = %0) -> (i32)  : i32 {
        } loc(#loc)
        %6 = scf.for %i = %x to %2#1 step %c1 iter_args(%y = %0) -> (i32)  : i32 {
        } loc(#loc)
      } loc(#loc)
    """)
    assert [line[:30] for line in found] == ["%5 = scf.for %i = %0 to %1 ste"]


@pytest.mark.parametrize(("head_dim", "config"), CONFIGS, ids=str)
def test_buffers_and_registers_fit_a_multiprocessor(head_dim: int, config: HopperForwardConfig) -> None:
    barriers = 1024
    assert config.shared_bytes(head_dim) + barriers <= SHARED_BYTES
    threads = 128 * config.num_consumers
    assert config.consumer_registers * threads + 128 * config.producer_registers <= REGISTERS


def test_the_cost_table_has_the_tiles_that_there_are() -> None:
    tilings = {dim: [(one.block_m, one.block_n) for one in some] for dim, some in HOPPER_H200.tilings.items()}
    assert tilings == {dim: [(one.block_m, one.block_n) for one in some] for dim, some in FORWARD_CONFIGS.items()}
    for dim, config in CONFIGS:
        assert costs_of(dim, config.block_m, config.block_n).fitted_cells == config.block_m * config.block_n
