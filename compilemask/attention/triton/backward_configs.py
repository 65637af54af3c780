"""Tile sizes and launch options of the backward kernel: committed tables, nothing is tuned at call time.

Candidates are timed by benchmarks/tune_backward.py; all fit their devices' shared memory (tests/attention/test_backward_offline.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from compilemask.attention.triton.configs import block_dim


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


Pair = tuple[BackwardConfig, BackwardConfig]

# (of dq, of dk and dv)
_HALF_HOPPER: dict[int, Pair] = {
    64: (BackwardConfig(64, 64, 4, 3, tma=True), BackwardConfig(64, 64, 4, 3, tma=True)),
    128: (BackwardConfig(128, 64, 8, 3, tma=True), BackwardConfig(64, 64, 4, 2, tma=True)),
    256: (BackwardConfig(64, 32, 8, 2, tma=True), BackwardConfig(64, 32, 8, 2, tma=True)),
}
_HALF_HOPPER_POINTERS: dict[int, Pair] = {
    64: (BackwardConfig(128, 64, 8, 2), BackwardConfig(128, 64, 8, 2)),
    128: (BackwardConfig(128, 64, 8, 2), BackwardConfig(128, 64, 8, 2)),
    256: (BackwardConfig(64, 32, 8, 2), BackwardConfig(64, 32, 8, 2)),
}
_HALF: dict[int, Pair] = {
    64: (BackwardConfig(128, 64, 8, 2), BackwardConfig(128, 32, 8, 2)),
    128: (BackwardConfig(64, 32, 8, 2), BackwardConfig(64, 32, 8, 2)),
    256: (BackwardConfig(32, 16, 4, 1), BackwardConfig(32, 16, 4, 1)),
}
_FLOAT: dict[int, Pair] = {
    64: (BackwardConfig(32, 32, 8, 1), BackwardConfig(32, 32, 8, 1)),
    128: (BackwardConfig(32, 32, 8, 1), BackwardConfig(32, 32, 8, 1)),
    256: (BackwardConfig(16, 16, 8, 1), BackwardConfig(16, 16, 8, 1)),
}
_INTERPRETER: Pair = (BackwardConfig(64, 64, 4, 1), BackwardConfig(64, 64, 4, 1))


def backward_configs(
    head_dim: int, v_head_dim: int, itemsize: int, capability: tuple[int, int] | None, *, tma: bool
) -> Pair:
    """The configurations (of dq, of dk and dv) for these sizes; arguments as in forward_config."""
    if capability is None:
        return _INTERPRETER
    size = max(64, block_dim(head_dim), block_dim(v_head_dim))
    if itemsize == 4:
        return _FLOAT[size]
    if capability[0] == 9:
        return _HALF_HOPPER[size] if tma else _HALF_HOPPER_POINTERS[size]
    return _HALF[size]
