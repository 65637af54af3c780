"""Tile sizes and launch options of the forward kernel over row tiles.

For head_dim 64 and 128 in half precision measured on an H200 (benchmarks/tune_forward.py, rows in benchmarks/results); the rest
is chosen to fit shared memory without spills (tests/attention/test_offline_compile.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from compilemask.attention.triton.config_table import ConfigTable


@dataclass(frozen=True, slots=True)
class ForwardConfig:
    """block_m x block_n tiles; tma: load tiles through tensor descriptors where the inputs' layout allows it.

    max_registers: of a thread, to fit more programs on a multiprocessor; None leaves it to the compiler.
    """

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int
    tma: bool = False
    max_registers: int | None = None


FORWARD_CONFIGS = ConfigTable(
    hopper_tma={
        64: ForwardConfig(128, 64, 8, 3, tma=True, max_registers=128),
        128: ForwardConfig(128, 64, 8, 2, tma=True, max_registers=128),
        256: ForwardConfig(128, 64, 8, 2, tma=True),
    },
    hopper={
        64: ForwardConfig(128, 64, 8, 2),
        128: ForwardConfig(128, 64, 8, 2),
        256: ForwardConfig(128, 32, 8, 2),
    },
    half={
        64: ForwardConfig(128, 64, 8, 3),
        128: ForwardConfig(128, 32, 8, 2),
        256: ForwardConfig(64, 32, 8, 2),
    },
    single={
        64: ForwardConfig(64, 32, 8, 1),
        128: ForwardConfig(32, 32, 8, 1),
        256: ForwardConfig(32, 32, 8, 1),
    },
    interpreter=ForwardConfig(64, 64, 4, 1),
)
