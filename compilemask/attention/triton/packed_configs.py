"""Tile sizes and launch options of the kernel of packed tiles: a committed table, as in configs.py.

Measured on an H200 with benchmarks/tune_packed.py; for other devices chosen to fit their shared memory without spills
(tests/attention/test_packed_offline_compile.py). block_n is a multiple of 32, as packed plans need it.
"""

from __future__ import annotations

from compilemask.attention.triton.configs import ForwardConfig, block_dim

_HALF_HOPPER = {
    # Registers for two programs on a multiprocessor: one computes while the other waits for its softmax.
    64: ForwardConfig(128, 64, 8, 3, max_registers=128),
    128: ForwardConfig(128, 64, 8, 3, max_registers=128),
    256: ForwardConfig(128, 64, 8, 2),
}
_HALF = {
    64: ForwardConfig(128, 64, 8, 3),
    128: ForwardConfig(128, 32, 8, 2),
    256: ForwardConfig(64, 32, 8, 2),
}
_FLOAT = {
    64: ForwardConfig(64, 32, 8, 1),
    128: ForwardConfig(32, 32, 8, 1),
    256: ForwardConfig(32, 32, 8, 1),
}
_INTERPRETER = ForwardConfig(64, 64, 4, 1)


def packed_config(head_dim: int, v_head_dim: int, itemsize: int, capability: tuple[int, int] | None) -> ForwardConfig:
    """The configuration for these sizes; parameters as in configs.forward_config."""
    if capability is None:
        return _INTERPRETER
    size = max(64, block_dim(head_dim), block_dim(v_head_dim))
    if itemsize == 4:
        return _FLOAT[size]
    return _HALF_HOPPER[size] if capability[0] == 9 else _HALF[size]
