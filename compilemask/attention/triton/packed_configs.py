"""Tile sizes and launch options of the kernel of packed tiles: read like those of configs.py.

Measured on an H200 with benchmarks/tune_packed.py; for other devices chosen to fit their shared memory without spills
(tests/attention/test_packed_offline_compile.py). block_n is a multiple of 32, as packed plans need it.
"""

from __future__ import annotations

from compilemask.attention.triton.config_table import ConfigTable
from compilemask.attention.triton.configs import ForwardConfig

_HOPPER = {
    # Registers for two programs on a multiprocessor: one computes while the other waits for its softmax.
    64: ForwardConfig(128, 64, 8, 3, max_registers=128),
    128: ForwardConfig(128, 64, 8, 3, max_registers=128),
    256: ForwardConfig(128, 64, 8, 2),
}
PACKED_CONFIGS = ConfigTable(
    hopper_tma=_HOPPER,
    hopper=_HOPPER,
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
