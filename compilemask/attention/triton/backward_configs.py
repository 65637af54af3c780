"""Tile sizes and launch options of the backward kernel.

Candidates are timed by benchmarks/tune_backward.py; all fit their devices' shared memory (tests/attention/test_backward_offline.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from compilemask.attention.triton.config_table import ConfigTable


@dataclass(frozen=True, slots=True)
class BackwardConfig:
    """A program's block_m rows visit tiles of block_n columns: queries visit keys for dq, keys visit queries for dk and dv.

    tma and max_registers: as in ForwardConfig.
    """

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int
    tma: bool = False
    max_registers: int | None = None


# (of dq, of dk and dv)
BACKWARD_CONFIGS = ConfigTable(
    hopper_tma={
        64: (BackwardConfig(64, 64, 4, 3, tma=True), BackwardConfig(64, 64, 4, 3, tma=True)),
        128: (BackwardConfig(128, 64, 8, 3, tma=True), BackwardConfig(64, 64, 4, 2, tma=True)),
        256: (BackwardConfig(64, 32, 8, 2, tma=True), BackwardConfig(64, 32, 8, 2, tma=True)),
    },
    hopper={
        64: (BackwardConfig(128, 64, 8, 2), BackwardConfig(128, 64, 8, 2)),
        128: (BackwardConfig(128, 64, 8, 2), BackwardConfig(128, 64, 8, 2)),
        256: (BackwardConfig(64, 32, 8, 2), BackwardConfig(64, 32, 8, 2)),
    },
    half={
        64: (BackwardConfig(128, 64, 8, 2), BackwardConfig(128, 32, 8, 2)),
        128: (BackwardConfig(64, 32, 8, 2), BackwardConfig(64, 32, 8, 2)),
        256: (BackwardConfig(32, 16, 4, 1), BackwardConfig(32, 16, 4, 1)),
    },
    single={
        64: (BackwardConfig(32, 32, 8, 1), BackwardConfig(32, 32, 8, 1)),
        128: (BackwardConfig(32, 32, 8, 1), BackwardConfig(32, 32, 8, 1)),
        256: (BackwardConfig(16, 16, 8, 1), BackwardConfig(16, 16, 8, 1)),
    },
    interpreter=(BackwardConfig(64, 64, 4, 1), BackwardConfig(64, 64, 4, 1)),
)
